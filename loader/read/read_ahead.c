/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX_FADV_WILLNEED on a shard that is open, or is opened for it. */
#include "loader/read/read_ahead.h"

#include "loader/read/reader_file.h"

#include <unistd.h>

#define STEP (128 * 1024) /* the kernel may cut what is longer */

static void advise(int fd, const struct fdl_source *source)
{
    uint64_t length = (uint64_t)source->length;
    for (uint64_t done = 0; done < length; done += STEP)
        posix_fadvise(fd, (off_t)(source->offset + done),
                      (off_t)FDL_MIN(length - done, STEP), POSIX_FADV_WILLNEED);
}

void fdl_read_ahead(struct fdl_window *w, const struct fdl_source *source)
{
    struct fdl_shard_files *files = fdl_window_shards(w);
    if (source->file == FDL_OWN_FILE || source->length < 0)
        return;
    struct fdl_open_shard *shard = fdl_shard_take(files, source->file);
    int fd = shard ? shard->fd : open(source->path, FDL_FILE_FLAGS);
    if (fd < 0)
        return;
    advise(fd, source);
    if (shard)
        fd = fdl_shard_give(files, shard, true);
    if (fd >= 0)
        close(fd);
}

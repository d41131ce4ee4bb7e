/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what stands beside shards and says what they are: index.json of
 * LitData and of MDS, the shard list of wids, DALI's index of a tar file.
 *
 *     1 byte     which of them
 *     the rest   the index up to a zero byte, then the shard
 *
 * No shard is named outside the folder of an index that may not, and no sample
 * lies outside its shard.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"
#include "loader/index/index_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kind {
    const struct fdl_index_format *format;
    const char *index, *shard; /* names of files */
    const char *opens, *options;
    bool inside; /* shards are in the folder */
};

static const struct kind kinds[] = {
    {&fdl_index_litdata, "index.json", "chunk-0-0.bin", "", "", true},
    {&fdl_index_litdata, "index.json", "chunk-0-0.bin", "",
     "?fields=0,1&damaged=skip", true},
    {&fdl_index_mds, "index.json", "shard.00000.mds", "", "", true},
    {&fdl_index_tar, "wids.json", "a.tar", "/wids.json", "", false},
    {&fdl_index_tar, "a.idx", "a.tar", "/a.tar", "?index=idx&label=none", true},
    {&fdl_index_tar, "a.idx", "a.tar", "/a.tar",
     "?index=idx&fields=cls&missing=skip&group=key", true},
};

static int folder_fd = -1;

static void begin(void)
{
    folder_fd = open(fuzz_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_check(folder_fd >= 0);
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
}

/* One after the other, as an index that is older than its shard is refused. */
static void write_file(const char *name, const uint8_t *data, size_t size)
{
    static time_t now = 1000000000;
    const struct timespec times[] = {{.tv_sec = now}, {.tv_sec = now}};
    int fd =
        openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_check(fd >= 0);
    fuzz_check(write(fd, data, size) == (ssize_t)size);
    fuzz_check(futimens(fd, times) == 0);
    close(fd);
    now++;
}

static void check_samples(const feedline_dataset *ds, const struct kind *k,
                          uint64_t size)
{
    fuzz_check(ds->count > 0);
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        struct feedline_sample_field f;
        fdl_dataset_get(ds, i, &source);
        const char *folder = fuzz_folder();
        size_t n = strlen(folder);
        bool here = strncmp(source.path, folder, n) == 0 &&
                    strcmp(source.path + n + 1, k->shard) == 0;
        fuzz_check(here || !k->inside || strncmp(source.path, folder, n) == 0);
        fuzz_check(source.length >= 0 && (!here || source.offset <= size));
        fuzz_check(!here || (uint64_t)source.length <= size - source.offset);
        for (uint32_t field = 0; field < ds->fields.n; field++) {
            fdl_dataset_get_field(ds, i, field, &f);
            fuzz_check(!here ||
                       (f.offset <= size && f.bytes <= size - f.offset));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char spec[256];
    feedline_dataset *ds = NULL;
    if (folder_fd < 0)
        begin();
    if (size > 0 && memmem(data, size, ":/", 2)) /* which would be asked for */
        return 0;
    const struct kind *k = &kinds[fuzz_byte(&in) % FDL_COUNT_OF(kinds)];
    const uint8_t *end = in.size ? memchr(in.data, '\0', in.size) : NULL;
    size_t n = end ? (size_t)(end - in.data) : in.size;
    size_t rest = end ? in.size - n - 1 : 0;
    write_file(k->shard, end ? end + 1 : in.data, rest);
    write_file(k->index, in.data, n);
    snprintf(spec, sizeof(spec), "%s%s%s", fuzz_folder(), k->opens, k->options);
    int32_t status = fdl_dataset_open_shards(k->format, spec, &ds);
    if (status < 0) {
        fuzz_check_error(status);
        fuzz_check(!ds);
        return 0;
    }
    check_samples(ds, k, rest);
    fdl_dataset_unref(ds);
    return 0;
}

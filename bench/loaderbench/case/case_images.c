/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files have no names: memfd_create makes them, /proc/self/fd names them
 * while the data set is opened, and they are gone with it.
 */
#include "bench/loaderbench/case/case_images.h"

#include "bench/loaderbench/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DIMENSIONS_MAX 4

/* An IDX file: its dimensions, and the bytes of one item of the first. */
struct idx {
    uint32_t dimensions[DIMENSIONS_MAX];
    size_t n_dimensions, item_bytes;
};

static void put_number(unsigned char *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> (24 - 8 * i));
}

static int write_idx(const char *name, const struct idx *file)
{
    unsigned char header[4 + 4 * DIMENSIONS_MAX] = {0, 0, 8, 0};
    size_t header_bytes = 4 + 4 * file->n_dimensions;
    header[3] = (unsigned char)file->n_dimensions;
    for (size_t i = 0; i < file->n_dimensions; i++)
        put_number(header + 4 + 4 * i, file->dimensions[i]);
    unsigned char *item = malloc(file->item_bytes);
    FILE *f = NULL;
    int fd = item ? memfd_create(name, MFD_CLOEXEC) : -1;
    int copy = fd >= 0 ? dup(fd) : -1;
    if (copy >= 0 && !(f = fdopen(copy, "wb")))
        close(copy);
    bool ok = f && fwrite(header, 1, header_bytes, f) == header_bytes;
    for (uint32_t i = 0; i < file->dimensions[0] && ok; i++) {
        for (size_t k = 0; k < file->item_bytes; k++)
            item[k] = (unsigned char)(k * 7 + i * 31);
        ok = fwrite(item, 1, file->item_bytes, f) == file->item_bytes;
    }
    ok = (!f || fclose(f) == 0) && ok;
    free(item);
    if (ok)
        return fd;
    tool_say("images in memory: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int case_images_open(uint32_t n, uint32_t side, uint32_t channels,
                     feedline_dataset **out)
{
    const struct idx pixels = {{n, side, side, channels},
                               channels > 1 ? 4 : 3,
                               (size_t)side * side * channels};
    const struct idx numbers = {{n}, 1, 1};
    int images = write_idx("images", &pixels);
    int labels = images >= 0 ? write_idx("labels", &numbers) : -1;
    int rc = TOOL_ENVIRONMENT;
    if (labels >= 0) {
        char uri[96];
        snprintf(uri, sizeof(uri), "idx:/proc/self/fd/%d,/proc/self/fd/%d",
                 images, labels);
        int32_t status = feedline_dataset_open(uri, out);
        rc = status < 0 ? tool_setup_failed(status) : TOOL_DONE;
    }
    if (images >= 0)
        close(images);
    if (labels >= 0)
        close(labels);
    return rc;
}

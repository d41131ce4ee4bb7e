/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a pair of IDX files.
 *
 *     1 byte     size of the labels' file
 *     that many  labels
 *     the rest   images
 *
 * Each sample of a pair that is accepted is an image of the size that the
 * header says, and lies in memory.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"

#include <stdio.h>
#include <unistd.h>

static volatile uint8_t touched; /* so that the compiler keeps the reads */

static void check_samples(const feedline_dataset *ds)
{
    fuzz_check(ds->count > 0);
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        fuzz_check(source.data && source.path);
        fuzz_check(source.raw_width > 0 && source.raw_height > 0);
        fuzz_check(source.raw_channels == 1 || source.raw_channels == 3);
        fuzz_check((uint64_t)source.length ==
                   (uint64_t)source.raw_width * (uint64_t)source.raw_height *
                       (uint64_t)source.raw_channels);
        for (int64_t k = 0; k < source.length; k++)
            touched = source.data[k];
        fuzz_check(fdl_dataset_label(ds, i) >= 0 &&
                   fdl_dataset_label(ds, i) <= UINT8_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char images[FUZZ_PATH_BYTES], labels[FUZZ_PATH_BYTES];
    char both[2 * FUZZ_PATH_BYTES];
    feedline_dataset *ds = NULL;
    size_t n = fuzz_byte(&in);
    n = FDL_MIN(n, in.size);
    int labels_fd = fuzz_file(in.data, n, labels);
    int images_fd = fuzz_file(in.data + n, in.size - n, images);
    snprintf(both, sizeof(both), "%s,%s", images, labels);
    int32_t status = fdl_dataset_open_idx(both, &ds);
    if (status == FEEDLINE_OK) {
        check_samples(ds);
        fdl_dataset_unref(ds);
    } else {
        fuzz_check_error(status);
        fuzz_check(!ds);
    }
    close(images_fd);
    close(labels_fd);
    return 0;
}

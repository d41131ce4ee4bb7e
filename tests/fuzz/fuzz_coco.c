/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: COCO's JSON. What is accepted has images in ascending order of
 * their ids, with names, and finite boxes; what is refused names the file.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void check_samples(const feedline_dataset *ds)
{
    fuzz_check(ds->count > 0);
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        fuzz_check(source.path && source.path[0] && !source.data);
        if (i > 0)
            fuzz_check(fdl_dataset_label(ds, i - 1) < fdl_dataset_label(ds, i));
    }
}

static void open_as(const char *spec, const char *path)
{
    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_open_coco(spec, &ds);
    if (status == FEEDLINE_OK) {
        check_samples(ds);
        fdl_dataset_unref(ds);
    } else {
        fuzz_check_error(status);
        fuzz_check(!ds && strstr(fdl_last_error(), path));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES], spec[FUZZ_PATH_BYTES + 32];
    int fd = fuzz_file(data, size, path);
    open_as(path, path);
    snprintf(spec, sizeof(spec), "%s?images=a&crowd=skip", path);
    open_as(spec, path);
    close(fd);
    return 0;
}

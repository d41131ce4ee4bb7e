/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a list of samples. The list has an absolute path, so every
 * sample of one that is accepted has too, of one line without blanks around it.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"

#include <string.h>
#include <unistd.h>

static void check_samples(const feedline_dataset *ds)
{
    fuzz_check(ds->count > 0);
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        (void)fdl_dataset_label(ds, i);
        fuzz_check(source.path && !source.data && source.raw_width == 0);
        fuzz_check(source.path[0] == '/' && !strchr(source.path, '\n'));
        char last = source.path[strlen(source.path) - 1];
        fuzz_check(last != ' ' && last != '\t');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES];
    feedline_dataset *ds = NULL;
    int fd = fuzz_file(data, size, path);
    int32_t status = fdl_dataset_open_list(path, &ds);
    if (status == FEEDLINE_OK) {
        check_samples(ds);
        fdl_dataset_unref(ds);
    } else {
        fuzz_check_error(status);
        fuzz_check(!ds && strstr(fdl_last_error(), path));
    }
    close(fd);
    return 0;
}

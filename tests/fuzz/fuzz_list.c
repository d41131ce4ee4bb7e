/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a list of samples. The list has an absolute path, so every
 * sample of one that is accepted has too, of one line without blanks around it,
 * and text that is a field is part of the list; numbers are no NaN.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIELDS  "?fields=text,json,int,float"
#define VECTORS "?fields=ints,floats"

static void check_fields(const feedline_dataset *ds, uint64_t i, uint64_t size)
{
    struct feedline_sample_field f;
    for (uint32_t k = 0; k < ds->fields.n; k++) {
        fdl_dataset_get_field(ds, i, k, &f);
        fuzz_check(f.offset <= size && f.bytes <= size - f.offset);
        for (uint32_t n = 0; n < f.width; n++)
            fuzz_check(!f.numbers || f.numbers[n] == f.numbers[n]);
    }
}

static void check_samples(const feedline_dataset *ds, uint64_t size)
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
        check_fields(ds, i, size);
    }
}

static void open_as(const char *spec, const char *path, uint64_t size)
{
    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_open_list(spec, &ds);
    if (status == FEEDLINE_OK) {
        check_samples(ds, size);
        fdl_dataset_unref(ds);
    } else {
        fuzz_check_error(status);
        fuzz_check(!ds && strstr(fdl_last_error(), path));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES], spec[FUZZ_PATH_BYTES + sizeof(FIELDS)];
    int fd = fuzz_file(data, size, path);
    open_as(path, path, size);
    snprintf(spec, sizeof(spec), "%s" FIELDS, path);
    open_as(spec, path, size);
    snprintf(spec, sizeof(spec), "%s" VECTORS, path);
    open_as(spec, path, size);
    close(fd);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a shard, of every format in turn, as strict as can be and then
 * up to the damage. No sample lies outside the file, and what is kept of a
 * damaged shard is at least what is found in a sound one.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"
#include "loader/index/index_format.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The fields of a sample lie in its file, and so does what is read to have all
 * of them and to compare checksums. */
static void check_fields(const feedline_dataset *ds, uint64_t i, uint64_t size,
                         struct fdl_source *source)
{
    struct feedline_sample_field f;
    uint64_t image = source->offset;
    for (uint32_t k = 0; k < ds->fields.n; k++) {
        fdl_dataset_get_field(ds, i, k, &f);
        fuzz_check(f.offset <= size && f.bytes <= size - f.offset);
    }
    fdl_dataset_locate(ds, i, FDL_CHECKSUMS_TRUE, source);
    fuzz_check(source->image_at >= source->sum_before ||
               source->sum.kind == FDL_SUM_NONE);
    fuzz_check(source->offset + source->image_at == image);
    fuzz_check(source->offset <= size &&
               (uint64_t)source->length <= size - source->offset);
}

static void check_samples(const feedline_dataset *ds, uint64_t size)
{
    fuzz_check(ds->count > 0);
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        (void)fdl_dataset_label(ds, i);
        fuzz_check(!source.data && source.length >= 0);
        fuzz_check(source.offset <= size &&
                   (uint64_t)source.length <= size - source.offset);
        fuzz_check(strstr(fdl_dataset_name(ds, i), source.path));
        check_fields(ds, i, size, &source);
    }
}

/* How many samples there are; 0: an error. */
static uint64_t open_as(const struct fdl_index_format *format, const char *spec,
                        uint64_t size)
{
    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_open_shards(format, spec, &ds);
    if (status < 0) {
        fuzz_check_error(status);
        fuzz_check(!ds);
        return 0;
    }
    uint64_t count = ds->count;
    check_samples(ds, size);
    fdl_dataset_unref(ds);
    return count;
}

/* Those of the seeds. */
static const char *fields_of(const char *format)
{
    static const char *const fields[][2] = {
        {"beton", "t,m,k,n"},
        {"litdata", "0,1"},
        {"mds", "label,filename"},
        {"recordio", "labels,id"},
        {"tar", "jpg,cls"},
        {"zip", "txt,json,id,jpg"},
        {"tfrecord", "image/class/label,image/filename"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(fields); i++)
        if (strcmp(fields[i][0], format) == 0)
            return fields[i][1];
    fuzz_check(false);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#define ROW(name) &fdl_index_##name,
    static const struct fdl_index_format *const formats[] = {
        FDL_INDEX_FORMATS(ROW)};
    char path[FUZZ_PATH_BYTES], patient[FUZZ_PATH_BYTES + 16];
    char fields[FUZZ_PATH_BYTES + 80];
    int fd = fuzz_file(data, size, path);
    snprintf(patient, sizeof(patient), "%s?damaged=skip", path);
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++) {
        uint64_t strict = open_as(formats[i], path, size);
        uint64_t kept = open_as(formats[i], patient, size);
        fuzz_check(strict == 0 || kept == strict);
        snprintf(fields, sizeof(fields), "%s&fields=%s", patient,
                 fields_of(formats[i]->name));
        uint64_t with = open_as(formats[i], fields, size);
        fuzz_check(with == 0 || with <= kept);
    }
    close(fd);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a shard, as strict as can be and then up to the damage. No
 * sample lies outside the file, and what is kept of a damaged shard is at least
 * what is found in a sound one.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"
#include "loader/index/index_format.h"
#include "shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* LitData's chunks are read with their index (fuzz_folder_index.c). */
static const struct {
    const struct fdl_index_format *format;
    const struct fuzz_shape *shape;
    const char *fields; /* those of the seeds */
} kinds[] = {
    {&fdl_index_beton, &fuzz_shape_beton, "t,m,k,n"},
    {&fdl_index_mds, &fuzz_shape_mds, "label,filename"},
    {&fdl_index_recordio, &fuzz_shape_recordio, "labels,id"},
    {&fdl_index_tar, &fuzz_shape_tar, "jpg,cls"},
    {&fdl_index_tfrecord, &fuzz_shape_tfrecord,
     "image/class/label,image/filename"},
    {&fdl_index_zip, &fuzz_shape_zip, "txt,json,id,jpg"},
};

/* The one that its first bytes tell, or any. */
static size_t kind_of(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < FDL_COUNT_OF(kinds); i++)
        if (kinds[i].format->matches(data, size))
            return i;
    return size % FDL_COUNT_OF(kinds);
}

static const struct fuzz_shape *find_shape(const uint8_t *data, size_t size)
{
    return kinds[kind_of(data, size)].shape;
}

const struct fuzz_input_shape fuzz_input_shape = {0, find_shape};

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES], spec[FUZZ_PATH_BYTES + 80];
    size_t kind = kind_of(data, size);
    const struct fdl_index_format *format = kinds[kind].format;
    int fd = fuzz_file(data, size, path);
    uint64_t strict = open_as(format, path, size);
    snprintf(spec, sizeof(spec), "%s?damaged=skip", path);
    uint64_t kept = open_as(format, spec, size);
    fuzz_check(strict == 0 || kept == strict);
    snprintf(spec, sizeof(spec), "%s?damaged=skip&fields=%s", path,
             kinds[kind].fields);
    /* More or fewer: what is a field is no label, and where its sample is left
     * out others may be found. */
    (void)open_as(format, spec, size);
    close(fd);
    return 0;
}

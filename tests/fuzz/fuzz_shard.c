/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a shard, of every format in turn, as strict as can be and then
 * up to the damage. No sample lies outside the file, and what is kept of a
 * damaged shard is at least what is found in a sound one.
 *
 * A tar's headers and the lengths of TFRecords have checksums, which hardly any
 * change gets past: these two are tried with them made right as well.
 */
#include "fuzz.h"
#include "loader/dataset/dataset.h"
#include "loader/index/index_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Checksums ----------------------------------------------------------- */

#define TAR_BLOCK 512u

static uint64_t tar_size(const uint8_t *block)
{
    uint64_t n = 0;
    for (int i = 124; i < 136 && block[i] >= '0' && block[i] <= '7'; i++)
        n = n << 3 | (block[i] - (uint32_t)'0');
    return n;
}

static void mend_tar(uint8_t *data, size_t size)
{
    static const uint8_t zero[TAR_BLOCK];
    for (size_t at = 0; size - at >= TAR_BLOCK; at += TAR_BLOCK) {
        uint8_t *block = data + at;
        char digits[8];
        unsigned sum = 0;
        if (memcmp(block, zero, TAR_BLOCK) == 0)
            continue;
        memset(block + 148, ' ', 8);
        for (size_t i = 0; i < TAR_BLOCK; i++)
            sum += block[i];
        snprintf(digits, sizeof(digits), "%06o", sum);
        memcpy(block + 148, digits, 7);
        uint64_t bytes = (tar_size(block) + TAR_BLOCK - 1) & ~UINT64_C(511);
        at += FDL_MIN(bytes, size - at - TAR_BLOCK);
    }
}

static void mend_tfrecord(uint8_t *data, size_t size)
{
    enum { LENGTH = 8, HEAD = 12, FOOT = 4 };
    for (size_t at = 0; size - at >= HEAD;) {
        uint32_t sum = fdl_sum_of(FDL_SUM_MASKED, data + at, LENGTH);
        uint64_t length = fdl_le64(data + at), left = size - at - HEAD;
        for (int i = 0; i < 4; i++)
            data[at + LENGTH + (size_t)i] = (uint8_t)(sum >> 8 * i);
        if (left < FOOT || length > left - FOOT)
            break;
        at += HEAD + length + FOOT;
    }
}

/* ---- Samples ------------------------------------------------------------- */

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

static void run(const struct fdl_index_format *format, const char *path,
                uint64_t size)
{
    char patient[FUZZ_PATH_BYTES + 16], fields[FUZZ_PATH_BYTES + 80];
    snprintf(patient, sizeof(patient), "%s?damaged=skip", path);
    uint64_t strict = open_as(format, path, size);
    uint64_t kept = open_as(format, patient, size);
    fuzz_check(strict == 0 || kept == strict);
    snprintf(fields, sizeof(fields), "%s&fields=%s", patient,
             fields_of(format->name));
    uint64_t with = open_as(format, fields, size);
    fuzz_check(with == 0 || with <= kept);
}

static void run_mended(const struct fdl_index_format *format,
                       void (*mend)(uint8_t *data, size_t size),
                       const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES];
    uint8_t *copy = malloc(size);
    fuzz_check(copy || size == 0);
    if (size > 0)
        memcpy(copy, data, size);
    mend(copy, size);
    int fd = fuzz_file(copy, size, path);
    if (size > 0 && memcmp(copy, data, size) != 0)
        run(format, path, size);
    close(fd);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#define ROW(name) &fdl_index_##name,
    static const struct fdl_index_format *const formats[] = {
        FDL_INDEX_FORMATS(ROW)};
    char path[FUZZ_PATH_BYTES];
    int fd = fuzz_file(data, size, path);
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        run(formats[i], path, size);
    close(fd);
    run_mended(&fdl_index_tar, mend_tar, data, size);
    run_mended(&fdl_index_tfrecord, mend_tfrecord, data, size);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes and the mutator: sound files come back, and what was done to a part
 * leaves a file in which all else is right: joined again it is the same.
 */
#include "loader/dataset/dataset.h"
#include "loader/index/index_format.h"
#include "test.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

#include <unistd.h>
#include <zlib.h>

#define FILE_MOST 65536
#define TRIALS    400

static const struct sound {
    const char *seed;
    size_t head;
    const struct fuzz_shape *shape;
    const struct fdl_index_format *format;
} sound[] = {
    {"image/png-rgb", 16, &fuzz_shape_png, NULL},
    {"image/png-palette-8", 16, &fuzz_shape_png, NULL},
    {"image/webp-alpha", 16, &fuzz_shape_webp, NULL},
    {"image/jpeg-baseline-420", 16, &fuzz_shape_jpeg, NULL},
    {"image/jpeg-progressive", 16, &fuzz_shape_jpeg, NULL},
    {"packed_file/baseline-420", 8, &fuzz_shape_packed, NULL},
    {"packed_file/cmyk", 8, &fuzz_shape_packed, NULL},
    {"shard/beton", 0, &fuzz_shape_beton, &fdl_index_beton},
    {"shard/mds", 0, &fuzz_shape_mds, &fdl_index_mds},
    {"shard/recordio", 0, &fuzz_shape_recordio, &fdl_index_recordio},
    {"shard/tar", 0, &fuzz_shape_tar, &fdl_index_tar},
    {"shard/tfrecord", 0, &fuzz_shape_tfrecord, &fdl_index_tfrecord},
    {"shard/zip", 0, &fuzz_shape_zip, &fdl_index_zip},
};

static const struct sound *now;

static const struct fuzz_shape *find_shape(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return now->shape;
}

/* The mutator asks with the head of the seeds, which this one skips. */
const struct fuzz_input_shape fuzz_input_shape = {0, find_shape};

/* As an engine would: one byte changed, more or less. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    static unsigned n;
    n = n * 1664525u + 1013904223u;
    if (n >> 30 == 0 && size < most) {
        data[size] = (uint8_t)n;
        return size + 1;
    }
    if (n >> 30 == 1 && size > 1)
        return size - 1;
    if (size > 0)
        data[(n >> 8) % size] ^= (uint8_t)(1 + n % 255);
    return size;
}

static size_t read_seed(const struct sound *s, uint8_t *to)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", FUZZ_SEEDS, s->seed);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)s->head, SEEK_SET), 0);
    size_t n = fread(to, 1, FILE_MOST, f);
    fclose(f);
    assert_true(n > 0 && n < FILE_MOST);
    return n;
}

/* 0: it has not this shape. */
static size_t again(const uint8_t *data, size_t size, uint8_t *to)
{
    struct fuzz_parts parts = {.n = 0};
    struct fuzz_out out = {.data = to, .room = FILE_MOST};
    if (!now->shape->split(data, size, &parts))
        return 0;
    now->shape->join(&parts, &out);
    assert_false(out.full);
    return out.n;
}

static uint64_t samples_of(const uint8_t *data, size_t size)
{
    char path[64];
    feedline_dataset *ds;
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fflush(f);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(f));
    assert_int_equal(fdl_dataset_open_shards(now->format, path, &ds), 0);
    uint64_t n = ds->count;
    fdl_dataset_unref(ds);
    fclose(f);
    return n;
}

TEST(sound_files_come_back)
{
    static uint8_t data[FILE_MOST], once[FILE_MOST], twice[FILE_MOST];
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
    for (size_t i = 0; i < sizeof(sound) / sizeof(*sound); i++) {
        now = &sound[i];
        size_t n = read_seed(now, data), m = again(data, n, once);
        print_message("%s: %zu bytes, %zu\n", now->seed, n, m);
        assert_true(m > 0);
        /* What a tar is filled up with, and a zip says of its maker, may go;
         * the TFRecord comes from a writer without sums. */
        if (now->shape != &fuzz_shape_tar && now->shape != &fuzz_shape_zip &&
            now->shape != &fuzz_shape_tfrecord) {
            assert_int_equal(m, n);
            assert_memory_equal(once, data, n);
        }
        assert_int_equal(again(once, m, twice), m);
        assert_memory_equal(once, twice, m);
        if (now->format)
            assert_int_equal(samples_of(once, m), samples_of(data, n));
    }
}

/* One in four is as the engine made it, and more where a part says what the
 * others are. */
TEST(all_around_a_changed_part_is_right)
{
    static uint8_t data[FILE_MOST], changed[FILE_MOST], made[FILE_MOST];
    for (size_t i = 0; i < sizeof(sound) / sizeof(*sound); i++) {
        int right = 0, crossed = 0;
        now = &sound[i];
        size_t n = read_seed(now, data);
        for (unsigned k = 0; k < TRIALS; k++) {
            memcpy(changed, data, n);
            size_t m = LLVMFuzzerCustomMutator(changed, n, FILE_MOST / 2, k);
            right += again(changed, m, made) == m && m > 0 &&
                     memcmp(made, changed, m) == 0;
            m = LLVMFuzzerCustomCrossOver(data, n, data, n, changed,
                                          FILE_MOST / 2, k);
            crossed += again(changed, m, made) == m && m > 0 &&
                       memcmp(made, changed, m) == 0;
        }
        print_message("%s: %d and %d of %d\n", now->seed, right, crossed,
                      TRIALS);
        assert_true(right > TRIALS / 3);
        assert_true(crossed > TRIALS / 3);
    }
}

/* The first IDAT, unpacked; 0: it is none. */
static size_t pixels_of(const uint8_t *data, size_t size, uint8_t *to)
{
    const uint8_t *name = memmem(data, size, "IDAT", 4);
    uLongf n = FILE_MOST;
    if (!name)
        return 0;
    uLong packed = (uLong)(size - (size_t)(name + 4 - data));
    uLong *const left = &packed;
    return uncompress2(to, &n, name + 4, left) == Z_OK ? n : 0;
}

TEST(pixels_are_changed_where_they_are_unpacked)
{
    static uint8_t data[FILE_MOST], changed[FILE_MOST];
    static uint8_t pixels[FILE_MOST], others[FILE_MOST];
    int different = 0;
    now = &sound[0];
    size_t n = read_seed(now, data), bytes = pixels_of(data, n, pixels);
    assert_true(bytes > 0);
    for (unsigned k = 0; k < TRIALS; k++) {
        memcpy(changed, data, n);
        size_t m = LLVMFuzzerCustomMutator(changed, n, FILE_MOST / 2, k);
        size_t made = pixels_of(changed, m, others);
        different +=
            made > 0 && (made != bytes || memcmp(pixels, others, made) != 0);
    }
    assert_true(different > TRIALS / 20);
}

TEST_MAIN("shapes")

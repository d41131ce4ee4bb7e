/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation fails, for every n: ENOMEM, nothing leaks, and the same
 * decoder works when there is memory again. */
#include "base/status.h"
#include "decode/decoder.h"
#include "make_jpeg.h"
#include "make_png.h"
#include "test.h"

static int fail_at; /* counts down; 0: never */

static bool fails(void)
{
    return fail_at > 0 && --fail_at == 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
int __real_posix_memalign(void **p, size_t align, size_t n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return fails() ? NULL : __real_aligned_alloc(align, n);
}

int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
    return fails() ? 12 : __real_posix_memalign(p, align, n);
}

enum { SIDE = 50 };
static uint8_t out[SIDE * SIDE * 3];

static int32_t decode(struct fdl_decoder *d, const uint8_t *file, size_t size)
{
    struct fdl_encoded bytes = {.data = file, .size = size, .readable = size};
    struct fdl_image_info info;
    int32_t status = fdl_decoder_open(d, &bytes, &info);
    if (status)
        return status;
    struct fdl_plan plan = {.std = {1, 1, 1, 1}};
    fdl_geometry_init(&plan.geometry, info.width, info.height);
    fdl_geometry_resize(&plan.geometry, SIDE, SIDE);
    struct fdl_output_format f = {SIDE, SIDE, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    return fdl_decoder_render(d, &plan, &f, out, &cost);
}

static void check_memory_error(int32_t status)
{
    assert_int_equal(status, FEEDLINE_ENOMEM);
    assert_non_null(strstr(fdl_last_error(), "memory"));
}

/* Every allocation of a decoder and its first image; `least` of them matter. */
static void check_survival(const uint8_t *file, size_t size, int least)
{
    struct fdl_decode_limits limits = {.max_pixels = 1u << 20, .max_scans = 10};
    int failures = 0;
    for (int n = 1;; n++) {
        struct fdl_decoder *d = (void *)1;
        fail_at = n;
        int32_t status = fdl_decoder_create(&limits, &d);
        if (status) {
            fail_at = 0;
            check_memory_error(status);
            assert_null(d);
            failures++;
            continue;
        }
        status = decode(d, file, size);
        bool reached = fail_at == 0;
        fail_at = 0;
        /* What only makes the next image cheaper may fail unseen. */
        if (reached && status) {
            check_memory_error(status);
            failures++;
        }
        assert_int_equal(decode(d, file, size), FEEDLINE_OK);
        fdl_decoder_destroy(d);
        if (!reached)
            break;
    }
    assert_true(failures >= least);
}

static void decoder_survives(void **state)
{
    (void)state;
    struct make_jpeg m = {
        .width = 120, .height = 90, .components = 3, .h = 2, .v = 2};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    check_survival(file, size, 6);
    free(file);
}

/* Interlaced, with a palette: what PNG can take memory for. */
static void png_survives(void **state)
{
    (void)state;
    struct make_png m = {
        .width = 60, .height = 50, .depth = 2, .colour = 3, .interlaced = true};
    size_t size;
    uint8_t *file = make_png(&m, &size);
    check_survival(file, size, 12);
    free(file);
    m.interlaced = false;
    file = make_png(&m, &size);
    check_survival(file, size, 12);
    free(file);
}

static void pipeline_survives(void **state)
{
    (void)state;
    int failures = 0;
    for (int n = 1;; n++) {
        struct fdl_pipeline *p = (void *)1, *copy = NULL;
        fail_at = n;
        int32_t status = fdl_pipeline_create("eval", &p);
        if (!status)
            status = fdl_pipeline_copy(p, &copy);
        bool reached = fail_at == 0;
        fail_at = 0;
        fdl_pipeline_destroy(copy);
        fdl_pipeline_destroy(p);
        if (!reached)
            break;
        check_memory_error(status);
        failures++;
    }
    assert_true(failures >= 4);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(decoder_survives),
    cmocka_unit_test(png_survives),
    cmocka_unit_test(pipeline_survives),
};

TEST_MAIN("decode_fault", cases)

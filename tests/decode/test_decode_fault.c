/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation fails, for every n: ENOMEM, nothing leaks, and the same
 * decoder works when there is memory again. */
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_pack.h"
#include "make_jpeg.h"
#include "make_png.h"
#include "tests/decode/rig.h"
#include "tests/wrap_memory.h"

#include <errno.h>
#include <jerror.h>
#include <jpeglib.h>
#include <stdio.h>
#include <zlib.h>

WRAP(void *, aligned_alloc, size_t align, size_t n)
{
    return memory_fails(n) ? NULL : __real_aligned_alloc(align, n);
}

WRAP(int, posix_memalign, void **p, size_t align, size_t n)
{
    return memory_fails(n) ? ENOMEM : __real_posix_memalign(p, align, n);
}

static void no_buffer(j_compress_ptr c)
{
    (void)c;
    fail_msg("libjpeg has no buffer to tell of");
}

/* The destination is made, and then there is no memory for its buffer. */
WRAP(void, jpeg_mem_dest, j_compress_ptr c, unsigned char **out,
     unsigned long *bytes)
{
    if (!memory_fails(1)) {
        __real_jpeg_mem_dest(c, out, bytes);
        return;
    }
    c->dest =
        c->mem->alloc_small((j_common_ptr)c, JPOOL_PERMANENT, sizeof(*c->dest));
    c->dest->term_destination = no_buffer;
    c->err->msg_code = JERR_OUT_OF_MEMORY;
    c->err->error_exit((j_common_ptr)c);
}

enum { SIDE = 50 };
static uint8_t out[SIDE * SIDE * 3];

static int32_t decode(struct fdl_decoder *d, const struct fdl_pipeline *p,
                      const uint8_t *file, size_t size)
{
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_image_info info;
    struct fdl_plan plan;
    int32_t status = fdl_decoder_open(d, &bytes, &info);
    if (status)
        return status;
    assert_int_equal(first_plan(p, 1, 2, 3, info.width, info.height, &plan), 0);
    struct fdl_output_format f = {SIDE, SIDE, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    return fdl_decoder_render(d, &plan, &f, out, &cost);
}

static void check_memory_error(int32_t status)
{
    assert_int_equal(status, FEEDLINE_ENOMEM);
    assert_non_null(strstr(fdl_last_error(), "memory"));
}

/* Of the size that is wanted, and then everything that takes memory. */
static struct fdl_pipeline *pipeline_of(bool steps)
{
    static const char *const ops[][2] = {
        {"resize", "width=50 height=50"},
        {"contrast", "factor=1.5"},
        {"random_rotation", "degrees=20"},
        {"pad", "padding=3"},
        {"center_crop", "width=50 height=50"},
        {"gaussian_blur", NULL},
        {"pil_gaussian_blur", NULL},
        {"random_affine", "interpolation=bicubic"},
        {NULL, NULL}};
    static const char *const size[][2] = {{"resize", "width=50 height=50"},
                                          {NULL, NULL}};
    return rig_pipeline(steps ? ops : size);
}

/* Every allocation of a decoder and its first image; `least` of them matter. */
static void check_survival(const uint8_t *file, size_t size, bool steps,
                           int least)
{
    struct fdl_decode_limits limits = {
        .max_pixels = 1u << 20, .max_scans = 10, .apply_exif = true};
    struct fdl_pipeline *p = pipeline_of(steps);
    int failures = 0;
    for (int n = 1;; n++) {
        struct fdl_decoder *d = (void *)1;
        memory_left = n;
        int32_t status = fdl_decoder_create(&limits, &d);
        if (status) {
            memory_left = 0;
            check_memory_error(status);
            assert_null(d);
            failures++;
            continue;
        }
        status = decode(d, p, file, size);
        bool reached = memory_left == 0;
        memory_left = 0;
        /* What only makes the next image cheaper may fail unseen. */
        if (reached && status) {
            check_memory_error(status);
            failures++;
        }
        assert_int_equal(decode(d, p, file, size), FEEDLINE_OK);
        fdl_decoder_destroy(d);
        if (!reached)
            break;
    }
    fdl_pipeline_destroy(p);
    if (failures < least)
        fail_msg("only %d allocations were reached", failures);
}

TEST(decoder_survives)
{
    struct make_jpeg m = {
        .width = 120, .height = 90, .components = 3, .h = 2, .v = 2};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    check_survival(file, size, false, 6);
    free(file);
    m.progressive = true;
    file = make_jpeg(&m, &size);
    check_survival(file, size, false, 7);
    free(file);
}

/* What packs or unpacks, with all of its allocations failed one by one before;
 * how many of these it told of: libjpeg asks for less where it could have had
 * more. */
struct survivor {
    uint8_t *bytes;
    uint64_t size;
    int failures;
};

static struct survivor survive(bool unpack, const uint8_t *from, uint64_t size)
{
    struct survivor to = {0};
    bool reached = true, same = true;
    for (int n = 1; reached; n++) {
        memory_left = n;
        int32_t status =
            unpack ? fdl_jpeg_unpack(from, size, 1u << 20, &to.bytes, &to.size,
                                     &same)
                   : fdl_jpeg_pack(from, size, 1u << 20, &to.bytes, &to.size);
        reached = memory_left == 0;
        memory_left = 0;
        if (status) {
            check_memory_error(status);
            to.failures++;
        } else if (reached) {
            free(to.bytes);
        }
    }
    assert_true(same);
    return to;
}

/* Packing, unpacking, and a packed sample. */
TEST(packing_survives)
{
    struct make_jpeg m = {
        .width = 120, .height = 90, .components = 3, .h = 2, .v = 2};
    for (int kind = 0; kind < 2; kind++) {
        size_t size;
        m.progressive = kind == 1;
        uint8_t *file = make_jpeg(&m, &size);
        struct survivor packed = survive(false, file, size);
        struct survivor back = survive(true, packed.bytes, packed.size);
        if (packed.failures + back.failures <= 20)
            fail_msg("only %d and %d allocations were reached", packed.failures,
                     back.failures);
        assert_int_equal(back.size, size);
        if (fdl_jpeg_entropy_memory() > 0) /* built with jpegint.h */
            check_survival(packed.bytes, packed.size, false, 6);
        free(packed.bytes);
        free(back.bytes);
        free(file);
    }
}

TEST(canvas_survives)
{
    struct make_jpeg m = {
        .width = 120, .height = 90, .components = 3, .h = 2, .v = 2};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    check_survival(file, size, true, 8);
    free(file);
}

/* Stored on its side, so rows become columns. */
TEST(orientation_survives)
{
    struct make_png m = {.width = 60,
                         .height = 50,
                         .depth = 8,
                         .colour = 2,
                         .exif = rig_on_its_side,
                         .exif_bytes = sizeof(rig_on_its_side)};
    size_t size;
    uint8_t *file = make_png(&m, &size);
    check_survival(file, size, false, 14);
    free(file);
}

/* The file with n bytes more at `at`, where it frees it. */
static uint8_t *inserted(uint8_t *file, size_t *size, size_t at,
                         const void *bytes, size_t n)
{
    file = realloc(file, *size + n);
    assert_non_null(file);
    memmove(file + at + n, file + at, *size - at);
    memcpy(file + at, bytes, n);
    *size += n;
    return file;
}

/* EXIF data in two segments of a JPEG, and in a packed text of a PNG. */
TEST(profiles_survive)
{
    static const uint8_t half[] = "\xff\xe1\0\12Exif\0\0II";
    struct make_jpeg j = {.width = 30, .height = 20, .components = 1};
    size_t size;
    uint8_t *file = make_jpeg(&j, &size);
    for (int i = 0; i < 2; i++)
        file = inserted(file, &size, 2, half, sizeof(half) - 1);
    check_survival(file, size, false, 6);
    free(file);

    enum { BEHIND_HEADER = 33, NAME = 23 };
    uint8_t chunk[100] = "\0\0\0\0zTXtRaw profile type exif\0";
    uLongf bytes = 50;
    assert_int_equal(
        compress(chunk + 8 + NAME, &bytes, (const Bytef *)"\n\n\n4949", 7),
        Z_OK);
    size_t n = NAME + bytes;
    chunk[3] = (uint8_t)n;
    uLong sum = crc32(0, chunk + 4, (uInt)(4 + n));
    for (size_t i = 0; i < 4; i++)
        chunk[8 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
    struct make_png p = {.width = 30, .height = 20, .depth = 8, .colour = 2};
    file = make_png(&p, &size);
    file = inserted(file, &size, BEHIND_HEADER, chunk, 12 + n);
    check_survival(file, size, false, 14);
    free(file);
}

/* What libwebp takes for itself does not fail here. */
TEST(webp_survives)
{
    if (!(feedline_features() & FEEDLINE_FEATURE_WEBP)) {
        test_skip("built without libwebp");
    }
    check_survival(rig_webp, sizeof(rig_webp), false, 6);
}

/* Interlaced, with a palette: what PNG can take memory for. */
TEST(png_survives)
{
    struct make_png m = {
        .width = 60, .height = 50, .depth = 2, .colour = 3, .interlaced = true};
    size_t size;
    uint8_t *file = make_png(&m, &size);
    check_survival(file, size, false, 12);
    free(file);
    m.interlaced = false;
    file = make_png(&m, &size);
    check_survival(file, size, false, 12);
    free(file);
}

TEST(pipeline_survives)
{
    int failures = 0;
    for (int n = 1;; n++) {
        struct fdl_pipeline *p = (void *)1, *copy = NULL;
        memory_left = n;
        int32_t status = fdl_pipeline_create("eval", &p);
        if (!status)
            status = fdl_pipeline_copy(p, &copy);
        bool reached = memory_left == 0;
        memory_left = 0;
        fdl_pipeline_destroy(copy);
        fdl_pipeline_destroy(p);
        if (!reached)
            break;
        check_memory_error(status);
        failures++;
    }
    assert_true(failures >= 4);
}

TEST_MAIN("decode_fault")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels without a GPU: transfer/cuda/cuda_kernels.cu compiled as C,
 * thread after thread, gives the bits of the CPU's last pass, and the PTX that
 * the library carries has the kernels that the host starts.
 */
#include "decode/kernels/finish.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/resample.h"
#include "dice.h"
#include "kernels_as_c.h"
#include "test.h"
#include "transfer/cuda/cuda_kernels.cu"

#define GUARD       0xa5u
#define GUARD_BYTES 64

/* What is finished in one launch. */
struct run {
    struct fdl_output_format format;
    uint32_t images;
    uint32_t src_offset, dst_offset; /* bytes behind an aligned address */
};

static struct dice dice;

static uint32_t draw(void)
{
    return (uint32_t)(dice_u64(&dice) >> 32);
}

static double draw_between(double low, double high)
{
    return dice_between(&dice, low, high);
}

static void *aligned(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_non_null(memory);
    return memory;
}

/* Blocks and their threads in any order would do; here it is theirs. */
static void launch(const struct fdl_finish_args *args)
{
    uint64_t pixels = FDL_KERNEL_BLOCK * FDL_FINISH_PIXELS;
    uint32_t blocks = (uint32_t)((args->pixels + pixels - 1) / pixels);
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (int round = 0; round < 2; round++) /* see kernels_as_c.h */
            for (threadIdx.x = 0; threadIdx.x < FDL_KERNEL_BLOCK; threadIdx.x++)
                fdl_kernel_finish(*args);
}

/* Finishes one image on the CPU, row by row, from planes. */
static void finish_image(const struct fdl_output_format *f,
                         const struct fdl_affine *affine, const uint8_t *src,
                         void *dst)
{
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    size_t padded =
        (width + FDL_PLANE_ALIGN) / FDL_PLANE_ALIGN * FDL_PLANE_ALIGN;
    uint8_t *row = aligned(FDL_CHANNELS_MAX * padded);
    const uint8_t *planes[FDL_CHANNELS_MAX];
    memset(row, 0, FDL_CHANNELS_MAX * padded);
    fdl_finish_fn finish =
        fdl_finish_choose(fdl_kernels[fdl_cpu_level()].finish, f);
    for (int32_t y = 0; y < f->height; y++) {
        const uint8_t *from = src + (size_t)y * width * channels;
        for (size_t c = 0; c < channels; c++) {
            planes[c] = row + c * padded;
            for (size_t x = 0; x < width; x++)
                row[c * padded + x] = from[x * channels + c];
        }
        finish(planes, affine, f, y, dst);
    }
    free(row);
}

static void check_guard(const uint8_t *bytes)
{
    for (size_t i = 0; i < GUARD_BYTES; i++)
        assert_int_equal(bytes[i], GUARD);
}

/* dst has GUARD_BYTES before and behind it. */
static void finish_device(const struct run *r, const struct fdl_affine *affine,
                          const uint8_t *src, uint8_t *dst)
{
    const struct fdl_output_format *f = &r->format;
    uint32_t table[4][256];
    fdl_affine_bits(affine, f->dtype, table);
    struct fdl_finish_args args = {
        .src = src,
        .dst = dst,
        .table = table[0],
        .plane = (uint32_t)(f->width * f->height),
        .channels = (uint32_t)f->channels,
        .bytes = (uint32_t)fdl_dtype_bytes(f->dtype),
        .nhwc = f->nhwc,
    };
    args.pixels = (uint64_t)args.plane * r->images;
    launch(&args);
}

static void check(const struct run *r, const struct fdl_affine *affine)
{
    const struct fdl_output_format *f = &r->format;
    size_t image = (size_t)(f->width * f->height * f->channels);
    size_t out = image * fdl_dtype_bytes(f->dtype);
    uint8_t *src_memory = aligned(image * r->images + r->src_offset);
    uint8_t *src = src_memory + r->src_offset;
    uint8_t *memory = aligned(out * r->images + 3 * GUARD_BYTES);
    uint8_t *dst = memory + GUARD_BYTES + r->dst_offset;
    uint8_t *want = aligned(out);
    for (size_t i = 0; i < image * r->images; i++)
        src[i] = (uint8_t)draw();
    memset(memory, GUARD, out * r->images + 3 * GUARD_BYTES);
    finish_device(r, affine, src, dst);
    for (uint32_t i = 0; i < r->images; i++) {
        finish_image(f, affine, src + i * image, want);
        if (memcmp(want, dst + i * out, out) != 0)
            fail_msg("image %u of %u: %dx%dx%d, dtype %d, nhwc %d, offsets %u "
                     "and %u",
                     i, r->images, f->width, f->height, f->channels, f->dtype,
                     f->nhwc, r->src_offset, r->dst_offset);
    }
    check_guard(dst - GUARD_BYTES);
    check_guard(dst + out * r->images);
    free(want);
    free(memory);
    free(src_memory);
}

static void draw_affine(struct fdl_affine *affine, double largest)
{
    struct fdl_norm norm = {.on = true};
    for (size_t c = 0; c < 4; c++) {
        norm.mean[c] = (float)draw_between(-largest, largest);
        norm.std[c] = (float)draw_between(largest / 1000, largest);
    }
    fdl_affine_init(affine, &norm,
                    (enum fdl_rounding)(draw() % (FDL_ROUNDING_MULTIPLY + 1)));
}

/* Every type, order and number of channels of one size. */
static void check_forms(struct run r, double largest)
{
    static const int32_t dtypes[] = {FEEDLINE_F32, FEEDLINE_F16, FEEDLINE_BF16};
    static struct fdl_affine affine;
    for (size_t i = 0; i < 3 * 2 * 4; i++) {
        r.format.dtype = dtypes[i % 3];
        r.format.nhwc = i / 3 % 2 != 0;
        r.format.channels = (int32_t)(i / 6 + 1);
        draw_affine(&affine, largest);
        check(&r, &affine);
    }
}

/* From one pixel to several blocks, whole and not, of planes that 4 divides and
 * that it does not. */
TEST(gives_the_bits_of_the_cpu)
{
    static const struct {
        int32_t width, height;
        uint32_t images;
    } sizes[] = {
        {1, 1, 1},   {3, 1, 1},    {7, 5, 3},    {2, 2, 700},  {32, 32, 1},
        {32, 32, 3}, {31, 33, 5},  {30, 30, 5},  {64, 48, 2},  {225, 3, 4},
        {31, 33, 1}, {1, 1, 1500}, {224, 18, 3}, {4096, 1, 1}, {1, 1027, 2},
    };
    dice.state = test_seed();
    for (size_t i = 0; i < FDL_COUNT_OF(sizes); i++) {
        struct run r = {.images = sizes[i].images};
        r.format.width = sizes[i].width;
        r.format.height = sizes[i].height;
        check_forms(r, 1.0);
    }
}

TEST(takes_addresses_that_are_not_aligned)
{
    dice.state = test_seed();
    for (uint32_t offset = 0; offset < 16; offset++) {
        struct run r = {.images = 3, .src_offset = offset};
        r.format.width = r.format.height = 32;
        check_forms(r, 1.0);
        r.src_offset = 0;
        r.dst_offset = offset / 4 * 4;
        check_forms(r, 1.0);
    }
}

/* f16 has subnormal and infinite results there. */
TEST(rounds_the_tiny_and_the_huge)
{
    static const double largest[] = {1e-6, 1e-3, 40, 1e4, 1e6};
    dice.state = test_seed();
    for (size_t i = 0; i < FDL_COUNT_OF(largest); i++) {
        struct run r = {.format = {.width = 40, .height = 40}, .images = 2};
        check_forms(r, largest[i]);
    }
    static struct fdl_affine affine;
    struct fdl_norm norm = {
        .on = true, .mean = {0, 0, 0, 0}, .std = {1e3f, 3e4f, 1e5f, 1e6f}};
    /* 255 / 255 / 1e6: below f16's range */
    fdl_affine_init(&affine, &norm, FDL_ROUNDING_ONCE);
    for (int nhwc = 0; nhwc < 2; nhwc++) {
        struct run r = {
            .format = {64, 32, 4, FEEDLINE_F16, nhwc != 0}, 2, 0, 0};
        check(&r, &affine);
    }
}

/* ---- Mixed -------------------------------------------------------------- */

enum { MIXED = 5 };

static struct fdl_image_mix draw_mix(const struct fdl_output_format *f)
{
    uint32_t width = (uint32_t)f->width, height = (uint32_t)f->height;
    struct fdl_image_mix m = {
        .kind = draw() % 3,
        .other = draw() % MIXED,
        .own_share = (float)draw_between(0, 1),
        .left = draw() % (width + 1),
        .top = draw() % (height + 1),
        .blank = draw() % 8 < 4 ? draw() % 4 : 0,
    };
    if (m.kind == FDL_FINISH_SUM && f->dtype != FEEDLINE_F32)
        m.kind = FDL_FINISH_BOX;
    m.other_share = 1 - m.own_share;
    m.right = m.left + draw() % (width + 1 - m.left);
    m.bottom = m.top + draw() % (height + 1 - m.top);
    return m;
}

/* Element i of an image, by what the CPU finished. */
static void mix_element(const struct fdl_output_format *f,
                        const struct fdl_image_mix *m, size_t i,
                        const uint8_t *own, const uint8_t *its, uint8_t *out)
{
    size_t size = fdl_dtype_bytes(f->dtype);
    size_t width = (size_t)f->width, height = (size_t)f->height;
    size_t pixel = f->nhwc ? i / (size_t)f->channels : i % (width * height);
    size_t x = pixel % width, y = pixel / width;
    bool cut = m->kind == FDL_FINISH_BOX && x >= m->left && x < m->right &&
               y >= m->top && y < m->bottom;
    if (m->kind == FDL_FINISH_SUM) {
        float a, b;
        memcpy(&a, own + i * size, size);
        memcpy(&b, its + i * size, size);
        volatile float left = a * m->own_share, right = b * m->other_share;
        a = left + right;
        memcpy(out, &a, size);
        return;
    }
    memcpy(out, (cut ? its : own) + i * size, size);
}

static void check_mixed(const struct fdl_output_format *f)
{
    static struct fdl_affine affine;
    struct fdl_image_mix mixes[MIXED];
    size_t image = (size_t)(f->width * f->height * f->channels);
    size_t size = fdl_dtype_bytes(f->dtype), out = image * size;
    uint8_t *src = aligned(image * MIXED), *dst = aligned(out * MIXED);
    uint8_t *own = aligned(out), *its = aligned(out);
    uint32_t bits[4][256];
    draw_affine(&affine, 1);
    fdl_affine_bits(&affine, f->dtype, bits);
    for (size_t i = 0; i < image * MIXED; i++)
        src[i] = (uint8_t)draw();
    for (size_t i = 0; i < MIXED; i++)
        mixes[i] = draw_mix(f);
    struct fdl_finish_args args = {
        .src = src,
        .dst = dst,
        .table = bits[0],
        .pixels = (uint64_t)(f->width * f->height) * MIXED,
        .plane = (uint32_t)(f->width * f->height),
        .channels = (uint32_t)f->channels,
        .bytes = (uint32_t)size,
        .nhwc = f->nhwc,
        .width = (uint32_t)f->width,
        .mixes = mixes,
    };
    launch(&args);
    for (size_t k = 0; k < MIXED; k++) {
        const struct fdl_image_mix *m = &mixes[k];
        uint8_t want[4];
        finish_image(f, &affine, src + k * image, own);
        finish_image(f, &affine, src + m->other * image, its);
        if (m->blank & FDL_FINISH_BLANK_OWN)
            memset(own, 0, out);
        if (m->blank & FDL_FINISH_BLANK_OTHER)
            memset(its, 0, out);
        for (size_t i = 0; i < image; i++) {
            mix_element(f, m, i, own, its, want);
            assert_memory_equal(dst + k * out + i * size, want, size);
        }
    }
    free(own);
    free(its);
    free(src);
    free(dst);
}

TEST(mixes_what_it_finished)
{
    static const int32_t dtypes[] = {FEEDLINE_F32, FEEDLINE_F16, FEEDLINE_BF16};
    dice.state = test_seed();
    for (int32_t i = 0; i < 3 * 2 * 4; i++) {
        struct fdl_output_format f = {
            .width = 29,
            .height = 44,
            .channels = i / 6 + 1,
            .dtype = dtypes[i % 3],
            .nhwc = i / 3 % 2 != 0,
        };
        check_mixed(&f);
    }
}

TEST(without_a_table_all_is_zero)
{
    static _Alignas(16) uint8_t src[3 * 2048], dst[sizeof(src) * 2 + 1];
    memset(src, 7, sizeof(src));
    memset(dst, GUARD, sizeof(dst));
    struct fdl_finish_args args = {.src = src,
                                   .dst = dst,
                                   .pixels = 2048,
                                   .plane = 2048,
                                   .channels = 3,
                                   .bytes = 2};
    launch(&args);
    for (size_t i = 0; i < 2 * sizeof(src); i++)
        assert_int_equal(dst[i], 0);
    assert_int_equal(dst[2 * sizeof(src)], GUARD);
}

TEST(spins_until_its_time_is_over)
{
    as_c_now = 1000;
    fdl_kernel_spin(0);
    assert_int_equal(as_c_now, 1000 + 2 * 32);
    as_c_now = 1000;
    fdl_kernel_spin(100000);
    assert_in_range(as_c_now - 1000, 100000, 100000 + 2 * 32);
}

/* The host's struct is the one parameter of the kernel that it starts. */
TEST(is_carried_as_text)
{
    char parameter[64];
    const char *version = strstr(fdl_kernels_ptx, ".version ");
    assert_non_null(version);
    assert_in_range(atoi(version + strlen(".version ")), 6, 7); /* CUDA 11 */
    assert_non_null(strstr(fdl_kernels_ptx, "\n.target sm_50\n"));
    assert_non_null(strstr(fdl_kernels_ptx, ".entry fdl_kernel_spin("));
    assert_non_null(strstr(fdl_kernels_ptx, ".maxntid 256, 1, 1\n"));
    assert_int_equal(FDL_KERNEL_BLOCK, 256);
    snprintf(parameter, sizeof(parameter),
             ".b8 fdl_kernel_finish_param_0[%zu]\n)",
             sizeof(struct fdl_finish_args));
    assert_non_null(strstr(fdl_kernels_ptx, parameter));
    assert_int_equal(fdl_kernels_ptx[strlen(fdl_kernels_ptx) - 1], '\n');
}

TEST_MAIN("transfer_kernels")

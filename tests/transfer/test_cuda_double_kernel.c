/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and kernels of the CUDA driver's double: what is refused, what the
 * grid covers, and every rounding. */
#include "cuda_desk.h"

#include <math.h>

/* ---- Kernels -------------------------------------------------------- */

TEST(knows_its_kernels)
{
    void *module, *function, *same = &module;
    ok(cuInit(0));
    assert_int_equal(cuModuleLoadData(&module, ptx), DOUBLE_ERROR_CONTEXT);
    double_use_device(0);
    fdl_cuda_stream s = new_stream();
    assert_int_equal(cuModuleLoadData(&module, "\177ELF"), DOUBLE_ERROR_IMAGE);
    assert_int_equal(cuModuleLoadData(&module, "// .version .target"),
                     DOUBLE_ERROR_IMAGE);
    ok(cuModuleLoadData(&module, ptx));
    function = same;
    assert_int_equal(cuModuleGetFunction(&function, module, "fdl_kernel"),
                     DOUBLE_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetFunction(&function, module, "somebody_elses"),
                     DOUBLE_ERROR_NOT_FOUND);
    assert_ptr_equal(function, same);
    ok(cuModuleGetFunction(&function, module, "fdl_kernel_spin"));

    uint64_t ns = 3000000;
    void *parameters[] = {&ns};
    assert_int_equal(
        cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, s, parameters, NULL),
        DOUBLE_ERROR_INVALID);
    assert_int_equal(
        cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, s, parameters, NULL),
        DOUBLE_ERROR_INVALID);
    assert_int_equal(
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL),
        DOUBLE_ERROR_INVALID);
    fdl_cuda_event begin = new_event(), end = new_event();
    float ms;
    ok(cuEventRecord(begin, s));
    ok(launch(function, 1, s, &ns));
    ok(cuEventRecord(end, s));
    ok(cuEventSynchronize(end));
    ok(cuEventElapsedTime(&ms, begin, end));
    assert_true(ms >= 3.0f);
    struct double_counters seen;
    double_get_counters(&seen);
    assert_int_equal(seen.kernels, 1);
    ok(cuEventDestroy(begin));
    ok(cuEventDestroy(end));
    ok(cuStreamDestroy(s));
    assert_int_equal(double_check_leaks(), 0);
    no_faults();
}

TEST(refuses_kernels_for_newer_gpus)
{
    void *module;
    double_use_device(0);
    fdl_cuda_stream s = new_stream();
    assert_true(double_set("capability=49"));
    assert_int_equal(cuModuleLoadData(&module, ptx), DOUBLE_ERROR_NO_IMAGE);
    assert_true(double_set("capability=50"));
    ok(cuModuleLoadData(&module, ptx));
    ok(cuStreamDestroy(s));
    no_faults();
}

/* Two images of 3 x 2 pixels become planes, or stay pixels. */
TEST(finishes_what_the_grid_covers)
{
    struct desk d;
    open_desk(&d);
    void *finish = load("fdl_kernel_finish");
    struct fdl_finish_args args = {
        .src = d.device,
        .dst = d.device + BYTES,
        .pixels = 2048,
        .plane = 1024,
        .channels = 3,
        .dtype = 3,
        .scale = {0.017f, 0.0175f, 0.0174f},
        .bias = {-2.1f, -2.0f, -1.8f},
    };
    float out[6144];
    for (uint32_t i = 0; i < 6144; i++)
        d.host[i] = (unsigned char)(i * 7);
    for (uint32_t nhwc = 0; nhwc < 2; nhwc++) {
        args.nhwc = nhwc;
        copy_to(&d, d.a);
        ok(launch(finish, 2, d.a, &args));
        ok(cuStreamSynchronize(d.a));
        assert_true(double_peek(args.dst, out, sizeof(out)));
        for (uint32_t p = 0; p < 2048; p++)
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t at =
                    nhwc ? p * 3 + c : (p / 1024 * 3 + c) * 1024 + p % 1024;
                float want =
                    fmaf(d.host[p * 3 + c], args.scale[c], args.bias[c]);
                assert_memory_equal(&out[at], &want, sizeof(want));
            }
    }
    /* One block too few leaves the second half as it was. */
    memset(d.host + BYTES, 0, BYTES);
    ok(cuMemcpyHtoDAsync(args.dst, d.host + BYTES, BYTES, d.a));
    ok(launch(finish, 1, d.a, &args));
    ok(cuStreamSynchronize(d.a));
    assert_true(double_peek(args.dst, out, sizeof(out)));
    assert_true(out[1024 * 3 - 1] != 0.0f && out[1024 * 3] == 0.0f);
    no_faults();

    args.pixels = BYTES; /* three times as many bytes as there are */
    args.plane = BYTES;
    ok(launch(finish, 256, d.a, &args));
    one_fault("are not all device memory");
    assert_int_equal(cuStreamSynchronize(d.a), 700);
    free(d.host);
    double_reset();
}

static float float_of(uint16_t bits, int32_t dtype)
{
    if (dtype == 2) {
        int exponent = bits >> 10, mantissa = bits & 1023;
        return exponent ? ldexpf((float)(1024 + mantissa), exponent - 25)
                        : ldexpf((float)mantissa, -24);
    }
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof(x));
    return x;
}

/* All that lies between a number of the type and the next one, in 256 steps:
 * up to the middle it is the one, behind it the other, and in the middle the
 * even one. For every f16, and every 37th bf16. */
static void check_rounding(int32_t dtype, uint32_t end, uint32_t step)
{
    struct desk d;
    open_desk(&d);
    void *finish = load("fdl_kernel_finish");
    struct fdl_finish_args args = {.src = d.device,
                                   .dst = d.device + 4096,
                                   .pixels = 256,
                                   .plane = 256,
                                   .channels = 4,
                                   .dtype = dtype};
    for (uint32_t i = 0; i < 1024; i++)
        d.host[i] = (unsigned char)(i / 4);
    ok(cuMemcpy(d.device, d.host, 1024));
    for (uint32_t h = 0; h < end; h += 4 * step) {
        uint16_t out[4][256];
        for (uint32_t c = 0; c < 4; c++) {
            uint16_t bits = (uint16_t)(h + c * step);
            float one = float_of(bits, dtype);
            float next = float_of((uint16_t)(bits + 1), dtype);
            float sign = c & 1 ? -1.0f : 1.0f;
            args.bias[c] = sign * one;
            args.scale[c] = sign * (next - one) / 256;
        }
        ok(launch(finish, 1, d.a, &args));
        ok(cuStreamSynchronize(d.a));
        assert_true(double_peek(args.dst, out, sizeof(out)));
        for (uint32_t c = 0; c < 4; c++)
            for (uint32_t k = 0; k < 256; k++) {
                uint32_t bits = h + c * step;
                bits += k > 128 || (k == 128 && (bits & 1));
                bits |= c & 1 ? 0x8000u : 0;
                if (out[c][k] != bits)
                    fail_msg("%#x + %u/256: %#x, not %#x", h + c * step, k,
                             out[c][k], bits);
            }
    }
    close_desk(&d);
    no_faults();
}

TEST(rounds_every_f16_to_nearest_even)
{
    check_rounding(2, 0x7c00 - 4, 1);
}

TEST(rounds_bf16_to_nearest_even)
{
    check_rounding(5, 0x7f80 - 4 * 37, 37);
}

TEST(rounds_what_is_no_number)
{
    struct desk d;
    open_desk(&d);
    void *finish = load("fdl_kernel_finish");
    struct fdl_finish_args args = {
        .src = d.device,
        .dst = d.device + 4096,
        .pixels = 1,
        .plane = 1,
        .channels = 4,
        .bias = {INFINITY, NAN, 65519.996f, -65520.0f},
    };
    static const struct {
        int32_t dtype;
        uint16_t want[4];
    } rows[] = {
        {2, {0x7c00, 0x7fff, 0x7bff, 0xfc00}},
        {5, {0x7f80, 0x7fff, 0x4780, 0xc780}},
    };
    ok(cuMemcpy(d.device, d.host, 4));
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        uint16_t out[4];
        args.dtype = rows[i].dtype;
        ok(launch(finish, 1, d.a, &args));
        ok(cuStreamSynchronize(d.a));
        assert_true(double_peek(args.dst, out, sizeof(out)));
        assert_memory_equal(out, rows[i].want, sizeof(out));
    }
    close_desk(&d);
}

TEST_MAIN("cuda_double_kernel")

/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and kernels of the CUDA driver's double: what is refused, what the
 * grid covers. */
#include "cuda_desk.h"

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

/* That the rest is right, the backend's own test shows. */
TEST(finishes_what_the_grid_covers)
{
    static uint32_t table[3][256], out[6144];
    void *there;
    open_desk();
    void *finish = load("fdl_kernel_finish");
    memset(table, 0x5a, sizeof(table));
    ok(cuMemAlloc(&there, sizeof(table)));
    ok(cuMemcpyHtoDAsync(there, table, sizeof(table), d.a));
    struct fdl_finish_args args = {
        .src = d.device,
        .dst = d.device + BYTES,
        .table = there,
        .pixels = 2048,
        .plane = 1024,
        .channels = 3,
        .bytes = 4,
    };
    copy_to(d.a);
    memset(d.host + BYTES, 0, BYTES);
    ok(cuMemcpyHtoDAsync(args.dst, d.host + BYTES, BYTES, d.a));
    ok(launch(finish, 1, d.a, &args)); /* one block too few */
    ok(cuStreamSynchronize(d.a));
    assert_true(double_peek(args.dst, out, sizeof(out)));
    assert_true(out[1024 * 3 - 1] != 0 && out[1024 * 3] == 0);
    no_faults();

    args.pixels = BYTES; /* three times as many bytes as there are */
    args.plane = BYTES;
    ok(launch(finish, 256, d.a, &args));
    one_fault("are not all device memory");
    assert_int_equal(cuStreamSynchronize(d.a), 700);
    free(d.host);
    double_reset();
}

TEST_MAIN("cuda_double_kernel")

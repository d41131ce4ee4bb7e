/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the CUDA driver's double share: two streams with memory to
 * copy between.
 */
#ifndef FDL_TESTS_CUDA_DESK_H
#define FDL_TESTS_CUDA_DESK_H

#include "base/compiler.h"
#include "cuda_double.h"
#include "test.h"
#include "transfer/cuda/cuda_kernels.h"

#define BYTES 65536u

static const char ptx[] = "//\n// A comment\n.version 7.0\n.target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry fdl_kernel_finish(\n)\n{\n}\n"
                          ".visible .entry fdl_kernel_spin (\n)\n{\n}\n"
                          ".visible .entry somebody_elses(\n)\n{\n}\n";

static inline void ok(int error)
{
    const char *name;
    assert_int_equal(cuGetErrorName(error, &name), 0);
    assert_string_equal(name, "CUDA_SUCCESS");
}

static inline void no_faults(void)
{
    char text[4096];
    if (double_faults(text, sizeof(text)) > 0)
        fail_msg("%s", text);
}

static inline void one_fault(const char *words)
{
    char text[4096];
    assert_int_equal(double_faults(text, sizeof(text)), 1);
    if (!strstr(text, words))
        fail_msg("'%s' is not in '%s'", words, text);
}

static inline fdl_cuda_stream new_stream(void)
{
    fdl_cuda_stream s;
    ok(cuStreamCreateWithPriority(&s, FDL_CUDA_STREAM_NON_BLOCKING, 0));
    return s;
}

static inline fdl_cuda_event new_event(void)
{
    fdl_cuda_event e;
    ok(cuEventCreate(&e, FDL_CUDA_EVENT_BLOCKING_SYNC));
    return e;
}

/* ---- A desk: two streams, pinned and device memory ------------------ */

static struct desk {
    fdl_cuda_stream a, b;
    unsigned char *host;   /* pinned, 2 * BYTES */
    unsigned char *device; /* 2 * BYTES */
} d;

static inline void open_desk(void)
{
    memset(&d, 0, sizeof(d));
    double_use_device(0);
    d.a = new_stream();
    d.b = new_stream();
    d.host = aligned_alloc(4096, 2 * BYTES);
    memset(d.host, 1, 2 * BYTES);
    ok(cuMemHostRegister(d.host, 2 * BYTES, 0));
    ok(cuMemAlloc((void **)&d.device, 2 * BYTES));
}

static inline void close_desk(void)
{
    ok(cuMemFree(d.device));
    ok(cuMemHostUnregister(d.host));
    free(d.host);
    ok(cuStreamDestroy(d.a));
    ok(cuStreamDestroy(d.b));
    assert_int_equal(double_check_leaks(), 0);
}

static inline void copy_to(fdl_cuda_stream s)
{
    ok(cuMemcpyHtoDAsync(d.device, d.host, BYTES, s));
}

static inline int device_byte(const void *device)
{
    unsigned char x;
    assert_true(double_peek(device, &x, 1));
    return x;
}

/* ---- Kernels --------------------------------------------------------- */

static inline void *load(const char *name)
{
    void *module, *function;
    ok(cuModuleLoadData(&module, ptx));
    ok(cuModuleGetFunction(&function, module, name));
    return function;
}

static inline int launch(void *function, uint64_t blocks, fdl_cuda_stream s,
                         void *argument)
{
    void *parameters[] = {argument};
    return cuLaunchKernel(function, (unsigned)blocks, 1, 1, FDL_KERNEL_BLOCK, 1,
                          1, 0, s, parameters, NULL);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the CUDA runtime's double share: two streams with memory to
 * copy between, and the driver's functions.
 */
#ifndef FDL_TESTS_CUDA_DESK_H
#define FDL_TESTS_CUDA_DESK_H

#include "base/compiler.h"
#include "cuda_double.h"
#include "test.h"
#include "transfer/cuda/cuda_kernels.h"

#define BYTES 65536u
#define H2D   FDL_CUDA_HOST_TO_DEVICE
#define D2H   DOUBLE_DEVICE_TO_HOST

static const char ptx[] = "//\n// A comment\n.version 7.0\n.target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry fdl_kernel_finish(\n)\n{\n}\n"
                          ".visible .entry fdl_kernel_spin (\n)\n{\n}\n"
                          ".visible .entry somebody_elses(\n)\n{\n}\n";

static inline void ok(int error)
{
    assert_string_equal(cudaGetErrorName(error), "cudaSuccess");
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
    ok(cudaStreamCreateWithPriority(&s, FDL_CUDA_STREAM_NON_BLOCKING, 0));
    return s;
}

static inline fdl_cuda_event new_event(void)
{
    fdl_cuda_event e;
    ok(cudaEventCreateWithFlags(&e, FDL_CUDA_EVENT_BLOCKING_SYNC));
    return e;
}

/* ---- A desk: two streams, pinned and device memory ------------------ */

struct desk {
    fdl_cuda_stream a, b;
    unsigned char *host;   /* pinned, 2 * BYTES */
    unsigned char *device; /* 2 * BYTES */
};

static inline void open_desk(struct desk *d)
{
    memset(d, 0, sizeof(*d));
    d->a = new_stream();
    d->b = new_stream();
    d->host = aligned_alloc(4096, 2 * BYTES);
    memset(d->host, 1, 2 * BYTES);
    ok(cudaHostRegister(d->host, 2 * BYTES, 0));
    ok(cudaMalloc((void **)&d->device, 2 * BYTES));
}

static inline void close_desk(struct desk *d)
{
    ok(cudaFree(d->device));
    ok(cudaHostUnregister(d->host));
    free(d->host);
    ok(cudaStreamDestroy(d->a));
    ok(cudaStreamDestroy(d->b));
    assert_int_equal(double_check_leaks(), 0);
}

static inline void copy_to(struct desk *d, fdl_cuda_stream s)
{
    ok(cudaMemcpyAsync(d->device, d->host, BYTES, H2D, s));
}

static inline int device_byte(const void *device)
{
    unsigned char x;
    assert_true(double_peek(device, &x, 1));
    return x;
}

/* ---- The driver's functions, as feedline finds them ----------------- */

static struct {
#define MEMBER(name, version, parameters) int(*name) parameters;
    FDL_CUDA_DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
} cu;

static inline void find_entry(const char *name, unsigned version, void *out)
{
    void *entry = NULL;
    int found = 7;
    ok(cudaGetDriverEntryPointByVersion(name, &entry, version, 0, &found));
    assert_int_equal(found, 0);
    assert_non_null(entry);
    memcpy(out, &entry, sizeof(entry));
}

static inline void find_driver(void)
{
#define FIND(name, version, parameters)                                        \
  find_entry("cu" #name, version, &cu.name);
    FDL_CUDA_DRIVER_FUNCTIONS(FIND)
#undef FIND
}

static inline void *load(const char *name)
{
    void *module, *function;
    find_driver();
    ok(cu.ModuleLoadData(&module, ptx));
    ok(cu.ModuleGetFunction(&function, module, name));
    return function;
}

static inline int launch(void *function, uint64_t blocks, fdl_cuda_stream s,
                         void *argument)
{
    void *parameters[] = {argument};
    return cu.LaunchKernel(function, (unsigned)blocks, 1, 1, FDL_KERNEL_BLOCK,
                           1, 1, 0, s, parameters, NULL);
}

#endif

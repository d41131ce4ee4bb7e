/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver without a GPU, for tests: libcuda_double.so has the functions
 * of transfer/cuda/cuda_api.h with the meaning that NVIDIA's manual gives them,
 * real threads where a GPU has streams, and a strict eye on who touches what
 * when. What is declared here is how a test steers it and what it has seen.
 *
 *   FEEDLINE_LIBCUDA=libcuda_double.so --> fdl_cuda_load --> dlopen --.
 *                                                                      same
 *   test links cuda_double --> double_set(), double_faults() ------> instance
 *
 * The linker's file and dlopen's are one file, so they are one instance; CMake
 * sets both up (tests/transfer/CMakeLists.txt). A program that knows nothing of
 * the double is steered by CUDA_DOUBLE in its environment, which has the text
 * that double_set takes, for example
 *
 *   CUDA_DOUBLE=latency_us=10,gbps=12.5,delay_us=50,seed=7,strict=1
 *
 *   devices=2           how many; 0 to 8. no_device=1 is devices=0
 *   latency_us=0        of each copy, asleep on the stream's thread
 *   gbps=0              1e9 bytes a second of a copy engine; 0: no limit
 *   delay_us=0 seed=1   a random sleep below that before every second operation
 *   memory=1t           device memory of each device; suffix k, m, g, t
 *   taken=0             of it, by another program; may change at any time
 *   pinned=1t           host memory that may be pinned
 *   register=1          0: only memory of the driver's own, MemHostAlloc
 *   pools=1             0: no device has memory pools
 *   queue=1024          operations that a stream holds; the call that finds it
 *                       full waits for room
 *   driver_version=12040  of CUDA, as cuDriverGetVersion tells it
 *   init=0              the error that cuInit fails with; 34: the stub's
 *   fail=NAME:N:E       call N from now on of function NAME fails with error E;
 *                       with + after E all later ones too. NAME is the C name
 *                       (without _v2), or "copy" or "kernel": then the call
 *                       succeeds and its execution breaks the context, for good
 *   capability=90       compute capability of each device: a module whose PTX
 *                       has a .target above it is refused (209)
 *   hash=1              0: sources of copies are not watched (faster)
 *   decode=1            0: kernels that decode do nothing (faster)
 *   decode_us=0         of each launch of one, asleep on its stream's thread
 *   strict=0            1: faults and leaks are printed when the program ends
 *                       and make its status 86
 *
 * What differs from hardware, on purpose:
 *   - Memory of a device is an address without access: the host that touches
 *     it gets SIGSEGV. Below 1 MiB it is aligned to 512 bytes, as on a GPU, and
 *     not to a page; it begins as bytes 0xa5.
 *   - The NULL stream (also 1, CU_STREAM_LEGACY) and the default streams of
 *     threads (2, CU_STREAM_PER_THREAD) wait for each other; no other stream
 *     waits for the NULL stream, so a missing wait is always seen.
 *   - Pinned memory that a child of fork() gets is seen by the device as it was
 *     then, until it is unpinned (cuda_double_fork.c).
 *   - A pool holds what was freed until it is trimmed, and uses none of it
 *     again.
 *   - Copies of a device and direction use one engine, one after the other.
 *   - Handles are numbers that are never used twice, so a dead one is noticed.
 *   - What is given back in a broken context, or by a call that fails by order,
 *     is given back all the same: the program could do no more.
 *
 * What is reported as a fault:
 *   - host memory that changed between the call of an asynchronous copy and its
 *     execution (not seen: a copy from the device into that memory on the same
 *     stream in between, which is right, and which no loader does)
 *   - two operations that touch the same device memory, at least one of them
 *     writing, which did not run in the order in which they were queued: a
 *     batch overwritten before its consumer has finished (double_read,
 *     kernels), or read before its copy is done
 *   - memory out of bounds, unknown pointers and handles, things given back
 *     twice, pinned memory unpinned while a copy from it is under way
 *   - a copy or a kernel on a stream of another device than the current one
 *   - a stream that is pulled into a graph: it waits for an event that was
 *     recorded on a stream that is captured (cuda_double_capture.c)
 *   - with double_check_leaks(), whatever was never given back, but for
 *     retained contexts and modules
 */
#ifndef FDL_TESTS_CUDA_DOUBLE_H
#define FDL_TESTS_CUDA_DOUBLE_H

#include "transfer/cuda/cuda_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOUBLE_API __attribute__((visibility("default")))

#define DOUBLE_ERROR_INVALID         1
#define DOUBLE_ERROR_NOT_INITIALIZED 3
#define DOUBLE_ERROR_DEVICE          101 /* no such device */
#define DOUBLE_ERROR_IMAGE           200 /* not PTX */
#define DOUBLE_ERROR_CONTEXT         201 /* none is current on this thread */
#define DOUBLE_ERROR_NO_IMAGE        209 /* PTX for a newer GPU */
#define DOUBLE_ERROR_HANDLE          400
#define DOUBLE_ERROR_NOT_FOUND       500
#define DOUBLE_ERROR_ILLEGAL         700 /* the usual broken context */
#define DOUBLE_ERROR_PINNED          712
#define DOUBLE_ERROR_NOT_PINNED      713
#define DOUBLE_ERROR_NOT_SUPPORTED   801
#define DOUBLE_ERROR_CAPTURE         900 /* a stream is captured */
#define DOUBLE_ERROR_CAPTURE_BROKEN  901
#define DOUBLE_ERROR_ISOLATION       905 /* waits for what was not captured */
#define DOUBLE_ERROR_CAPTURED_EVENT  907

/* CUstreamCaptureMode */
enum { DOUBLE_GLOBAL, DOUBLE_THREAD_LOCAL, DOUBLE_RELAXED };

/* ---- The driver, for tests that call it directly -------------------- */

/* The names that cuda.h, too, gives to the present binary interface. */
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuCtxPushCurrent          cuCtxPushCurrent_v2
#define cuCtxPopCurrent           cuCtxPopCurrent_v2
#define cuMemAlloc                cuMemAlloc_v2
#define cuMemFree                 cuMemFree_v2
#define cuMemGetInfo              cuMemGetInfo_v2
#define cuMemHostRegister         cuMemHostRegister_v2
#define cuMemcpyHtoDAsync         cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoDAsync         cuMemcpyDtoDAsync_v2
#define cuMemcpyDtoHAsync         cuMemcpyDtoHAsync_v2
#define cuStreamDestroy           cuStreamDestroy_v2
#define cuEventDestroy            cuEventDestroy_v2
#define cuStreamBeginCapture      cuStreamBeginCapture_v2

#define DOUBLE_DECLARE(name, version, parameters)                              \
  DOUBLE_API int cu##name##version parameters;
FDL_CUDA_FUNCTIONS(DOUBLE_DECLARE)
FDL_CUDA_POOL_FUNCTIONS(DOUBLE_DECLARE)
#undef DOUBLE_DECLARE

DOUBLE_API int cuCtxSetCurrent(void *context);
DOUBLE_API int cuCtxGetDevice(int *device);
DOUBLE_API int cuMemcpyDtoHAsync(void *to, const void *from, size_t bytes,
                                 fdl_cuda_stream stream);
DOUBLE_API int cuStreamQuery(fdl_cuda_stream stream);
DOUBLE_API int cuStreamBeginCapture(fdl_cuda_stream stream, int mode);
DOUBLE_API int cuStreamEndCapture(fdl_cuda_stream stream, void **graph);
DOUBLE_API int cuGraphDestroy(void *graph);

/* The primary context of a device is current on this thread, in place of what
 * was: as cudaSetDevice of the runtime does it. */
DOUBLE_API void double_use_device(int device);

/* ---- Steering (any thread) ------------------------------------------ */

/* As a fresh process: waits for what is under way, takes back everything that
 * is still held, forgets faults and counters, reads CUDA_DOUBLE again. Only
 * cuInit, retained contexts and loaded modules stay: a library may keep those
 * for as long as the process lives. */
DOUBLE_API void double_reset(void);

/* Settings by name, see above. false: a name or value that is not one; those
 * before it hold. */
DOUBLE_API bool double_set(const char *text);

/* fail=NAME:N:E as a call. false: no such function, or more than 32 rules. */
DOUBLE_API bool double_fail(const char *name, uint64_t n, int error,
                            bool lasting);

/* One call in `one_in` of any function fails with the error: which ones depends
 * on the seed and on how many calls came before. 0: none. */
DOUBLE_API void double_fail_by_chance(uint32_t one_in, uint64_t seed,
                                      int error);

/* How many calls failed by order since the reset. */
DOUBLE_API uint64_t double_failed(void);

/* No failure that was ordered and has not come yet will come. */
DOUBLE_API void double_fail_no_more(void);

/* How long a kernel takes, in ns: asked once per launch, on its stream's
 * thread. amount: pixels for fdl_kernel_finish, ns for fdl_kernel_spin, images
 * for those that decode. NULL: only spin takes time. */
typedef int64_t (*double_cost)(const char *kernel, uint64_t amount, void *user);
DOUBLE_API void double_set_kernel_cost(double_cost cost, void *user);

/* The payload of one job that a kernel decodes next is damaged before it does:
 * the first job of the batch that has one. */
DOUBLE_API void double_damage_payload(void);

/* Device time without waiting for it. Nothing sleeps any more: an operation
 * begins when it was queued, by this clock, and the one before it on its stream
 * and the events that it waits for are done, and takes as long as it would have
 * slept; copies do not wait for each other's engine. Events tell those times.
 * With fdl_clock_replace a test decides what both clocks show, and its numbers
 * do not depend on the machine. NULL: real time again. Before the first
 * operation. */
DOUBLE_API void double_set_clock(int64_t (*now_ns)(void));

/* Calls of a function do not return from now on, as while the driver is busy
 * elsewhere; others do. false: no such function. Then: until one has been
 * called; and they all go on. */
DOUBLE_API bool double_hold(const char *name);
DOUBLE_API void double_await_held(void);
DOUBLE_API void double_let_go(void);

/* Until a call waits for room on a stream. */
DOUBLE_API void double_await_full(void);

/* A consumer: reads device memory for so many ns, in stream order. Returns as a
 * launch does. */
DOUBLE_API int double_read(fdl_cuda_stream stream, const void *device,
                           uint64_t bytes, int64_t ns);

/* A paused stream begins no further operation. Waits for the one that runs. */
DOUBLE_API void double_pause(fdl_cuda_stream stream);
DOUBLE_API void double_resume(fdl_cuda_stream stream);

/* Until nothing is under way on any stream. */
DOUBLE_API void double_drain(void);

/* As if a thread of the program captured a stream, in mode global, during n
 * calls of the process (double_counters), `from` calls from now on. What that
 * forbids fails with 900 and is counted as a broken capture. */
DOUBLE_API void double_capture_elsewhere(uint64_t from, uint64_t n);

/* ---- What was seen (any thread) ------------------------------------- */

struct double_counters {
    uint64_t copies, bytes;    /* asked for, from host to device */
    uint64_t pageable_copies;  /* of them, from memory that is not pinned */
    uint64_t read_copies;      /* from device to host */
    uint64_t kernels;          /* launched; double_read is none */
    uint64_t synchronisations; /* cuStreamSynchronize */
    uint64_t hidden_synchronisations; /* MemFree, MemFreeHost */
    uint64_t contexts;                /* devices that have one */
    uint64_t calls;                   /* of the driver, by anybody */
    uint64_t broken_captures;
    uint64_t live_allocations, live_registrations;
    uint64_t device_bytes, pinned_bytes;           /* now, */
    uint64_t most_device_bytes, most_pinned_bytes; /* and at most */
};
DOUBLE_API void double_get_counters(struct double_counters *out);

/* Calls of a function since the reset, failed ones too. UINT64_MAX: no such
 * function. */
DOUBLE_API uint64_t double_calls(const char *name);

/* How many faults; the first 16 as lines in text, cut to capacity. */
DOUBLE_API uint64_t double_faults(char *text, size_t capacity);

/* Each thing that was never given back becomes a fault; returns how many. */
DOUBLE_API uint64_t double_check_leaks(void);

/* Contexts on the calling thread's stack. */
DOUBLE_API uint32_t double_depth(void);

/* Device memory as it is at this moment, past all streams and counters. false:
 * out of bounds. */
DOUBLE_API bool double_peek(const void *device, void *out, uint64_t bytes);

#endif

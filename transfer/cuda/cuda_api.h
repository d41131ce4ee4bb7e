/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA runtime that feedline calls, found while the program
 * runs (docs/design.md says why), so that one library serves machines with and
 * without a GPU and builds where there is no CUDA toolkit.
 *
 * These declarations are ours. The functions have had this binary interface
 * since CUDA 11; tests/transfer checks them against the toolkit's header where
 * there is one.
 */
#ifndef FDL_TRANSFER_CUDA_API_H
#define FDL_TRANSFER_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct fdl_cuda_stream *fdl_cuda_stream; /* cudaStream_t, CUstream */
typedef struct fdl_cuda_event *fdl_cuda_event;   /* cudaEvent_t */

/* Values of cudaError_t that are told apart. */
#define FDL_CUDA_SUCCESS          0
#define FDL_CUDA_ERROR_MEMORY     2
#define FDL_CUDA_ERROR_STUB       34
#define FDL_CUDA_ERROR_OLD_DRIVER 35
#define FDL_CUDA_ERROR_NO_DEVICE  100
#define FDL_CUDA_ERROR_NO_KERNEL  209 /* no image for this device */
#define FDL_CUDA_ERROR_NOT_READY  600

#define FDL_CUDA_HOST_TO_DEVICE      1
#define FDL_CUDA_DEVICE_TO_DEVICE    3
#define FDL_CUDA_STREAM_NON_BLOCKING 1u
#define FDL_CUDA_EVENT_BLOCKING_SYNC 1u
#define FDL_CUDA_EVENT_NO_TIMING     2u
#define FDL_CUDA_ATTR_COPY_ENGINES   40 /* cudaDevAttrAsyncEngineCount */

/* clang-format off */
/* X(name without "cuda", parameters): each returns a cudaError_t. */
#define FDL_CUDA_FUNCTIONS(X)                                                 \
    X(RuntimeGetVersion,  (int *version))                                     \
    X(DriverGetVersion,   (int *version))                                     \
    X(GetDeviceCount,     (int *count))                                       \
    X(DeviceGetAttribute, (int *value, int attribute, int device))            \
    X(DeviceGetPCIBusId,  (char *id, int length, int device))                 \
    X(DeviceGetStreamPriorityRange, (int *least, int *greatest))              \
    X(GetLastError,       (void))                                             \
    X(Malloc,             (void **memory, size_t bytes))                      \
    X(Free,               (void *memory))                                     \
    X(HostRegister,       (void *memory, size_t bytes, unsigned flags))       \
    X(HostUnregister,     (void *memory))                                     \
    X(MemcpyAsync,        (void *to, const void *from, size_t bytes,          \
                           int kind, fdl_cuda_stream stream))                 \
    X(StreamCreateWithPriority, (fdl_cuda_stream *stream, unsigned flags,     \
                                 int priority))                               \
    X(StreamDestroy,      (fdl_cuda_stream stream))                           \
    X(StreamSynchronize,  (fdl_cuda_stream stream))                           \
    X(StreamWaitEvent,    (fdl_cuda_stream stream, fdl_cuda_event event,      \
                           unsigned flags))                                   \
    X(EventCreateWithFlags, (fdl_cuda_event *event, unsigned flags))          \
    X(EventDestroy,       (fdl_cuda_event event))                             \
    X(EventRecord,        (fdl_cuda_event event, fdl_cuda_stream stream))     \
    X(EventQuery,         (fdl_cuda_event event))                             \
    X(EventSynchronize,   (fdl_cuda_event event))                             \
    X(EventElapsedTime,   (float *ms, fdl_cuda_event from, fdl_cuda_event to))

/* Of the driver, through the runtime: X(name without "cu", the version of CUDA
 * that has it in this form, parameters); each returns a CUresult. */
#define FDL_CUDA_DRIVER_FUNCTIONS(X)                                          \
    X(DeviceGet,         2000, (int *device, int ordinal))                    \
    X(DeviceGetName,     2000, (char *name, int length, int device))          \
    X(DevicePrimaryCtxRetain,  7000, (void **context, int device))            \
    X(DevicePrimaryCtxRelease, 11000, (int device))                           \
    X(CtxPushCurrent,    4000, (void *context))                               \
    X(CtxPopCurrent,     4000, (void **context))                              \
    X(ModuleLoadData,    2000, (void **module, const void *image))            \
    X(ModuleGetFunction, 2000, (void **function, void *module,                \
                                const char *name))                            \
    X(LaunchKernel,      4000, (void *function, unsigned grid_x,              \
                                unsigned grid_y, unsigned grid_z,             \
                                unsigned block_x, unsigned block_y,           \
                                unsigned block_z, unsigned shared_bytes,      \
                                fdl_cuda_stream stream, void **parameters,    \
                                void **extra))
/* clang-format on */

struct fdl_cuda_api {
#define FDL_CUDA_MEMBER(name, parameters) int(*name) parameters;
    FDL_CUDA_FUNCTIONS(FDL_CUDA_MEMBER)
#undef FDL_CUDA_MEMBER
    const char *(*GetErrorName)(int error);
    const char *(*GetErrorString)(int error);
#define FDL_CUDA_MEMBER(name, version, parameters) int(*name) parameters;
    FDL_CUDA_DRIVER_FUNCTIONS(FDL_CUDA_MEMBER)
#undef FDL_CUDA_MEMBER
    int runtime_version, driver_version; /* 12040 is CUDA 12.4 */
    int n_devices;
};

/* The runtime in use, loaded on the first call; any thread. ENOSYS: what is
 * missing, and what to do. It is FEEDLINE_CUDART, if the environment has that
 * variable, else the one that is in the process already, else the newest on the
 * system that the driver is new enough for. No context is made. */
int32_t fdl_cuda_load(const struct fdl_cuda_api **out);

/* Fails with EDEVICE, or ENOMEM, and the runtime's words for `error`: "what:
 * cudaErrorX (text)". */
int32_t fdl_cuda_fail(const struct fdl_cuda_api *cuda, int error,
                      const char *what);

#endif

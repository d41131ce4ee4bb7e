/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver API that feedline calls, looked up at run time
 * (docs/design.md says why), so that one library serves machines with and
 * without a GPU and builds where there is no CUDA toolkit. The CUDA runtime,
 * which torch and others use, is a layer above it: streams and events are the
 * same handles in both.
 *
 * These declarations are ours. The functions have had this binary interface
 * since CUDA 11.0; tests/transfer checks them against the toolkit's header
 * where there is one. Device memory is a number of 64 bits there (CUdeviceptr)
 * and a pointer here, which is passed alike.
 */
#ifndef FDL_TRANSFER_CUDA_API_H
#define FDL_TRANSFER_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fdl_cuda_stream *fdl_cuda_stream; /* CUstream, cudaStream_t */
typedef struct fdl_cuda_event *fdl_cuda_event;   /* CUevent, cudaEvent_t */

/* The CUresults that the code tells apart; cuda_error.c has words for more. */
#define FDL_CUDA_SUCCESS             0
#define FDL_CUDA_ERROR_MEMORY        2
#define FDL_CUDA_ERROR_NO_DEVICE     100
#define FDL_CUDA_ERROR_NOT_READY     600
#define FDL_CUDA_ERROR_NOT_SUPPORTED 801

/* 900 to 908: a capture is in the way, and the call will work after it. But
 * not with an event of a graph (907). */
#define FDL_CUDA_ERROR_CAPTURE_FIRST  900
#define FDL_CUDA_ERROR_CAPTURED_EVENT 907
#define FDL_CUDA_ERROR_CAPTURE_LAST   908
/* Handles of default streams; NULL is the legacy one as well. The other one is
 * that of the calling thread, and the legacy one waits for those of all. */
#define FDL_CUDA_LEGACY     ((void *)1)
#define FDL_CUDA_PER_THREAD ((void *)2)

#define FDL_CUDA_STREAM_NON_BLOCKING 1u
#define FDL_CUDA_EVENT_BLOCKING_SYNC 1u
#define FDL_CUDA_EVENT_NO_TIMING     2u
#define FDL_CUDA_CAPTURE_RELAXED     2   /* CU_STREAM_CAPTURE_MODE_... */
#define FDL_CUDA_ATTR_COPY_ENGINES   40  /* ..._ASYNC_ENGINE_COUNT */
#define FDL_CUDA_ATTR_HOST_REGISTER  99  /* ..._HOST_REGISTER_SUPPORTED */
#define FDL_CUDA_ATTR_POOLS          115 /* ..._MEMORY_POOLS_SUPPORTED */

/* CUmemPoolProps: memory of a device that can be used as any other. */
#define FDL_CUDA_POOL_PINNED    1
#define FDL_CUDA_POOL_ON_DEVICE 1
#define FDL_CUDA_POOL_THRESHOLD 4 /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
struct fdl_cuda_pool_props {
    int type, handle_types, location_type, location;
    void *zero[9];
};

/* The first CUDA version whose driver (450) has all of these functions. */
#define FDL_CUDA_VERSION_NEEDED 11000

/* clang-format off */
/* X(name without "cu", version of the binary interface, parameters): each
 * returns a CUresult. The comments name the first version of CUDA that has it;
 * 4.0 stands for all before. */
#define FDL_CUDA_FUNCTIONS(X)                                                 \
    X(Init,,               (unsigned flags))                                  \
    X(DriverGetVersion,,   (int *version))                                    \
    X(GetErrorName,,       (int error, const char **name)) /* 6.0 */          \
    X(GetErrorString,,     (int error, const char **text)) /* 6.0 */          \
    X(DeviceGetCount,,     (int *count))                                      \
    X(DeviceGet,,          (int *device, int ordinal))                        \
    X(DeviceGetName,,      (char *name, int length, int device))              \
    X(DeviceGetAttribute,, (int *value, int attribute, int device))           \
    X(DeviceGetPCIBusId,,  (char *id, int length, int device)) /* 4.1 */      \
    X(DevicePrimaryCtxRetain,, (void **context, int device)) /* 7.0 */        \
    X(DevicePrimaryCtxRelease, _v2, (int device)) /* 11.0 */                  \
    X(CtxPushCurrent, _v2, (void *context))                                   \
    X(CtxPopCurrent, _v2,  (void **context))                                  \
    X(CtxGetStreamPriorityRange,, (int *least, int *greatest)) /* 5.5 */      \
    X(MemAlloc, _v2,       (void **memory, size_t bytes))                     \
    X(MemFree, _v2,        (void *memory))                                    \
    X(MemGetInfo, _v2,     (size_t *left, size_t *total))                     \
    X(MemHostRegister, _v2, (void *memory, size_t bytes,                      \
                             unsigned flags)) /* 6.5 */                       \
    X(MemHostUnregister,,  (void *memory))                                    \
    X(MemHostAlloc,,       (void **memory, size_t bytes, unsigned flags))     \
    X(MemFreeHost,,        (void *memory))                                    \
    X(MemcpyHtoDAsync, _v2, (void *to, const void *from, size_t bytes,        \
                             fdl_cuda_stream stream))                         \
    X(MemcpyDtoDAsync, _v2, (void *to, const void *from, size_t bytes,        \
                             fdl_cuda_stream stream))                         \
    X(MemcpyDtoHAsync, _v2, (void *to, const void *from, size_t bytes,        \
                             fdl_cuda_stream stream))                         \
    X(StreamCreateWithPriority,, (fdl_cuda_stream *stream, unsigned flags,    \
                                  int priority)) /* 5.5 */                    \
    X(StreamDestroy, _v2,  (fdl_cuda_stream stream))                          \
    X(StreamSynchronize,,  (fdl_cuda_stream stream))                          \
    X(StreamIsCapturing,,  (fdl_cuda_stream stream, int *status)) /* 10.0 */  \
    X(ThreadExchangeStreamCaptureMode,, (int *mode)) /* 10.1 */               \
    X(StreamWaitEvent,,    (fdl_cuda_stream stream, fdl_cuda_event event,     \
                            unsigned flags))                                  \
    X(EventCreate,,        (fdl_cuda_event *event, unsigned flags))           \
    X(EventDestroy, _v2,   (fdl_cuda_event event))                            \
    X(EventRecord,,        (fdl_cuda_event event, fdl_cuda_stream stream))    \
    X(EventQuery,,         (fdl_cuda_event event))                            \
    X(EventSynchronize,,   (fdl_cuda_event event))                            \
    X(EventElapsedTime,,   (float *ms, fdl_cuda_event from,                   \
                            fdl_cuda_event to))                               \
    X(ModuleLoadData,,     (void **module, const void *image))                \
    X(ModuleGetFunction,,  (void **function, void *module, const char *name)) \
    X(LaunchKernel,,       (void *function, unsigned grid_x, unsigned grid_y, \
                            unsigned grid_z, unsigned block_x,                \
                            unsigned block_y, unsigned block_z,               \
                            unsigned shared_bytes, fdl_cuda_stream stream,    \
                            void **parameters, void **extra))

/* Those that a driver may lack: all of 11.2. */
#define FDL_CUDA_POOL_FUNCTIONS(X)                                            \
    X(MemPoolCreate,,      (void **pool,                                      \
                            const struct fdl_cuda_pool_props *props))         \
    X(MemPoolDestroy,,     (void *pool))                                      \
    X(MemPoolSetAttribute,, (void *pool, int attribute, void *value))         \
    X(MemPoolTrimTo,,      (void *pool, size_t keep))                         \
    X(MemAllocFromPoolAsync,, (void **memory, size_t bytes, void *pool,       \
                               fdl_cuda_stream stream))                       \
    X(MemFreeAsync,,       (void *memory, fdl_cuda_stream stream))
/* clang-format on */

struct fdl_cuda_api {
#define FDL_CUDA_MEMBER(name, version, parameters) int(*name) parameters;
    FDL_CUDA_FUNCTIONS(FDL_CUDA_MEMBER)
    FDL_CUDA_POOL_FUNCTIONS(FDL_CUDA_MEMBER)
#undef FDL_CUDA_MEMBER
    bool has_pools;     /* those functions */
    int driver_version; /* of CUDA: 12040 is 12.4 */
    int n_devices;
};

/* The driver, loaded and initialised by the first call; any thread. ENOSYS:
 * what is missing, and what to do. It is the file that FEEDLINE_LIBCUDA names
 * if the environment has that variable, else libcuda.so.1. No context is
 * made. */
int32_t fdl_cuda_load(const struct fdl_cuda_api **out);

/* The call may be made again a little later; the device is as it was. */
bool fdl_cuda_not_now(int error);

/* Whether work that is queued on the stream now goes into a graph, or cannot be
 * queued because of one. A context is current. */
bool fdl_cuda_captures(const struct fdl_cuda_api *cuda, fdl_cuda_stream stream);

/* The driver where this library has started it; NULL: it has not. */
const struct fdl_cuda_api *fdl_cuda_started(void);

/* Is there a driver that could be started? ENOSYS as load. Starts nothing: a
 * process that started CUDA cannot use it in children that it forks. */
int32_t fdl_cuda_find(void);

/* Between two tries of what a capture forbids. */
void fdl_cuda_pause(void);

/* Wait on the host for an event, or for all work of a stream of ours: tried
 * again while a capture forbids it. A CUresult. */
int fdl_cuda_wait_event(const struct fdl_cuda_api *cuda, fdl_cuda_event event);
int fdl_cuda_wait_stream(const struct fdl_cuda_api *cuda,
                         fdl_cuda_stream stream);

/* The driver's own words for an error, and what to do about it where that is
 * known: "CUDA_ERROR_X (text); advice". */
void fdl_cuda_words(const struct fdl_cuda_api *cuda, int error, char *out,
                    size_t capacity);

/* Fails with EDEVICE, or ENOMEM: "what: CUDA_ERROR_X (text); advice". */
int32_t fdl_cuda_fail(const struct fdl_cuda_api *cuda, int error,
                      const char *what);

#endif

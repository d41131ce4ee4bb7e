/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer/cuda/cuda_api.h declares functions of CUDA by itself. Where the
 * toolkit's header is found, CMake compiles this file with it in front, and the
 * compiler compares the two: ours on the left, CUDA's on the right. What may
 * differ is a handle, or device memory, which are pointers in ours, and an int
 * by another name.
 */
#include "transfer/cuda/cuda_api.h"

#define SAME(ours, theirs) _Static_assert((ours) == (int)(theirs), #ours)
SAME(FDL_CUDA_SUCCESS, CUDA_SUCCESS);
SAME(FDL_CUDA_ERROR_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(FDL_CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(FDL_CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(FDL_CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(FDL_CUDA_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC);
SAME(FDL_CUDA_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(FDL_CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(FDL_CUDA_ATTR_COPY_ENGINES, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(FDL_CUDA_ATTR_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(FDL_CUDA_POOL_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(FDL_CUDA_POOL_ON_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(FDL_CUDA_POOL_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(offsetof(struct fdl_cuda_pool_props, location),
     offsetof(CUmemPoolProps, location.id));

#define SAME_SIZE(ours, theirs)                                                \
  _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SAME_SIZE(void *, CUcontext);
SAME_SIZE(void *, CUmodule);
SAME_SIZE(void *, CUfunction);
SAME_SIZE(void *, CUdeviceptr);
SAME_SIZE(fdl_cuda_stream, CUstream);
SAME_SIZE(fdl_cuda_event, CUevent);
SAME_SIZE(int, CUdevice);
SAME_SIZE(int, CUresult);
SAME_SIZE(int, CUdevice_attribute);
SAME_SIZE(void *, CUmemoryPool);
SAME_SIZE(struct fdl_cuda_pool_props, CUmemPoolProps);

#define IS(type, declared)                                                     \
  _Static_assert(__builtin_types_compatible_p(type, declared), #type)
#define PAIR(name, ours, theirs)                                               \
  IS(__typeof__(((struct fdl_cuda_api *)0)->name), int(*) ours);               \
  IS(__typeof__(&cu##name), CUresult(*) theirs)

PAIR(Init, (unsigned), (unsigned));
PAIR(DriverGetVersion, (int *), (int *));
PAIR(GetErrorName, (int, const char **), (CUresult, const char **));
PAIR(GetErrorString, (int, const char **), (CUresult, const char **));
PAIR(DeviceGetCount, (int *), (int *));
PAIR(DeviceGet, (int *, int), (CUdevice *, int));
PAIR(DeviceGetName, (char *, int, int), (char *, int, CUdevice));
PAIR(DeviceGetAttribute, (int *, int, int),
     (int *, CUdevice_attribute, CUdevice));
PAIR(DeviceGetPCIBusId, (char *, int, int), (char *, int, CUdevice));
PAIR(DevicePrimaryCtxRetain, (void **, int), (CUcontext *, CUdevice));
PAIR(DevicePrimaryCtxRelease, (int), (CUdevice));
PAIR(CtxPushCurrent, (void *), (CUcontext));
PAIR(CtxPopCurrent, (void **), (CUcontext *));
PAIR(CtxGetStreamPriorityRange, (int *, int *), (int *, int *));
PAIR(MemAlloc, (void **, size_t), (CUdeviceptr *, size_t));
PAIR(MemFree, (void *), (CUdeviceptr));
PAIR(MemGetInfo, (size_t *, size_t *), (size_t *, size_t *));
PAIR(MemHostRegister, (void *, size_t, unsigned), (void *, size_t, unsigned));
PAIR(MemHostUnregister, (void *), (void *));
PAIR(MemHostAlloc, (void **, size_t, unsigned), (void **, size_t, unsigned));
PAIR(MemFreeHost, (void *), (void *));
PAIR(MemcpyHtoDAsync, (void *, const void *, size_t, fdl_cuda_stream),
     (CUdeviceptr, const void *, size_t, CUstream));
PAIR(MemcpyDtoDAsync, (void *, const void *, size_t, fdl_cuda_stream),
     (CUdeviceptr, CUdeviceptr, size_t, CUstream));
PAIR(MemcpyDtoHAsync, (void *, const void *, size_t, fdl_cuda_stream),
     (void *, CUdeviceptr, size_t, CUstream));
PAIR(StreamCreateWithPriority, (fdl_cuda_stream *, unsigned, int),
     (CUstream *, unsigned, int));
PAIR(StreamDestroy, (fdl_cuda_stream), (CUstream));
PAIR(StreamSynchronize, (fdl_cuda_stream), (CUstream));
PAIR(StreamIsCapturing, (fdl_cuda_stream, int *),
     (CUstream, CUstreamCaptureStatus *));
PAIR(ThreadExchangeStreamCaptureMode, (int *), (CUstreamCaptureMode *));
PAIR(StreamWaitEvent, (fdl_cuda_stream, fdl_cuda_event, unsigned),
     (CUstream, CUevent, unsigned));
PAIR(EventCreate, (fdl_cuda_event *, unsigned), (CUevent *, unsigned));
PAIR(EventDestroy, (fdl_cuda_event), (CUevent));
PAIR(EventRecord, (fdl_cuda_event, fdl_cuda_stream), (CUevent, CUstream));
PAIR(EventQuery, (fdl_cuda_event), (CUevent));
PAIR(EventSynchronize, (fdl_cuda_event), (CUevent));
PAIR(EventElapsedTime, (float *, fdl_cuda_event, fdl_cuda_event),
     (float *, CUevent, CUevent));
PAIR(ModuleLoadData, (void **, const void *), (CUmodule *, const void *));
PAIR(ModuleGetFunction, (void **, void *, const char *),
     (CUfunction *, CUmodule, const char *));
PAIR(LaunchKernel,
     (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      unsigned, fdl_cuda_stream, void **, void **),
     (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      unsigned, CUstream, void **, void **));

PAIR(MemPoolCreate, (void **, const struct fdl_cuda_pool_props *),
     (CUmemoryPool *, const CUmemPoolProps *));
PAIR(MemPoolDestroy, (void *), (CUmemoryPool));
PAIR(MemPoolSetAttribute, (void *, int, void *),
     (CUmemoryPool, CUmemPool_attribute, void *));
PAIR(MemPoolTrimTo, (void *, size_t), (CUmemoryPool, size_t));
PAIR(MemAllocFromPoolAsync, (void **, size_t, void *, fdl_cuda_stream),
     (CUdeviceptr *, size_t, CUmemoryPool, CUstream));
PAIR(MemFreeAsync, (void *, fdl_cuda_stream), (CUdeviceptr, CUstream));

/* The header's name for today's binary interface is the one we look up: it
 * defines cuMemAlloc as cuMemAlloc_v2. cuEventElapsedTime alone is newer there
 * (12.8); both take the same. */
#undef cuEventElapsedTime
#define TEXT(expanded) #expanded
#define NAME(name)     TEXT(name)
#define LOOKED_UP(name, version, parameters)                                   \
  _Static_assert(__builtin_strcmp(NAME(cu##name), "cu" #name #version) == 0,   \
                 "cu" #name);
FDL_CUDA_FUNCTIONS(LOOKED_UP)
FDL_CUDA_POOL_FUNCTIONS(LOOKED_UP)

/* As many as there are. */
#define ONE(name, version, parameters) +1
_Static_assert(FDL_CUDA_FUNCTIONS(ONE) FDL_CUDA_POOL_FUNCTIONS(ONE) == 45,
               "a line is missing above");

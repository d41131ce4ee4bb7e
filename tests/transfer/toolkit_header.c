/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer/cuda/cuda_api.h declares functions of CUDA by itself. Where the
 * toolkit's own header is found, CMake compiles this file with it in front, and
 * the compiler holds the two against each other: a parameter or a value that is
 * not the same stops the build. Handles count as the same, and so do an int and
 * an enum of its size.
 */
#include "transfer/cuda/cuda_api.h"

#define SAME(ours, theirs) _Static_assert((ours) == (int)(theirs), #ours)
SAME(FDL_CUDA_SUCCESS, cudaSuccess);
SAME(FDL_CUDA_ERROR_MEMORY, cudaErrorMemoryAllocation);
SAME(FDL_CUDA_ERROR_STUB, cudaErrorStubLibrary);
SAME(FDL_CUDA_ERROR_OLD_DRIVER, cudaErrorInsufficientDriver);
SAME(FDL_CUDA_ERROR_NO_DEVICE, cudaErrorNoDevice);
SAME(FDL_CUDA_ERROR_NO_KERNEL, cudaErrorNoKernelImageForDevice);
SAME(FDL_CUDA_ERROR_NOT_READY, cudaErrorNotReady);
SAME(FDL_CUDA_HOST_TO_DEVICE, cudaMemcpyHostToDevice);
SAME(FDL_CUDA_STREAM_NON_BLOCKING, cudaStreamNonBlocking);
SAME(FDL_CUDA_EVENT_BLOCKING_SYNC, cudaEventBlockingSync);
SAME(FDL_CUDA_EVENT_NO_TIMING, cudaEventDisableTiming);
SAME(FDL_CUDA_ATTR_COPY_ENGINES, cudaDevAttrAsyncEngineCount);
SAME(sizeof(int), sizeof(cudaError_t));
SAME(sizeof(int), sizeof(enum cudaMemcpyKind));
SAME(sizeof(int), sizeof(enum cudaDeviceAttr));

/* These two have an enum where we have an int: by hand. */
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, enum cudaMemcpyKind,
                            cudaStream_t);
cudaError_t cudaDeviceGetAttribute(int *, enum cudaDeviceAttr, int);
#define cudaMemcpyAsync        fdl_MemcpyAsync
#define cudaDeviceGetAttribute fdl_DeviceGetAttribute

/* A declaration that is not the header's is an error. */
#define fdl_cuda_stream                 cudaStream_t
#define fdl_cuda_event                  cudaEvent_t
#define DECLARE_AGAIN(name, parameters) cudaError_t cuda##name parameters;
FDL_CUDA_FUNCTIONS(DECLARE_AGAIN)

/* The driver's functions exist in the version that is asked for. */
#define VERSION(name, version, parameters)                                     \
  typedef PFN_cu##name##_v##version fdl_##name;
FDL_CUDA_DRIVER_FUNCTIONS(VERSION)

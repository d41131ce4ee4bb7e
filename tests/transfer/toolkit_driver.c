/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's functions in transfer/cuda/cuda_api.h, parameter by parameter,
 * as toolkit_header.c has those of the runtime: ours on the left, CUDA's on the
 * right, and the compiler says whether each is what it is said to be. What
 * differs between the two columns is a handle, which is a pointer, or an int by
 * another name.
 */
#include "transfer/cuda/cuda_api.h"

#define SAME_SIZE(ours, theirs)                                                \
  _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SAME_SIZE(void *, CUcontext);
SAME_SIZE(void *, CUmodule);
SAME_SIZE(void *, CUfunction);
SAME_SIZE(fdl_cuda_stream, CUstream);
SAME_SIZE(int, CUdevice);
SAME_SIZE(int, CUresult);

#define IS(type, declared)                                                     \
  _Static_assert(__builtin_types_compatible_p(type, declared), #type)
#define PAIR(name, version, ours, theirs)                                      \
  IS(__typeof__(((struct fdl_cuda_api *)0)->name), int(*) ours);               \
  IS(PFN_cu##name##_v##version, CUresult(*) theirs)

PAIR(DeviceGet, 2000, (int *, int), (CUdevice *, int));
PAIR(DeviceGetName, 2000, (char *, int, int), (char *, int, CUdevice));
PAIR(DevicePrimaryCtxRetain, 7000, (void **, int), (CUcontext *, CUdevice));
PAIR(DevicePrimaryCtxRelease, 11000, (int), (CUdevice));
PAIR(CtxPushCurrent, 4000, (void *), (CUcontext));
PAIR(CtxPopCurrent, 4000, (void **), (CUcontext *));
PAIR(ModuleLoadData, 2000, (void **, const void *), (CUmodule *, const void *));
PAIR(ModuleGetFunction, 2000, (void **, void *, const char *),
     (CUfunction *, CUmodule, const char *));
PAIR(LaunchKernel, 4000,
     (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      unsigned, fdl_cuda_stream, void **, void **),
     (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      unsigned, CUstream, void **, void **));

/* As many as there are. */
#define ONE(name, version, parameters) +1
_Static_assert(FDL_CUDA_DRIVER_FUNCTIONS(ONE) == 9, "a line is missing above");

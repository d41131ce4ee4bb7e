/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of the double: what every call passes first, the errors it leaves
 * behind, and the functions about devices. See cuda_double.h.
 *
 * Without a driver the runtime of CUDA 13 answers, as seen on such a machine:
 * cudaDriverGetVersion succeeds and gives 0, everything else fails with 35, or
 * with 34 where libcuda is the toolkit's stub. The double answers the same.
 */
#include "cuda_double_own.h"

#include <stdio.h>

struct double_world double_world = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};
_Thread_local struct double_thread double_self;

static const enum double_need needs[FN_COUNT] = {
#define DOUBLE_MEMBER(name, need) [FN_##name] = NEED_##need,
    DOUBLE_FUNCTIONS(DOUBLE_MEMBER)
#undef DOUBLE_MEMBER
};

/* ---- Every call ----------------------------------------------------- */

static int state_locked(void)
{
    const struct double_settings *set = &double_world.set;
    if (set->driver == DRIVER_STUB)
        return FDL_CUDA_ERROR_STUB;
    if (set->driver != DRIVER_OK)
        return FDL_CUDA_ERROR_OLD_DRIVER;
    return set->devices == 0 ? FDL_CUDA_ERROR_NO_DEVICE : 0;
}

static int use_context_locked(void)
{
    struct double_device *d = &double_world.devices[double_device_now()];
    if (double_self.depth == 0)
        double_self.stack[double_self.depth++] = double_self.chosen;
    d->used = true;
    return d->error;
}

static int current_context_locked(void)
{
    return double_self.depth == 0
               ? DOUBLE_ERROR_CONTEXT
               : double_world.devices[double_device_now()].error;
}

int double_enter(enum double_function f)
{
    pthread_mutex_lock(&double_world.lock);
    double_ready_locked();
    if (double_self.generation != double_world.generation)
        double_self =
            (struct double_thread){.generation = double_world.generation};
    if (f == FN_COUNT)
        return 0;
    double_world.calls[f]++;
    int ordered = double_ordered_locked(f);
    int error = needs[f] == NEED_NOTHING ? 0 : state_locked();
    if (!error && needs[f] == NEED_CONTEXT)
        error = use_context_locked();
    else if (!error && needs[f] == NEED_CURRENT)
        error = current_context_locked();
    return error ? error : ordered;
}

int double_leave(int error)
{
    if (error)
        double_self.last_error = error;
    pthread_mutex_unlock(&double_world.lock);
    return error;
}

int double_leave_driver(int error)
{
    pthread_mutex_unlock(&double_world.lock);
    return error;
}

/* ---- Errors --------------------------------------------------------- */

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {34, "cudaErrorStubLibrary", "CUDA driver is a stub library"},
    {35, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {209, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {712, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {999, "cudaErrorUnknown", "unknown error"},
};

static size_t row_of(int error)
{
    size_t i = 0;
    while (i < FDL_COUNT_OF(errors) && errors[i].error != error)
        i++;
    return i;
}

const char *cudaGetErrorName(int error)
{
    double_enter(FN_cudaGetErrorName);
    double_leave_driver(0);
    size_t i = row_of(error);
    return i < FDL_COUNT_OF(errors) ? errors[i].name
                                    : "unrecognized error code";
}

const char *cudaGetErrorString(int error)
{
    double_enter(FN_cudaGetErrorString);
    double_leave_driver(0);
    size_t i = row_of(error);
    return i < FDL_COUNT_OF(errors) ? errors[i].text
                                    : "unrecognized error code";
}

int cudaGetLastError(void)
{
    int error = double_enter(FN_cudaGetLastError);
    if (!error)
        error = double_world.devices[double_device_now()].error;
    if (!error)
        error = double_self.last_error;
    double_self.last_error = 0;
    return double_leave_driver(error);
}

/* ---- Versions and devices ------------------------------------------- */

int cudaRuntimeGetVersion(int *version)
{
    int error = double_enter(FN_cudaRuntimeGetVersion);
    if (!error)
        *version = double_world.set.runtime;
    return double_leave(error);
}

int cudaDriverGetVersion(int *version)
{
    static const int old = 11040;
    int error = double_enter(FN_cudaDriverGetVersion);
    const struct double_settings *set = &double_world.set;
    if (!error && (set->driver == DRIVER_NONE || set->driver == DRIVER_STUB))
        *version = 0;
    else if (!error && set->driver_version)
        *version = set->driver_version;
    else if (!error)
        *version = set->driver == DRIVER_OLD ? old : set->runtime;
    return double_leave(error);
}

/* As the runtime does it, *count becomes 0 with an error. */
int cudaGetDeviceCount(int *count)
{
    int error = double_enter(FN_cudaGetDeviceCount);
    *count = error ? 0 : double_world.set.devices;
    return double_leave(error);
}

int cudaGetDevice(int *device)
{
    int error = double_enter(FN_cudaGetDevice);
    if (!error)
        *device = double_device_now();
    return double_leave(error);
}

/* Since CUDA 12 it makes the context, too. */
int cudaSetDevice(int device)
{
    int error = double_enter(FN_cudaSetDevice);
    if (!error && (device < 0 || device >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error) {
        double_self.chosen = device;
        if (double_self.depth > 0)
            double_self.stack[double_self.depth - 1] = device;
        if (double_world.set.runtime >= 12000)
            error = use_context_locked();
    }
    return double_leave(error);
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    int error = double_enter(FN_cudaDeviceGetAttribute);
    const struct {
        int attribute, value;
    } known[] = {
        {10, 32}, /* threads of a warp */
        {16, 64}, /* multiprocessors */
        {FDL_CUDA_ATTR_COPY_ENGINES, 2},
        {41, 1},                                /* unified addresses */
        {75, double_world.set.capability / 10}, /* compute capability, */
        {76, double_world.set.capability % 10}, /* major and minor */
    };
    if (!error && (device < 0 || device >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error) {
        size_t i = 0;
        while (i < FDL_COUNT_OF(known) && known[i].attribute != attribute)
            i++;
        if (i < FDL_COUNT_OF(known))
            *value = known[i].value;
        else
            error = DOUBLE_ERROR_INVALID;
    }
    return double_leave(error);
}

int cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    int error = double_enter(FN_cudaDeviceGetPCIBusId);
    if (!error && (device < 0 || device >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error && (!id || length < 13))
        error = DOUBLE_ERROR_INVALID;
    if (!error) /* no machine has that domain: nothing is found in /sys */
        snprintf(id, (size_t)length, "ffff:%02x:00.0", device + 1);
    return double_leave(error);
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    int error = double_enter(FN_cudaDeviceGetStreamPriorityRange);
    if (!error && least)
        *least = 0;
    if (!error && greatest)
        *greatest = -5;
    return double_leave(error);
}

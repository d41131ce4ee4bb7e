/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of the double: what every call passes first, the errors it fails
 * with, and the functions about devices. See cuda_double.h.
 */
#include "cuda_double_own.h"

#include <stdio.h>
#include <unistd.h>

struct double_world double_world = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .held = -1,
};
_Thread_local struct double_thread double_self;

static const enum double_need needs[FN_COUNT] = {
#define DOUBLE_MEMBER(name, need) [FN_##name] = NEED_##need,
    DOUBLE_FUNCTIONS(DOUBLE_MEMBER)
#undef DOUBLE_MEMBER
};

/* ---- Every call ----------------------------------------------------- */

/* A child of fork has a driver that was initialised by another process. */
static int driver_locked(void)
{
    return double_world.initialised_by == getpid()
               ? 0
               : DOUBLE_ERROR_NOT_INITIALIZED;
}

static int context_locked(void)
{
    return double_self.depth == 0
               ? DOUBLE_ERROR_CONTEXT
               : double_world.devices[double_device_now()].error;
}

/* While a test holds this function: counted, and not alone with the lock. */
static void be_held_locked(enum double_function f)
{
    while (double_world.held == (int)f) {
        double_world.n_held++;
        pthread_cond_broadcast(&double_world.changed);
        double_wait_locked();
        double_world.n_held--;
    }
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
    double_world.n_calls++;
    be_held_locked(f);
    int ordered = double_ordered_locked(f);
    if (!ordered)
        ordered = double_chance_locked();
    if (ordered)
        double_world.n_ordered++;
    int error = needs[f] == NEED_NOTHING ? 0 : driver_locked();
    if (!error && needs[f] == NEED_CONTEXT)
        error = context_locked();
    if (!error)
        error = double_forbidden_locked(f);
    return error ? error : ordered;
}

int double_leave(int error)
{
    pthread_mutex_unlock(&double_world.lock);
    return error;
}

/* ---- Errors --------------------------------------------------------- */

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
     "PTX JIT compiler library not "
     "found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED",
     "PTX JIT compilation was disabled"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing "
     "stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* NULL and error 1 for an error that has no row. */
static int describe(enum double_function f, int error, bool as_text,
                    const char **out)
{
    int failed = double_enter(f);
    *out = NULL;
    for (size_t i = 0; i < FDL_COUNT_OF(errors); i++)
        if (errors[i].error == error)
            *out = as_text ? errors[i].text : errors[i].name;
    return double_leave(failed ? failed : *out ? 0 : DOUBLE_ERROR_INVALID);
}

int cuGetErrorName(int error, const char **name)
{
    return describe(FN_cuGetErrorName, error, false, name);
}

int cuGetErrorString(int error, const char **text)
{
    return describe(FN_cuGetErrorString, error, true, text);
}

/* ---- The driver and its devices ------------------------------------- */

/* Not again in a child of fork, as on hardware. */
int cuInit(unsigned flags)
{
    struct double_world *w = &double_world;
    int error = double_enter(FN_cuInit);
    if (!error)
        error = flags                 ? DOUBLE_ERROR_INVALID
                : w->set.init_error   ? w->set.init_error
                : w->set.devices == 0 ? FDL_CUDA_ERROR_NO_DEVICE
                                      : 0;
    if (!error && w->initialised_by && w->initialised_by != getpid())
        error = DOUBLE_ERROR_NOT_INITIALIZED;
    if (!error)
        w->initialised_by = getpid();
    return double_leave(error);
}

int cuDriverGetVersion(int *version)
{
    int error = double_enter(FN_cuDriverGetVersion);
    if (!error)
        *version = double_world.set.driver_version;
    return double_leave(error);
}

int cuDeviceGetCount(int *count)
{
    int error = double_enter(FN_cuDeviceGetCount);
    if (!error)
        *count = double_world.set.devices;
    return double_leave(error);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int error = double_enter(FN_cuDeviceGetAttribute);
    const struct {
        int attribute, value;
    } known[] = {
        {10, 32}, /* threads of a warp */
        {16, 64}, /* multiprocessors */
        {FDL_CUDA_ATTR_COPY_ENGINES, 2},
        {41, 1}, /* unified addresses */
        {FDL_CUDA_ATTR_POOLS, double_world.set.pools},
        {FDL_CUDA_ATTR_HOST_REGISTER, double_world.set.registers},
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

int cuDeviceGetPCIBusId(char *id, int length, int device)
{
    int error = double_enter(FN_cuDeviceGetPCIBusId);
    if (!error && (device < 0 || device >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error && (!id || length < 13))
        error = DOUBLE_ERROR_INVALID;
    if (!error) /* no machine has that domain: nothing is found in /sys */
        snprintf(id, (size_t)length, "ffff:%02x:00.0", device + 1);
    return double_leave(error);
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    int error = double_enter(FN_cuCtxGetStreamPriorityRange);
    if (!error && least)
        *least = 0;
    if (!error && greatest)
        *greatest = -5;
    return double_leave(error);
}

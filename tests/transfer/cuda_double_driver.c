/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of the double: devices, and which context is current. A context is
 * its device; a thread has a stack of them. The runtime uses the topmost, and
 * puts one there, for good, when it needs one and there is none: that is how a
 * library leaves a mark on its caller's thread, and double_depth() shows it.
 */
#include "cuda_double_own.h"

#include <stdio.h>
#include <string.h>

#define CONTEXT_BASE 0xc0de0000u

int cuDeviceGet(int *device, int ordinal)
{
    int error = double_enter(FN_cuDeviceGet);
    if (!error && (ordinal < 0 || ordinal >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error)
        *device = ordinal;
    return double_leave_driver(error);
}

int cuDeviceGetName(char *name, int length, int device)
{
    int error = double_enter(FN_cuDeviceGetName);
    if (!error && (device < 0 || device >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error && (!name || length < 1))
        error = DOUBLE_ERROR_INVALID;
    if (!error)
        snprintf(name, (size_t)length, "Double %d", device);
    return double_leave_driver(error);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    int error = double_enter(FN_cuDevicePrimaryCtxRetain);
    if (!error && (device < 0 || device >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error) {
        double_world.devices[device].retained++;
        *context = (void *)(uintptr_t)(CONTEXT_BASE + (unsigned)device);
    }
    return double_leave_driver(error);
}

int cuDevicePrimaryCtxRelease(int device)
{
    int error = double_enter(FN_cuDevicePrimaryCtxRelease);
    if (device < 0 || device >= double_world.set.devices) {
        error = error ? error : DOUBLE_ERROR_DEVICE;
    } else if (double_world.devices[device].retained == 0) {
        double_fault_locked("cuDevicePrimaryCtxRelease: device %d was not "
                            "retained, or not so often",
                            device);
        error = error ? error : DOUBLE_ERROR_CONTEXT;
    } else {
        double_world.devices[device].retained--;
    }
    return double_leave_driver(error);
}

int cuCtxPushCurrent(void *context)
{
    int error = double_enter(FN_cuCtxPushCurrent);
    uintptr_t device = (uintptr_t)context - CONTEXT_BASE;
    if (!error && (device >= DOUBLE_DEVICES ||
                   (double_world.devices[device].retained == 0 &&
                    !double_world.devices[device].used))) {
        double_fault_locked("cuCtxPushCurrent: %p is no context, or one that "
                            "was released",
                            context);
        error = DOUBLE_ERROR_CONTEXT;
    }
    if (!error && double_self.depth == DOUBLE_DEPTH) {
        double_fault_locked("cuCtxPushCurrent: more than %d contexts, none of "
                            "them popped",
                            DOUBLE_DEPTH);
        error = DOUBLE_ERROR_CONTEXT;
    }
    if (!error)
        double_self.stack[double_self.depth++] = (int)device;
    return double_leave_driver(error);
}

/* Pops even where it fails by order: the program could not try again. */
int cuCtxPopCurrent(void **context)
{
    int error = double_enter(FN_cuCtxPopCurrent);
    if (double_self.depth == 0) {
        double_fault_locked("cuCtxPopCurrent: no context is current");
        error = error ? error : DOUBLE_ERROR_CONTEXT;
    } else {
        int device = double_self.stack[--double_self.depth];
        if (context)
            *context = (void *)(uintptr_t)(CONTEXT_BASE + (unsigned)device);
    }
    return double_leave_driver(error);
}

/* ---- How a program comes to these functions ------------------------- */

typedef void (*function)(void);

static const struct {
    const char *name;
    function run;
    unsigned version;
} functions[] = {
#define ROW(name, version, parameters)                                         \
  {"cu" #name, (function)cu##name, version},
    FDL_CUDA_DRIVER_FUNCTIONS(ROW)
#undef ROW
};

/* found: 0 yes, 1 no such name, 2 only in a later version. */
static int entry_locked(const char *symbol, void **out, unsigned version,
                        int *found)
{
    for (size_t i = 0; i < FDL_COUNT_OF(functions); i++) {
        if (strcmp(symbol, functions[i].name) != 0)
            continue;
        bool late = functions[i].version > version;
        *out = NULL;
        if (!late)
            memcpy(out, &functions[i].run, sizeof(*out));
        if (found)
            *found = late ? 2 : 0;
        return late && !found ? DOUBLE_ERROR_NOT_FOUND : 0;
    }
    *out = NULL;
    if (found)
        *found = 1;
    return found ? 0 : DOUBLE_ERROR_NOT_FOUND;
}

int cudaGetDriverEntryPoint(const char *symbol, void **entry,
                            unsigned long long flags, int *found)
{
    int error = double_enter(FN_cudaGetDriverEntryPoint);
    if (!error && (!symbol || !entry || flags > 2))
        error = DOUBLE_ERROR_INVALID;
    if (!error)
        error = entry_locked(symbol, entry, (unsigned)double_world.set.runtime,
                             found);
    return double_leave(error);
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **entry,
                                     unsigned version, unsigned long long flags,
                                     int *found)
{
    int error = double_enter(FN_cudaGetDriverEntryPointByVersion);
    if (!error && (!symbol || !entry || flags > 2))
        error = DOUBLE_ERROR_INVALID;
    if (!error)
        error = entry_locked(symbol, entry, version, found);
    return double_leave(error);
}

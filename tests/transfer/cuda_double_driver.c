/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts of the double, and which is current. A context is its device, and a
 * thread has a stack of them. A library that pushes one and does not pop it
 * leaves a mark on its caller's thread, and double_depth() shows it.
 */
#include "cuda_double_own.h"

#include <stdio.h>

#define CONTEXT_BASE 0xc0de0000u

int cuDeviceGet(int *device, int ordinal)
{
    int error = double_enter(FN_cuDeviceGet);
    if (!error && (ordinal < 0 || ordinal >= double_world.set.devices))
        error = DOUBLE_ERROR_DEVICE;
    if (!error)
        *device = ordinal;
    return double_leave(error);
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
    return double_leave(error);
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
    return double_leave(error);
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
    return double_leave(error);
}

static bool is_alive_locked(uintptr_t device)
{
    return device < DOUBLE_DEVICES && (double_world.devices[device].used ||
                                       double_world.devices[device].retained);
}

int cuCtxPushCurrent(void *context)
{
    int error = double_enter(FN_cuCtxPushCurrent);
    uintptr_t device = (uintptr_t)context - CONTEXT_BASE;
    if (!error && !is_alive_locked(device)) {
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
    return double_leave(error);
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
    return double_leave(error);
}

/* Replaces the topmost; NULL pops it. */
int cuCtxSetCurrent(void *context)
{
    int error = double_enter(FN_cuCtxSetCurrent);
    uintptr_t device = (uintptr_t)context - CONTEXT_BASE;
    if (!error && context && !is_alive_locked(device)) {
        double_fault_locked("cuCtxSetCurrent: %p is no context, or one that "
                            "was released",
                            context);
        error = DOUBLE_ERROR_CONTEXT;
    }
    if (!error && double_self.depth > 0)
        double_self.depth--;
    if (!error && context)
        double_self.stack[double_self.depth++] = (int)device;
    return double_leave(error);
}

int cuCtxGetDevice(int *device)
{
    int error = double_enter(FN_cuCtxGetDevice);
    if (!error)
        *device = double_device_now();
    return double_leave(error);
}

void double_use_device(int device)
{
    void *context = (void *)(uintptr_t)(CONTEXT_BASE + (unsigned)device);
    cuInit(0);
    double_enter(FN_COUNT);
    double_world.devices[device].used = true;
    double_leave(0);
    cuCtxSetCurrent(context);
}

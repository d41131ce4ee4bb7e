/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of this process; cuda_device.h has the idea. */
#include "transfer/cuda/cuda_device.h"

#include "base/lock.h"
#include "base/status.h"

#include <stdio.h>

#define MAX_DEVICES 64

static struct fdl_lock lock = FDL_LOCK_INIT(FDL_RANK_CUDA_DEVICES);
/* Constant once made, but for the kernels, which come once. */
static struct fdl_cuda_device devices[MAX_DEVICES];

int32_t fdl_cuda_check(uint32_t number, const struct fdl_cuda_api **out)
{
    int32_t status = fdl_cuda_load(out);
    if (status < 0)
        return status;
    if (number >= (uint32_t)(*out)->n_devices || number >= MAX_DEVICES)
        return fdl_fail(FEEDLINE_EINVAL,
                        "device 'cuda:%u' is not there: this machine shows %d "
                        "GPU%s, counted from 0",
                        number, (*out)->n_devices,
                        (*out)->n_devices == 1 ? "" : "s");
    return FEEDLINE_OK;
}

/* ---- Context ------------------------------------------------------------ */

/* The capture mode is the thread's, whatever its context: the outermost pair
 * sets it, and puts back what it was. */
static _Thread_local struct {
    uint32_t depth;
    int mode; /* before; -1: it could not be set */
} entered;

int32_t fdl_cuda_enter(const struct fdl_cuda_device *d)
{
    int error = d->cuda->CtxPushCurrent(d->context);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(d->cuda, error, "its context cannot be used");
    if (entered.depth++ > 0)
        return FEEDLINE_OK;
    entered.mode = FDL_CUDA_CAPTURE_RELAXED;
    if (d->cuda->ThreadExchangeStreamCaptureMode(&entered.mode) !=
        FDL_CUDA_SUCCESS)
        entered.mode = -1;
    return FEEDLINE_OK;
}

void fdl_cuda_leave(const struct fdl_cuda_device *d)
{
    void *context;
    if (--entered.depth == 0 && entered.mode >= 0)
        d->cuda->ThreadExchangeStreamCaptureMode(&entered.mode);
    d->cuda->CtxPopCurrent(&context);
}

/* ---- Kernels ------------------------------------------------------------ */

static int load_locked(struct fdl_cuda_device *d)
{
    void *module = NULL, *finish = NULL, *spin = NULL;
    int error = d->cuda->ModuleLoadData(&module, fdl_kernels_ptx);
    if (error == FDL_CUDA_SUCCESS)
        error =
            d->cuda->ModuleGetFunction(&finish, module, "fdl_kernel_finish");
    if (error == FDL_CUDA_SUCCESS)
        error = d->cuda->ModuleGetFunction(&spin, module, "fdl_kernel_spin");
    if (error == FDL_CUDA_SUCCESS) {
        d->finish = finish;
        d->spin = spin;
    }
    return error;
}

int32_t fdl_cuda_kernels(const struct fdl_cuda_device *d)
{
    struct fdl_cuda_device *own = &devices[d->number];
    fdl_lock(&lock);
    int error = own->spin ? FDL_CUDA_SUCCESS : load_locked(own);
    fdl_unlock(&lock);
    if (error == FDL_CUDA_SUCCESS)
        return FEEDLINE_OK;
    return fdl_cuda_fail(d->cuda, error,
                         "the driver does not take feedline's kernels");
}

static int load_makers_locked(struct fdl_cuda_device *d,
                              const struct fdl_makers *makers,
                              void *functions[FDL_MAKERS_MAX])
{
    int error = FDL_CUDA_SUCCESS;
    if (d->makers_ptx != makers->ptx)
        error = d->cuda->ModuleLoadData(&d->makers, makers->ptx);
    if (error == FDL_CUDA_SUCCESS)
        d->makers_ptx = makers->ptx;
    for (uint32_t i = 0; i < makers->n && error == FDL_CUDA_SUCCESS; i++)
        error = d->cuda->ModuleGetFunction(&functions[i], d->makers,
                                           makers->at[i].kernel);
    return error;
}

int32_t fdl_cuda_maker_kernels(const struct fdl_cuda_device *d,
                               const struct fdl_makers *makers,
                               void *functions[FDL_MAKERS_MAX])
{
    fdl_lock(&lock);
    int error = load_makers_locked(&devices[d->number], makers, functions);
    fdl_unlock(&lock);
    if (error == FDL_CUDA_SUCCESS)
        return FEEDLINE_OK;
    return fdl_cuda_fail(d->cuda, error,
                         "the driver does not take the kernels that decode");
}

static int launch_finish(const struct fdl_cuda_device *d, uint64_t blocks,
                         const struct fdl_finish_args *args,
                         fdl_cuda_stream stream)
{
    struct fdl_finish_args copy = *args;
    void *parameters[] = {&copy};
    return d->cuda->LaunchKernel(d->finish, (unsigned)blocks, 1, 1,
                                 FDL_KERNEL_BLOCK, 1, 1, 0, stream, parameters,
                                 NULL);
}

int fdl_cuda_warm_up(const struct fdl_cuda_device *d, fdl_cuda_stream stream)
{
    const struct fdl_finish_args nothing = {.plane = 1, .channels = 1};
    return launch_finish(d, 1, &nothing, stream);
}

int fdl_cuda_run_finish(const struct fdl_cuda_device *d,
                        const struct fdl_finish_args *args,
                        fdl_cuda_stream stream)
{
    uint64_t threads =
        (args->pixels + FDL_FINISH_PIXELS - 1) / FDL_FINISH_PIXELS;
    uint64_t blocks = (threads + FDL_KERNEL_BLOCK - 1) / FDL_KERNEL_BLOCK;
    return blocks ? launch_finish(d, blocks, args, stream) : FDL_CUDA_SUCCESS;
}

int fdl_cuda_run_spin(const struct fdl_cuda_device *d, uint64_t ns,
                      fdl_cuda_stream stream)
{
    void *parameters[] = {&ns};
    return d->cuda->LaunchKernel(d->spin, 1, 1, 1, 1, 1, 1, 0, stream,
                                 parameters, NULL);
}

/* ---- Devices ------------------------------------------------------------ */

/* Drivers that do not know the attribute (before CUDA 11.2) have no such
 * devices. */
static bool registers_memory(const struct fdl_cuda_api *cuda, int handle)
{
    int value = 1;
    if (cuda->DeviceGetAttribute(&value, FDL_CUDA_ATTR_HOST_REGISTER, handle))
        return true;
    return value != 0;
}

static int32_t make_locked(const struct fdl_cuda_api *cuda, uint32_t number,
                           struct fdl_cuda_device *d)
{
    struct fdl_cuda_device made = {.cuda = cuda, .number = (int)number};
    int handle;
    int error = cuda->DeviceGet(&handle, made.number);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->DevicePrimaryCtxRetain(&made.context, handle);
    if (error != FDL_CUDA_SUCCESS) {
        char what[64];
        snprintf(what, sizeof(what), "cuda:%u: no context can be made", number);
        return fdl_cuda_fail(cuda, error, what);
    }
    int32_t status = fdl_cuda_enter(&made);
    if (status < 0) {
        cuda->DevicePrimaryCtxRelease(handle);
        return status;
    }
    made.registers_memory = registers_memory(cuda, handle);
    fdl_cuda_leave(&made);
    *d = made;
    return FEEDLINE_OK;
}

int32_t fdl_cuda_device(uint32_t number, const struct fdl_cuda_device **out)
{
    const struct fdl_cuda_api *cuda;
    int32_t status = fdl_cuda_check(number, &cuda);
    if (status < 0)
        return status;
    struct fdl_cuda_device *d = &devices[number];
    fdl_lock(&lock);
    if (!d->context)
        status = make_locked(cuda, number, d);
    fdl_unlock(&lock);
    if (status >= 0)
        *out = d;
    return status;
}

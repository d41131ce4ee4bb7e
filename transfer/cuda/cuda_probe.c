/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU is, and times of copies; see transfer/gpu_probe.h. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "transfer/cuda/cuda_device.h"
#include "transfer/cuda/cuda_pin.h"
#include "transfer/gpu_probe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A busy kernel that outlasts a copy: so much, and so much per byte. */
#define BUSY_NS           2000000u
#define BUSY_BYTES_PER_NS 4u

bool fdl_gpu_started(void)
{
    return fdl_cuda_started() != NULL;
}

int32_t fdl_gpu_find(void)
{
    return fdl_cuda_find();
}

int32_t fdl_gpu_count(void)
{
    const struct fdl_cuda_api *cuda;
    int32_t status = fdl_cuda_load(&cuda);
    return status < 0 ? status : cuda->n_devices;
}

int32_t fdl_gpu_info(uint32_t number, struct feedline_device_info *out)
{
    const struct fdl_cuda_api *cuda;
    int32_t status = fdl_cuda_check(number, &cuda);
    if (status < 0)
        return status;
    struct feedline_device_info info = {
        .id = (int32_t)number,
        .driver_version = cuda->driver_version,
        .numa_node = -1,
    };
    int handle, engines = 0;
    int error = cuda->DeviceGet(&handle, (int)number);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->DeviceGetName(info.name, sizeof(info.name), handle);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(cuda, error, "the GPU cannot be asked");
    cuda->DeviceGetAttribute(&engines, FDL_CUDA_ATTR_COPY_ENGINES, handle);
    info.copy_engines = engines;
    if (cuda->DeviceGetPCIBusId(info.pci, sizeof(info.pci), handle) !=
        FDL_CUDA_SUCCESS)
        info.pci[0] = '\0';
    for (char *c = info.pci; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    *out = info;
    return FEEDLINE_OK;
}

/* ---- Times -------------------------------------------------------------- */

struct probe {
    const struct fdl_cuda_device *device;
    const struct fdl_backend_place *place;
    const struct feedline_copy_test *test;
    struct fdl_cuda_pinned pinned;
    void *host, *memory; /* host: pinned or not */
    fdl_cuda_stream stream, busy;
    fdl_cuda_event from, to;
    double *host_us, *device_us; /* [repeats] */
};

static bool is_pageable(const struct probe *p)
{
    return (p->test->flags & FEEDLINE_COPY_PAGEABLE) != 0;
}

static int32_t open_host(struct probe *p)
{
    const struct feedline_copy_test *test = p->test;
    p->host_us = calloc(2 * (size_t)test->repeats, sizeof(*p->host_us));
    if (!p->host_us)
        return fdl_fail_memory(2 * test->repeats * sizeof(*p->host_us),
                               "times");
    p->device_us = p->host_us + test->repeats;
    if (!is_pageable(p)) {
        int32_t status =
            fdl_cuda_pin(p->device, p->place, test->bytes, &p->pinned);
        p->host = p->pinned.memory;
        return status;
    }
    p->host =
        test->bytes <= SIZE_MAX ? fdl_pages_alloc((size_t)test->bytes) : NULL;
    if (!p->host)
        return fdl_fail_memory(test->bytes, "a copy");
    memset(p->host, 1, (size_t)test->bytes);
    return FEEDLINE_OK;
}

static int32_t open_probe(struct probe *p)
{
    const struct fdl_cuda_api *cuda = p->device->cuda;
    int32_t status = open_host(p);
    if (status < 0)
        return status;
    int error = cuda->MemAlloc(&p->memory, (size_t)p->test->bytes);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->StreamCreateWithPriority(&p->stream,
                                               FDL_CUDA_STREAM_NON_BLOCKING, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->StreamCreateWithPriority(&p->busy,
                                               FDL_CUDA_STREAM_NON_BLOCKING, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&p->from, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&p->to, 0);
    return error == FDL_CUDA_SUCCESS
               ? FEEDLINE_OK
               : fdl_cuda_fail(cuda, error, "a copy to measure");
}

/* After an error copies may still be under way. */
static void close_probe(struct probe *p)
{
    const struct fdl_cuda_api *cuda = p->device->cuda;
    if (p->stream)
        fdl_cuda_wait_stream(cuda, p->stream);
    if (p->from)
        cuda->EventDestroy(p->from);
    if (p->to)
        cuda->EventDestroy(p->to);
    if (p->stream)
        cuda->StreamDestroy(p->stream);
    if (p->busy)
        cuda->StreamDestroy(p->busy);
    if (p->memory)
        cuda->MemFree(p->memory);
    if (is_pageable(p))
        fdl_pages_free(p->host, (size_t)p->test->bytes);
    else
        fdl_cuda_unpin(p->device, &p->pinned);
    free(p->host_us);
}

/* The last piece has what does not divide. */
static int queue_copies(struct probe *p)
{
    const struct feedline_copy_test *test = p->test;
    uint64_t piece = test->bytes / test->copies, at = 0;
    int error = FDL_CUDA_SUCCESS;
    for (uint32_t i = 0; i < test->copies && error == FDL_CUDA_SUCCESS; i++) {
        uint64_t n = i + 1 == test->copies ? test->bytes - at : piece;
        error = p->device->cuda->MemcpyHtoDAsync((uint8_t *)p->memory + at,
                                                 (uint8_t *)p->host + at,
                                                 (size_t)n, p->stream);
        at += n;
    }
    return error;
}

static int time_once(struct probe *p, double *host_us, double *device_us)
{
    const struct fdl_cuda_api *cuda = p->device->cuda;
    float ms = 0;
    int error = FDL_CUDA_SUCCESS;
    if (p->test->flags & FEEDLINE_COPY_BUSY)
        error = fdl_cuda_run_spin(
            p->device, BUSY_NS + p->test->bytes / BUSY_BYTES_PER_NS, p->busy);
    int64_t begin = fdl_now_ns();
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventRecord(p->from, p->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = queue_copies(p);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventRecord(p->to, p->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = fdl_cuda_wait_event(cuda, p->to);
    *host_us = (double)(fdl_now_ns() - begin) / 1e3;
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventElapsedTime(&ms, p->from, p->to);
    if (error == FDL_CUDA_SUCCESS && (p->test->flags & FEEDLINE_COPY_BUSY))
        error = fdl_cuda_wait_stream(cuda, p->busy);
    *device_us = (double)ms * 1e3;
    return error;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *sorted, uint32_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* The first one warms up and is not counted. */
static int32_t time_all(struct probe *p, struct feedline_copy_time *out)
{
    uint32_t n = p->test->repeats;
    int error = time_once(p, p->host_us, p->device_us);
    for (uint32_t i = 0; i < n && error == FDL_CUDA_SUCCESS; i++)
        error = time_once(p, &p->host_us[i], &p->device_us[i]);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(p->device->cuda, error, "a copy to measure");
    qsort(p->host_us, n, sizeof(double), by_value);
    qsort(p->device_us, n, sizeof(double), by_value);
    *out = (struct feedline_copy_time){
        .repeats = n,
        .host_us = median(p->host_us, n),
        .device_us = median(p->device_us, n),
        .min_us = p->host_us[0],
        .max_us = p->host_us[n - 1],
    };
    return FEEDLINE_OK;
}

int32_t fdl_gpu_time_copy(uint32_t number,
                          const struct fdl_backend_place *place,
                          const struct feedline_copy_test *test,
                          struct feedline_copy_time *out)
{
    struct probe p = {.place = place, .test = test};
    int32_t status = fdl_cuda_device(number, &p.device);
    if (status < 0)
        return status;
    status = fdl_cuda_enter(p.device);
    if (status < 0)
        return status;
    if (test->flags & FEEDLINE_COPY_BUSY)
        status = fdl_cuda_kernels(p.device);
    if (status >= 0)
        status = open_probe(&p);
    if (status >= 0)
        status = time_all(&p, out);
    close_probe(&p);
    fdl_cuda_leave(p.device);
    return status;
}

/* ---- Kernels ------------------------------------------------------------ */

int32_t fdl_gpu_has_kernels(uint32_t number)
{
    const struct fdl_cuda_device *device;
    int32_t status = fdl_cuda_device(number, &device);
    if (status >= 0)
        status = fdl_cuda_enter(device);
    if (status < 0)
        return status;
    status = fdl_cuda_kernels(device);
    fdl_cuda_leave(device);
    return status;
}

int32_t fdl_gpu_has_makers(uint32_t number, const struct fdl_makers *makers)
{
    const struct fdl_cuda_device *device;
    void *functions[FDL_MAKERS_MAX];
    int32_t status = fdl_cuda_device(number, &device);
    if (status >= 0)
        status = fdl_cuda_enter(device);
    if (status < 0)
        return status;
    status = fdl_cuda_maker_kernels(device, makers, functions);
    fdl_cuda_leave(device);
    return status;
}

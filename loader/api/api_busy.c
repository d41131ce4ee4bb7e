/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: devices, how fast they are reached, a busy stream. */
#include "base/thread.h"
#include "loader/api/api.h"
#include "profiler/measure/copy_fit.h"
#include "profiler/system/affinity.h"
#include "profiler/system/nvml_devices.h"
#include "transfer/backend.h"
#include "transfer/gpu_probe.h"

#include <feedline/bench.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COPIES  4096u
#define MAX_REPEATS 1000u
#define MAX_BUSY_NS INT64_C(10000000000)

struct feedline_busy {
    uint32_t fork_generation;
    struct fdl_gpu_busy *busy;
};

/* The number of a device that is a GPU. */
static int32_t number_of(const char *device, uint32_t *out)
{
    const struct fdl_backend_ops *ops;
    int32_t status = fdl_api_enter(device, "device");
    if (status >= 0)
        status = fdl_backend_find(device, &ops, out);
    if (status >= 0 && ops->device != FEEDLINE_CUDA)
        status = fdl_fail(FEEDLINE_EINVAL,
                          "device '%s' is not a GPU; use 'cuda:N'", device);
    return status;
}

/* By NVML, where that can tell and CUDA has not been started. ENOSYS. */
static int32_t list_devices(struct fdl_nvml_devices *out)
{
    if (fdl_gpu_started())
        return fdl_fail(FEEDLINE_ENOSYS, "CUDA has been started");
    int32_t status = fdl_gpu_find();
    if (status >= 0)
        status = fdl_nvml_list(out);
    if (status >= 0 && out->n == 0)
        status = fdl_fail(FEEDLINE_ENOSYS, "NVML shows no GPU");
    return status;
}

int32_t feedline_device_count(void)
{
    struct fdl_nvml_devices seen;
    fdl_clear_error();
    if (list_devices(&seen) >= 0)
        return (int32_t)seen.n;
    fdl_clear_error();
    return fdl_gpu_count();
}

static int32_t look_at(uint32_t number, struct feedline_device_info *out)
{
    struct fdl_nvml_devices seen;
    int32_t status = list_devices(&seen);
    if (status < 0)
        return status;
    if (number >= seen.n)
        return fdl_fail(FEEDLINE_EINVAL,
                        "device 'cuda:%" PRIu32 "' is not there: this machine "
                        "shows %" PRIu32 " GPU%s, counted from 0",
                        number, seen.n, seen.n == 1 ? "" : "s");
    const struct fdl_nvml_device *d = &seen.at[number];
    *out = (struct feedline_device_info){.id = (int32_t)number,
                                         .driver_version = seen.cuda_version};
    memcpy(out->name, d->name, sizeof(out->name));
    memcpy(out->pci, d->pci, sizeof(out->pci));
    return FEEDLINE_OK;
}

static int32_t look(uint32_t number, struct feedline_device_info *out)
{
    return fdl_gpu_started() ? fdl_gpu_info(number, out) : look_at(number, out);
}

static int32_t tell(const char *device, struct feedline_device_info *out,
                    int32_t (*ask)(uint32_t, struct feedline_device_info *))
{
    struct feedline_device_info info;
    uint32_t number;
    int32_t status = number_of(device, &number);
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    if (status >= 0)
        status = ask(number, &info);
    if (status < 0)
        return status;
    info.numa_node = fdl_affinity_node_of(fdl_affinity_root(), info.pci);
    return fdl_copy_out(out, &info, sizeof(info));
}

int32_t feedline_device_look(const char *device,
                             struct feedline_device_info *out)
{
    return tell(device, out, look);
}

int32_t feedline_device_get_info(const char *device,
                                 struct feedline_device_info *out)
{
    return tell(device, out, fdl_gpu_info);
}

static int32_t check_test(const struct feedline_copy_test *test)
{
    int32_t status = fdl_api_enter(test, "test");
    if (status < 0)
        return status;
    if (test->struct_size < sizeof(*test))
        return fdl_fail(FEEDLINE_EINVAL,
                        "test: struct_size is %u; set it to sizeof",
                        test->struct_size);
    if (test->flags & ~(FEEDLINE_COPY_PAGEABLE | FEEDLINE_COPY_BUSY))
        return fdl_fail(FEEDLINE_EINVAL, "test: unknown flags 0x%x",
                        test->flags);
    if (test->copies < 1 || test->copies > MAX_COPIES ||
        test->bytes < test->copies || test->repeats < 1 ||
        test->repeats > MAX_REPEATS)
        return fdl_fail(FEEDLINE_EINVAL,
                        "test: copies is 1 to %u, repeats 1 to %u, and bytes "
                        "at least one for each copy",
                        MAX_COPIES, MAX_REPEATS);
    return FEEDLINE_OK;
}

int32_t feedline_device_time_copy(const char *device,
                                  const struct feedline_copy_test *test,
                                  struct feedline_copy_time *out)
{
    struct feedline_device_info info = {.pci = ""};
    struct fdl_backend_place place = {.node = -1};
    struct feedline_copy_time time;
    uint32_t number;
    int32_t status = number_of(device, &number);
    if (status >= 0)
        status = check_test(test);
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    if (status >= 0)
        status = fdl_gpu_info(number, &info);
    if (status >= 0) {
        place.node = fdl_affinity_node_of(fdl_affinity_root(), info.pci);
        status = fdl_gpu_time_copy(number, &place, test, &time);
    }
    return status < 0 ? status : fdl_copy_out(out, &time, sizeof(time));
}

int32_t feedline_copy_fit(const uint64_t *bytes, const double *us, uint32_t n,
                          struct feedline_copy_fit *out)
{
    struct fdl_copy_fit fit;
    int32_t status = fdl_api_enter(bytes, "bytes");
    if (status >= 0)
        status = fdl_api_enter(us, "us");
    if (status >= 0)
        status = fdl_copy_fit(bytes, us, n, &fit);
    if (status < 0)
        return status;
    struct feedline_copy_fit found = {
        .latency_us = fit.latency_us,
        .gigabytes_per_second = fit.gigabytes_per_second,
        .half_bytes = fit.half_bytes,
        .worst_error = fit.worst_error,
    };
    return fdl_copy_out(out, &found, sizeof(found));
}

/* ---- A busy stream ------------------------------------------------------ */

static int32_t enter(const feedline_busy *busy)
{
    return fdl_api_enter_handle(busy, busy ? busy->fork_generation : 0,
                                "busy stream");
}

int32_t feedline_busy_create(const char *device, feedline_busy **out)
{
    uint32_t number;
    int32_t status = fdl_api_enter_out(out);
    if (status < 0)
        return status;
    status = number_of(device, &number);
    if (status < 0)
        return status;
    feedline_busy *busy = calloc(1, sizeof(*busy));
    if (!busy)
        return fdl_fail_memory(sizeof(*busy), "a busy stream");
    busy->fork_generation = fdl_fork_generation();
    status = fdl_gpu_busy_create(number, &busy->busy);
    if (status < 0)
        free(busy);
    else
        *out = busy;
    return status;
}

void *feedline_busy_stream(const feedline_busy *busy)
{
    return enter(busy) < 0 ? NULL : fdl_gpu_busy_stream(busy->busy);
}

int32_t feedline_busy_work(feedline_busy *busy, int64_t ns)
{
    int32_t status = enter(busy);
    if (status < 0)
        return status;
    if (ns < 0 || ns > MAX_BUSY_NS)
        return fdl_fail(FEEDLINE_ERANGE, "a busy kernel takes 0 to 10 s");
    return fdl_gpu_busy_work(busy->busy, (uint64_t)ns);
}

int32_t feedline_busy_wait(feedline_busy *busy)
{
    int32_t status = enter(busy);
    return status < 0 ? status : fdl_gpu_busy_wait(busy->busy);
}

void feedline_busy_destroy(feedline_busy *busy)
{
    if (!busy || busy->fork_generation != fdl_fork_generation())
        return;
    fdl_gpu_busy_destroy(busy->busy);
    free(busy);
}

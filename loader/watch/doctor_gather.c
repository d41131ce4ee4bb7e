/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that are in no file: limits of the process, its environment, whether
 * io_uring works, what the GPU's libraries report, and the use of the cores
 * while nothing of ours runs, for three periods of a CPU quota (100 ms each).
 */
#include "loader/watch/doctor_gather.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/cpu.h"
#include "base/status.h"
#include "loader/read/reader.h"
#include "profiler/doctor/doctor_busy.h"
#include "profiler/system/affinity.h"
#include "profiler/system/ranks.h"
#include "profiler/system/signals.h"
#include "transfer/backend.h"
#include "transfer/gpu_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>

#define WATCH_NS 300000000

#if defined(__x86_64__)
#  define HAS_LEVELS true
#else
#  define HAS_LEVELS false /* there is plain C only, and nothing to miss */
#endif

/* ---- The process -------------------------------------------------------- */

static uint64_t limit_of(__rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return 0;
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* A count in the environment; of "4,2", which OpenMP reads as levels, the
 * first. 0: none. */
static uint32_t count_of(const char *name)
{
    const char *text = getenv(name);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value > 0 ? (uint32_t)FDL_MIN(value, INT32_MAX) : 0;
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text && strcmp(text, "0") != 0;
}

static void look_at_process(struct fdl_doctor_facts *f)
{
    struct statvfs shm;
    f->memlock_bytes = limit_of(RLIMIT_MEMLOCK);
    f->open_files = limit_of(RLIMIT_NOFILE);
    f->omp_threads = count_of("OMP_NUM_THREADS");
    f->mkl_threads = count_of("MKL_NUM_THREADS");
    f->blas_threads = count_of("OPENBLAS_NUM_THREADS");
    f->ranks = fdl_ranks_local_world(fdl_ranks_getenv);
    f->has_shm = statvfs("/dev/shm", &shm) == 0;
    if (f->has_shm)
        f->shm_bytes = (uint64_t)shm.f_blocks * shm.f_frsize;
    if (HAS_LEVELS)
        snprintf(f->simd, sizeof(f->simd), "%s",
                 fdl_cpu_level_name(fdl_cpu_level()));
    f->simd_is_masked = is_set("FDL_CPU_MASK") || is_set("JSIMD_FORCENONE") ||
                        is_set("JSIMD_FORCESSE") || is_set("JSIMD_FORCESSE2");
    f->clock_ns = (double)fdl_clock_cost_ns();
}

static void look_at_io_uring(struct fdl_doctor_facts *f)
{
    int32_t status = fdl_reader_uring_try();
    f->io_uring = status < 0 ? status : 1;
    if (status < 0)
        snprintf(f->io_uring_reason, sizeof(f->io_uring_reason), "%s",
                 fdl_last_error());
}

/* ---- The cores ---------------------------------------------------------- */

static double since(uint64_t now, uint64_t before)
{
    return (double)(now - before);
}

static void watch(struct fdl_doctor_facts *f)
{
    struct fdl_signals *s;
    struct fdl_system_signals a;
    struct fdl_system_signals b;
    struct timespec left = {.tv_nsec = WATCH_NS};
    if (fdl_signals_open("", &s) < 0)
        return;
    int64_t begin = fdl_now_ns();
    struct fdl_busy_look *before = fdl_busy_look("");
    fdl_signals_read(s, &a);
    while (nanosleep(&left, &left) != 0)
        continue;
    fdl_signals_read(s, &b);
    double elapsed = (double)(fdl_now_ns() - begin);
    struct fdl_busy_look *after = fdl_busy_look("");
    f->n_busiest = fdl_busy_between(before, after, elapsed / 1e9, f->busiest);
    fdl_busy_free(before);
    fdl_busy_free(after);
    fdl_signals_close(s);
    if (elapsed <= 0 || !b.has_host)
        return;
    f->seconds = elapsed / 1e9;
    double others = since(b.host_busy_ns, a.host_busy_ns) -
                    since(b.process_cpu_ns, a.process_cpu_ns);
    f->other_cores = FDL_MAX(others, 0) / elapsed;
    if (b.periods > a.periods)
        f->throttled_share =
            FDL_MIN(since(b.throttled_periods, a.throttled_periods) /
                        since(b.periods, a.periods),
                    1);
}

/* ---- The GPU ------------------------------------------------------------ */

static void look_at_gpu(uint32_t number, struct fdl_doctor_facts *f)
{
    struct feedline_device_info info;
    f->wants_gpu = true;
    f->gpu_node = -1;
    if (fdl_gpu_info(number, &info) < 0) {
        snprintf(f->gpu_reason, sizeof(f->gpu_reason), "%s", fdl_last_error());
        return;
    }
    f->has_gpu = true;
    f->driver_version = info.driver_version;
    snprintf(f->gpu_name, sizeof(f->gpu_name), "%s", info.name);
    snprintf(f->gpu_pci, sizeof(f->gpu_pci), "%s", info.pci);
    f->gpu_node = fdl_affinity_node_of("", info.pci);
    if (f->gpu_node >= 0)
        f->cpus_on_gpu_node = fdl_doctor_cpus_on_node("", f->gpu_node);
    struct fdl_nvml *n =
        fdl_nvml_open(info.pci, f->nvml_reason, sizeof(f->nvml_reason));
    if (!n)
        return;
    f->has_nvml = fdl_nvml_read(n, fdl_now_ns(), &f->gpu);
    if (!f->has_nvml)
        snprintf(f->nvml_reason, sizeof(f->nvml_reason),
                 "it was loaded, and answers no question");
    fdl_nvml_close(n);
}

int32_t fdl_doctor_gather(const char *device, struct fdl_doctor_facts *out)
{
    const struct fdl_backend_ops *ops;
    uint32_t number;
    struct fdl_doctor_facts f = {.overcommit = -1, .gpu_node = -1};
    int32_t status = fdl_backend_find(device, &ops, &number);
    if (status < 0)
        return status;
    fdl_doctor_read("", &f);
    look_at_process(&f);
    watch(&f);
    look_at_io_uring(&f);
    if (ops->device == FEEDLINE_CUDA)
        look_at_gpu(number, &f);
    fdl_clear_error();
    *out = f;
    return FEEDLINE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few functions are declared here, so that no header of NVIDIA's is needed
 * to build and none of its versions is preferred. A function that the library
 * does not have, or that this GPU does not support, leaves its fields unknown;
 * only loading, initialising and finding the GPU must succeed.
 *
 * nvmlDeviceGetPcieThroughput watches the bus for 20 ms while it is called, and
 * the kernel's driver serialises such calls of all processes. So a process asks
 * one a second for each GPU, however many loaders watch it, in one direction at
 * a time; the other keeps its last value.
 *
 * GPM (Hopper and later) reports the SMs at work and both directions of the bus
 * as the difference of two samples, without waiting; we keep the sample of the
 * previous reading. Where it reports the bus, the slow call is never made.
 */
#include "profiler/system/nvml.h"

#include "base/compiler.h"
#include "base/text_hash.h"
#include "profiler/system/nvml_library.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A second, less what a watch that looks once a second may be early by. */
#define BUS_AGAIN_NS INT64_C(900000000)
#define BUS_MAX_MIB  1e7 /* per second; more is no measurement */

/* Numbers of the interface. */
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_PCIE_TX = 0,
    NVML_PCIE_RX = 1,
    NVML_GPM_VERSION = 1,
    NVML_GPM_SM_UTIL = 2,
    NVML_GPM_PCIE_TX = 20, /* MiB per second */
    NVML_GPM_PCIE_RX = 21,
    REASON_SW_POWER_CAP = 0x04,
    REASON_HW_SLOWDOWN = 0x08,
    REASON_SW_THERMAL = 0x20,
    REASON_HW_THERMAL = 0x40,
    REASON_HW_POWER_BRAKE = 0x80
};

typedef struct nvml_device *nvml_device;
typedef struct nvml_sample *nvml_sample;

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_gpm_support {
    unsigned version, is_supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int status;
    double value;
    char *short_name, *long_name, *unit;
};

/* The library's array has grown from 98 to 477 entries while the version
 * stayed; it writes `n` of them, and this has room for more. */
struct nvml_gpm_metrics {
    unsigned version, n;
    nvml_sample first, second;
    struct nvml_gpm_metric metric[1024];
};

struct functions {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int status);
    int (*driver_version)(char *text, unsigned room);
    int (*device_by_pci)(const char *pci, nvml_device *device);
    int (*utilization)(nvml_device, struct nvml_utilization *);
    int (*memory)(nvml_device, struct nvml_memory *);
    int (*power)(nvml_device, unsigned *milliwatts);
    int (*power_limit)(nvml_device, unsigned *milliwatts);
    int (*temperature)(nvml_device, int sensor, unsigned *celsius);
    int (*clock)(nvml_device, int which, unsigned *mhz);
    int (*max_clock)(nvml_device, int which, unsigned *mhz);
    int (*pcie)(nvml_device, int direction, unsigned *kib_per_second);
    int (*energy)(nvml_device, unsigned long long *millijoules);
    int (*reasons)(nvml_device, unsigned long long *bits);
    int (*gpm_support)(nvml_device, struct nvml_gpm_support *);
    int (*gpm_alloc)(nvml_sample *);
    int (*gpm_free)(nvml_sample);
    int (*gpm_sample)(nvml_device, nvml_sample);
    int (*gpm_metrics)(struct nvml_gpm_metrics *);
};

static const struct fdl_nvml_symbol symbols[] = {
    {offsetof(struct functions, init), {"nvmlInit_v2", "nvmlInit"}},
    {offsetof(struct functions, shutdown), {"nvmlShutdown"}},
    {offsetof(struct functions, error_text), {"nvmlErrorString"}},
    {offsetof(struct functions, driver_version),
     {"nvmlSystemGetDriverVersion"}},
    {offsetof(struct functions, device_by_pci),
     {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"}},
    {offsetof(struct functions, utilization),
     {"nvmlDeviceGetUtilizationRates"}},
    {offsetof(struct functions, memory), {"nvmlDeviceGetMemoryInfo"}},
    {offsetof(struct functions, power), {"nvmlDeviceGetPowerUsage"}},
    {offsetof(struct functions, power_limit),
     {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"}},
    {offsetof(struct functions, temperature), {"nvmlDeviceGetTemperature"}},
    {offsetof(struct functions, clock), {"nvmlDeviceGetClockInfo"}},
    {offsetof(struct functions, max_clock), {"nvmlDeviceGetMaxClockInfo"}},
    {offsetof(struct functions, pcie), {"nvmlDeviceGetPcieThroughput"}},
    {offsetof(struct functions, energy),
     {"nvmlDeviceGetTotalEnergyConsumption"}},
    {offsetof(struct functions, reasons),
     {"nvmlDeviceGetCurrentClocksEventReasons",
      "nvmlDeviceGetCurrentClocksThrottleReasons"}},
    {offsetof(struct functions, gpm_support), {"nvmlGpmQueryDeviceSupport"}},
    {offsetof(struct functions, gpm_alloc), {"nvmlGpmSampleAlloc"}},
    {offsetof(struct functions, gpm_free), {"nvmlGpmSampleFree"}},
    {offsetof(struct functions, gpm_sample), {"nvmlGpmSampleGet"}},
    {offsetof(struct functions, gpm_metrics), {"nvmlGpmMetricsGet"}},
};

/* A GPU's bus as this process last measured it. Relaxed: numbers that guard
 * nothing. */
struct bus {
    _Atomic uint64_t gpu;       /* hash of its address; 0: not in use */
    _Atomic int64_t claimed_ns; /* when it was last measured; 0: never */
    _Atomic uint32_t turn;      /* odd: tx is next */
    _Atomic uint64_t rx, tx;    /* KiB per second, plus 1; 0: not known */
};

static struct bus buses[64];

struct fdl_nvml {
    void *library;
    struct functions f;
    nvml_device device;
    bool initialised;
    bool lost;
    struct bus *bus; /* one of buses, or: */
    struct bus own_bus;
    nvml_sample sample[2]; /* the older one first; NULL: no GPM */
    bool sampled;          /* sample[0] is filled */
    bool gpm_has_bus;      /* it did not fail to report it */
    struct nvml_gpm_metrics metrics;
    char driver[32];
};

/* ---- Opening ------------------------------------------------------------ */

static void say(char *why, uint32_t room, const char *format, ...)
    FDL_PRINTF(3, 4);

static void say(char *why, uint32_t room, const char *format, ...)
{
    va_list args;
    if (!why || room == 0)
        return;
    va_start(args, format);
    vsnprintf(why, room, format, args);
    va_end(args);
}

static const char *error_text(const struct fdl_nvml *n, int status)
{
    const char *text = n->f.error_text ? n->f.error_text(status) : NULL;
    return text ? text : "an error without a text";
}

static bool load(struct fdl_nvml *n, char *why, uint32_t room)
{
    n->library =
        fdl_nvml_load(symbols, FDL_COUNT_OF(symbols), &n->f, why, room);
    if (!n->library)
        return false;
    if (n->f.init && n->f.device_by_pci)
        return true;
    say(why, room, "NVML has no %s",
        n->f.init ? "nvmlDeviceGetHandleByPciBusId" : "nvmlInit");
    return false;
}

static void prepare_gpm(struct fdl_nvml *n)
{
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    const struct functions *f = &n->f;
    if (!f->gpm_support || !f->gpm_alloc || !f->gpm_free || !f->gpm_sample ||
        !f->gpm_metrics ||
        f->gpm_support(n->device, &support) != NVML_SUCCESS ||
        !support.is_supported)
        return;
    for (size_t i = 0; i < FDL_COUNT_OF(n->sample); i++)
        if (f->gpm_alloc(&n->sample[i]) != NVML_SUCCESS)
            n->sample[i] = NULL;
    n->gpm_has_bus = n->sample[0] && n->sample[1];
}

/* NULL: the table is full. */
static struct bus *shared_bus(const char *pci)
{
    uint64_t gpu = FDL_MAX(fdl_hash_text(pci), UINT64_C(1));
    for (size_t i = 0; i < FDL_COUNT_OF(buses); i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong_explicit(&buses[i].gpu, &there, gpu,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed) ||
            there == gpu)
            return &buses[i];
    }
    return NULL;
}

struct fdl_nvml *fdl_nvml_open(const char *pci, char *why, uint32_t room)
{
    struct fdl_nvml *n = calloc(1, sizeof(*n));
    if (!n) {
        say(why, room, "out of memory");
        return NULL;
    }
    n->bus = shared_bus(pci);
    if (!n->bus)
        n->bus = &n->own_bus;
    if (!load(n, why, room))
        goto fail;
    int status = n->f.init();
    if (status != NVML_SUCCESS) {
        say(why, room, "nvmlInit: %s", error_text(n, status));
        goto fail;
    }
    n->initialised = true;
    status = n->f.device_by_pci(pci, &n->device);
    if (status != NVML_SUCCESS) {
        say(why, room, "GPU %s: %s", pci, error_text(n, status));
        goto fail;
    }
    if (!n->f.driver_version ||
        n->f.driver_version(n->driver, sizeof(n->driver)) != NVML_SUCCESS)
        n->driver[0] = '\0';
    n->driver[sizeof(n->driver) - 1] = '\0';
    prepare_gpm(n);
    return n;
fail:
    fdl_nvml_close(n);
    return NULL;
}

void fdl_nvml_close(struct fdl_nvml *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < FDL_COUNT_OF(n->sample); i++)
        if (n->sample[i])
            n->f.gpm_free(n->sample[i]);
    if (n->initialised && n->f.shutdown)
        n->f.shutdown();
    if (n->library)
        dlclose(n->library);
    free(n);
}

/* ---- Reading ------------------------------------------------------------ */

/* true: the call gave a value. Notes that the GPU or the driver is gone. */
static bool gave(struct fdl_nvml *n, int status)
{
    n->lost |= status == NVML_ERROR_GPU_IS_LOST ||
               status == NVML_ERROR_RESET_REQUIRED ||
               status == NVML_ERROR_DRIVER_NOT_LOADED ||
               status == NVML_ERROR_UNINITIALIZED;
    return status == NVML_SUCCESS;
}

#define CAN(n, function) (!(n)->lost && (n)->f.function)

/* One number in units of 1/scale. Some GPUs say all ones for "not known". */
static bool read_number(struct fdl_nvml *n, int (*f)(nvml_device, unsigned *),
                        double scale, double *out)
{
    unsigned value;
    if (n->lost || !f || !gave(n, f(n->device, &value)) || value == ~0u)
        return false;
    *out = value / scale;
    return true;
}

static bool read_clock(struct fdl_nvml *n,
                       int (*f)(nvml_device, int, unsigned *), int which,
                       double *out)
{
    unsigned value;
    if (n->lost || !f || !gave(n, f(n->device, which, &value)) || value == ~0u)
        return false;
    *out = value;
    return true;
}

static bool read_use(struct fdl_nvml *n, struct fdl_gpu_signals *s)
{
    struct nvml_utilization use;
    struct nvml_memory memory;
    bool any = false;
    if (CAN(n, utilization) && gave(n, n->f.utilization(n->device, &use))) {
        s->utilization = use.gpu / 100.0;
        s->memory_utilization = use.memory / 100.0;
        any = true;
    }
    if (CAN(n, memory) && gave(n, n->f.memory(n->device, &memory))) {
        s->memory_used_bytes = (double)memory.used;
        s->memory_total_bytes = (double)memory.total;
        any = true;
    }
    return any;
}

static bool read_power(struct fdl_nvml *n, struct fdl_gpu_signals *s)
{
    unsigned long long value;
    bool any = read_number(n, n->f.power, 1e3, &s->power_watts);
    any |= read_number(n, n->f.power_limit, 1e3, &s->power_limit_watts);
    if (CAN(n, energy) && gave(n, n->f.energy(n->device, &value))) {
        s->energy_joules = (double)value / 1e3;
        any = true;
    }
    if (CAN(n, reasons) && gave(n, n->f.reasons(n->device, &value))) {
        s->power_capped = value & (REASON_SW_POWER_CAP | REASON_HW_POWER_BRAKE);
        s->thermal_capped = value & (REASON_SW_THERMAL | REASON_HW_THERMAL);
        /* The older sign of both, alone: a hot GPU is by far the more common
         * reason. */
        if (value & REASON_HW_SLOWDOWN && !s->power_capped)
            s->thermal_capped = true;
        any = true;
    }
    return any;
}

static double gbps_of(_Atomic uint64_t *kib)
{
    uint64_t value = atomic_load_explicit(kib, memory_order_relaxed);
    return value ? (double)(value - 1) * 1024.0 / 1e9 : -1;
}

/* true: nobody in this process has measured this bus in the last second. */
static bool claim(struct bus *b, int64_t now)
{
    int64_t last = atomic_load_explicit(&b->claimed_ns, memory_order_relaxed);
    return (last == 0 || now - last >= BUS_AGAIN_NS) &&
           atomic_compare_exchange_strong_explicit(&b->claimed_ns, &last, now,
                                                   memory_order_relaxed,
                                                   memory_order_relaxed);
}

static bool read_bus(struct fdl_nvml *n, int64_t now, struct fdl_gpu_signals *s)
{
    struct bus *b = n->bus;
    if (CAN(n, pcie) && claim(b, now)) {
        unsigned value;
        bool is_tx =
            atomic_fetch_add_explicit(&b->turn, 1, memory_order_relaxed) & 1;
        int status =
            n->f.pcie(n->device, is_tx ? NVML_PCIE_TX : NVML_PCIE_RX, &value);
        atomic_store_explicit(is_tx ? &b->tx : &b->rx,
                              gave(n, status) ? (uint64_t)value + 1 : 0,
                              memory_order_relaxed);
    }
    if (!CAN(n, pcie))
        return false;
    s->pcie_rx_gbps = gbps_of(&b->rx);
    s->pcie_tx_gbps = gbps_of(&b->tx);
    return s->pcie_rx_gbps >= 0 || s->pcie_tx_gbps >= 0;
}

/* The three metrics over the time between the last two samples. */
static bool ask_gpm(struct fdl_nvml *n)
{
    struct nvml_gpm_metrics *m = &n->metrics;
    m->version = NVML_GPM_VERSION;
    m->n = 0;
    m->metric[m->n++] = (struct nvml_gpm_metric){.id = NVML_GPM_SM_UTIL};
    m->metric[m->n++] = (struct nvml_gpm_metric){.id = NVML_GPM_PCIE_TX};
    m->metric[m->n++] = (struct nvml_gpm_metric){.id = NVML_GPM_PCIE_RX};
    m->first = n->sample[0];
    m->second = n->sample[1];
    bool given = gave(n, n->f.gpm_metrics(m));
    n->sample[0] = m->second;
    n->sample[1] = m->first;
    return given;
}

static bool is_given(const struct nvml_gpm_metric *m, double most)
{
    return m->status == NVML_SUCCESS && m->value >= 0 && m->value <= most;
}

static bool read_gpm(struct fdl_nvml *n, struct fdl_gpu_signals *s)
{
    const struct nvml_gpm_metric *sm = &n->metrics.metric[0];
    const struct nvml_gpm_metric *tx = &n->metrics.metric[1];
    const struct nvml_gpm_metric *rx = &n->metrics.metric[2];
    if (n->lost || !n->sample[0] || !n->sample[1])
        return false;
    nvml_sample now = n->sample[n->sampled ? 1 : 0];
    if (!gave(n, n->f.gpm_sample(n->device, now))) {
        n->gpm_has_bus = false;
        return false;
    }
    if (!n->sampled) {
        n->sampled = true;
        return false;
    }
    bool given = ask_gpm(n);
    n->gpm_has_bus =
        given && is_given(tx, BUS_MAX_MIB) && is_given(rx, BUS_MAX_MIB);
    if (n->gpm_has_bus) {
        s->pcie_tx_gbps = tx->value * 1048576.0 / 1e9;
        s->pcie_rx_gbps = rx->value * 1048576.0 / 1e9;
    }
    if (given && is_given(sm, 100))
        s->sm_active = sm->value / 100;
    return n->gpm_has_bus || s->sm_active >= 0;
}

bool fdl_nvml_read(struct fdl_nvml *n, int64_t now, struct fdl_gpu_signals *out)
{
    struct fdl_gpu_signals unknown = {-1, -1, -1, -1, -1, -1,    -1,    -1,
                                      -1, -1, -1, -1, -1, false, false, ""};
    unsigned celsius;
    *out = unknown;
    memcpy(out->driver, n->driver, sizeof(out->driver));
    bool any = read_use(n, out);
    any |= read_power(n, out);
    if (CAN(n, temperature) &&
        gave(n, n->f.temperature(n->device, NVML_TEMPERATURE_GPU, &celsius))) {
        out->temperature = celsius;
        any = true;
    }
    any |= read_clock(n, n->f.clock, NVML_CLOCK_SM, &out->sm_clock_mhz);
    any |= read_clock(n, n->f.max_clock, NVML_CLOCK_SM, &out->max_sm_clock_mhz);
    any |= read_gpm(n, out);
    if (!n->gpm_has_bus)
        any |= read_bus(n, now, out);
    if (any && !n->lost)
        return true;
    *out = unknown;
    return false;
}

const char *fdl_gpu_cap_name(const struct fdl_gpu_signals *s)
{
    if (s->power_capped && s->thermal_capped)
        return "power, thermal";
    if (s->power_capped)
        return "power";
    return s->thermal_capped ? "thermal" : "";
}

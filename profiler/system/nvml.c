/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few functions are declared here, so that no header of NVIDIA's is needed
 * to build and none of its versions is preferred. A function that the library
 * does not have, or that this GPU does not support, leaves its fields unknown;
 * only loading, initialising and finding the GPU must succeed.
 *
 * nvmlDeviceGetPcieThroughput watches the bus for 20 ms while it is called. So
 * each reading asks for one direction, in turn, and repeats the other's last
 * value.
 *
 * How many SMs are at work is told by GPM (Hopper and later) as the difference
 * of two samples; we keep the one of the reading before.
 */
#include "profiler/system/nvml.h"

#include "base/compiler.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY     "libnvidia-ml.so.1"
#define ENVIRONMENT "FEEDLINE_NVML"

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

/* The library's array has grown from 98 to 333 entries while the version
 * stayed; it writes `n` of them, and this has room for more. */
struct nvml_gpm_metrics {
    unsigned version, n;
    nvml_sample first, second;
    struct nvml_gpm_metric metric[512];
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

/* Some were renamed: the first name that is there is taken. */
static const struct {
    size_t at;
    const char *name[2];
} symbols[] = {
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

struct fdl_nvml {
    void *library;
    struct functions f;
    nvml_device device;
    bool initialised;
    bool lost;
    bool next_is_tx;
    double rx_gbps, tx_gbps; /* last ones; -1: not known */
    nvml_sample sample[2];   /* the older one first; NULL: no GPM */
    bool sampled;            /* sample[0] is filled */
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

/* dlsym gives a pointer to data; C has no cast from it to a function. */
static void find_functions(struct fdl_nvml *n)
{
    for (size_t i = 0; i < FDL_COUNT_OF(symbols); i++) {
        void *symbol = dlsym(n->library, symbols[i].name[0]);
        if (!symbol && symbols[i].name[1])
            symbol = dlsym(n->library, symbols[i].name[1]);
        memcpy((char *)&n->f + symbols[i].at, &symbol, sizeof(symbol));
    }
}

static bool load(struct fdl_nvml *n, char *why, uint32_t room)
{
    const char *path = getenv(ENVIRONMENT);
    bool named = path && *path;
    n->library = dlopen(named ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        const char *text = dlerror();
        say(why, room, "%s%s", named ? ENVIRONMENT ": " : "",
            text ? text : "cannot be loaded");
        return false;
    }
    find_functions(n);
    if (n->f.init && n->f.device_by_pci)
        return true;
    say(why, room, "%s has no %s", named ? path : LIBRARY,
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
}

struct fdl_nvml *fdl_nvml_open(const char *pci, char *why, uint32_t room)
{
    struct fdl_nvml *n = calloc(1, sizeof(*n));
    if (!n) {
        say(why, room, "out of memory");
        return NULL;
    }
    n->rx_gbps = n->tx_gbps = -1;
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

/* In units of 1024 bytes per second. */
static bool read_bus(struct fdl_nvml *n, struct fdl_gpu_signals *s)
{
    unsigned value;
    bool any = false;
    double *last = n->next_is_tx ? &n->tx_gbps : &n->rx_gbps;
    if (CAN(n, pcie)) {
        any = gave(n, n->f.pcie(n->device,
                                n->next_is_tx ? NVML_PCIE_TX : NVML_PCIE_RX,
                                &value));
        *last = any ? value * 1024.0 / 1e9 : -1;
        n->next_is_tx = !n->next_is_tx;
    }
    s->pcie_rx_gbps = n->rx_gbps;
    s->pcie_tx_gbps = n->tx_gbps;
    return any;
}

static bool read_sm(struct fdl_nvml *n, struct fdl_gpu_signals *s)
{
    struct nvml_gpm_metrics *m = &n->metrics;
    if (n->lost || !n->sample[0] || !n->sample[1])
        return false;
    nvml_sample now = n->sample[n->sampled ? 1 : 0];
    if (!gave(n, n->f.gpm_sample(n->device, now)))
        return false;
    if (!n->sampled) {
        n->sampled = true;
        return false;
    }
    m->version = NVML_GPM_VERSION;
    m->n = 1;
    m->first = n->sample[0];
    m->second = n->sample[1];
    m->metric[0] = (struct nvml_gpm_metric){.id = NVML_GPM_SM_UTIL};
    bool given = gave(n, n->f.gpm_metrics(m)) &&
                 m->metric[0].status == NVML_SUCCESS &&
                 m->metric[0].value >= 0 && m->metric[0].value <= 100;
    n->sample[0] = m->second;
    n->sample[1] = m->first;
    if (given)
        s->sm_active = m->metric[0].value / 100;
    return given;
}

bool fdl_nvml_read(struct fdl_nvml *n, struct fdl_gpu_signals *out)
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
    any |= read_bus(n, out);
    any |= read_sm(n, out);
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

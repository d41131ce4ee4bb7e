/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML without a GPU: FEEDLINE_NVML names this library, FEEDLINE_NVML_DOUBLE a
 * text file of what it says. The file is read at each call, so it can change
 * while a program runs; without one there is an idle GPU in good health. Lines
 * of "key number", in any order:
 *
 *   utilization, memory_utilization    percent
 *   memory_used, memory_total          bytes
 *   power, power_limit                 milliwatts; temperature in degrees
 *   clock, max_clock                   MHz
 *   rx, tx                             KiB per second
 *   energy                             millijoules
 *   reasons                            bits of the clocks event reasons
 *   gpm                                0: not supported; sm: percent
 *   gpm_bus                            0: GPM does not report rx and tx
 *   count                              GPUs, 2 unless it says so; mixed: 1, and
 *                                      they have different names; mig: number
 *                                      of the one that is split
 *   lost_after                         calls of a GPU until it is lost
 *   fail_NAME                          status that function NAME returns, as
 *                                      fail_nvmlDeviceGetPowerUsage 3
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define PCI "0000:1b:00.0"

enum { DONE = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, LOST = 15 };

static atomic_uint initialised;
static atomic_llong calls;

static long long value_of(const char *key, long long otherwise)
{
    const char *path = getenv("FEEDLINE_NVML_DOUBLE");
    FILE *f = path && *path ? fopen(path, "r") : NULL;
    char name[128];
    long long value;
    while (f && fscanf(f, "%127s %lld", name, &value) == 2)
        if (strcmp(name, key) == 0)
            otherwise = value;
    if (f)
        fclose(f);
    return otherwise;
}

static int failure_of(const char *function)
{
    char key[128];
    snprintf(key, sizeof(key), "fail_%s", function);
    return (int)value_of(key, DONE);
}

/* The status of a call of a GPU's function. */
static int enter(const char *function)
{
    if (atomic_load(&initialised) == 0)
        return 1;
    long long last = value_of("lost_after", -1);
    if (last >= 0 && atomic_fetch_add(&calls, 1) >= last)
        return LOST;
    return failure_of(function);
}

static int give(const char *function, const char *key, long long otherwise,
                unsigned *out)
{
    int status = enter(function);
    if (status == DONE)
        *out = (unsigned)value_of(key, otherwise);
    return status;
}

static int give_long(const char *function, const char *key,
                     unsigned long long *out)
{
    int status = enter(function);
    if (status == DONE)
        *out = (unsigned long long)value_of(key, 0);
    return status;
}

API int nvmlInit_v2(void);
API int nvmlInit_v2(void)
{
    int status = failure_of("nvmlInit_v2");
    if (status == DONE)
        atomic_fetch_add(&initialised, 1);
    return status;
}

API int nvmlShutdown(void);
API int nvmlShutdown(void)
{
    if (atomic_load(&initialised) == 0)
        abort(); /* a caller's mistake */
    atomic_fetch_sub(&initialised, 1);
    return DONE;
}

API const char *nvmlErrorString(int status);
API const char *nvmlErrorString(int status)
{
    switch (status) {
    case NOT_SUPPORTED:
        return "Not Supported";
    case NOT_FOUND:
        return "Not Found";
    case 9:
        return "Driver Not Loaded";
    case LOST:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}

API int nvmlSystemGetDriverVersion(char *text, unsigned room);
API int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    int status = failure_of("nvmlSystemGetDriverVersion");
    if (status == DONE)
        snprintf(text, room, "550.54.15");
    return status;
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
    int status = failure_of("nvmlDeviceGetHandleByPciBusId_v2");
    if (status == DONE && value_of("any_pci", 1) == 0 && strcmp(pci, PCI) != 0)
        status = NOT_FOUND;
    if (status == DONE)
        *device = &initialised;
    return status;
}

API int nvmlDeviceGetUtilizationRates(void *device, unsigned out[2]);
API int nvmlDeviceGetUtilizationRates(void *device, unsigned out[2])
{
    (void)device;
    int status = enter("nvmlDeviceGetUtilizationRates");
    if (status == DONE) {
        out[0] = (unsigned)value_of("utilization", 0);
        out[1] = (unsigned)value_of("memory_utilization", 0);
    }
    return status;
}

API int nvmlDeviceGetMemoryInfo(void *device, unsigned long long out[3]);
API int nvmlDeviceGetMemoryInfo(void *device, unsigned long long out[3])
{
    (void)device;
    int status = enter("nvmlDeviceGetMemoryInfo");
    if (status == DONE) {
        out[0] = (unsigned long long)value_of("memory_total", 1LL << 34);
        out[2] = (unsigned long long)value_of("memory_used", 1LL << 30);
        out[1] = out[0] - out[2];
    }
    return status;
}

#define GIVES(function, key, otherwise)                                        \
  API int function(void *device, unsigned *out);                               \
  API int function(void *device, unsigned *out)                                \
  {                                                                            \
    (void)device;                                                              \
    return give(#function, key, otherwise, out);                               \
  }
GIVES(nvmlDeviceGetPowerUsage, "power", 60000)
GIVES(nvmlDeviceGetEnforcedPowerLimit, "power_limit", 300000)

API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);
API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
    (void)device;
    return sensor == 0
               ? give("nvmlDeviceGetTemperature", "temperature", 40, out)
               : NOT_SUPPORTED;
}

API int nvmlDeviceGetClockInfo(void *device, int which, unsigned *out);
API int nvmlDeviceGetClockInfo(void *device, int which, unsigned *out)
{
    (void)device;
    return which == 1 ? give("nvmlDeviceGetClockInfo", "clock", 1410, out)
                      : NOT_SUPPORTED;
}

API int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *out);
API int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *out)
{
    (void)device;
    return which == 1
               ? give("nvmlDeviceGetMaxClockInfo", "max_clock", 1980, out)
               : NOT_SUPPORTED;
}

API int nvmlDeviceGetPcieThroughput(void *device, int direction, unsigned *out);
API int nvmlDeviceGetPcieThroughput(void *device, int direction, unsigned *out)
{
    (void)device;
    return give("nvmlDeviceGetPcieThroughput", direction == 0 ? "tx" : "rx", 0,
                out);
}

API int nvmlDeviceGetTotalEnergyConsumption(void *device,
                                            unsigned long long *out);
API int nvmlDeviceGetTotalEnergyConsumption(void *device,
                                            unsigned long long *out)
{
    (void)device;
    return give_long("nvmlDeviceGetTotalEnergyConsumption", "energy", out);
}

API int nvmlDeviceGetCurrentClocksEventReasons(void *device,
                                               unsigned long long *out);
API int nvmlDeviceGetCurrentClocksEventReasons(void *device,
                                               unsigned long long *out)
{
    (void)device;
    return give_long("nvmlDeviceGetCurrentClocksEventReasons", "reasons", out);
}

/* ---- The list of GPUs --------------------------------------------------- */

static const char numbers[64]; /* their addresses are the handles */

static unsigned number_of(const void *device)
{
    return (unsigned)((const char *)device - numbers);
}

API int nvmlSystemGetCudaDriverVersion_v2(int *version);
API int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    int status = failure_of("nvmlSystemGetCudaDriverVersion_v2");
    if (status == DONE)
        *version = 12040;
    return status;
}

API int nvmlDeviceGetCount_v2(unsigned *n);
API int nvmlDeviceGetCount_v2(unsigned *n)
{
    int status = enter("nvmlDeviceGetCount_v2");
    if (status == DONE)
        *n = (unsigned)value_of("count", 2);
    return status;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned i, const void **device);
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, const void **device)
{
    int status = enter("nvmlDeviceGetHandleByIndex_v2");
    if (status == DONE && i >= (unsigned)value_of("count", 2))
        status = NOT_FOUND;
    if (status == DONE)
        *device = &numbers[i];
    return status;
}

API int nvmlDeviceGetName(const void *device, char *text, unsigned room);
API int nvmlDeviceGetName(const void *device, char *text, unsigned room)
{
    unsigned i = value_of("mixed", 0) ? number_of(device) : 0;
    int status = enter("nvmlDeviceGetName");
    if (status == DONE)
        snprintf(text, room, "GPU of kind %u", i);
    return status;
}

API int nvmlDeviceGetUUID(const void *device, char *text, unsigned room);
API int nvmlDeviceGetUUID(const void *device, char *text, unsigned room)
{
    int status = enter("nvmlDeviceGetUUID");
    if (status == DONE)
        snprintf(text, room, "GPU-a%u00-0123", number_of(device));
    return status;
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, ids[2];
    char id[32];
};

API int nvmlDeviceGetPciInfo_v3(const void *device, struct pci *out);
API int nvmlDeviceGetPciInfo_v3(const void *device, struct pci *out)
{
    int status = enter("nvmlDeviceGetPciInfo_v3");
    if (status == DONE)
        *out = (struct pci){.domain = 0xffff, .bus = number_of(device) + 1};
    return status;
}

API int nvmlDeviceGetMigMode(const void *device, unsigned *now,
                             unsigned *pending);
API int nvmlDeviceGetMigMode(const void *device, unsigned *now,
                             unsigned *pending)
{
    int status = enter("nvmlDeviceGetMigMode");
    if (status == DONE)
        *now = *pending = value_of("mig", -1) == (long long)number_of(device);
    return status;
}

/* ---- GPM: a sample counts how often one was taken ----------------------- */

static atomic_llong samples;

API int nvmlGpmQueryDeviceSupport(void *device, unsigned support[2]);
API int nvmlGpmQueryDeviceSupport(void *device, unsigned support[2])
{
    (void)device;
    if (support[0] != 1)
        return 25; /* of another version */
    support[1] = (unsigned)value_of("gpm", 1);
    return failure_of("nvmlGpmQueryDeviceSupport");
}

API int nvmlGpmSampleAlloc(void **sample);
API int nvmlGpmSampleAlloc(void **sample)
{
    int status = failure_of("nvmlGpmSampleAlloc");
    if (status == DONE)
        *sample = calloc(1, sizeof(long long));
    return status;
}

API int nvmlGpmSampleFree(void *sample);
API int nvmlGpmSampleFree(void *sample)
{
    free(sample);
    return DONE;
}

API int nvmlGpmSampleGet(void *device, void *sample);
API int nvmlGpmSampleGet(void *device, void *sample)
{
    (void)device;
    int status = enter("nvmlGpmSampleGet");
    if (status == DONE)
        *(long long *)sample = atomic_fetch_add(&samples, 1) + 1;
    return status;
}

struct metrics {
    unsigned version, n;
    long long *first, *second;
    struct {
        unsigned id;
        int status;
        double value;
        void *texts[3];
    } metric[8];
};

static int give_metric(unsigned id, double *out)
{
    bool has_bus = value_of("gpm_bus", 1) != 0;
    if (id == 2)
        *out = (double)value_of("sm", 50);
    else if (id == 20 && has_bus)
        *out = (double)value_of("tx", 0) / 1024; /* MiB per second */
    else if (id == 21 && has_bus)
        *out = (double)value_of("rx", 0) / 1024;
    else
        return NOT_SUPPORTED;
    return failure_of("metric");
}

/* The second sample has to be the later one. */
API int nvmlGpmMetricsGet(struct metrics *m);
API int nvmlGpmMetricsGet(struct metrics *m)
{
    int status = enter("nvmlGpmMetricsGet");
    if (status != DONE)
        return status;
    if (m->version != 1 || m->n < 1 || m->n > 8 || *m->first == 0 ||
        *m->first >= *m->second)
        return 2;
    for (unsigned i = 0; i < m->n; i++)
        m->metric[i].status = give_metric(m->metric[i].id, &m->metric[i].value);
    return DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this process without CUDA; nvml_devices.h says why. */
#include "profiler/system/nvml_devices.h"

#include "base/compiler.h"
#include "base/status.h"
#include "profiler/system/nvml_library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_BYTES 96

typedef struct nvml_device *nvml_device;

/* nvmlPciInfo_t up to what is read; later versions only added to its end. */
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device;
    unsigned rest[32];
};

struct functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *n);
    int (*by_index)(unsigned i, nvml_device *device);
    int (*name)(nvml_device, char *text, unsigned room);
    int (*uuid)(nvml_device, char *text, unsigned room);
    int (*pci)(nvml_device, struct nvml_pci *);
    int (*mig)(nvml_device, unsigned *now, unsigned *pending);
    int (*cuda_version)(int *version);
};

static const struct fdl_nvml_symbol symbols[] = {
    {offsetof(struct functions, init), {"nvmlInit_v2"}},
    {offsetof(struct functions, shutdown), {"nvmlShutdown"}},
    {offsetof(struct functions, count), {"nvmlDeviceGetCount_v2"}},
    {offsetof(struct functions, by_index), {"nvmlDeviceGetHandleByIndex_v2"}},
    {offsetof(struct functions, name), {"nvmlDeviceGetName"}},
    {offsetof(struct functions, uuid), {"nvmlDeviceGetUUID"}},
    {offsetof(struct functions, pci),
     {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"}},
    {offsetof(struct functions, mig), {"nvmlDeviceGetMigMode"}},
    {offsetof(struct functions, cuda_version),
     {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}},
};

/* Every GPU, by its number on the bus. */
struct machine {
    struct fdl_nvml_devices all;
    char uuid[FDL_NVML_DEVICES_MAX][UUID_BYTES];
};

static int32_t only_cuda(const char *why)
{
    return fdl_fail(FEEDLINE_ENOSYS, "only CUDA can list its GPUs: %s", why);
}

/* ---- All GPUs ------------------------------------------------------------ */

static bool is_split(const struct functions *f, nvml_device device)
{
    unsigned now = 0, pending = 0;
    return f->mig && f->mig(device, &now, &pending) == FDL_NVML_SUCCESS && now;
}

static int32_t read_device(const struct functions *f, unsigned i,
                           struct machine *m)
{
    nvml_device device;
    struct nvml_pci pci = {.domain = 0};
    struct fdl_nvml_device *out = &m->all.at[i];
    if (f->by_index(i, &device) != FDL_NVML_SUCCESS ||
        f->name(device, out->name, sizeof(out->name)) != FDL_NVML_SUCCESS ||
        f->uuid(device, m->uuid[i], UUID_BYTES) != FDL_NVML_SUCCESS ||
        f->pci(device, &pci) != FDL_NVML_SUCCESS)
        return only_cuda("NVML does not describe them");
    if (is_split(f, device))
        return only_cuda("one is split (MIG)");
    out->name[sizeof(out->name) - 1] = '\0';
    snprintf(out->pci, sizeof(out->pci), "%04x:%02x:%02x.0",
             pci.domain & 0xffffu, pci.bus & 0xffu, pci.device & 0xffu);
    return FEEDLINE_OK;
}

static int32_t read_all(const struct functions *f, struct machine *m)
{
    unsigned n = 0;
    int32_t status = FEEDLINE_OK;
    if (f->count(&n) != FDL_NVML_SUCCESS)
        return only_cuda("NVML does not count them");
    m->all.n = FDL_MIN(n, (unsigned)FDL_NVML_DEVICES_MAX);
    for (unsigned i = 0; i < m->all.n && status >= 0; i++)
        status = read_device(f, i, m);
    int version = 0;
    if (f->cuda_version && f->cuda_version(&version) == FDL_NVML_SUCCESS)
        m->all.cuda_version = version;
    return status;
}

static int32_t ask(struct machine *m)
{
    struct functions f = {.init = NULL};
    char why[256] = "";
    void *library =
        fdl_nvml_load(symbols, FDL_COUNT_OF(symbols), &f, why, sizeof(why));
    if (!library)
        return only_cuda(why);
    int32_t status;
    if (!f.init || !f.shutdown || !f.count || !f.by_index || !f.name ||
        !f.uuid || !f.pci) {
        status = only_cuda("this NVML lacks functions");
    } else if (f.init() != FDL_NVML_SUCCESS) {
        status = only_cuda("NVML does not start");
    } else {
        status = read_all(&f, m);
        f.shutdown();
    }
    dlclose(library);
    return status;
}

/* ---- Those that are visible ---------------------------------------------- */

static bool is_mixed(const struct machine *m)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    if (order && strcmp(order, "PCI_BUS_ID") == 0)
        return false;
    for (uint32_t i = 1; i < m->all.n; i++)
        if (strcmp(m->all.at[i].name, m->all.at[0].name) != 0)
            return true;
    return false;
}

/* The GPU of an entry; -1: none. */
static int32_t find_uuid(const struct machine *m, const char *entry,
                         size_t length)
{
    int32_t found = -1;
    for (uint32_t i = 0; i < m->all.n; i++) {
        if (strncasecmp(m->uuid[i], entry, length) != 0)
            continue;
        if (found >= 0)
            return -1; /* of several */
        found = (int32_t)i;
    }
    return found;
}

static int32_t find_entry(const struct machine *m, const char *entry,
                          size_t length)
{
    char *end;
    if (strncasecmp(entry, "GPU-", 4) == 0)
        return find_uuid(m, entry, length);
    if (!isdigit((unsigned char)*entry))
        return -1;
    unsigned long number = strtoul(entry, &end, 10);
    return end == entry + length && number < m->all.n ? (int32_t)number : -1;
}

/* CUDA_VISIBLE_DEVICES, up to the first entry that is no GPU. */
static int32_t choose(const struct machine *m, const char *list,
                      struct fdl_nvml_devices *out)
{
    bool taken[FDL_NVML_DEVICES_MAX] = {false};
    bool by_number = false;
    for (const char *p = list;; p++) {
        p += strspn(p, " \t");
        size_t length = strcspn(p, ", \t");
        if (strncasecmp(p, "MIG-", 4) == 0)
            return only_cuda("CUDA_VISIBLE_DEVICES names a part of one (MIG)");
        int32_t i = find_entry(m, p, length);
        if (i < 0)
            break;
        if (taken[i])
            return only_cuda("CUDA_VISIBLE_DEVICES repeats one");
        taken[i] = true;
        by_number |= isdigit((unsigned char)*p) != 0;
        out->at[out->n++] = m->all.at[i];
        p += length;
        p += strspn(p, " \t");
        if (*p != ',')
            break;
    }
    if (by_number && is_mixed(m))
        return only_cuda("they differ, and CUDA orders them by speed");
    return FEEDLINE_OK;
}

int32_t fdl_nvml_list(struct fdl_nvml_devices *out)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct machine *m = calloc(1, sizeof(*m));
    if (!m)
        return fdl_fail_memory(sizeof(*m), "the list of GPUs");
    struct fdl_nvml_devices found = {.n = 0};
    int32_t status = ask(m);
    if (status >= 0 && !visible && is_mixed(m))
        status = only_cuda("they differ, and CUDA orders them by speed");
    else if (status >= 0 && !visible)
        found = m->all;
    else if (status >= 0)
        status = choose(m, visible, &found);
    found.cuda_version = m->all.cuda_version;
    free(m);
    if (status >= 0)
        *out = found;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "nvtx_listener.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT   __attribute__((visibility("default")))
#define SCHEMA   (NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 7)
#define DEPTH    16
#define UNDERWAY 4096

struct fields {
    uint64_t batch, samples;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvtx_listener seen;    /* guarded by lock, as what follows */
static uint32_t under_way[UNDERWAY]; /* range of id - 1, and one; 0: ended */
static uint64_t n_started;

static _Thread_local uint32_t nested[DEPTH], depth;

static void copy_text(char *to, const char *from)
{
    strncpy(to, from, 31);
}

/* The range that an event names, counted; NULL: a fault. */
static struct nvtx_listener_range *count_locked(nvtxDomainHandle_t domain,
                                                const nvtxEventAttributes_t *e)
{
    uintptr_t name = (uintptr_t)e->message.registered;
    if ((void *)domain != &seen ||
        e->messageType != NVTX_MESSAGE_TYPE_REGISTERED || name == 0 ||
        name > seen.n_ranges) {
        seen.faults++;
        return NULL;
    }
    struct nvtx_listener_range *r = &seen.ranges[name - 1];
    struct fields fields = {e->payload.ullValue, 0};
    if (e->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
        const nvtxPayloadData_t *data =
            (const nvtxPayloadData_t *)(uintptr_t)e->payload.ullValue;
        if (e->reserved0 != 1 || data->schemaId != SCHEMA ||
            data->size != sizeof(fields)) {
            seen.faults++;
            return NULL;
        }
        memcpy(&fields, data->payload, sizeof(fields));
        seen.fields++;
    }
    if (r->batches_end <= fields.batch)
        r->batches_end = fields.batch + 1;
    r->samples += fields.samples;
    return r;
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *e)
{
    pthread_mutex_lock(&lock);
    struct nvtx_listener_range *r = count_locked(domain, e);
    if (r && depth < DEPTH) {
        r->pushes++;
        nested[depth++] = (uint32_t)(r - seen.ranges);
    }
    pthread_mutex_unlock(&lock);
    return (int)depth - 1;
}

static int pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    pthread_mutex_lock(&lock);
    if (depth > 0)
        seen.ranges[nested[--depth]].pops++;
    else
        seen.faults++;
    pthread_mutex_unlock(&lock);
    return (int)depth;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain,
                           const nvtxEventAttributes_t *e)
{
    nvtxRangeId_t id = 0;
    pthread_mutex_lock(&lock);
    struct nvtx_listener_range *r = count_locked(domain, e);
    if (r && n_started < UNDERWAY) {
        under_way[n_started] = (uint32_t)(r - seen.ranges) + 1;
        r->starts++;
        id = ++n_started;
    }
    pthread_mutex_unlock(&lock);
    return id;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    pthread_mutex_lock(&lock);
    if (id == 0 || id > n_started || under_way[id - 1] == 0) {
        seen.faults++;
    } else {
        seen.ranges[under_way[id - 1] - 1].ends++;
        under_way[id - 1] = 0;
    }
    pthread_mutex_unlock(&lock);
}

static nvtxDomainHandle_t make_domain(const char *name)
{
    pthread_mutex_lock(&lock);
    seen.domains++;
    copy_text(seen.domain, name);
    pthread_mutex_unlock(&lock);
    return (nvtxDomainHandle_t)(void *)&seen;
}

static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain,
                                          const char *text)
{
    (void)domain;
    pthread_mutex_lock(&lock);
    copy_text(seen.ranges[seen.n_ranges].name, text);
    uintptr_t handle = ++seen.n_ranges;
    pthread_mutex_unlock(&lock);
    return (nvtxStringHandle_t)handle;
}

static void name_thread(uint32_t id, const char *name)
{
    (void)id;
    pthread_mutex_lock(&lock);
    if (seen.n_threads < NVTX_LISTENER_THREADS)
        copy_text(seen.threads[seen.n_threads++], name);
    pthread_mutex_unlock(&lock);
}

static uint64_t register_schema(nvtxDomainHandle_t domain,
                                const nvtxPayloadSchemaAttr_t *schema)
{
    (void)domain;
    pthread_mutex_lock(&lock);
    if (schema->type != NVTX_PAYLOAD_SCHEMA_TYPE_STATIC ||
        schema->numEntries != 2 ||
        schema->payloadStaticSize != sizeof(struct fields))
        seen.faults++;
    pthread_mutex_unlock(&lock);
    return SCHEMA;
}

/* ---- The way in --------------------------------------------------------- */

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

#define SET(table, size, id, function)                                         \
  do {                                                                         \
    if ((size) > (id) && (table)[id])                                          \
      *(table)[id] = (NvtxFunctionPointer)(function);                          \
  } while (0)

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    NvtxFunctionTable core, core2;
    unsigned n_core, n_core2;
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (!callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core,
                                           &n_core) ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2,
                                           &n_core2))
        return 0;
    SET(core, n_core, NVTX_CBID_CORE_NameOsThreadA, name_thread);
    SET(core2, n_core2, NVTX_CBID_CORE2_DomainCreateA, make_domain);
    SET(core2, n_core2, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
    SET(core2, n_core2, NVTX_CBID_CORE2_DomainRangePushEx, push);
    SET(core2, n_core2, NVTX_CBID_CORE2_DomainRangePop, pop);
    SET(core2, n_core2, NVTX_CBID_CORE2_DomainRangeStartEx, start);
    SET(core2, n_core2, NVTX_CBID_CORE2_DomainRangeEnd, end);
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    const char *mode = getenv("NVTX_LISTENER");
    if (mode && strcmp(mode, "plain") == 0)
        return 0;
    if (module->moduleId == NVTX_EXT_PAYLOAD_MODULEID)
        module->segments[0]
            .functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
            (intptr_t)register_schema;
    return 1;
}

EXPORT void nvtx_listener_get(struct nvtx_listener *out)
{
    pthread_mutex_lock(&lock);
    *out = seen;
    pthread_mutex_unlock(&lock);
}

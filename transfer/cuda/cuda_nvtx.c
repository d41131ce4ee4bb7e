/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX is a header: its functions look for a tool's library on the first call
 * (NVTX_INJECTION64_PATH, which nsys sets) and do nothing where there is none.
 * So it needs no library and no GPU, here and where the program runs.
 *
 * Names are registered once: a range is then a number for the tool, and nsys
 * takes only registered names for a capture range. Batch and samples go with it
 * as two fields of a payload where the tool knows payloads with fields, and
 * else the batch as a number.
 */
#include "base/thread.h"
#include "transfer/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <unistd.h>

struct payload {
    uint64_t batch, samples;
};

_Atomic bool fdl_nvtx_on;

/* Constant once fdl_nvtx_on is set. */
static nvtxDomainHandle_t domain;
static nvtxStringHandle_t names[FDL_NVTX_RANGES];
static uint64_t schema; /* 0: the tool has none */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void name_thread(const char *name)
{
    nvtxNameOsThreadA((uint32_t)gettid(), name);
}

/* One per range, so that a tool can filter; 0 means none. */
static uint32_t category(uint32_t range)
{
    return range + 1;
}

static void register_names(void)
{
    static const char *const texts[FDL_NVTX_RANGES] = {
        [FDL_NVTX_RUN] = "run",       [FDL_NVTX_READ] = "read",
        [FDL_NVTX_DECODE] = "decode", [FDL_NVTX_COPY] = "copy",
        [FDL_NVTX_NEXT] = "next",     [FDL_NVTX_RELEASE] = "release",
    };
    for (uint32_t i = 0; i < FDL_NVTX_RANGES; i++) {
        names[i] = nvtxDomainRegisterStringA(domain, texts[i]);
        nvtxDomainNameCategoryA(domain, category(i), texts[i]);
    }
}

static void register_schema(void)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "batch"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "samples"},
    };
    static const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = "batch",
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = FDL_COUNT_OF(entries),
        .payloadStaticSize = sizeof(struct payload),
    };
    schema = nvtxPayloadSchemaRegister(domain, &attributes);
}

static void look_for_tool(void)
{
    domain = nvtxDomainCreateA("feedline");
    if (!domain)
        return;
    register_names();
    register_schema();
    fdl_thread_watch(name_thread);
    /* release: pairs with the acquire in fdl_nvtx_is_on. */
    atomic_store_explicit(&fdl_nvtx_on, true, memory_order_release);
}

void fdl_nvtx_init(void)
{
    pthread_once(&once, look_for_tool);
}

/* One event and what it points to. */
struct event {
    nvtxEventAttributes_t attributes;
    nvtxPayloadData_t data;
    struct payload payload;
};

static void describe(struct event *e, enum fdl_nvtx_range range, uint64_t batch,
                     uint32_t samples)
{
    *e = (struct event){
        .attributes =
            {
                .version = NVTX_VERSION,
                .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                .category = category(range),
                .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                .message.registered = names[range],
            },
        .payload = {batch, samples},
    };
    if (schema) {
        e->data = (nvtxPayloadData_t){schema, sizeof(e->payload), &e->payload};
        e->attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        e->attributes.reserved0 = 1; /* payloads */
        e->attributes.payload.ullValue = (uintptr_t)&e->data;
    } else {
        e->attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        e->attributes.payload.ullValue = batch;
    }
}

void fdl_nvtx_push_now(enum fdl_nvtx_range range, uint64_t batch,
                       uint32_t samples)
{
    struct event e;
    describe(&e, range, batch, samples);
    nvtxDomainRangePushEx(domain, &e.attributes);
}

void fdl_nvtx_pop_now(void)
{
    nvtxDomainRangePop(domain);
}

uint64_t fdl_nvtx_start_now(enum fdl_nvtx_range range, uint64_t batch,
                            uint32_t samples)
{
    struct event e;
    describe(&e, range, batch, samples);
    return nvtxDomainRangeStartEx(domain, &e.attributes);
}

void fdl_nvtx_end_now(uint64_t id)
{
    nvtxDomainRangeEnd(domain, id);
}

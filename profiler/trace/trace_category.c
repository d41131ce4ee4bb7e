/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of a trace: their names, and a list of them as users write it. */
#include "base/closest.h"
#include "base/compiler.h"
#include "base/status.h"
#include "profiler/trace/trace_json.h"

#include <string.h>

static const char *const names[FDL_CATEGORIES] = {
    [FDL_CATEGORY_READ] = "read",         [FDL_CATEGORY_DECODE] = "decode",
    [FDL_CATEGORY_AUGMENT] = "augment",   [FDL_CATEGORY_COPY] = "copy",
    [FDL_CATEGORY_CONSUMER] = "consumer", [FDL_CATEGORY_BATCH] = "batch",
    [FDL_CATEGORY_COUNTER] = "counter",   [FDL_CATEGORY_TUNER] = "tuner",
};

static const uint8_t categories[FDL_TRACE_KINDS] = {
    [FDL_TRACE_READ] = FDL_CATEGORY_READ,
    [FDL_TRACE_DECODE] = FDL_CATEGORY_DECODE,
    [FDL_TRACE_AUGMENT] = FDL_CATEGORY_AUGMENT,
    [FDL_TRACE_CUSTOM] = FDL_CATEGORY_AUGMENT,
    [FDL_TRACE_COPY] = FDL_CATEGORY_COPY,
    [FDL_TRACE_FINISH] = FDL_CATEGORY_COPY,
    [FDL_TRACE_WAIT] = FDL_CATEGORY_CONSUMER,
    [FDL_TRACE_CAUSE] = FDL_CATEGORY_CONSUMER,
    [FDL_TRACE_STEP] = FDL_CATEGORY_CONSUMER,
    [FDL_TRACE_PHASE] = FDL_CATEGORY_CONSUMER,
    [FDL_TRACE_ISSUE] = FDL_CATEGORY_BATCH,
    [FDL_TRACE_READY] = FDL_CATEGORY_BATCH,
    [FDL_TRACE_RELEASE] = FDL_CATEGORY_BATCH,
    [FDL_TRACE_DECISION] = FDL_CATEGORY_TUNER,
    [FDL_TRACE_COUNTER] = FDL_CATEGORY_COUNTER,
    [FDL_TRACE_MARK] = FDL_CATEGORY_CONSUMER,
};

const char *fdl_trace_category_name(enum fdl_trace_category category)
{
    return names[category];
}

enum fdl_trace_category fdl_trace_category_of(enum fdl_trace_kind kind)
{
    return (enum fdl_trace_category)categories[kind];
}

static int32_t fail_unknown(const char *name)
{
    struct fdl_closest closest = {.typed = name};
    for (uint32_t i = 0; i < FDL_CATEGORIES; i++)
        fdl_closest_offer(&closest, names[i]);
    fdl_closest_offer(&closest, "all");
    if (closest.name)
        return fdl_fail(FEEDLINE_EINVAL,
                        "trace_categories: there is no '%s'; did you mean "
                        "'%s'?",
                        name, closest.name);
    return fdl_fail(FEEDLINE_EINVAL,
                    "trace_categories: there is no '%s'; there are read, "
                    "decode, augment, copy, consumer, batch, counter, tuner, "
                    "and all",
                    name);
}

/* The bits of one name; 0: the error line says that there are none. */
static uint32_t bits_of(const char *name)
{
    if (strcmp(name, "all") == 0)
        return FDL_CATEGORY_ALL;
    for (uint32_t i = 0; i < FDL_CATEGORIES; i++)
        if (strcmp(name, names[i]) == 0)
            return 1u << i;
    fail_unknown(name);
    return 0;
}

int32_t fdl_trace_categories_parse(const char *text, uint32_t *mask)
{
    uint32_t all = 0;
    for (;;) {
        char name[64];
        size_t skip = strspn(text, " \t");
        size_t length = strcspn(text + skip, ",");
        size_t kept = FDL_MIN(length, sizeof(name) - 1);
        memcpy(name, text + skip, kept);
        while (kept > 0 && (name[kept - 1] == ' ' || name[kept - 1] == '\t'))
            kept--;
        name[kept] = '\0';
        uint32_t bits = bits_of(name);
        if (bits == 0)
            return FEEDLINE_EINVAL;
        all |= bits;
        text += skip + length;
        if (*text == '\0')
            break;
        text++;
    }
    *mask = all;
    return FEEDLINE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text; see text.h. */
#include "base/text.h"

#include "base/number.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 4096u

bool fdl_text_reserve(struct fdl_text *t, uint64_t room)
{
    uint64_t needed = t->length + room + 1;
    if (needed <= t->capacity)
        return true;
    uint64_t capacity = t->capacity ? t->capacity : FIRST_BYTES;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(t->data, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void fdl_text_add(struct fdl_text *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n >= 0 && fdl_text_reserve(t, (uint64_t)n)) {
        vsnprintf(t->data + t->length, (size_t)n + 1, fmt, again);
        t->length += (uint64_t)n;
    }
    va_end(again);
    va_end(args);
}

void fdl_text_add_double(struct fdl_text *t, double value)
{
    char number[FDL_DOUBLE_BYTES];
    fdl_format_double(number, value);
    fdl_text_add(t, "%s", number);
}

void fdl_text_clear(struct fdl_text *t)
{
    t->length = 0;
    t->failed = false;
    if (t->data)
        t->data[0] = '\0';
}

void fdl_text_free(struct fdl_text *t)
{
    free(t->data);
    *t = (struct fdl_text){0};
}

int32_t fdl_text_copy_out(const struct fdl_text *t, char *buf,
                          uint64_t capacity, uint64_t *needed)
{
    if (!needed)
        return fdl_fail(FEEDLINE_EINVAL, "needed is NULL");
    if (t->failed)
        return fdl_fail_memory(t->capacity, "a text");
    uint64_t fits = FDL_MIN(t->length + 1, capacity);
    *needed = t->length + 1;
    if (fits > 0) {
        if (fits > 1)
            memcpy(buf, t->data, fits - 1);
        buf[fits - 1] = '\0';
    }
    if (capacity > 0 && capacity <= t->length)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu64 " bytes for a text of %" PRIu64, capacity,
                        t->length + 1);
    return FEEDLINE_OK;
}

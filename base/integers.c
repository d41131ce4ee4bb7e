/* SPDX-License-Identifier: Apache-2.0 */
#include "base/integers.h"

#include "base/grow.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>

#define WHAT "labels"

static uint32_t width_of(int64_t value)
{
    if (value == (int8_t)value)
        return 1;
    if (value == (int16_t)value)
        return 2;
    return value == (int32_t)value ? 4 : 8;
}

static void put(struct fdl_integers *l, uint64_t i, int64_t value)
{
    switch (l->width) {
    case 1:
        ((int8_t *)l->data)[i] = (int8_t)value;
        break;
    case 2:
        ((int16_t *)l->data)[i] = (int16_t)value;
        break;
    case 4:
        ((int32_t *)l->data)[i] = (int32_t)value;
        break;
    default:
        ((int64_t *)l->data)[i] = value;
    }
}

static int32_t widen(struct fdl_integers *l, uint32_t width)
{
    struct fdl_integers wide = {.n = l->n, .width = width};
    size_t bytes;
    if (l->n == 0) { /* the first one */
        l->width = width;
        return FEEDLINE_OK;
    }
    if (!fdl_mul_size(l->capacity, width, &bytes))
        return fdl_fail_memory(UINT64_MAX, WHAT);
    wide.data = malloc(bytes);
    if (!wide.data)
        return fdl_fail_memory(bytes, WHAT);
    wide.capacity = l->capacity;
    for (uint64_t i = 0; i < l->n; i++)
        put(&wide, i, fdl_integers_at(l, i));
    free(l->data);
    *l = wide;
    return FEEDLINE_OK;
}

int32_t fdl_integers_add(struct fdl_integers *l, int64_t value)
{
    uint32_t width = width_of(value);
    int32_t status = width > l->width ? widen(l, width) : FEEDLINE_OK;
    if (status == FEEDLINE_OK)
        status =
            fdl_array_reserve(&l->data, &l->capacity, l->n, l->width, WHAT);
    if (status == FEEDLINE_OK)
        put(l, l->n++, value);
    return status;
}

void fdl_integers_copy(struct fdl_integers *l, uint64_t to, uint64_t from)
{
    put(l, to, fdl_integers_at(l, from));
}

void fdl_integers_trim(struct fdl_integers *l)
{
    l->data = fdl_array_trimmed(l->data, l->n * l->width);
    l->capacity = l->n;
}

void fdl_integers_free(struct fdl_integers *l)
{
    free(l->data);
    *l = (struct fdl_integers){0};
}

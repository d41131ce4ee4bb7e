/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of integers that takes as few bytes for each as the one that needs
 * most: 1, 2, 4 or 8. Starts zeroed. One thread at a time; any, as long as
 * nothing changes.
 */
#ifndef FDL_BASE_INTEGERS_H
#define FDL_BASE_INTEGERS_H

#include <stdint.h>

struct fdl_integers {
    void *data; /* [n] of int8_t, int16_t, int32_t or int64_t */
    uint64_t n, capacity;
    uint32_t width; /* of each; 0: there are none */
};

/* ENOMEM, with nothing changed that was there. */
int32_t fdl_integers_add(struct fdl_integers *l, int64_t value);

/* The one at `from` is also at `to`. */
void fdl_integers_copy(struct fdl_integers *l, uint64_t to, uint64_t from);

/* Gives spare memory back: no more will be added. */
void fdl_integers_trim(struct fdl_integers *l);
void fdl_integers_free(struct fdl_integers *l);

static inline int64_t fdl_integers_at(const struct fdl_integers *l, uint64_t i)
{
    switch (l->width) {
    case 1:
        return ((const int8_t *)l->data)[i];
    case 2:
        return ((const int16_t *)l->data)[i];
    case 4:
        return ((const int32_t *)l->data)[i];
    default:
        return ((const int64_t *)l->data)[i];
    }
}

#endif

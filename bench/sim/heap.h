/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary heap of (key, id), least key first. The memory is the caller's and
 * has room for all that can ever be in it. Equal keys come in an order that
 * depends on nothing but the calls, so runs repeat.
 */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stdint.h>

struct sim_item {
    double key;
    uint32_t id;
};

struct sim_heap {
    struct sim_item *item;
    uint32_t n;
};

static inline void sim_heap_push(struct sim_heap *h, double key, uint32_t id)
{
    uint32_t i = h->n++;
    while (i > 0 && h->item[(i - 1) / 2].key > key) {
        h->item[i] = h->item[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->item[i] = (struct sim_item){key, id};
}

/* Of a heap that is not empty. */
static inline uint32_t sim_heap_pop(struct sim_heap *h)
{
    uint32_t id = h->item[0].id, i = 0;
    struct sim_item last = h->item[--h->n];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= h->n)
            break;
        if (child + 1 < h->n && h->item[child + 1].key < h->item[child].key)
            child++;
        if (h->item[child].key >= last.key)
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = last;
    return id;
}

#endif

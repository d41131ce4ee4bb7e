/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's current sample and step, for snapshot.c. The worker writes a few
 * words per sample, in relaxed order where that suffices; there is no lock. Its
 * timebook knows since when: the end of its last span.
 *
 *     worker   leave | mark (stamp) | enter(sample) | ... work ... | leave ...
 *     watcher          stamp, step and the rest, stamp again: if unchanged,
 *                      what was read in between belongs to it
 */
#ifndef FDL_LOADER_PROGRESS_H
#define FDL_LOADER_PROGRESS_H

#include "decode/decoder.h"
#include "loader/read/window.h"

#include <stdatomic.h>
#include <stdint.h>

/* Zeroed memory: at no sample. */
struct fdl_progress {
    _Atomic uint32_t step; /* enum fdl_render_step; 0: at no sample */
    _Atomic uint64_t epoch, index, ticket;
};

/* For the writer. index: may differ from that of r, for a replacement. */
static inline void fdl_progress_enter(struct fdl_progress *p,
                                      const struct fdl_read *r, uint64_t index,
                                      enum fdl_render_step step)
{
    atomic_store_explicit(&p->epoch, r->epoch, memory_order_relaxed);
    atomic_store_explicit(&p->index, index, memory_order_relaxed);
    atomic_store_explicit(&p->ticket, r->ticket, memory_order_relaxed);
    /* release: pairs with snapshot.c; a thread that sees the step sees the
     * rest, and the stamp before it. */
    atomic_store_explicit(&p->step, (uint32_t)step, memory_order_release);
}

/* Before the timebook is marked. */
static inline void fdl_progress_leave(struct fdl_progress *p)
{
    atomic_store_explicit(&p->step, 0, memory_order_relaxed);
}

#endif

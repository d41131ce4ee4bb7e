/* SPDX-License-Identifier: Apache-2.0 */
/* Outliers of a run; see notable.h. */
#include "loader/watch/notable.h"

#include "base/compiler.h"
#include "loader/stream/ring.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/books.h"

#include <stdlib.h>
#include <string.h>

/* ---- From next() -------------------------------------------------------- */

static void forget_wait(struct fdl_books *c)
{
    c->notable.before = c->ledger;
    c->notable.step_ns = c->notable.alone_ns = 0;
}

void fdl_notable_begin_locked(struct fdl_books *c)
{
    forget_wait(c);
    c->notable.begun = true;
}

void fdl_notable_wait_locked(struct fdl_books *c,
                             const struct fdl_ticket_times *ticket, int64_t a,
                             int64_t b)
{
    struct fdl_notable *n = &c->notable;
    n->alone_ns += fdl_alone(ticket, a, b, &n->alone);
}

static uint64_t index_at(const feedline_batch *b, uint32_t place)
{
    return (uint64_t)fdl_slot_index(b)[place * b->layout->views];
}

static void keep_outlier_locked(struct fdl_books *c, const feedline_batch *b,
                                int64_t wait)
{
    struct fdl_notable *n = &c->notable;
    struct fdl_outlier found = {
        .epoch = b->range.epoch,
        .sequence = b->range.sequence,
        .wait_ns = wait,
        .alone_ns = n->alone_ns,
    };
    found.bucket = fdl_largest_bucket(&n->before, &c->ledger, &found.bucket_ns);
    if (n->alone_ns > wait / 2) {
        found.index = index_at(b, n->alone);
        found.path = fdl_engine_path(c->engine, found.index);
    }
    fdl_outliers_keep(&n->outliers, &found);
}

bool fdl_notable_step_locked(struct fdl_books *c, int64_t wait_ns)
{
    struct fdl_notable *n = &c->notable;
    if (n->begun)
        return false;
    fdl_gaps_add(&n->gaps, n->step_ns);
    return fdl_outliers_add(&n->outliers, wait_ns);
}

void fdl_notable_next_locked(struct fdl_books *c)
{
    c->notable.begun = false;
    forget_wait(c);
}

FDL_HOT void fdl_notable_call_locked(struct fdl_books *c, int64_t user_ns,
                                     const feedline_batch *delivered)
{
    struct fdl_notable *n = &c->notable;
    n->step_ns += user_ns;
    if (!delivered)
        return;
    int64_t wait = c->ledger.wait_ns - n->before.wait_ns;
    if (n->alone_ns > 0) {
        const struct fdl_sample_times *t = &delivered->times[n->alone];
        fdl_slow_stall(
            &c->slow, n->alone,
            atomic_load_explicit(&t->work_done, memory_order_relaxed),
            n->alone_ns);
    }
    if (fdl_notable_step_locked(c, wait))
        keep_outlier_locked(c, delivered, wait);
    fdl_notable_next_locked(c);
}

void fdl_notable_reset_locked(struct fdl_books *c)
{
    struct fdl_notable *n = &c->notable;
    fdl_phase_reset(&n->phases);
    memset(&n->gaps, 0, sizeof(n->gaps));
    memset(&n->outliers, 0, sizeof(n->outliers));
    forget_wait(c);
    n->begun = true;
    fdl_slow_reset(&c->slow);
}

/* ---- What is asked for -------------------------------------------------- */

void fdl_notable_gaps(struct fdl_books *c, struct feedline_gap_stats *out)
{
    double strength = 0;
    fdl_lock(&c->lock);
    struct fdl_gaps gaps = c->notable.gaps;
    struct fdl_series waits = c->notable.outliers.waits;
    fdl_unlock(&c->lock);
    uint32_t stall_period = fdl_series_period(&waits, &strength);
    strength = FDL_MAX(0.0, FDL_MIN(strength, 1.0));
    *out = (struct feedline_gap_stats){
        .struct_size = sizeof(*out),
        .period = fdl_gaps_period(&gaps),
        .count = gaps.count,
        .total_ns = (uint64_t)gaps.total_ns,
        .longest_ns = (uint64_t)gaps.longest_ns,
        .median_ns = (uint64_t)fdl_series_median(&gaps.steps, FDL_GAP_WINDOW),
        .stall_period = stall_period,
        .stall_strength = stall_period ? (uint32_t)(strength * 1e6) : 0,
    };
}

void fdl_notable_evidence(struct fdl_books *c, struct fdl_evidence *out)
{
    struct feedline_gap_stats gaps;
    fdl_notable_gaps(c, &gaps);
    out->median_step_ns = (int64_t)gaps.median_ns;
    out->gaps = gaps.count;
    out->gap_ns = (int64_t)gaps.total_ns;
    out->gap_period = gaps.period;
    out->stall_period = gaps.stall_period;
    out->stall_strength = gaps.stall_strength / 1e6;
    out->slow_stall_ns =
        atomic_load_explicit(&c->slow.stalled_ns, memory_order_relaxed);
    fdl_lock(&c->lock);
    const struct fdl_phase *most = fdl_phase_largest(&c->notable.phases);
    out->phase = most ? most->name : NULL; /* names do not move */
    out->phase_ns = most ? most->self_ns : 0;
    most = fdl_phase_longest(&c->notable.phases);
    out->long_phase = most ? most->name : NULL;
    fdl_unlock(&c->lock);
}

uint32_t fdl_notable_slow(struct fdl_books *c,
                          struct feedline_slow_sample out[FDL_SLOW_KEPT])
{
    struct fdl_slow_sample kept[FDL_SLOW_KEPT];
    uint32_t n = fdl_slow_get(&c->slow, kept);
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_slow_sample *s = &kept[i];
        out[i] = (struct feedline_slow_sample){
            .struct_size = sizeof(out[i]),
            .stage = fdl_slow_stage(s),
            .epoch = s->epoch,
            .sequence = s->sequence,
            .sample_index = (int64_t)s->index,
            .total_ns = (uint64_t)fdl_slow_total(s),
            .read_ns = (uint64_t)s->read_ns,
            .decode_ns = (uint64_t)s->decode_ns,
            .augment_ns = (uint64_t)s->augment_ns,
            .custom_ns = (uint64_t)s->custom_ns,
            .bytes = s->bytes,
            .width = s->width,
            .height = s->height,
            .stall_ns = (uint64_t)s->stall_ns,
            .path = fdl_engine_path(c->engine, s->index),
        };
    }
    return n;
}

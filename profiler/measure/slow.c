/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples; see slow.h. */
#include "profiler/measure/slow.h"

#include "base/compiler.h"

#include <feedline/feedline.h>

#include <stdlib.h>
#include <string.h>

#define ROOM  INT64_C(-1)
#define NEVER INT64_MAX

void fdl_slow_init(struct fdl_slow *s)
{
    memset(s, 0, sizeof(*s));
    fdl_lock_init(&s->lock, FDL_RANK_SLOW);
    atomic_init(&s->beat, ROOM);
}

void fdl_slow_fini(struct fdl_slow *s)
{
    fdl_lock_destroy(&s->lock);
}

void fdl_slow_reset(struct fdl_slow *s)
{
    fdl_lock(&s->lock);
    s->n = 0;
    atomic_store_explicit(&s->beat, ROOM, memory_order_relaxed);
    atomic_store_explicit(&s->stalled_ns, 0, memory_order_relaxed);
    fdl_unlock(&s->lock);
}

int64_t fdl_slow_total(const struct fdl_slow_sample *sample)
{
    return sample->read_ns + sample->decode_ns + sample->augment_ns +
           sample->custom_ns;
}

uint32_t fdl_slow_stage(const struct fdl_slow_sample *sample)
{
    const struct {
        uint32_t stage;
        int64_t ns;
    } parts[] = {
        {FEEDLINE_STAGE_READ, sample->read_ns},
        {FEEDLINE_STAGE_DECODE, sample->decode_ns},
        {FEEDLINE_STAGE_AUGMENT, sample->augment_ns},
        {FEEDLINE_STAGE_COUNT + sample->custom, sample->slowest_custom_ns},
    };
    uint32_t most = 0;
    for (uint32_t i = 1; i < FDL_COUNT_OF(parts); i++)
        if (parts[i].ns > parts[most].ns)
            most = i;
    return parts[most].stage;
}

static struct fdl_slow_sample *smallest_locked(struct fdl_slow *s)
{
    struct fdl_slow_sample *least = &s->kept[0];
    for (uint32_t i = 1; i < s->n; i++)
        if (fdl_slow_total(&s->kept[i]) < fdl_slow_total(least))
            least = &s->kept[i];
    return least;
}

void fdl_slow_offer(struct fdl_slow *s, const struct fdl_slow_sample *sample)
{
    int64_t total = fdl_slow_total(sample);
    /* relaxed: an outdated limit costs a look under the lock. It only rises,
     * except for a reset, and what passes that by belongs to the time before.
     */
    if (total <= atomic_load_explicit(&s->beat, memory_order_relaxed))
        return;
    fdl_lock(&s->lock);
    if (s->n < FDL_SLOW_KEPT) {
        s->kept[s->n++] = *sample;
    } else {
        struct fdl_slow_sample *least = smallest_locked(s);
        if (total > fdl_slow_total(least))
            *least = *sample;
    }
    if (s->n == FDL_SLOW_KEPT)
        atomic_store_explicit(&s->beat, fdl_slow_total(smallest_locked(s)),
                              memory_order_relaxed);
    fdl_unlock(&s->lock);
}

void fdl_slow_stall(struct fdl_slow *s, uint32_t place, int64_t done_ns,
                    int64_t ns)
{
    atomic_fetch_add_explicit(&s->stalled_ns, ns, memory_order_relaxed);
    fdl_lock(&s->lock);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->kept[i].place == place && s->kept[i].done_ns == done_ns)
            s->kept[i].stall_ns += ns;
    fdl_unlock(&s->lock);
}

static int slowest_first(const void *a, const void *b)
{
    int64_t x = fdl_slow_total(a), y = fdl_slow_total(b);
    return (x < y) - (x > y);
}

uint32_t fdl_slow_get(struct fdl_slow *s,
                      struct fdl_slow_sample out[FDL_SLOW_KEPT])
{
    fdl_lock(&s->lock);
    uint32_t n = s->n;
    memcpy(out, s->kept, n * sizeof(*out));
    fdl_unlock(&s->lock);
    qsort(out, n, sizeof(*out), slowest_first);
    return n;
}

/* ---- Alone -------------------------------------------------------------- */

static int64_t done_at(const struct fdl_sample_times *t, int64_t all_done,
                       int64_t b)
{
    int64_t stamp = atomic_load_explicit(&t->work_done, memory_order_relaxed);
    if (stamp == 0 || stamp >= b)
        stamp = NEVER;
    return FDL_MIN(stamp, all_done);
}

int64_t fdl_alone(const struct fdl_ticket_times *ticket, int64_t a, int64_t b,
                  uint32_t *place)
{
    int64_t begin = ticket->transfer_start;
    int64_t all_done = begin > 0 && begin < b ? begin : NEVER;
    int64_t last = 0, second = ticket->issued;
    uint32_t which = 0;
    if (ticket->issued == 0)
        return 0;
    for (uint32_t i = 0; i < ticket->n_samples; i++) {
        int64_t done = done_at(&ticket->samples[i], all_done, b);
        if (done > last) {
            second = FDL_MAX(second, last);
            last = done;
            which = i;
        } else {
            second = FDL_MAX(second, done);
        }
    }
    int64_t from = FDL_MAX(a, second);
    int64_t until = FDL_MIN(last, b);
    if (until <= from)
        return 0;
    *place = which;
    return until - from;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings to differences. Counters only grow and clocks only run forward; a
 * reading that says otherwise is counted as an oddity and not believed:
 *
 *   a little back in time     a clock that jitters: it stands still until it
 *                             is there again, counters go on
 *   far back, or a counter    something began anew: what was being measured is
 *                             dropped, the next difference begins here
 *   far ahead                 a hole: nobody looked, or the machine slept; the
 *                             time in it is nobody's
 *
 * A pause of the consumer (evaluation, a checkpoint) is no oddity: its time is
 * taken out of what is measured.
 */
#include "profiler/tuner/tuner_own.h"

#include <stddef.h>

#define HOLE_NS       INT64_C(10000000000)
#define SHORT_BACK_NS INT64_C(10000000000)
#define SENSELESS     (INT64_C(1) << 61) /* ns: 73 years */

/* Counters of a reading, in the order of struct fdl_tuner_sums behind wall. */
static const struct {
    size_t reading, sums;
} counters[] = {
#define BOTH(r, s)                                                             \
  {                                                                            \
    offsetof(struct fdl_tuner_reading, r), offsetof(struct fdl_tuner_sums, s)  \
  }
    BOTH(wait_ns, wait_ns),
    BOTH(idle_ns, idle_ns),
    BOTH(span_ns, span_ns),
    BOTH(consumer_cpu_ns, consumer_cpu_ns),
    BOTH(host_busy_ns, host_busy_ns),
    BOTH(wait_fetch_ns, fetch_ns),
    BOTH(wait_transfer_ns, transfer_ns),
    BOTH(work_ns, work_ns),
    BOTH(cpu_ns, cpu_ns),
    BOTH(runq_ns, runq_ns),
    BOTH(throttle_ns, throttle_ns),
    BOTH(lock_ns, lock_ns),
    BOTH(blocked_ns, blocked_ns),
    BOTH(starved_ns, starved_ns),
    BOTH(read_ns, read_ns),
    BOTH(user_ns, own_ns),
    BOTH(api_ns, step_ns),
#undef BOTH
};

/* Three more count things; they are unsigned. */
static bool count(uint64_t now, uint64_t then, double *out)
{
    *out = now >= then ? (double)(now - then) : 0;
    return now >= then && now - then <= UINT64_MAX / 2;
}

static bool counted(const struct fdl_tuner_reading *now,
                    const struct fdl_tuner_reading *then,
                    struct fdl_tuner_sums *out)
{
    bool sane = true;
    for (size_t i = 0; i < FDL_COUNT_OF(counters); ++i) {
        int64_t a, b;
        memcpy(&a, (const char *)then + counters[i].reading, sizeof(a));
        memcpy(&b, (const char *)now + counters[i].reading, sizeof(b));
        double grown = 0;
        if (a == -1 || b == -1)
            grown = 0; /* not known */
        else if (a < 0 || b < a || b > SENSELESS)
            sane = false;
        else
            grown = (double)(b - a);
        memcpy((char *)out + counters[i].sums, &grown, sizeof(grown));
    }
    sane &= count(now->batches, then->batches, &out->batches);
    sane &= count(now->samples, then->samples, &out->samples);
    sane &= count(now->reads, then->reads, &out->reads);
    sane &= count(now->read_bytes, then->read_bytes, &out->read_bytes);
    double api = out->step_ns;
    out->own_ns += api;
    out->step_ns = out->own_ns + out->wait_ns;
    return sane;
}

/* Away much longer than a step, or so long that nobody steps like that. */
static bool paused(const struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    if (!(t->ref_g > 0))
        return false;
    double extra = s->own_ns - s->batches * t->ref_g;
    return extra > 10 * t->ref_g && extra > BLOCK_NS && RULE(PAUSED);
}

bool fdl_tuner_difference(struct fdl_tuner *t,
                          const struct fdl_tuner_reading *now,
                          struct fdl_tuner_sums *out, bool *broken)
{
    *broken = false;
    if (now->now_ns < 0 || now->now_ns > SENSELESS) {
        ++t->oddities;
        return false;
    }
    if (!t->has_last) {
        t->has_last = true;
        t->last = *now;
        t->batch = now->batches;
        return false;
    }
    int64_t wall = now->now_ns - t->last.now_ns;
    if (wall < -SHORT_BACK_NS) {
        ++t->oddities;
        t->last = *now;
        *broken = true;
        return false;
    }
    memset(out, 0, sizeof(*out));
    bool sane = counted(now, &t->last, out);
    t->last = *now;
    if (wall < 0) {
        ++t->oddities;
        t->last.now_ns -= wall;
        wall = 0;
    }
    if (!sane) {
        ++t->oddities;
        *broken = true;
        return false;
    }
    t->batch = now->batches;
    t->has_host = now->host_busy_ns >= 0;
    if (now->batch_size > 0)
        t->batch_size = now->batch_size;
    out->wall_ns = (double)wall;
    double known = out->step_ns + (double)(now->away_ns > 0 ? now->away_ns : 0);
    if (wall > HOLE_NS && known < 0.5 * out->wall_ns) {
        ++t->oddities;
        return false;
    }
    t->now_ns += wall;
    if (paused(t, out)) {
        t->pause_seen = true;
        return false;
    }
    return true;
}

void fdl_tuner_add(struct fdl_tuner_sums *to, const struct fdl_tuner_sums *a)
{
    /* All members are doubles. */
    double x[sizeof(*to) / sizeof(double)], y[sizeof(*to) / sizeof(double)];
    memcpy(x, to, sizeof(x));
    memcpy(y, a, sizeof(y));
    for (size_t i = 0; i < FDL_COUNT_OF(x); ++i)
        x[i] += y[i];
    memcpy(to, x, sizeof(x));
}

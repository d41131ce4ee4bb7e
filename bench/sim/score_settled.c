/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a run had found its setting. The oracle knows what each number of
 * workers delivers with all the depth that there is; what a depth delivers is
 * seen by short runs with that setting, of the same work, against the same
 * short run with the oracle's best. Most settings need none: workers that are
 * too few fail by the oracle's table, and more depth than one that was enough
 * is enough.
 */
#include "bench/sim/score.h"

#include <stddef.h>

#define PROBE_BATCHES 1500u
#define PROBE_SKIP    3u /* marks at its start: pools fill */
#define KNOWN         64u

struct probe {
    struct sim_scenario scenario; /* the first phase alone */
    uint64_t seed;
    double best; /* batches per second */
    struct {
        struct fdl_knobs knobs;
        bool good;
    } known[KNOWN];
    uint32_t n_known;
};

static double run_fixed(const struct probe *p, const struct fdl_knobs *knobs)
{
    struct sim_result r;
    if (!sim_run(&p->scenario, NULL, knobs, p->seed, &r))
        return 0;
    double rate = 0;
    if (r.n_marks > PROBE_SKIP + 1 && !r.stuck) {
        const struct sim_mark *a = &r.marks[PROBE_SKIP];
        const struct sim_mark *b = &r.marks[r.n_marks - 1];
        rate = (double)(r.n_marks - 1 - PROBE_SKIP) * SIM_MARK_BATCHES /
               (b->seconds - a->seconds);
    }
    sim_result_free(&r);
    return rate;
}

static void prepare(struct probe *p, const struct sim_scenario *s,
                    uint64_t seed, const struct sim_oracle *oracle)
{
    p->scenario = *s;
    p->scenario.n_phases = 1;
    if (p->scenario.batches > PROBE_BATCHES)
        p->scenario.batches = PROBE_BATCHES;
    p->scenario.hang = 0;
    p->scenario.pause_every = 0;
    p->seed = seed;
    p->n_known = 0;
    p->best = run_fixed(p, &oracle->phase[0].best);
}

/* 1: as good as one that was; 0: no better than one that was not; -1: who
 * knows. */
static int as_known(const struct probe *p, const struct fdl_knobs *k)
{
    for (uint32_t i = 0; i < p->n_known; i++) {
        const struct fdl_knobs *o = &p->known[i].knobs;
        if (o->workers != k->workers)
            continue;
        bool more = k->depth >= o->depth && k->io_depth >= o->io_depth;
        bool less = k->depth <= o->depth && k->io_depth <= o->io_depth;
        if (p->known[i].good && more)
            return 1;
        if (!p->known[i].good && less)
            return 0;
    }
    return -1;
}

static bool is_good(struct probe *p, const struct sim_oracle_phase *phase,
                    const struct fdl_knobs *k)
{
    if (sim_oracle_rate(phase, k->workers) < (1 - SIM_SETTLED) * phase->rate)
        return false;
    int known = as_known(p, k);
    if (known >= 0)
        return known;
    bool good = run_fixed(p, k) >= (1 - SIM_SETTLED) * p->best;
    if (p->n_known < KNOWN) {
        p->known[p->n_known].knobs = *k;
        p->known[p->n_known++].good = good;
    }
    return good;
}

/* Points of loader 0, each until the next one. */
static uint64_t until(const struct sim_result *r, uint64_t i, uint64_t end)
{
    for (uint64_t j = i + 1; j < r->n_points; j++)
        if (!r->points[j].loader)
            return r->points[j].batch < end ? r->points[j].batch : end;
    return end;
}

/* The first point from which on all is good for long enough; n_points: none. */
static uint64_t find(struct probe *p, const struct sim_oracle_phase *phase,
                     const struct sim_result *r, uint64_t end)
{
    uint64_t first = r->n_points;
    for (uint64_t i = 0; i < r->n_points && r->points[i].batch < end; i++) {
        if (r->points[i].loader)
            continue;
        uint64_t to = until(r, i, end);
        if (to == r->points[i].batch)
            continue;
        if (!is_good(p, phase, &r->points[i].knobs)) {
            first = r->n_points;
            continue;
        }
        if (first == r->n_points)
            first = i;
        if (to - r->points[first].batch >= SIM_SETTLED_BATCHES)
            return first;
    }
    return r->n_points;
}

static uint64_t changes_until(const struct sim_result *r, uint64_t point)
{
    uint64_t n = 0;
    uint32_t before = 0;
    for (uint64_t i = 0; i <= point && i < r->n_points; i++) {
        if (r->points[i].loader)
            continue;
        n += before && r->points[i].knobs.workers != before;
        before = r->points[i].knobs.workers;
    }
    return n;
}

void sim_score_settled(const struct sim_scenario *s, uint64_t seed,
                       const struct sim_oracle *oracle,
                       const struct sim_result *r, struct sim_score *out)
{
    struct probe p;
    prepare(&p, s, seed, oracle);
    uint64_t end = s->n_phases > 1 ? s->phase[1].from : s->batches;
    uint64_t point = find(&p, &oracle->phase[0], r, end);
    out->settled_ever = point < r->n_points;
    out->settled = out->settled_ever ? r->points[point].batch : end;
    out->settled_seconds =
        out->settled_ever ? r->points[point].seconds : r->seconds;
    out->settled_changes = changes_until(r, point);
}

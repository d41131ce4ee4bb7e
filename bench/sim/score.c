/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/score.h"

#include <math.h>
#include <string.h>

static void count_moves(const struct sim_scenario *s,
                        const struct sim_result *r, struct sim_score *out)
{
    uint32_t before = 0;
    int way = 0;
    uint64_t changes = 0, reversals = 0;
    for (uint64_t i = 0; i < r->n_points; i++) {
        const struct sim_point *p = &r->points[i];
        if (p->loader)
            continue;
        uint32_t now = p->knobs.workers;
        if (before && now != before) {
            int next = now > before ? 1 : -1;
            reversals += way && next != way;
            way = next;
            changes++;
        }
        before = now;
    }
    out->changes = (double)changes * SIM_PER_BATCHES / (double)s->batches;
    out->reversals = (double)reversals / s->n_phases;
}

/* Workers that are longest in force from batch `from` on. */
static uint32_t longest(const struct sim_scenario *s,
                        const struct sim_result *r, uint64_t from)
{
    uint64_t held[FDL_TUNER_WORKERS_MAX + 1] = {0};
    uint32_t workers = 0;
    uint64_t since = from;
    for (uint64_t i = 0; i < r->n_points; i++) {
        const struct sim_point *p = &r->points[i];
        if (p->loader)
            continue;
        if (p->batch > since && workers) {
            held[workers] += p->batch - since;
            since = p->batch;
        }
        workers = p->knobs.workers <= FDL_TUNER_WORKERS_MAX
                      ? p->knobs.workers
                      : FDL_TUNER_WORKERS_MAX;
    }
    if (s->batches > since)
        held[workers] += s->batches - since;
    uint32_t best = workers;
    for (uint32_t w = 1; w <= FDL_TUNER_WORKERS_MAX; w++)
        if (held[w] > held[best])
            best = w;
    return best;
}

static bool within(const struct fdl_knobs *k, const struct fdl_tuner_limits *l)
{
    return k->workers >= l->workers_min && k->workers <= l->workers_max &&
           k->depth >= l->depth_min && k->depth <= l->depth_max &&
           k->io_depth >= l->io_depth_min && k->io_depth <= l->io_depth_max;
}

static bool is_wrong(const struct sim_scenario *s, const struct sim_result *r)
{
    if (!isfinite(r->seconds) || r->seconds <= 0 || !isfinite(r->stall) ||
        !isfinite(r->workers) || !isfinite(r->depth))
        return true;
    for (uint64_t i = 0; i < r->n_points; i++)
        if (!within(&r->points[i].knobs, &s->limits))
            return true;
    return false;
}

static void draw_workers(const struct sim_scenario *s,
                         const struct sim_result *r, float *curve)
{
    uint64_t i = 0;
    float now = 0;
    for (uint32_t x = 0; x < SIM_CURVE; x++) {
        uint64_t until = (x + 1) * s->batches / SIM_CURVE;
        for (; i < r->n_points && r->points[i].batch < until; i++)
            if (!r->points[i].loader)
                now = (float)r->points[i].knobs.workers;
        curve[x] = now;
    }
}

void sim_score(const struct sim_scenario *s, uint64_t seed,
               const struct sim_oracle *oracle, double by_default,
               const struct sim_result *r, struct sim_score *out)
{
    memset(out, 0, sizeof(*out));
    const struct sim_oracle_phase *last = &oracle->phase[oracle->n_phases - 1];
    out->regret = r->seconds / oracle->seconds - 1;
    out->error = oracle->error;
    out->excess = r->seconds / by_default - 1;
    out->seconds = r->seconds;
    out->stall = r->stall;
    out->workers = r->workers;
    out->depth = r->depth;
    out->cpu = r->cpu;
    out->final = longest(s, r, s->batches - s->batches / 10);
    out->cheapest =
        last->cheapest_fed ? last->cheapest_fed : last->best.workers;
    out->memory_peak = r->memory_peak;
    out->memory_budget = r->memory_budget;
    out->violations = r->violations;
    out->stuck = r->stuck;
    if (r->has_status) {
        out->spent = (double)r->status.spent_ns / 1e9;
        out->credit = (double)(r->status.credit_ns + r->status.spent_ns) / 1e9;
    }
    out->wrong = is_wrong(s, r);
    count_moves(s, r, out);
    sim_score_settled(s, seed, oracle, r, out);
    draw_workers(s, r, out->curve_workers);
}

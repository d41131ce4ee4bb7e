/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double summary_quantile(double *values, size_t n, double q)
{
    if (!n)
        return NAN;
    qsort(values, n, sizeof(*values), by_size);
    double at = ceil(q * (double)n);
    return values[at > 1 ? (size_t)at - 1 : 0];
}

/* Columns of what quantiles are taken of. */
struct columns {
    double *regret, *excess, *settled, *seconds, *moves, *above, *found;
};

static void add(struct sim_summary *out, const struct tournament_match *m,
                const struct sim_score *s, const struct columns *c)
{
    size_t i = out->runs++;
    c->regret[i] = s->regret;
    c->excess[i] = s->excess;
    c->settled[i] = (double)s->settled;
    c->seconds[i] = s->settled_seconds;
    c->moves[i] = (double)s->settled_changes;
    c->above[i] = (double)s->final - (double)s->cheapest;
    if (m->by_default.settled > 0)
        c->found[out->to_find++] = (double)s->settled;
    if (strcmp(m->scenario.family, SIM_STARVED_FAMILY) == 0)
        out->starved_depth = fmax(out->starved_depth, s->depth);
    if (!out->regret_worst || s->regret > out->regret_max) {
        out->regret_max = s->regret;
        out->regret_worst = m;
    }
    if (!out->excess_worst || s->excess > out->excess_max) {
        out->excess_max = s->excess;
        out->excess_worst = m;
    }
    out->regret += s->regret;
    out->regret_error += s->error * s->error;
    out->excess += s->excess;
    out->settled_share += s->settled_ever;
    out->changes += s->changes;
    out->changes_max = fmax(out->changes_max, s->changes);
    out->reversals += s->reversals;
    out->stall += s->stall;
    out->workers += s->workers;
    out->depth += s->depth;
    out->cpu += s->cpu;
    out->within += s->final <= s->cheapest + 1;
    out->violations += s->violations;
    if (s->memory_budget)
        out->memory = fmax(out->memory,
                           (double)s->memory_peak / (double)s->memory_budget);
    out->spent += s->spent / s->seconds;
    out->overspent += s->spent > s->credit;
    out->stuck += s->stuck;
    out->wrong += s->wrong;
}

static void divide(struct sim_summary *out)
{
    double n = (double)out->runs;
    double *const sums[] = {&out->regret,  &out->excess, &out->settled_share,
                            &out->changes, &out->stall,  &out->reversals,
                            &out->workers, &out->depth,  &out->cpu,
                            &out->within,  &out->spent,  &out->overspent};
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        *sums[i] /= n;
    out->regret_error = sqrt(out->regret_error) / n;
}

void summary_make(const struct tournament *t, size_t controller,
                  const char *family, struct sim_summary *out)
{
    memset(out, 0, sizeof(*out));
    double *all = calloc(7 * t->n_matches + 1, sizeof(*all));
    if (!all)
        return;
    size_t n = t->n_matches;
    struct columns c = {all,         all + n,     all + 2 * n, all + 3 * n,
                        all + 4 * n, all + 5 * n, all + 6 * n};
    for (size_t i = 0; i < n; i++) {
        const struct tournament_match *m = &t->matches[i];
        if (!family || strcmp(family, m->scenario.family) == 0)
            add(out, m, &m->scores[controller], &c);
    }
    if (out->runs) {
        divide(out);
        out->regret_p95 = summary_quantile(c.regret, out->runs, 0.95);
        out->excess_p95 = summary_quantile(c.excess, out->runs, 0.95);
        out->settled = summary_quantile(c.settled, out->runs, 0.5);
        out->settled_seconds = summary_quantile(c.seconds, out->runs, 0.5);
        out->settled_changes = summary_quantile(c.moves, out->runs, 0.5);
        out->above = summary_quantile(c.above, out->runs, 0.95);
        out->found = summary_quantile(c.found, out->to_find, 0.5);
    }
    free(all);
}

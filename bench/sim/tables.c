/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/tables.h"

#include "bench/sim/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

static void add_heading(struct sheet *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sheet_add(s, "%s", words[i]);
}

/* Regret and excess may be slightly negative; -0.0 is no number. */
static void add_percent(struct sheet *s, double fraction, int digits)
{
    double x = 100 * fraction;
    if (fabs(x) < 0.5 * pow(10, -digits))
        x = 0;
    sheet_add(s, "%.*f", digits, x);
}

static const char *const about_all[] = {
    "controller", "regret",   "p95",      "max",      "excess p95",
    "max",        "found",    "changes",  "reversed", "stall %",
    "workers",    "end +1 %", "memory %", "broken"};

#define N_ALL (sizeof(about_all) / sizeof(*about_all))

/* The number of regret is not better known than the oracle is. */
static void add_summary(struct sheet *s, const struct sim_summary *m)
{
    add_percent(s, m->regret, 2);
    add_percent(s, m->regret_p95, 1);
    add_percent(s, m->regret_max, 1);
    add_percent(s, m->excess_p95, 1);
    add_percent(s, m->excess_max, 1);
    if (m->to_find > 0)
        sheet_add(s, "%.0f", m->found);
    else
        sheet_add(s, "-");
    sheet_add(s, "%.1f", m->changes);
    sheet_add(s, "%.1f", m->reversals);
    add_percent(s, m->stall, 1);
    sheet_add(s, "%.1f", m->workers);
    add_percent(s, m->within, 0);
    add_percent(s, m->memory, 0);
    sheet_add(s, "%" PRIu64, m->violations + m->stuck + m->wrong);
}

void tables_controllers(const struct tournament *t, struct sheet *out)
{
    sheet_init(out, N_ALL);
    add_heading(out, about_all, N_ALL);
    for (size_t i = 0; i < t->plan->n_controllers; i++) {
        struct sim_summary m;
        summary_make(t, i, NULL, &m);
        sheet_add(out, "%s", t->plan->controllers[i]->name);
        add_summary(out, &m);
    }
}

size_t tables_family_names(const struct tournament *t, const char **out)
{
    size_t n = 0;
    for (; n < t->plan->n_families && t->plan->seeds; n++)
        if (out)
            out[n] = t->plan->families[n]->name;
    if (t->plan->scenarios) {
        if (out)
            out[n] = TOURNAMENT_RANDOM;
        n++;
    }
    return n;
}

#define FAMILIES_MAX 64u

void tables_families(const struct tournament *t, struct sheet *out)
{
    const char *names[FAMILIES_MAX];
    assert(tables_family_names(t, NULL) <= FAMILIES_MAX);
    size_t n = tables_family_names(t, names);
    sheet_init(out, 1 + t->plan->n_controllers);
    sheet_add(out, "mean regret, %%");
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        sheet_add(out, "%s", t->plan->controllers[i]->name);
    for (size_t f = 0; f < n; f++) {
        sheet_add(out, "%s", names[f]);
        for (size_t i = 0; i < t->plan->n_controllers; i++) {
            struct sim_summary m;
            summary_make(t, i, names[f], &m);
            add_percent(out, m.regret, 1);
        }
    }
}

void tables_origins(const struct tournament *t, FILE *f)
{
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        fprintf(f, "- **%s**: %s.\n", t->plan->controllers[i]->name,
                t->plan->controllers[i]->about);
}

void tables_what(const struct tournament *t, FILE *f)
{
    const struct tournament_plan *p = t->plan;
    uint64_t last = p->seed - 1;
    const char *and = "";
    if (p->n_families && p->seeds) {
        fprintf(f, "%zu families, seeds %" PRIu64 " to %" PRIu64, p->n_families,
                p->seed, last + p->seeds);
        and = "; ";
    }
    if (p->scenarios)
        fprintf(f,
                "%s%" PRIu64 " random scenarios, seeds %" PRIu64 " to %" PRIu64,
                and, p->scenarios, p->seed, last + p->scenarios);
    if (p->batches)
        fprintf(f, "; %" PRIu64 " batches a run", p->batches);
}

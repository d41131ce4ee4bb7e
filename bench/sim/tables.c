/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/tables.h"

#include "bench/sim/summary.h"

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
    sheet_init(out, NULL, N_ALL);
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

/* 0: more than there is room for, which does not happen. */
static size_t family_names(const struct tournament *t,
                           const char *names[FAMILIES_MAX])
{
    size_t n = tables_family_names(t, NULL);
    return n <= FAMILIES_MAX ? tables_family_names(t, names) : 0;
}

void tables_families(const struct tournament *t, struct sheet *out)
{
    const char *names[FAMILIES_MAX];
    size_t n = family_names(t, names);
    sheet_init(out, NULL, 1 + t->plan->n_controllers);
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

static const char *const about_one[] = {
    "family",  "runs",    "regret",  "+-",       "p95",     "max",
    "exc p95", "exc max", "settled", "seconds",  "moves",   "changes",
    "rev",     "stall %", "workers", "end +1 %", "spent %", "broken"};

#define N_ONE (sizeof(about_one) / sizeof(*about_one))

static void add_details(struct sheet *s, const struct sim_summary *m)
{
    sheet_add(s, "%zu", m->runs);
    add_percent(s, m->regret, 2);
    add_percent(s, m->regret_error, 2);
    add_percent(s, m->regret_p95, 1);
    add_percent(s, m->regret_max, 1);
    add_percent(s, m->excess_p95, 1);
    add_percent(s, m->excess_max, 1);
    sheet_add(s, m->settled_share > 0.5 ? "%.0f" : "never", m->settled);
    sheet_add(s, "%.1f", m->settled_seconds);
    sheet_add(s, "%.0f", m->settled_changes);
    sheet_add(s, "%.1f", m->changes);
    sheet_add(s, "%.1f", m->reversals);
    add_percent(s, m->stall, 1);
    sheet_add(s, "%.1f", m->workers);
    add_percent(s, m->within, 0);
    add_percent(s, m->spent, 2);
    sheet_add(s, "%" PRIu64, m->violations + m->stuck + m->wrong);
}

void tables_details(const struct tournament *t, size_t controller,
                    struct sheet *out)
{
    const char *names[FAMILIES_MAX];
    size_t n = family_names(t, names);
    sheet_init(out, t->plan->controllers[controller]->name, N_ONE);
    add_heading(out, about_one, N_ONE);
    struct sim_summary m;
    for (size_t f = 0; f < n; f++) {
        summary_make(t, controller, names[f], &m);
        sheet_add(out, "%s", names[f]);
        add_details(out, &m);
    }
    summary_make(t, controller, NULL, &m);
    sheet_add(out, "all");
    add_details(out, &m);
}

void tables_origins(const struct tournament *t, FILE *f, const char *before,
                    const char *between, const char *after)
{
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        fprintf(f, "%s%s%s%s%s", before, t->plan->controllers[i]->name, between,
                t->plan->controllers[i]->about, after);
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

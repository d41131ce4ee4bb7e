/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/verdicts.h"

#include "bench/sim/arguments.h"
#include "bench/sim/controllers_own.h"

#include <string.h>

/* From one worker the way up costs what it costs. */
static double more(bool from_default, double by)
{
    return from_default ? 1 : by;
}

unsigned verdict_list(const struct sim_summary *s, bool from_default,
                      bool loose, struct sim_gate out[SIM_GATES])
{
    const double w = loose ? 2 : 1, percent = 100;
    const double f = w * more(from_default, 2);
    const struct sim_gate all[SIM_GATES] = {
        {"mean regret, %", percent * s->regret, 0.9 * f, false, false},
        {"95 % of regrets, %", percent * s->regret_p95, 5 * f, false, false},
        {"95 % of excesses over the static default, %", percent * s->excess_p95,
         1.5 * f, false, false},
        {"worst excess over the static default, %", percent * s->excess_max,
         3 * w * more(from_default, 4), false, false},
        {"median batches to find what the default is not", s->found, 200 * w,
         s->to_find == 0, false},
        {"worker changes per 24,000 batches", s->changes, 12 * w, false, false},
        {"violations of the memory budget", (double)s->violations, 0, false,
         false},
        {"95 % of workers at the end above the cheapest", s->above,
         loose ? 3 : 1, false, false},
        {"mean batches ahead where storage gives no more", s->starved_depth,
         12 * w, s->starved_depth <= 0, false},
        {"runs whose trials cost more than their credit, %",
         percent * s->overspent, 1 * w, false, false}};
    unsigned missed = 0;
    for (unsigned i = 0; i < SIM_GATES; i++) {
        out[i] = all[i];
        out[i].ok = all[i].not_asked || all[i].value <= all[i].limit;
        missed += !out[i].ok;
    }
    return missed;
}

static unsigned gates_of(const struct tournament *t, size_t i,
                         struct sim_summary *m, struct sim_gate *gates)
{
    summary_make(t, i, NULL, m);
    return verdict_list(m, t->plan->controllers[i] == &sim_feedline,
                        t->n_matches < SIM_ENOUGH_RUNS, gates);
}

void verdict_sheet(const struct tournament *t, struct sheet *out)
{
    size_t n = t->plan->n_controllers, own = 0;
    struct sim_gate gates[SIM_GATES] = {0};
    struct sim_summary m;
    for (size_t i = 0; i < n; i++)
        own += t->plan->controllers[i]->status != NULL;
    sheet_init(out, 2 + own);
    sheet_add(out, "asked for");
    sheet_add(out, "at most");
    for (size_t i = 0; i < n; i++)
        if (t->plan->controllers[i]->status)
            sheet_add(out, "%s", t->plan->controllers[i]->name);
    memset(&m, 0, sizeof(m));
    verdict_list(&m, true, t->n_matches < SIM_ENOUGH_RUNS, gates);
    for (unsigned row = 0; row < SIM_GATES; row++) {
        sheet_add(out, "%s", gates[row].what);
        sheet_add(out, "%g", gates[row].limit);
        for (size_t i = 0; i < n; i++) {
            if (!t->plan->controllers[i]->status)
                continue;
            gates_of(t, i, &m, gates);
            sheet_add(out, gates[row].not_asked ? "(%.2f)" : "%.2f",
                      gates[row].value);
        }
    }
}

static void say_worst(FILE *f, const char *what, double value,
                      const struct tournament_match *m)
{
    if (m)
        fprintf(f, "     worst %s: %.2f %% in %s\n", what, 100 * value,
                m->scenario.name);
}

static unsigned say_gates(const struct tournament *t, size_t i, FILE *f)
{
    const char *name = t->plan->controllers[i]->name;
    struct sim_summary m;
    struct sim_gate gates[SIM_GATES];
    unsigned missed = gates_of(t, i, &m, gates);
    for (unsigned g = 0; g < SIM_GATES; g++)
        if (!gates[g].not_asked)
            fprintf(f, "%-4s %s: %s: %.2f, at most %.2f\n",
                    gates[g].ok ? "ok" : "MISS", name, gates[g].what,
                    gates[g].value, gates[g].limit);
    say_worst(f, "regret", m.regret_max, m.regret_worst);
    say_worst(f, "excess", m.excess_max, m.excess_worst);
    return missed;
}

int verdict_gates(const struct tournament *t, FILE *f)
{
    unsigned missed = 0;
    for (size_t i = 0; i < t->plan->n_controllers; i++) {
        if (t->plan->controllers[i]->status)
            missed += say_gates(t, i, f);
    }
    if (t->n_matches < SIM_ENOUGH_RUNS)
        fprintf(f, "limits are wider for less than %u runs\n", SIM_ENOUGH_RUNS);
    return missed ? SIM_MISSED : SIM_DONE;
}

static bool is_sound(const struct sim_score *s, const struct sim_score *without,
                     const char *name, FILE *f)
{
    const char *why = NULL;
    if (s->violations)
        why = "a setting was above the memory budget";
    else if (s->memory_budget && s->memory_peak > s->memory_budget)
        why = "it held more than the memory budget";
    else if (s->wrong)
        why = "a setting beyond the limits, or what is not a number";
    else if (s->stuck && !without->stuck)
        why = "it hung";
    if (why)
        fprintf(f, "MISS %s: %s\n", name, why);
    return !why;
}

int verdict_sound(const struct tournament *t, FILE *f)
{
    bool ok = true;
    for (size_t i = 0; i < t->plan->n_controllers; i++) {
        if (!t->plan->controllers[i]->status)
            continue;
        for (size_t k = 0; k < t->n_matches; k++) {
            const struct tournament_match *m = &t->matches[k];
            const struct sim_score *s = &m->scores[i];
            ok = is_sound(s, &m->by_default, m->scenario.name, f) && ok;
            fprintf(f, "%s %s: regret %.2f %%, excess %.2f %%\n",
                    m->scenario.name, t->plan->controllers[i]->name,
                    100 * s->regret, 100 * s->excess);
        }
    }
    return ok ? SIM_DONE : SIM_MISSED;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/outcome_json.h"

#include "bench/sim/summary.h"
#include "bench/sim/tables.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static void set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

/* NaN and infinities are null. */
static void set_real(json_t *o, const char *key, double value)
{
    set(o, key, isfinite(value) ? json_real(value) : json_null());
}

static void set_count(json_t *o, const char *key, uint64_t value)
{
    set(o, key, json_integer((json_int_t)value));
}

static void set_name(json_t *o, const char *key,
                     const struct tournament_match *m)
{
    set(o, key, m ? json_string(m->scenario.name) : json_null());
}

static json_t *summary_json(const char *name, const struct sim_summary *m)
{
    json_t *o = json_object();
    set(o, "name", json_string(name));
    set_count(o, "runs", m->runs);
    set_real(o, "mean_regret", m->regret);
    set_real(o, "mean_regret_error", m->regret_error);
    set_real(o, "p95_regret", m->regret_p95);
    set_real(o, "max_regret", m->regret_max);
    set_name(o, "max_regret_scenario", m->regret_worst);
    set_real(o, "mean_excess", m->excess);
    set_real(o, "p95_excess", m->excess_p95);
    set_real(o, "max_excess", m->excess_max);
    set_name(o, "max_excess_scenario", m->excess_worst);
    set_real(o, "median_convergence_batches", m->settled);
    set_real(o, "median_batches_to_find", m->found);
    set_real(o, "median_convergence_seconds", m->settled_seconds);
    set_real(o, "median_convergence_changes", m->settled_changes);
    set_real(o, "converged_fraction", m->settled_share);
    set_real(o, "changes_per_24000", m->changes);
    set_real(o, "max_changes_per_24000", m->changes_max);
    set_real(o, "reversals_per_phase", m->reversals);
    set_real(o, "mean_stall", m->stall);
    set_real(o, "mean_workers", m->workers);
    set_real(o, "mean_depth", m->depth);
    set_real(o, "mean_cores", m->cpu);
    set_real(o, "within_one_of_cheapest_fraction", m->within);
    set_real(o, "p95_workers_above_cheapest", m->above);
    set_count(o, "memory_violations", m->violations);
    set_real(o, "max_memory_of_budget", m->memory);
    set_real(o, "exploration_of_time", m->spent);
    set_real(o, "exploration_overspent_fraction", m->overspent);
    set_count(o, "stuck", m->stuck);
    set_count(o, "wrong", m->wrong);
    return o;
}

static json_t *controller_json(const struct tournament *t, size_t i)
{
    const struct sim_controller *c = t->plan->controllers[i];
    struct sim_summary m;
    summary_make(t, i, NULL, &m);
    json_t *o = summary_json(c->name, &m);
    set(o, "about", json_string(c->about));
    json_t *families = json_array();
    size_t n = tables_family_names(t, NULL);
    const char **names = calloc(n + 1, sizeof(*names));
    for (size_t f = 0; names && f < tables_family_names(t, names); f++) {
        summary_make(t, i, names[f], &m);
        json_array_append_new(families, summary_json(names[f], &m));
    }
    free(names);
    set(o, "families", families);
    return o;
}

static json_t *score_json(const struct sim_score *s, const char *name)
{
    json_t *o = json_object();
    set(o, "controller", json_string(name));
    set_real(o, "seconds", s->seconds);
    set_real(o, "regret", s->regret);
    set_real(o, "excess", s->excess);
    set_real(o, "stall", s->stall);
    set_real(o, "workers", s->workers);
    set_real(o, "depth", s->depth);
    set_real(o, "cores", s->cpu);
    set(o, "convergence_batches",
        s->settled_ever ? json_integer((json_int_t)s->settled) : json_null());
    set_real(o, "changes_per_24000", s->changes);
    set_real(o, "reversals_per_phase", s->reversals);
    set_count(o, "final_workers", s->final);
    set_count(o, "memory_peak", s->memory_peak);
    set_count(o, "memory_violations", s->violations);
    set(o, "stuck", json_boolean(s->stuck));
    return o;
}

static json_t *match_json(const struct tournament *t,
                          const struct tournament_match *m)
{
    json_t *o = json_object();
    set(o, "scenario", json_string(m->scenario.name));
    set(o, "family", json_string(m->scenario.family));
    set_count(o, "seed", m->seed);
    set_real(o, "oracle_seconds", m->oracle.seconds);
    set_real(o, "oracle_error", m->oracle.error);
    set_real(o, "oracle_workers", m->oracle.workers);
    set_real(o, "oracle_stall", m->oracle.stall);
    set_count(o, "cheapest_workers", m->by_default.cheapest);
    set_count(o, "memory_budget", m->by_default.memory_budget);
    json_t *scores = json_array();
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        json_array_append_new(
            scores, score_json(&m->scores[i], t->plan->controllers[i]->name));
    set(o, "scores", scores);
    return o;
}

static json_t *outcome_document(const struct tournament *t)
{
    json_t *o = json_object(), *controllers = json_array();
    set(o, "tool", json_string("tuner_sim"));
    set_count(o, "schema_version", 1);
    set_count(o, "seed", t->plan->seed);
    set_count(o, "seeds", t->plan->n_families ? t->plan->seeds : 0);
    set_count(o, "random_scenarios", t->plan->scenarios);
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        json_array_append_new(controllers, controller_json(t, i));
    set(o, "controllers", controllers);
    return o;
}

bool outcome_json(const struct tournament *t, FILE *f)
{
    json_t *o = outcome_document(t), *runs = json_array();
    for (size_t i = 0; i < t->n_matches; i++)
        json_array_append_new(runs, match_json(t, &t->matches[i]));
    set(o, "runs", runs);
    bool ok = o && json_dumpf(o, f, JSON_INDENT(2)) == 0;
    fputc('\n', f);
    json_decref(o);
    return ok && !ferror(f);
}

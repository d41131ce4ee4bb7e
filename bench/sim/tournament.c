/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/tournament.h"

#include "bench/sim/controllers_own.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tournament_stretch(struct sim_scenario *s, uint64_t batches)
{
    if (!batches || batches == s->batches)
        return;
    double by = (double)batches / (double)s->batches;
    for (uint32_t i = 0; i < s->n_phases; i++)
        s->phase[i].from = (uint64_t)((double)s->phase[i].from * by);
    s->hang_at = (uint64_t)((double)s->hang_at * by);
    s->batches = batches;
}

bool tournament_scenario(const char *name, struct sim_scenario *out,
                         uint64_t *seed)
{
    const char *slash = strrchr(name, '/');
    char *end = NULL;
    if (!slash || !slash[1] || slash[1] == '-')
        return false;
    *seed = strtoull(slash + 1, &end, 10);
    if (*end)
        return false;
    size_t n = (size_t)(slash - name);
    if (n == strlen(TOURNAMENT_RANDOM) &&
        strncmp(name, TOURNAMENT_RANDOM, n) == 0) {
        sim_random_scenario(*seed, out);
        return true;
    }
    for (unsigned i = 0; i < sim_n_families; i++) {
        const char *family = sim_families[i].name;
        if (strlen(family) == n && strncmp(name, family, n) == 0) {
            sim_family_scenario(&sim_families[i], *seed, out);
            return true;
        }
    }
    return false;
}

static void set_up(const struct tournament_plan *plan, struct tournament *t)
{
    struct tournament_match *m = t->matches;
    for (size_t f = 0; f < plan->n_families; f++)
        for (uint64_t i = 0; i < plan->seeds; i++, m++) {
            m->seed = plan->seed + i;
            sim_family_scenario(plan->families[f], m->seed, &m->scenario);
        }
    for (uint64_t i = 0; i < plan->scenarios; i++, m++) {
        m->seed = plan->seed + i;
        sim_random_scenario(m->seed, &m->scenario);
        m->scenario.family = TOURNAMENT_RANDOM;
    }
}

/* One run and its score. by_default 0: it is the default's own. */
static bool play_one(const struct tournament_match *m,
                     const struct sim_controller *controller, double by_default,
                     struct sim_score *out)
{
    struct sim_result r;
    if (!sim_run(&m->scenario, controller, NULL, m->seed, &r))
        return false;
    sim_score(&m->scenario, m->seed, &m->oracle,
              by_default > 0 ? by_default : r.seconds, &r, out);
    sim_result_free(&r);
    return true;
}

bool tournament_prepare(struct tournament_match *m, uint64_t batches)
{
    tournament_stretch(&m->scenario, batches);
    return sim_find_oracle(&m->scenario, m->seed, &m->oracle) &&
           play_one(m, NULL, 0, &m->by_default);
}

bool tournament_play_one(const struct tournament_match *m,
                         const struct sim_controller *controller,
                         struct sim_score *out)
{
    if (strcmp(controller->name, "static-default") == 0) {
        *out = m->by_default;
        return true;
    }
    sim_oracle_play(&m->oracle);
    return play_one(m, controller, m->by_default.seconds, out);
}

static void play_match(const struct tournament_plan *plan,
                       struct tournament_match *m)
{
    bool ok = tournament_prepare(m, plan->batches);
    for (size_t i = 0; ok && i < plan->n_controllers; i++)
        ok = tournament_play_one(m, plan->controllers[i], &m->scores[i]);
    m->failed = !ok;
}

struct hall {
    struct tournament *t;
    atomic_size_t next, done;
};

static void *play(void *arg)
{
    struct hall *h = arg;
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&h->next, 1, memory_order_relaxed);
        if (i >= h->t->n_matches)
            return NULL;
        play_match(h->t->plan, &h->t->matches[i]);
        size_t done =
            atomic_fetch_add_explicit(&h->done, 1, memory_order_relaxed) + 1;
        if (h->t->plan->progress)
            fprintf(stderr, "\r%zu of %zu scenarios", done, h->t->n_matches);
    }
}

/* This thread plays, too. */
static void play_all(struct tournament *t)
{
    struct hall h = {.t = t};
    uint64_t more = t->plan->jobs - 1;
    if (more >= t->n_matches)
        more = t->n_matches - 1;
    pthread_t *threads = calloc(more + 1, sizeof(*threads));
    uint64_t started = 0;
    while (threads && started < more &&
           pthread_create(&threads[started], NULL, play, &h) == 0)
        started++;
    play(&h);
    for (uint64_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (t->plan->progress)
        fprintf(stderr, "\r%40s\r", "");
}

bool tournament_play(const struct tournament_plan *plan, struct tournament *out)
{
    memset(out, 0, sizeof(*out));
    out->plan = plan;
    out->n_matches = plan->n_families * plan->seeds + plan->scenarios;
    out->matches = calloc(out->n_matches + 1, sizeof(*out->matches));
    bool ok = out->matches != NULL;
    for (size_t i = 0; ok && i < out->n_matches; i++) {
        struct tournament_match *m = &out->matches[i];
        m->scores = calloc(plan->n_controllers + 1, sizeof(*m->scores));
        ok = m->scores != NULL;
    }
    if (ok && out->n_matches) {
        set_up(plan, out);
        play_all(out);
    }
    for (size_t i = 0; ok && i < out->n_matches; i++)
        ok = !out->matches[i].failed;
    if (!ok)
        fputs("tuner_sim: out of memory\n", stderr);
    return ok;
}

void tournament_fini(struct tournament *t)
{
    for (size_t i = 0; t->matches && i < t->n_matches; i++)
        free(t->matches[i].scores);
    free(t->matches);
    memset(t, 0, sizeof(*t));
}

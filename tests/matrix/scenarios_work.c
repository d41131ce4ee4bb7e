/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios about decode and augment, cores, and how many batches are ahead. */
#include "cores.h"
#include "scenarios.h"

#define FULL_STEP (16 * MS) /* of a consumer that something keeps up with */

static void little(struct scene *s)
{
    s->warm = 0;
    s->batches = 3 + dice_below(&s->dice, 4);
    s->sleep_ns = 2 * MS;
}

static void fed(struct scene *s)
{
    s->step_ns = scene_vary(s, FULL_STEP);
    s->sleep_ns = s->step_ns * 2 * 7 / 10 / SCENE_BATCH; /* 70 % of 2 workers */
}

static void overprovisioned(struct scene *s)
{
    scene_option(s, "workers=%u ", 4 + dice_below(&s->dice, 4));
    s->step_ns = scene_vary(s, FULL_STEP);
    s->sleep_ns = scene_vary(s, 2 * MS);
}

static void tunable(struct scene *s)
{
    scene_option(s, "workers=1 ");
    s->step_ns = scene_vary(s, 4 * MS);
    s->sleep_ns = scene_vary(s, 5 * MS);
}

static void saturated(struct scene *s)
{
    cores_confine();
    scene_option(s, "workers=1 ");
    s->batches = 200;
    s->step_ns = scene_vary(s, MS);
    s->burn_ns = scene_vary(s, 3 * MS);
}

static void throttled(struct scene *s)
{
    scene_option(s, "workers=1 ");
    s->step_ns = scene_vary(s, MS);
    s->burn_ns = scene_vary(s, 3 * MS / 2);
    s->why_not = cores_quota(dice_between(&s->dice, 0.25, 0.4));
}

static void oversubscribed(struct scene *s)
{
    cores_confine();
    scene_option(s, "workers=%u ", 4 + dice_below(&s->dice, 5));
    s->step_ns = scene_vary(s, MS);
    s->burn_ns = scene_vary(s, 3 * MS);
}

static void foreign(struct scene *s)
{
    cores_confine();
    cores_precede(); /* before there are threads: theirs is the same */
    cores_burn("omp-worker", 2 + dice_below(&s->dice, 2));
    scene_option(s, "workers=1 ");
    s->batches = 250; /* foreign threads are looked for once a second */
    s->step_ns = scene_vary(s, MS);
    s->burn_ns = scene_vary(s, MS);
}

static void locked(struct scene *s)
{
    scene_option(s, "workers=%u ", 3 + dice_below(&s->dice, 3));
    s->step_ns = scene_vary(s, 4 * MS);
    s->sleep_ns = scene_vary(s, MS);
    s->turn_ns = scene_vary(s, 3 * MS);
}

/* ---- Slow samples ------------------------------------------------------- */

/* A function of batch and seed alone, so that all who ask agree. */
static bool is_slow(const struct scene *s, uint32_t batch, uint32_t one_in)
{
    struct dice d = {s->dice.state + batch * UINT64_C(7919)};
    return dice_below(&d, one_in) == 0;
}

static int64_t one_slow_sample(const struct scene *s, uint32_t batch,
                               uint32_t place)
{
    return place == batch % SCENE_BATCH && is_slow(s, batch, 8) ? 90 * MS : 0;
}

static int64_t a_slow_batch(const struct scene *s, uint32_t batch,
                            uint32_t place)
{
    (void)place;
    return is_slow(s, batch, 5) ? 30 * MS : 0;
}

static void head_of_line(struct scene *s)
{
    scene_option(s, "workers=4 ");
    s->batches = 120;
    s->step_ns = scene_vary(s, 6 * MS);
    s->sleep_ns = scene_vary(s, 2 * MS);
    s->more_ns = one_slow_sample;
}

static void shallow(struct scene *s)
{
    scene_option(s, "workers=4 depth=1 ");
    s->batches = 100;
    s->step_ns = scene_vary(s, 12 * MS);
    s->sleep_ns = scene_vary(s, 2 * MS);
    s->more_ns = a_slow_batch;
}

/* Three slots fit into the budget, and no fourth. */
static void no_memory(struct scene *s)
{
    shallow(s);
    s->side = 64;
    scene_option(s, "memory_budget=%u ",
                 s->side * s->side * 3 * SCENE_BATCH * 7 / 2);
}

const struct scenario work_scenarios[] = {
    {"INSUFFICIENT_DATA", "3 to 6 batches", little, false},
    {"FED", "2 workers that sleep 70 % of the consumer's time", fed, false},
    {"FED_OVERPROVISIONED", "4 to 7 workers with little to do", overprovisioned,
     false},
    {"PREP_BOUND_TUNABLE", "1 worker that sleeps 20 ms for a step of 4 ms",
     tunable, false},
    {"PREP_BOUND_CPU_SATURATED", "1 worker that computes, on the only core",
     saturated, true},
    {"CPU_THROTTLED", "a cgroup with a quota of 25 to 40 % of a core",
     throttled, true},
    {"OVERSUBSCRIBED", "4 to 8 workers that compute, on the only core",
     oversubscribed, true},
    {"FOREIGN_CPU", "2 or 3 threads of the program compute on the only core",
     foreign, true},
    {"LOCK_BOUND", "3 to 5 workers, 3 ms of each sample one after the other",
     locked, false},
    {"HEAD_OF_LINE", "one sample of every 8th batch, at random, takes 90 ms",
     head_of_line, false},
    {"DEPTH_LIMITED", "depth 1, and a fifth of the batches takes 30 ms more",
     shallow, false},
    {"MEMORY_LIMITED", "the same, and the budget has no room for another batch",
     no_memory, false},
    {NULL, NULL, NULL, false}};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two things at once. Neighbours nearly always: on a shared machine they are
 * there whatever else is slow.
 */
#include "cores.h"
#include "scenarios.h"

#define USUAL_FILE (106u * 1024) /* ImageNet's mean */

/* Each sample computes a little, so that cores matter to it. */
static void beside_neighbours(struct scene *s, uint32_t n)
{
    cores_precede(); /* before there are others: theirs is the same */
    cores_neighbours(n);
    s->burn_ns = scene_vary(s, MS / 5);
}

static void sleep_and_neighbours(struct scene *s)
{
    beside_neighbours(s, 2 + dice_below(&s->dice, 2));
    s->batches = 120;
    s->step_ns = scene_vary(s, 4 * MS);
    s->sleep_ns = scene_vary(s, 12 * MS);
}

static void many_sleepers_and_neighbours(struct scene *s)
{
    sleep_and_neighbours(s);
    scene_option(s, "workers=6 ");
    s->step_ns = scene_vary(s, MS);
}

static void lock_and_neighbours(struct scene *s)
{
    beside_neighbours(s, 2);
    scene_option(s, "workers=%u ", 3 + dice_below(&s->dice, 3));
    s->batches = 120;
    s->step_ns = scene_vary(s, 4 * MS);
    s->turn_ns = scene_vary(s, 5 * MS);
}

static void neighbours_and_three_workers(struct scene *s)
{
    beside_neighbours(s, 8);
    scene_option(s, "workers=3 ");
    s->step_ns = scene_vary(s, MS);
    s->burn_ns = scene_vary(s, 2 * MS);
}

static void reads_and_neighbours(struct scene *s)
{
    beside_neighbours(s, 2);
    scene_option(s, "io_depth=2 ");
    s->file_bytes = USUAL_FILE;
    s->step_ns = scene_vary(s, 4 * MS);
    s->storage.latency_ns = scene_vary(s, 20 * MS);
}

static void reads_and_sleep(struct scene *s)
{
    scene_option(s, "io_depth=2 workers=4 ");
    s->file_bytes = USUAL_FILE;
    s->step_ns = scene_vary(s, 4 * MS);
    s->sleep_ns = scene_vary(s, 4 * MS);
    s->storage.latency_ns = scene_vary(s, 20 * MS);
}

static void usual_files(struct scene *s)
{
    slow_disk(s, USUAL_FILE, 15e6);
}

/* The quota stops the consumer too: its steps look like pauses of its own. */
static void quota_and_fast_consumer(struct scene *s)
{
    scene_option(s, "workers=%u ", 2 + dice_below(&s->dice, 3));
    s->batches = 120;
    s->step_ns = scene_vary(s, 5 * MS);
    s->burn_ns = scene_vary(s, 3 * MS);
    s->why_not = cores_quota(dice_between(&s->dice, 0.4, 0.8));
}

static void quota_and_sleep(struct scene *s)
{
    s->step_ns = scene_vary(s, 2 * MS);
    s->sleep_ns = scene_vary(s, 15 * MS);
    s->burn_ns = scene_vary(s, MS / 5);
    s->why_not = cores_quota(0.5);
}

static void pause_now_and_then(struct scene *s, feedline_loader *l,
                               uint32_t batch)
{
    (void)s;
    (void)l;
    if (batch % 20 == 19)
        nap(300 * MS);
}

static void pauses_and_neighbours(struct scene *s)
{
    beside_neighbours(s, 2);
    s->batches = 160;
    s->step_ns = scene_vary(s, 12 * MS);
    s->before = pause_now_and_then;
}

/* An evaluation: the workers have nothing to do, and are too few after it. */
static void pauses_and_sleep(struct scene *s)
{
    scene_option(s, "depth=2 ");
    s->batches = 120;
    s->step_ns = scene_vary(s, 2 * MS);
    s->sleep_ns = scene_vary(s, 16 * MS);
    s->before = pause_now_and_then;
}

const struct scenario mixed_scenarios[] = {
    {"PREP_BOUND_TUNABLE", "2 workers that sleep, and 2 or 3 neighbours",
     sleep_and_neighbours, true},
    {"PREP_BOUND_TUNABLE", "6 workers that sleep, and 2 or 3 neighbours",
     many_sleepers_and_neighbours, true},
    {"LOCK_BOUND", "5 ms of each sample one after the other, and 2 neighbours",
     lock_and_neighbours, true},
    {"OVERSUBSCRIBED", "3 workers that compute, and 8 neighbours",
     neighbours_and_three_workers, true},
    {"FETCH_LATENCY_BOUND",
     "reads of 106 KiB take 20 ms, 2 at a time, and 2 neighbours",
     reads_and_neighbours, true},
    {"FETCH_LATENCY_BOUND",
     "reads of 106 KiB take 20 ms, 2 at a time, and workers sleep",
     reads_and_sleep, false},
    {"FETCH_BW_BOUND", "storage of 15 MB/s and files of 106 KiB", usual_files,
     false},
    {"CPU_THROTTLED", "a quota of 40 to 80 % of a core, and steps of 5 ms",
     quota_and_fast_consumer, true},
    {"PREP_BOUND_TUNABLE", "a quota that suffices, and workers that sleep",
     quota_and_sleep, true},
    {"CONSUMER_HOST_BOUND", "pauses of 300 ms, and 2 neighbours",
     pauses_and_neighbours, true},
    {"PREP_BOUND_TUNABLE", "pauses of 300 ms, and 2 workers that sleep",
     pauses_and_sleep, false},
    {NULL, NULL, NULL, false}};

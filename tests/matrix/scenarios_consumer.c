/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios about the consumer, and when a run begins. */
#include "scenarios.h"

#define FULL_STEP (16 * MS)

/* What a consumer sees that is given its batches in time. */
static void feed(struct scene *s)
{
    s->step_ns = scene_vary(s, FULL_STEP);
    s->sleep_ns = s->step_ns * 2 * 7 / 10 / SCENE_BATCH; /* of 2 workers */
}

/* All slots but one are held, so that nothing is made ahead. */
static void holds_slots(struct scene *s)
{
    uint32_t depth = 2 + dice_below(&s->dice, 3);
    scene_option(s, "depth=%u workers=4 ", depth);
    s->hold = depth + 1;
    s->step_ns = scene_vary(s, 8 * MS);
    s->sleep_ns = scene_vary(s, 6 * MS);
}

static int64_t the_first(const struct scene *s, uint32_t batch, uint32_t place)
{
    (void)s;
    return batch == 0 && place == 0 ? 900 * MS : 0;
}

static void slow_start(struct scene *s)
{
    feed(s);
    s->warm = 0;
    s->more_ns = the_first;
}

/* Workers take the consumer's caches, memory or clock from it. */
static void suffer(struct scene *s, feedline_loader *l, uint32_t batch)
{
    if (batch % 25 != 0)
        return;
    bool many = batch / 25 % 2 != 0;
    (void)feedline_loader_set_int(l, "workers", many ? 4 : 1);
    s->step_ns = (many ? 17 : 13) * MS;
}

static void interference(struct scene *s)
{
    s->sleep_ns = scene_vary(s, 2 * MS);
    s->batches = 200;
    s->before = suffer;
}

/* The batch is there, and the consumer's thread does not run. */
static void late(struct scene *s)
{
    scene_option(s, "workers=1 depth=2 ");
    s->step_ns = scene_vary(s, 2 * MS);
    s->sleep_ns = scene_vary(s, MS);
    s->late_ns = scene_vary(s, 20 * MS);
}

static void straggler(struct scene *s)
{
    scene_option(s, "world=2 rank=%u ", dice_below(&s->dice, 2));
    feed(s);
    s->phase = "allreduce";
}

const struct scenario consumer_scenarios[] = {
    {"CONSUMER_HOLDS_SLOTS", "the consumer keeps all batches but one",
     holds_slots, false},
    {"SLOW_START", "the first sample of a run takes 900 ms", slow_start, false},
    {"INTERFERENCE", "the step takes 30 % longer with 4 workers than with 1",
     interference, false},
    {"COMM_OR_STRAGGLER", "one of two ranks spends its step in \"allreduce\"",
     straggler, false},
    {"OUT_OF_SCOPE", "the consumer's thread runs 20 ms after it was woken",
     late, false},
    {NULL, NULL, NULL, false}};

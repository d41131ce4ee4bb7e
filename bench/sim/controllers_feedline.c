/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project's tuner, driven as the library's control thread drives it:
 * limits, a reading, what is proposed is put in force, and the tuner is told
 * what became of it. Nothing here decides anything.
 */
#include "bench/sim/controllers_own.h"
#include "bench/sim/story.h"

#include <stdlib.h>

struct self {
    struct fdl_tuner *tuner;
    struct fdl_knobs told; /* in force, as the tuner knows it */
    struct sim_story *trace;
};

static bool same(const struct fdl_knobs *a, const struct fdl_knobs *b)
{
    return a->workers == b->workers && a->depth == b->depth &&
           a->io_depth == b->io_depth;
}

static void destroy(void *self)
{
    struct self *s = self;
    sim_story_end(s->trace, s->tuner);
    fdl_tuner_destroy(s->tuner);
    free(s);
}

static void *create(const struct sim_facts *facts,
                    const struct fdl_knobs *knobs)
{
    struct self *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->tuner = fdl_tuner_create(&facts->limits, knobs, false);
    if (!s->tuner) {
        free(s);
        return NULL;
    }
    s->told = *knobs;
    s->trace = sim_story_begin(knobs);
    return s;
}

static void *create_default(const struct sim_facts *facts,
                            struct fdl_knobs *knobs)
{
    *knobs = facts->def;
    return create(facts, knobs);
}

static void *create_1(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    *knobs = facts->def;
    knobs->workers = facts->limits.workers_min;
    return create(facts, knobs);
}

static void observe(void *self, const struct sim_facts *facts,
                    const struct fdl_tuner_reading *reading,
                    struct fdl_knobs *knobs)
{
    struct self *s = self;
    if (!same(knobs, &s->told)) {
        fdl_tuner_applied(s->tuner, knobs, false);
        s->told = *knobs;
    }
    fdl_tuner_set_limits(s->tuner, &facts->limits);
    fdl_tuner_observe(s->tuner, reading);
    struct fdl_knobs wanted;
    if (fdl_tuner_propose(s->tuner, &wanted)) {
        *knobs = wanted;
        fdl_tuner_applied(s->tuner, &wanted, false);
        s->told = wanted;
    }
    sim_story_look(s->trace, s->tuner);
}

static void status(void *self, struct fdl_tuner_status *out)
{
    struct self *s = self;
    fdl_tuner_get(s->tuner, out);
}

static void tell(void *self, struct fdl_tuner_job *out)
{
    struct self *s = self;
    fdl_tuner_tell(s->tuner, out);
}

static void hear(void *self, const struct fdl_tuner_job *job)
{
    struct self *s = self;
    fdl_tuner_hear(s->tuner, job);
}

const struct sim_controller sim_feedline = {
    .name = "feedline",
    .about = "the project's tuner, from the static default",
    .create = create_default,
    .observe = observe,
    .destroy = destroy,
    .status = status,
    .tell = tell,
    .hear = hear};

const struct sim_controller sim_feedline_1 = {
    .name = "feedline-1",
    .about = "the project's tuner, from one worker",
    .create = create_1,
    .observe = observe,
    .destroy = destroy,
    .status = status};

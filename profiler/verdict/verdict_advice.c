/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves contradictions among verdicts, which were found independently. The
 * first one that turns a knob decides the direction; a later one that would
 * turn it back advises something else. An action is announced as the tuner's
 * only if the tuner may take it and will.
 */
#include "profiler/verdict/advice.h"
#include "profiler/verdict/verdict_own.h"

#include <string.h>

static bool against(int before, int now)
{
    return before * now < 0;
}

static bool contradicts(const struct fdl_moves *a, const struct fdl_moves *b)
{
    return against(a->workers, b->workers) || against(a->depth, b->depth) ||
           against(a->io_depth, b->io_depth);
}

static void add(struct fdl_moves *sum, const struct fdl_moves *m)
{
    sum->workers = sum->workers ? sum->workers : m->workers;
    sum->depth = sum->depth ? sum->depth : m->depth;
    sum->io_depth = sum->io_depth ? sum->io_depth : m->io_depth;
}

static void give_way(struct fdl_draft *d)
{
    static const char nothing[] = "Address the first finding before this one.";
    d->v.moves = (struct fdl_moves){0};
    d->v.workers_to = 0;
    d->v.tuner = false;
    d->v.action[0] = '\0';
    fdl_act(d, "%s", d->instead ? d->instead : nothing);
}

/* The tuner uses fewer workers only when the consumer is fed. */
static bool tuner_will(const struct fdl_facts *f, const struct fdl_moves *m)
{
    const struct fdl_evidence *e = f->e;
    if (!e->tuning)
        return false;
    if (m->workers && (!e->workers_auto || (m->workers > 0 && !f->scales) ||
                       (m->workers < 0 && f->stall >= FED_STALL)))
        return false;
    return (!m->depth || e->depth_auto) && (!m->io_depth || e->io_auto);
}

/* The knob that was given by the user and that the action turns up. */
static const char *given_knob(const struct fdl_evidence *e,
                              const struct fdl_moves *m)
{
    if (m->workers > 0 && !e->workers_auto)
        return "workers";
    if (m->depth > 0 && !e->depth_auto)
        return "depth";
    return m->io_depth > 0 && !e->io_auto ? "io_depth" : NULL;
}

/* If the text has room for it. */
static void name_tuner(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_moves *m = &d->v.moves;
    const char *given = given_knob(f->e, m);
    if (!d->v.tuner || strlen(d->v.action) + 96 > sizeof(d->v.action))
        return;
    if (tuner_will(f, m))
        fdl_act(d, " The tuner does that.");
    else if (given && f->e->tuning)
        fdl_act(d, " With %s the tuner does that.",
                fdl_say_word(f, given, "auto").at);
}

void fdl_advice_settle(const struct fdl_facts *f, struct fdl_draft *all,
                       uint32_t n)
{
    struct fdl_moves sum = {0};
    for (uint32_t i = 0; i < n; i++) {
        struct fdl_moves *m = &all[i].v.moves;
        if (contradicts(&sum, m))
            give_way(&all[i]);
        all[i].v.tuner =
            !all[i].aside && (m->workers || m->depth || m->io_depth);
        add(&sum, m);
        name_tuner(f, &all[i]);
    }
}

void fdl_advice_of(const struct fdl_verdict *all, uint32_t n,
                   struct fdl_advice *out)
{
    *out = (struct fdl_advice){.code = "", .part = ""};
    if (n > 0) {
        out->code = all[0].code;
        out->part = all[0].part;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (out->workers_to == 0)
            out->workers_to = all[i].workers_to;
        add(&out->moves, &all[i].moves);
    }
}

static bool is_part(const struct fdl_advice *a, const char *part)
{
    return strcmp(a->part, part) == 0;
}

bool fdl_advice_agrees(const struct fdl_advice *a, const char *limit)
{
    bool prep = is_part(a, "prep") || is_part(a, "wake");
    if (strcmp(limit, "bound") == 0)
        return a->moves.workers > 0;
    if (strcmp(limit, "cores") == 0)
        return prep && a->moves.workers <= 0 &&
               strcmp(a->code, "LOCK_BOUND") != 0;
    if (strcmp(limit, "lock") == 0)
        return strcmp(a->code, "LOCK_BOUND") == 0;
    if (strcmp(limit, "storage") == 0)
        return is_part(a, "fetch");
    if (strcmp(limit, "device") == 0)
        return strcmp(a->code, "DEVICE_DECODE_BOUND") == 0;
    if (strcmp(limit, "transfer") == 0)
        return is_part(a, "transfer");
    return strcmp(limit, "memory") == 0 && a->moves.depth <= 0 && a->part[0];
}

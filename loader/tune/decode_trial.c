/* SPDX-License-Identifier: Apache-2.0 */
/* Who decodes; decode_trial.h has the rules. */
#include "loader/tune/decode_trial.h"

#include "base/compiler.h"
#include "base/tenths.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BATCHES 4u
#define BLOCK_NS      INT64_C(50000000)
#define FED           0.01 /* stall */
#define GAIN          0.05 /* of the rate, that is no chance */
#define NO_LOSS       0.01
#define FEW           0.10 /* of the samples */
#define BUSY          0.80 /* of the workers' time: they are waited for */
#define FULL          0.80 /* of the time the device decodes */

enum told { TOLD_NOTHING, TOLD_FED, TOLD_IDLE };

/* What a window says. */
struct window {
    double batch_ns;       /* median */
    double images;         /* per second */
    double stall, working; /* of the time; of the workers' */
    double left, making;   /* of the samples; of the time */
};

static void say(struct fdl_decode_trial *t, const char *fmt, ...)
    FDL_PRINTF(2, 3);

static void say(struct fdl_decode_trial *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->reason, sizeof(t->reason), fmt, args);
    va_end(args);
}

/* ---- Windows ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double part(double of, double whole)
{
    return whole > 0 ? FDL_MIN(FDL_MAX(of / whole, 0.0), 1.0) : 0;
}

static void digest(struct fdl_decode_trial *t, struct window *w)
{
    const struct fdl_decode_reading *a = &t->begin, *b = &t->last;
    double sorted[FDL_DECODE_BLOCKS];
    double stall = (double)(b->stall_ns - a->stall_ns);
    double work = (double)(b->work_ns - a->work_ns);
    double idle = (double)(b->idle_ns - a->idle_ns);
    memcpy(sorted, t->batch_ns, sizeof(sorted));
    qsort(sorted, FDL_DECODE_BLOCKS, sizeof(*sorted), compare);
    w->batch_ns = 0.5 * (sorted[FDL_DECODE_BLOCKS / 2 - 1] +
                         sorted[FDL_DECODE_BLOCKS / 2]);
    w->images = b->batch_size * 1e9 / w->batch_ns;
    w->stall = part(stall, (double)(b->of_ns - a->of_ns));
    w->working = part(work, work + idle);
    w->left =
        part((double)(b->made - a->made), (double)(b->samples - a->samples));
    w->making = part((double)(b->make_ns - a->make_ns),
                     (double)(b->wall_ns - a->wall_ns));
}

static void restart(struct fdl_decode_trial *t,
                    const struct fdl_decode_reading *r)
{
    t->begin = t->last = *r;
    t->begun = true;
    t->n_blocks = 0;
}

static bool ran_backwards(const struct fdl_decode_reading *from,
                          const struct fdl_decode_reading *to)
{
    return to->batches < from->batches || to->samples < from->samples ||
           to->made < from->made || to->wall_ns < from->wall_ns ||
           to->stall_ns < from->stall_ns || to->of_ns < from->of_ns ||
           to->work_ns < from->work_ns || to->idle_ns < from->idle_ns ||
           to->make_ns < from->make_ns;
}

/* true: a window is complete. */
static bool add(struct fdl_decode_trial *t, const struct fdl_decode_reading *r)
{
    if (!t->begun || ran_backwards(&t->last, r) || r->batches < t->from) {
        restart(t, r);
        return false;
    }
    uint64_t n = r->batches - t->last.batches;
    int64_t ns = r->wall_ns - t->last.wall_ns;
    if (n < BLOCK_BATCHES || ns < BLOCK_NS)
        return false;
    t->batch_ns[t->n_blocks++] = (double)ns / (double)n;
    t->last = *r;
    return t->n_blocks == FDL_DECODE_BLOCKS;
}

/* ---- Trials -------------------------------------------------------------- */

/* The batches that are under way, and the one that is being issued, are made as
 * before. */
static void go_to(struct fdl_decode_trial *t, enum fdl_decode_state state)
{
    t->state = state;
    t->from = t->last.batches + t->last.outstanding + 2;
    t->waited = 0;
    t->told = TOLD_NOTHING;
}

static bool is_due(const struct fdl_decode_trial *t)
{
    return t->last.settled && t->trials < FDL_DECODE_TRIALS &&
           t->waited >= (t->trials ? UINT32_C(1) << t->trials : 0);
}

static void try_it(struct fdl_decode_trial *t, const struct window *w,
                   enum fdl_decode_state state)
{
    t->trials++;
    t->before_ns = w->batch_ns;
    go_to(t, state);
}

static bool tell_once(struct fdl_decode_trial *t, enum told what)
{
    bool news = t->told != (uint32_t)what;
    t->told = what;
    return news;
}

static bool judge_host(struct fdl_decode_trial *t, const struct window *w)
{
    struct fdl_tenths stall = fdl_tenths(100 * w->stall);
    if (w->stall < FED) {
        if (!tell_once(t, TOLD_FED))
            return false;
        say(t, "the host keeps up: the consumer waits %s %% of the time",
            stall.at);
        return true;
    }
    if (w->working < BUSY) {
        if (!tell_once(t, TOLD_IDLE))
            return false;
        say(t,
            "the consumer waits %s %% of the time, but the workers are busy in "
            "%s %% of theirs",
            stall.at, fdl_tenths(100 * w->working).at);
        return true;
    }
    if (!is_due(t))
        return false;
    try_it(t, w, FDL_DECODE_TRYING_DEVICE);
    say(t,
        "it is tried: the consumer waits %s %% of the time for workers that "
        "decode %s images/s",
        stall.at, fdl_tenths(w->images).at);
    return true;
}

/* Of what is tried, against what was before. */
static bool is_better(const struct fdl_decode_trial *t, const struct window *w)
{
    double gain = t->before_ns / w->batch_ns - 1;
    return gain >= GAIN || (gain > -NO_LOSS && w->stall < FED);
}

static struct fdl_tenths images_before(const struct fdl_decode_trial *t)
{
    return fdl_tenths(t->last.batch_size * 1e9 / t->before_ns);
}

static bool judge_device_trial(struct fdl_decode_trial *t,
                               const struct window *w)
{
    bool better = is_better(t, w), few = w->left < FEW;
    struct fdl_tenths left = fdl_tenths(100 * w->left);
    go_to(t, better && !few ? FDL_DECODE_ON_DEVICE : FDL_DECODE_ON_HOST);
    if (few)
        say(t,
            "only %s %% of the samples are such that the device decodes them",
            left.at);
    else
        say(t,
            "%s images/s where the device decodes %s %% of the samples, %s "
            "where the host does",
            fdl_tenths(w->images).at, left.at, images_before(t).at);
    return true;
}

static bool judge_device(struct fdl_decode_trial *t, const struct window *w)
{
    bool limits = w->making >= FULL && w->working < BUSY;
    if (w->stall < FED || !limits || !is_due(t))
        return false;
    try_it(t, w, FDL_DECODE_TRYING_HOST);
    say(t,
        "the host is tried: the consumer waits %s %% of the time, and the "
        "device decodes in %s %% of it",
        fdl_tenths(100 * w->stall).at, fdl_tenths(100 * w->making).at);
    return true;
}

static bool judge_host_trial(struct fdl_decode_trial *t, const struct window *w)
{
    bool better = is_better(t, w);
    go_to(t, better ? FDL_DECODE_ON_HOST : FDL_DECODE_ON_DEVICE);
    say(t, "%s images/s where the host decodes, %s where the device does",
        fdl_tenths(w->images).at, images_before(t).at);
    return true;
}

bool fdl_decode_trial_observe(struct fdl_decode_trial *t,
                              const struct fdl_decode_reading *r)
{
    static bool (*const judges[])(struct fdl_decode_trial *,
                                  const struct window *) = {
        [FDL_DECODE_ON_HOST] = judge_host,
        [FDL_DECODE_TRYING_DEVICE] = judge_device_trial,
        [FDL_DECODE_ON_DEVICE] = judge_device,
        [FDL_DECODE_TRYING_HOST] = judge_host_trial,
    };
    struct window w;
    if (!add(t, r))
        return false;
    digest(t, &w);
    t->waited += t->waited < UINT32_MAX;
    bool changed = judges[t->state](t, &w);
    restart(t, r);
    return changed;
}

bool fdl_decode_trial_pause(struct fdl_decode_trial *t)
{
    bool trying = fdl_decode_trial_is_trying(t);
    t->begun = false;
    t->from = 0;
    if (!trying)
        return false;
    t->trials--; /* it told nothing */
    t->state = t->state == FDL_DECODE_TRYING_DEVICE ? FDL_DECODE_ON_HOST
                                                    : FDL_DECODE_ON_DEVICE;
    say(t, "a trial was cut off before it was over");
    return true;
}

bool fdl_decode_trial_device(const struct fdl_decode_trial *t)
{
    return t->state == FDL_DECODE_TRYING_DEVICE ||
           t->state == FDL_DECODE_ON_DEVICE;
}

bool fdl_decode_trial_is_trying(const struct fdl_decode_trial *t)
{
    return t->state == FDL_DECODE_TRYING_DEVICE ||
           t->state == FDL_DECODE_TRYING_HOST;
}

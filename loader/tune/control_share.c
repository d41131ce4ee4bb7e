/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This loader's share of the granted cores (neighbours.h): when the tuner's
 * thread looks for neighbours, and what follows. If the user or the launcher
 * states how many share them (local_world), it does not look.
 *
 * Walking through /proc takes some 12 us per process of the machine, a page 5
 * us. Both become less frequent if they would exceed a four-hundredth of the
 * time, so they stay within the thread's allowance.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "loader/tune/control_own.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_NS  INT64_C(300000000)  /* loaders of one job start together */
#define SOON_NS   INT64_C(600000000)  /* two updates of a page */
#define LOOK_NS   INT64_C(1000000000) /* the machine is queried as often */
#define FIND_NS   INT64_C(3000000000)
#define COST_PART 400 /* of the time, at most one part */

void fdl_control_share_begin(struct fdl_control *c)
{
    c->share.find_ns = c->share.look_ns = fdl_now_ns() + FIRST_NS;
}

static int64_t next(int64_t now, int64_t before, int64_t least)
{
    int64_t cost = fdl_thread_cpu_ns() - before;
    return now + FDL_MAX(least, COST_PART * cost);
}

static bool find(struct fdl_control *c)
{
    struct fdl_neighbour_self self = {.loader = c->share.page};
    fdl_lock(&c->lock);
    char *root = c->root ? strdup(c->root) : NULL;
    self.by_quota = c->by_quota;
    fdl_unlock(&c->lock);
    self.root = root ? root : "";
    bool new = fdl_neighbours_find(&c->share.neighbours, &self);
    free(root);
    return new;
}

static void say(double granted, double part, uint32_t others)
{
    if (others)
        fdl_log(FDL_LOG_INFO,
                "%.3g cores are granted, shared with %u other %s: %.2g for "
                "this loader and its consumer",
                granted, others, others == 1 ? "loader" : "loaders",
                granted * part);
    else
        fdl_log(FDL_LOG_INFO, "%.3g cores are granted, not shared", granted);
}

static void take_part(struct fdl_control *c)
{
    double wants[FDL_NEIGHBOURS_MAX];
    uint32_t n = fdl_neighbours_wants(&c->share.neighbours, wants);
    fdl_lock(&c->lock);
    double before = c->share.part, granted = c->granted;
    c->share.part = fdl_neighbours_part(before, granted, wants, &n);
    c->share.others = n;
    c->cores = granted * c->share.part;
    bool changed = c->share.part < before || c->share.part > before;
    double part = c->share.part;
    fdl_unlock(&c->lock);
    if (changed)
        say(granted, part, n);
}

void fdl_control_share(struct fdl_control *c)
{
    struct fdl_share *s = &c->share;
    int64_t now = fdl_now_ns();
    if (!s->looks || now < FDL_MIN(s->find_ns, s->look_ns))
        return;
    int64_t before = fdl_thread_cpu_ns();
    bool new = false;
    if (now >= s->find_ns) {
        new = find(c);
        s->find_ns = next(now, before, FIND_NS);
        before = fdl_thread_cpu_ns();
    }
    fdl_neighbours_look(&s->neighbours, now);
    s->look_ns = next(now, before, new ? SOON_NS : LOOK_NS);
    take_part(c);
}

void fdl_control_shared(struct fdl_control *c, double *granted, double *cores,
                        uint32_t *others)
{
    fdl_lock(&c->lock);
    *granted = c->granted;
    *cores = c->cores;
    *others = c->share.part < 1 ? c->share.others : 0;
    fdl_unlock(&c->lock);
}

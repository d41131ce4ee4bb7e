/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other ranks of this job (profiler/tuner/tuner_job.c): those of this
 * machine are looked at by the tuner's thread, on their pages; what the program
 * brings of others waits here for the next tick. Who knows of more ranks
 * counts. Nothing of this waits for anybody, and without it each rank is alone.
 *
 * The costs are those of control_share.c: a walk through /proc, and a page.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "loader/tune/control_own.h"

#include <stdlib.h>

#define FIRST_NS  INT64_C(500000000) /* two updates of a page */
#define LOOK_NS   INT64_C(1000000000)
#define FIND_NS   INT64_C(5000000000)
#define OLD_NS    INT64_C(60000000000) /* what the program brought */
#define COST_PART 400                  /* of the time, at most one part */

void fdl_control_set_job(struct fdl_control *c, uint64_t job)
{
    c->job.number = job;
    if (job == 0 || c->share.page == UINT32_MAX)
        return;
    /* Without memory for pages it hears what the program brings. */
    c->job.pages = calloc(1, sizeof(*c->job.pages));
}

static int64_t next(int64_t now, int64_t before, int64_t least)
{
    int64_t cost = fdl_thread_cpu_ns() - before;
    return now + FDL_MAX(least, COST_PART * cost);
}

/* The others' of this machine, with its own; a rank alone has no job. */
static void take_of_host(struct fdl_control *c, struct fdl_tuner_job *others)
{
    struct fdl_tuner_job own;
    if (others->ranks > 0) {
        fdl_control_tell(c, &own);
        fdl_tuner_job_add(others, &own);
    }
    fdl_lock(&c->lock);
    c->job.of_host = *others;
    c->job.news = true;
    fdl_unlock(&c->lock);
}

void fdl_control_job(struct fdl_control *c)
{
    struct fdl_control_job *j = &c->job;
    struct fdl_tuner_job others;
    int64_t now = fdl_now_ns(), before = fdl_thread_cpu_ns();
    if (j->look_ns == 0)
        j->look_ns = j->find_ns = now + FIRST_NS;
    if (!j->pages || now < j->look_ns)
        return;
    if (now >= j->find_ns) {
        fdl_job_pages_find(j->pages, c->share.page);
        j->find_ns = next(now, before, FIND_NS);
        before = fdl_thread_cpu_ns();
    }
    fdl_job_pages_read(j->pages, j->number, now, &others);
    take_of_host(c, &others);
    j->look_ns = next(now, before, LOOK_NS);
}

/* The lock is held. */
static void heard_locked(const struct fdl_control *c, struct fdl_tuner_job *out)
{
    const struct fdl_control_job *j = &c->job;
    bool old = fdl_now_ns() - j->brought_ns > OLD_NS;
    *out = old || j->brought.ranks < j->of_host.ranks ? j->of_host : j->brought;
}

void fdl_control_job_hear_locked(struct fdl_control *c)
{
    struct fdl_tuner_job all;
    if (!c->job.news)
        return;
    c->job.news = false;
    heard_locked(c, &all);
    fdl_tuner_hear(c->tuner, &all);
}

void fdl_control_tell(struct fdl_control *c, struct fdl_tuner_job *out)
{
    *out = (struct fdl_tuner_job){.ranks = 1};
    fdl_lock(&c->lock);
    if (c->tuner)
        fdl_tuner_tell(c->tuner, out);
    fdl_unlock(&c->lock);
}

void fdl_control_hear(struct fdl_control *c, const struct fdl_tuner_job *job)
{
    const struct fdl_options *o = fdl_engine_options(c->engine);
    if (!fdl_option_int(o, FDL_OPT_TUNER_JOB))
        return;
    fdl_lock(&c->lock);
    c->job.brought = *job;
    c->job.brought_ns = fdl_now_ns();
    c->job.news = true;
    fdl_unlock(&c->lock);
}

void fdl_control_heard(struct fdl_control *c, struct fdl_tuner_job *out)
{
    fdl_lock(&c->lock);
    heard_locked(c, out);
    fdl_unlock(&c->lock);
}

void fdl_control_job_forget(struct fdl_control *c)
{
    if (c->job.pages)
        fdl_job_pages_forget(c->job.pages);
    free(c->job.pages);
}

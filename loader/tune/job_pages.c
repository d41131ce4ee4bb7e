/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of other ranks; see job_pages.h. */
#include "loader/tune/job_pages.h"

#include "base/status.h"
#include "loader/watch/live_reader.h"

#include <unistd.h>

#define STALE_NS INT64_C(5000000000)

static void drop(struct fdl_job_pages *p, uint32_t i)
{
    fdl_live_detach(p->all[i].live);
    p->all[i] = p->all[--p->n];
}

static struct fdl_job_page *known(struct fdl_job_pages *p,
                                  const struct feedline_live_info *info)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->all[i].pid == info->pid && p->all[i].loader == info->loader &&
            p->all[i].started_unix_ns == info->started_unix_ns)
            return &p->all[i];
    return NULL;
}

static struct fdl_job_page *add(struct fdl_job_pages *p,
                                const struct feedline_live_info *info)
{
    feedline_live *live;
    if (p->n == FDL_JOB_PAGES_MAX ||
        fdl_live_attach(info->pid, info->loader, &live) < 0)
        return NULL;
    p->all[p->n] = (struct fdl_job_page){
        .pid = info->pid,
        .loader = info->loader,
        .started_unix_ns = info->started_unix_ns,
        .live = live,
    };
    return &p->all[p->n++];
}

void fdl_job_pages_find(struct fdl_job_pages *p, uint32_t own)
{
    struct feedline_live_info info;
    for (uint32_t i = 0; i < p->n; i++)
        p->all[i].listed = false;
    for (uint32_t i = 0; fdl_live_list(i, &info) == FEEDLINE_OK; i++) {
        if (info.pid == getpid() && info.loader == own)
            continue;
        struct fdl_job_page *x = known(p, &info);
        if (!x)
            x = add(p, &info);
        if (x)
            x->listed = true;
    }
    for (uint32_t i = p->n; i-- > 0;)
        if (!p->all[i].listed)
            drop(p, i);
    fdl_clear_error();
}

void fdl_job_pages_read(struct fdl_job_pages *p, uint64_t job, int64_t now,
                        struct fdl_tuner_job *out)
{
    *out = (struct fdl_tuner_job){0};
    for (uint32_t i = p->n; i-- > 0;) {
        struct feedline_live_stats s;
        if (fdl_live_read(p->all[i].live, &s) != FEEDLINE_OK) {
            drop(p, i);
            continue;
        }
        if (s.told.job != job || now - s.updated_ns > STALE_NS)
            continue;
        struct fdl_tuner_job one = {
            .ranks = 1,
            .stall = s.told.stall,
            .step_ns = s.told.step_ns,
            .most = {.depth = s.told.depth, .io_depth = s.told.io_depth},
        };
        fdl_tuner_job_add(out, &one);
    }
    fdl_clear_error();
}

void fdl_job_pages_forget(struct fdl_job_pages *p)
{
    while (p->n > 0)
        drop(p, p->n - 1);
}

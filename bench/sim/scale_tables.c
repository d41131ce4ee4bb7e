/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are played, and what comes of them as rows. */
#include "bench/sim/scale_tables.h"

#include "bench/sim/controllers_own.h"
#include "bench/sim/scale_host.h"

#include <math.h>

static bool play(const struct sim_cluster *j, struct sim_cluster_result *out)
{
    return sim_cluster_run(j, &sim_feedline, 1, out);
}

/* How much longer, in %; never "-0.0". */
static double longer(double time, double than)
{
    double part = 100 * (time / than - 1);
    return fabs(part) < 0.05 ? 0 : part;
}

/* Time lost to waits for data, in % of the time without. */
static double lost(const struct sim_cluster_half *h)
{
    return longer(h->step, h->bare);
}

/* ---- What the ranks' tuners set ----------------------------------------- */

struct few_most {
    uint32_t few, most;
};

static struct few_most range(const struct sim_cluster_result *r, size_t knob)
{
    struct few_most found = {UINT32_MAX, 0};
    for (uint32_t i = 0; i < r->ranks; i++) {
        const char *knobs = (const char *)&r->rank[i].knobs;
        uint32_t x = *(const uint32_t *)(const void *)(knobs + knob);
        found.few = x < found.few ? x : found.few;
        found.most = x > found.most ? x : found.most;
    }
    return found;
}

static void add_knob(struct sheet *s, const struct sim_cluster_result *r,
                     size_t knob)
{
    struct few_most x = range(r, knob);
    if (x.few == x.most)
        sheet_add(s, "%u", x.few);
    else
        sheet_add(s, "%u-%u", x.few, x.most);
}

static void add_knobs(struct sheet *s, const struct sim_cluster_result *r)
{
    add_knob(s, r, offsetof(struct fdl_knobs, workers));
    add_knob(s, r, offsetof(struct fdl_knobs, depth));
    add_knob(s, r, offsetof(struct fdl_knobs, io_depth));
}

static double wait_of(const struct sim_cluster_result *r, uint32_t from,
                      uint32_t to)
{
    double sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += r->rank[i].wait;
    return to > from ? 100 * sum / (to - from) : 0;
}

/* ---- Ranks -------------------------------------------------------------- */

static bool add_size(struct sheet *s, uint32_t ranks, bool object_store,
                     bool alone)
{
    struct sim_cluster j = job_of(ranks, object_store);
    struct sim_cluster_result r;
    if (alone)
        j.tells = 0;
    if (!play(&j, &r))
        return false;
    const struct sim_cluster_half *h = &r.half[1];
    sheet_add(s, "%u, %s%s", ranks,
              object_store ? "object store" : "file system",
              alone ? ", each alone" : "");
    sheet_add(s, "%.1f", 1e3 * h->step);
    sheet_add(s, "%.1f", lost(&r.half[0]));
    sheet_add(s, "%.1f", lost(h));
    sheet_add(s, "%.2f", wait_of(&r, 0, r.ranks));
    add_knobs(s, &r);
    sheet_add(s, "%.0f", h->read);
    sheet_add(s, "%.2f", h->read * JOB_IMAGE_BYTES / 1e9);
    sim_cluster_free(&r);
    return true;
}

bool scale_table_ranks(uint32_t most, struct sheet *out)
{
    static const uint32_t sizes[] = {1, 8, 64, 512, 4096};
    const char *const heads[] = {"ranks, storage",
                                 "step, ms",
                                 "lost at first, %",
                                 "lost then, %",
                                 "a rank waits, %",
                                 "workers",
                                 "depth",
                                 "reads at once",
                                 "images/s",
                                 "GB/s"};
    sheet_init(out, 10);
    for (size_t i = 0; i < 10; i++)
        sheet_add(out, "%s", heads[i]);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint32_t n = sizes[i];
        if (n > most)
            break;
        /* What is all alike is played with few, and of the most no more. */
        if ((n <= 64 && !add_size(out, n, false, false)) ||
            (n > 1 && !add_size(out, n, true, true)) ||
            (n <= 512 && !add_size(out, n, true, false)))
            return false;
    }
    return true;
}

/* ---- Storage that is short ---------------------------------------------- */

static bool add_storage(struct sheet *s, const struct sim_cluster *j,
                        const char *what, double given)
{
    struct sim_cluster_result r;
    if (!play(j, &r))
        return false;
    const struct sim_cluster_half *h = &r.half[1];
    sheet_add(s, "%s", what);
    sheet_add(s, "%.0f", 100 * fmax(0, 1 / given - 1));
    sheet_add(s, "%.0f", lost(h));
    sheet_add(s, "%.1f", wait_of(&r, 0, r.ranks));
    add_knobs(s, &r);
    sheet_add(s, "%.1f", r.changes);
    sheet_add(s, "%.1f", h->read * JOB_IMAGE_BYTES / 1e9);
    sheet_add(s, "%.2f", h->read / 1e6);
    sim_cluster_free(&r);
    return true;
}

bool scale_table_storage(uint32_t ranks, struct sheet *out)
{
    static const double parts[] = {1.5, 1.1, 0.9, 0.6, 0.3};
    const char *const heads[] = {"storage gives",   "must lose, %", "loses, %",
                                 "a rank waits, %", "workers",      "depth",
                                 "reads at once",   "changes",      "GB/s",
                                 "M requests/s"};
    sheet_init(out, 10);
    for (size_t i = 0; i < 10; i++)
        sheet_add(out, "%s", heads[i]);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        char what[SHEET_CELL];
        struct sim_cluster j = job_of(ranks, false);
        j.bandwidth = parts[i] * job_asks(ranks) * JOB_IMAGE_BYTES;
        snprintf(what, sizeof(what), "%.0f %% of the bytes", 100 * parts[i]);
        if (!add_storage(out, &j, what, parts[i]))
            return false;
    }
    struct sim_cluster j = job_of(ranks, false);
    j.requests = 0.75 * job_asks(ranks);
    return add_storage(out, &j, "75 % of the requests", 0.75);
}

/* ---- One host that differs ---------------------------------------------- */

static const struct {
    const char *name;
    struct sim_straggler differs;
} stragglers[] = {
    {"all alike", {1, 1, 1}},
    {"cores: half", {0.5, 1, 1}},
    {"cores: a tenth", {0.1, 1, 1}},
    {"storage: 10 times as late", {1, 1, 10}},
    {"storage: 50 times as late", {1, 1, 50}},
    {"GPU: 1.2 times as slow", {1, 1.2, 1}},
};

static bool add_straggler(struct sheet *s, uint32_t ranks, size_t i,
                          double *alike)
{
    struct sim_cluster j = job_of(ranks, false);
    struct sim_cluster_result r;
    j.straggler = 0;
    j.differs = stragglers[i].differs;
    if (!play(&j, &r))
        return false;
    const struct sim_cluster_half *h = &r.half[1];
    const struct fdl_knobs *odd = &r.rank[0].knobs;
    const struct fdl_knobs *usual = &r.rank[r.ranks - 1].knobs;
    *alike = i == 0 ? h->step : *alike;
    sheet_add(s, "%s", stragglers[i].name);
    sheet_add(s, "%.2f", 1e3 * h->step);
    sheet_add(s, "%.1f", longer(h->step, *alike));
    sheet_add(s, "%.1f", wait_of(&r, 0, j.host.loaders));
    sheet_add(s, "%.1f", wait_of(&r, j.host.loaders, r.ranks));
    sheet_add(s, "%u, %u", odd->workers, usual->workers);
    sheet_add(s, "%u, %u", odd->depth, usual->depth);
    sheet_add(s, "%u, %u", odd->io_depth, usual->io_depth);
    sim_cluster_free(&r);
    return true;
}

bool scale_table_stragglers(uint32_t ranks, struct sheet *out)
{
    const char *const heads[] = {"one host has",  "step, ms",
                                 "job loses, %",  "its ranks wait, %",
                                 "the others, %", "workers: its, theirs",
                                 "depth",         "reads at once"};
    double alike = 0;
    sheet_init(out, 8);
    for (size_t i = 0; i < 8; i++)
        sheet_add(out, "%s", heads[i]);
    for (size_t i = 0; i < sizeof(stragglers) / sizeof(*stragglers); i++)
        if (!add_straggler(out, ranks, i, &alike))
            return false;
    return true;
}

/* ---- A host that is lost ------------------------------------------------ */

/* From the start on every time is that of a job whose loaders begin with
 * nothing read and nothing tuned. */
static bool add_lost(struct sheet *s, uint32_t ranks, uint32_t left,
                     const char *what)
{
    const uint64_t broke = 80, saved = 40;
    struct sim_cluster before = job_of(ranks, false),
                       after = job_of(left, false);
    struct sim_cluster_result a, b;
    before.steps = broke;
    /* As many samples as the whole job would have had. */
    after.from = saved;
    after.steps = (160 - saved) * ranks / left;
    if (!play(&before, &a))
        return false;
    if (!play(&after, &b)) {
        sim_cluster_free(&a);
        return false;
    }
    double again = (double)(broke - saved) * a.half[1].step;
    double slow = (b.half[0].step - b.half[1].step) * (double)(after.steps / 2);
    sheet_add(s, "%s", what);
    sheet_add(s, "%.2f", again);
    sheet_add(s, "%.2f", b.first);
    sheet_add(s, "%.2f", slow);
    sheet_add(s, "%.2f", 1e3 * b.half[1].step);
    sheet_add(s, "%.1f", 100 * ((double)ranks / left - 1));
    sim_cluster_free(&a);
    sim_cluster_free(&b);
    return true;
}

bool scale_table_lost(uint32_t ranks, struct sheet *out)
{
    const char *const heads[] = {
        "a host is lost",      "done again, s",
        "first step after, s", "lost while tuners settle, s",
        "step then, ms",       "longer, %"};
    sheet_init(out, 6);
    for (size_t i = 0; i < 6; i++)
        sheet_add(out, "%s", heads[i]);
    return add_lost(out, ranks, ranks, "replaced by a spare") &&
           add_lost(out, ranks, ranks - JOB_GPUS, "the job goes on without");
}

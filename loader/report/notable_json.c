/* SPDX-License-Identifier: Apache-2.0 */
/* What sticks out, as JSON; the keys are in docs/profiling.md. */
#include "loader/report/evidence.h"
#include "loader/report/stat_rows.h"
#include "loader/report/stats_json.h"
#include "loader/watch/notable.h"
#include "loader/watch/stats.h"
#include "profiler/verdict/headroom.h"

#include <stdlib.h>

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static void json_us(struct fdl_json *j, const char *key, uint64_t ns)
{
    fdl_json_double(j, key, (double)ns / 1e3);
}

static void json_phase(struct fdl_json *j, const struct fdl_phase *p,
                       int64_t user_ns)
{
    double fraction = user_ns ? (double)p->self_ns / (double)user_ns : 0;
    fdl_json_begin_object(j, NULL);
    fdl_json_string(j, "name", p->name);
    fdl_json_int(j, "count", (int64_t)p->count);
    fdl_json_double(j, "total_seconds", seconds(p->total_ns));
    fdl_json_double(j, "self_seconds", seconds(p->self_ns));
    fdl_json_double(j, "max_seconds", seconds(p->max_ns));
    fdl_json_double(j, "user_fraction", fraction);
    fdl_json_end_object(j);
}

/* All of user time, if there are phases: the last row is what is in none. */
static void json_phases(const struct fdl_sources *from, struct fdl_json *j)
{
    struct fdl_books *c = &from->watch->books;
    struct fdl_phase other = {.name = "(other)"};
    fdl_lock(&c->lock);
    struct fdl_phases p = c->notable.phases;
    int64_t user = c->user_ns;
    fdl_unlock(&c->lock);
    other.self_ns = user;
    fdl_json_begin_array(j, "phases");
    for (uint32_t i = 0; i < p.n; i++) {
        json_phase(j, &p.phases[i], user);
        other.self_ns -= p.phases[i].self_ns;
    }
    other.total_ns = other.self_ns;
    if (p.n > 0)
        json_phase(j, &other, user);
    fdl_json_end_array(j);
}

static void json_gaps(const struct fdl_sources *from, struct fdl_json *j)
{
    struct feedline_gap_stats g;
    fdl_notable_gaps(&from->watch->books, &g);
    fdl_json_begin_object(j, "gaps");
    fdl_stat_json(j, FDL_STAT_GAPS, &g, 0);
    fdl_json_end_object(j);
}

static void json_slow(const struct fdl_sources *from, int64_t wait_ns,
                      struct fdl_json *j)
{
    struct feedline_slow_sample slow[FDL_SLOW_KEPT];
    uint32_t n = fdl_notable_slow(&from->watch->books, slow);
    fdl_json_begin_array(j, "slow_samples");
    for (uint32_t i = 0; i < n; i++) {
        const struct feedline_slow_sample *s = &slow[i];
        fdl_json_begin_object(j, NULL);
        fdl_json_string(j, "path", s->path);
        fdl_json_string(j, "stage",
                        fdl_stats_stage_name(from->watch, s->stage));
        fdl_stat_json(j, FDL_STAT_SLOW, s, 0);
        fdl_json_double(j, "stall_fraction",
                        wait_ns ? (double)s->stall_ns / (double)wait_ns : 0);
        fdl_json_end_object(j);
    }
    fdl_json_end_array(j);
}

static void json_outlier(struct fdl_json *j, const struct fdl_outlier *o)
{
    fdl_json_begin_object(j, NULL);
    fdl_json_int(j, "epoch", (int64_t)o->epoch);
    fdl_json_int(j, "sequence", (int64_t)o->sequence);
    json_us(j, "wait_us", (uint64_t)o->wait_ns);
    fdl_json_string(j, "cause",
                    o->bucket < FDL_BUCKETS ? fdl_bucket_name(o->bucket)
                                            : "iterable");
    json_us(j, "cause_us", (uint64_t)o->bucket_ns);
    json_us(j, "alone_us", (uint64_t)o->alone_ns);
    fdl_json_string(j, "path", o->path);
    if (o->path)
        fdl_json_int(j, "sample_index", (int64_t)o->index);
    else
        fdl_json_null(j, "sample_index");
    fdl_json_end_object(j);
}

static void json_outliers(const struct fdl_outliers *o, struct fdl_json *j)
{
    const struct fdl_outlier *at;
    fdl_json_begin_object(j, "outliers");
    fdl_json_int(j, "count", (int64_t)o->count);
    json_us(j, "median_wait_us",
            (uint64_t)fdl_series_median(&o->waits, FDL_OUTLIER_WINDOW));
    fdl_json_begin_array(j, "last");
    for (uint32_t i = 0; (at = fdl_outliers_get(o, i)) != NULL; i++)
        json_outlier(j, at);
    fdl_json_end_array(j);
    fdl_json_end_object(j);
}

/* What would be gained by ways to decode that are not in use. */
static void json_decoding(const struct fdl_sources *from, struct fdl_json *j)
{
    struct fdl_evidence e;
    struct fdl_headroom h;
    fdl_evidence_gather(from, &e);
    fdl_headroom_judge(&e, &h);
    fdl_json_begin_object(j, "decoding");
    fdl_json_double(j, "chains", h.chains);
    fdl_json_double(j, "chains_share", h.alone);
    fdl_json_double(j, "device", h.device);
    fdl_json_double(j, "device_share", h.on_device);
    fdl_json_double(j, "host_samples_per_second", h.host_rate);
    fdl_json_end_object(j);
}

static void json_headroom(const struct fdl_sources *from, struct fdl_json *j)
{
    struct feedline_headroom h;
    fdl_notable_headroom(from, &h);
    fdl_json_begin_object(j, "headroom");
    fdl_stat_json(j, FDL_STAT_HEADROOM, &h, 0);
    fdl_json_begin_object(j, "stages");
    for (uint32_t i = 0; i < FEEDLINE_STAGE_COUNT; i++)
        if (h.stages[i] > 0)
            fdl_json_double(j, fdl_stage_name(i), h.stages[i]);
    fdl_json_end_object(j);
    json_decoding(from, j);
    fdl_json_end_object(j);
}

void fdl_notable_json(const struct fdl_sources *from, struct fdl_json *j)
{
    struct fdl_books *c = &from->watch->books;
    fdl_lock(&c->lock);
    struct fdl_outliers outliers = c->notable.outliers;
    int64_t wait_ns = c->ledger.wait_ns;
    fdl_unlock(&c->lock);
    json_phases(from, j);
    json_gaps(from, j);
    json_slow(from, wait_ns, j);
    json_outliers(&outliers, j);
    json_headroom(from, j);
}

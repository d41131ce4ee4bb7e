/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of a crew. It continues to take batches a little longer than it
 * is measured, so the others are not measured with less competition; batches
 * prepared before the measurement do not count.
 */
#include "bench/loaderbench/case/case_crew.h"
#include "bench/loaderbench/case/case_loader.h"
#include "bench/loaderbench/tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define GRACE_SECONDS 0.3

struct member {
    struct crew *crew;
    struct case_setup setup;
    feedline_loader *fixed, *tuned; /* made when they are needed */
    struct case_search search;
};

static const struct case_consumer greedy = {.take = case_release};

static int take_until(feedline_loader *l, double end)
{
    struct case_rate unused = {0};
    int rc = TOOL_DONE;
    while (rc == TOOL_DONE && tool_seconds() < end)
        rc = case_take(l, &greedy, &unused);
    return rc;
}

/* Stopped afterwards, since an idle loader continues until all batches it may
 * prepare are ready, and would take the cores from the next one. */
static int measure(feedline_loader *l, const struct crew_order *o,
                   struct crew_answer *out)
{
    struct case_rate rate = {0};
    int32_t status = feedline_loader_start(l, 0);
    int rc = status < 0 ? tool_run_failed(status) : take_until(l, o->begin);
    double cpu = tool_cpu_seconds();
    if (rc == TOOL_DONE)
        rc = case_measure(l, &greedy, 0, 1, o->end - tool_seconds(), &rate);
    cpu = tool_cpu_seconds() - cpu;
    double grace = o->end - o->begin;
    if (grace > GRACE_SECONDS)
        grace = GRACE_SECONDS;
    if (rc == TOOL_DONE)
        rc = take_until(l, o->end + grace);
    feedline_loader_stop(l);
    out->images_per_second = case_images_per_second(&rate);
    out->wait_fraction = rate.wait_fraction;
    out->cores = rate.seconds > 0 ? cpu / rate.seconds : 0;
    out->workers = rate.workers;
    out->depth = rate.depth;
    return rc;
}

/* One loader for all numbers of workers: a new one would have to get its memory
 * first, which takes long with few cores. */
static int measure_static(struct member *m, const struct crew_order *o,
                          struct crew_answer *out)
{
    int32_t status = FEEDLINE_OK;
    int rc = TOOL_DONE;
    if (m->fixed) {
        status = feedline_loader_set_int(m->fixed, "workers", o->workers);
    } else {
        m->setup.workers = o->workers;
        rc = case_loader_open(&m->setup, &m->fixed);
    }
    if (status < 0)
        return tool_run_failed(status);
    return rc == TOOL_DONE ? measure(m->fixed, o, out) : rc;
}

/* The first to finish continue until all are done. */
static int search(struct member *m, const struct crew_order *o,
                  struct crew_answer *out)
{
    m->setup.workers = CASE_TUNED;
    int rc = case_loader_open(&m->setup, &m->tuned);
    if (rc == TOOL_DONE)
        rc =
            case_search(m->tuned, &greedy, o->end - tool_seconds(), &m->search);
    atomic_fetch_add(m->crew->found, 1);
    while (rc == TOOL_DONE && tool_seconds() < o->end &&
           atomic_load(m->crew->found) < m->crew->n)
        rc = take_until(m->tuned, tool_seconds() + GRACE_SECONDS);
    if (m->tuned)
        feedline_loader_stop(m->tuned);
    out->converged = m->search.converged;
    out->converged_batch = m->search.converged_batch;
    out->converged_seconds = m->search.converged_seconds;
    out->images_per_second = case_images_per_second(&m->search.whole);
    out->workers = m->search.whole.workers;
    out->depth = m->search.whole.depth;
    return rc;
}

static int follow(struct member *m, const struct crew_order *o,
                  struct crew_answer *out)
{
    switch (o->task) {
    case CREW_STATIC:
        return measure_static(m, o, out);
    case CREW_SEARCH:
        return search(m, o, out);
    default:
        return measure(m->tuned, o, out);
    }
}

void crew_work(struct crew *c, int socket)
{
    struct member m = {.crew = c,
                       .setup = {.recipe = "train",
                                 .device = "host",
                                 .dtype = "f32",
                                 .channels = 3,
                                 .batch_size = c->batch_size}};
    struct crew_order o;
    struct crew_answer answer;
    int rc = case_photos_open(c->photos, &m.setup.dataset);
    while (recv(socket, &o, sizeof(o), 0) == (ssize_t)sizeof(o)) {
        memset(&answer, 0, sizeof(answer));
        if (rc == TOOL_DONE)
            rc = follow(&m, &o, &answer);
        answer.rc = rc;
        tool_drain_log();
        if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    feedline_loader_destroy(m.fixed);
    feedline_loader_destroy(m.tuned);
    case_search_fini(&m.search);
    feedline_dataset_close(m.setup.dataset);
}

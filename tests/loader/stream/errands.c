/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a second thread; see errands.h. */
#include "errands.h"

#include <feedline/draws.h>
#include <feedline/order.h>
#include <feedline/tuning.h>

static int32_t read_stats(feedline_loader *l)
{
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    struct feedline_wait_stats waits = {.struct_size = sizeof(waits)};
    int32_t status = feedline_loader_get_stats(l, &stats);
    return status ? status : feedline_loader_get_wait_stats(l, &waits);
}

/* Options of a loader that exists; one that is no knob is left alone. */
static int32_t read_options(feedline_loader *l)
{
    char json[8192];
    uint64_t needed;
    int64_t value;
    if (feedline_loader_set_int(l, "stuck_after", 1) != FEEDLINE_ESTATE)
        return FEEDLINE_EUSER; /* of which the last error tells nothing */
    int32_t status = feedline_loader_get_int(l, "io_depth", &value);
    if (status >= 0)
        status = feedline_loader_config_json(l, json, sizeof(json), &needed);
    return status;
}

static int32_t read_tuner(feedline_loader *l)
{
    struct feedline_tuner_info info = {.struct_size = sizeof(info)};
    struct feedline_decision decision = {.struct_size = sizeof(decision)};
    uint64_t needed;
    int32_t status = feedline_loader_get_tuner(l, &info);
    if (status >= 0)
        status = feedline_loader_get_decision(l, 0, &decision);
    if (status >= 0)
        status = feedline_loader_explain(l, NULL, 0, &needed);
    return status;
}

static int32_t run(struct errands *e)
{
    static const char *const knobs[] = {[ERRAND_WORKERS] = "workers",
                                        [ERRAND_DEPTH] = "depth",
                                        [ERRAND_IO_DEPTH] = "io_depth"};
    struct feedline_verdict verdict = {.struct_size = sizeof(verdict)};
    struct feedline_stuck_worker stuck = {.struct_size = sizeof(stuck)};
    struct feedline_draw draw = {.struct_size = sizeof(draw)};
    switch (e->errand) {
    case ERRAND_STATS:
        return read_stats(e->loader);
    case ERRAND_RESET:
        return feedline_loader_reset_stats(e->loader);
    case ERRAND_VERDICT:
        return feedline_loader_get_verdict(e->loader, &verdict);
    case ERRAND_STUCK:
        return feedline_loader_get_stuck(e->loader, 0, &stuck);
    case ERRAND_DRAW:
        return feedline_loader_get_draw(e->loader, 0, 1, 0, 0, 40, 30, &draw);
    case ERRAND_OPTIONS:
        return read_options(e->loader);
    case ERRAND_TUNER:
        return read_tuner(e->loader);
    case ERRAND_INTERRUPT:
        return feedline_loader_interrupt(e->loader);
    case ERRAND_RELEASE:
        feedline_batch_release(e->batch);
        return FEEDLINE_OK;
    default:
        return feedline_loader_set_int(e->loader, knobs[e->errand], e->value);
    }
}

static void *run_all(void *arg)
{
    struct errands *e = arg;
    for (;;) {
        while (sem_wait(&e->work) != 0)
            ;
        if (e->errand == ERRAND_QUIT)
            return NULL;
        if (run(e) < 0 && !e->failed[0])
            snprintf(e->failed, sizeof(e->failed), "errand %d: %s",
                     (int)e->errand, feedline_last_error());
        sem_post(&e->room);
    }
}

void errands_start(struct errands *e, feedline_loader *l)
{
    *e = (struct errands){.loader = l};
    assert_int_equal(sem_init(&e->room, 0, 1), 0);
    assert_int_equal(sem_init(&e->work, 0, 0), 0);
    assert_int_equal(pthread_create(&e->thread, NULL, run_all, e), 0);
}

void errands_send(struct errands *e, enum errand errand, int64_t value,
                  feedline_batch *batch)
{
    while (sem_wait(&e->room) != 0)
        ;
    e->errand = errand;
    e->value = value;
    e->batch = batch;
    sem_post(&e->work);
}

void errands_stop(struct errands *e)
{
    errands_send(e, ERRAND_QUIT, 0, NULL);
    pthread_join(e->thread, NULL);
    sem_destroy(&e->room);
    sem_destroy(&e->work);
    if (e->failed[0])
        fail_msg("%s", e->failed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake backend: a device whose every mood is written down beforehand. Step
 * n of the script says how long the n-th transfer takes and how it ends, so
 * transfers overtake each other and fail exactly where a test wants them to.
 *
 *     submit --> [ due 3 ms | due 3 ms | due 8 ms ] --> thread --> done
 *                 by due time, first come first among equals
 *
 * Its device memory is other memory than the host's and gets the bytes when
 * the transfer is done: who reads too early reads what was there before.
 */
#include "base/clock.h"
#include "base/event.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "transfer/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A test may move a clock of its own: look again at least this often. */
#define MAX_SLEEP_NS 10000000

static const struct fdl_fake_step at_once = {.latency_ns = 0};

struct pending {
    struct pending *next;
    struct fdl_transfer *transfer;
    int64_t due_ns;
    int32_t status;
    uint64_t number;
};

struct fake {
    struct fdl_thread thread;
    const struct fdl_fake_step *steps;
    uint32_t n_steps;

    struct fdl_lock lock; /* guards what follows */
    struct pending *first;
    uint64_t submitted;
    bool stopping;

    struct fdl_event changed; /* first or stopping */
};

/* The first transfer if it is due (or else NULL), and how long to sleep if it
 * is not. */
static struct pending *take_due(struct fake *f, int64_t *sleep_ns, bool *over)
{
    fdl_lock(&f->lock);
    struct pending *p = f->first;
    int64_t left = p ? p->due_ns - fdl_now_ns() : INT64_MAX;
    if (left <= 0)
        f->first = p->next;
    *over = !p && f->stopping;
    fdl_unlock(&f->lock);
    *sleep_ns = !p ? -1 : FDL_MIN(left, (int64_t)MAX_SLEEP_NS);
    return left <= 0 ? p : NULL;
}

static void finish(struct pending *p)
{
    struct fdl_transfer *t = p->transfer;
    char reason[64] = "";
    if (p->status < 0)
        snprintf(reason, sizeof(reason),
                 "scripted failure of transfer %" PRIu64, p->number);
    else
        memcpy(t->slab->device, t->slab->host, (size_t)t->bytes);
    int32_t status = p->status;
    free(p);
    atomic_store_explicit(&t->done_ns, fdl_now_ns(), memory_order_relaxed);
    t->done(t, status, reason);
    t->landed(t);
}

static void *fake_main(void *arg)
{
    struct fake *f = arg;
    for (;;) {
        int64_t sleep_ns;
        bool over;
        uint32_t key = fdl_event_prepare(&f->changed);
        struct pending *p = take_due(f, &sleep_ns, &over);
        if (!p && !over) {
            fdl_event_wait(&f->changed, key, sleep_ns);
            continue;
        }
        fdl_event_cancel(&f->changed);
        if (over)
            return NULL;
        finish(p);
    }
}

static int32_t create(const struct fdl_backend_config *config, void **backend)
{
    const struct fdl_fake_config *cfg = config ? config->script : NULL;
    struct fake *f = calloc(1, sizeof(*f));
    if (!f)
        return fdl_fail_memory(sizeof(*f), "the fake backend");
    f->steps = &at_once;
    f->n_steps = 1;
    if (cfg && cfg->n_steps > 0) {
        f->steps = cfg->steps;
        f->n_steps = cfg->n_steps;
    }
    fdl_lock_init(&f->lock, FDL_RANK_FAKE);
    fdl_event_init(&f->changed);
    int32_t status =
        fdl_thread_start(&f->thread, "feedline-fake", fake_main, f);
    if (status != FEEDLINE_OK) {
        fdl_lock_destroy(&f->lock);
        free(f);
        return status;
    }
    *backend = f;
    return FEEDLINE_OK;
}

/* Kinder than the contract asks: what is under way arrives first. */
static void destroy(void *backend)
{
    struct fake *f = backend;
    if (!f)
        return;
    fdl_lock(&f->lock);
    f->stopping = true;
    fdl_unlock(&f->lock);
    fdl_event_notify(&f->changed, 1);
    fdl_thread_join(&f->thread);
    fdl_lock_destroy(&f->lock);
    free(f);
}

static int32_t slab_alloc(void *backend, uint64_t bytes, struct fdl_slab *out)
{
    (void)backend;
    void *host = bytes <= SIZE_MAX ? fdl_pages_alloc((size_t)bytes) : NULL;
    void *device = host ? fdl_pages_alloc((size_t)bytes) : NULL;
    if (!device) {
        fdl_pages_free(host, (size_t)bytes);
        return fdl_fail_memory(bytes, "a batch");
    }
    *out = (struct fdl_slab){.host = host, .device = device, .bytes = bytes};
    return FEEDLINE_OK;
}

static void slab_free(void *backend, struct fdl_slab *slab)
{
    (void)backend;
    fdl_pages_free(slab->device, (size_t)slab->bytes);
    fdl_pages_free(slab->host, (size_t)slab->bytes);
    *slab = (struct fdl_slab){.host = NULL};
}

static void insert_locked(struct fake *f, struct pending *p)
{
    struct pending **at = &f->first;
    while (*at && (*at)->due_ns <= p->due_ns)
        at = &(*at)->next;
    p->next = *at;
    *at = p;
}

static int32_t submit(void *backend, struct fdl_transfer *t)
{
    struct fake *f = backend;
    struct pending *p = malloc(sizeof(*p));
    if (!p)
        return fdl_fail_memory(sizeof(*p), "a transfer");
    p->transfer = t;

    fdl_lock(&f->lock);
    p->number = f->submitted++;
    const struct fdl_fake_step *step =
        &f->steps[FDL_MIN(p->number, f->n_steps - 1)];
    int32_t refused = step->submit_status;
    if (refused >= 0) {
        int64_t now = fdl_now_ns();
        atomic_store_explicit(&t->start_ns, now, memory_order_relaxed);
        p->due_ns = now + step->latency_ns;
        p->status = step->status;
        insert_locked(f, p);
    }
    fdl_unlock(&f->lock);

    if (refused >= 0) {
        fdl_event_notify(&f->changed, 1);
        return FEEDLINE_OK;
    }
    uint64_t number = p->number;
    free(p);
    return fdl_fail(refused, "scripted refusal of transfer %" PRIu64, number);
}

const struct fdl_backend_ops fdl_backend_fake = {
    .name = "fake",
    .device = FEEDLINE_CPU,
    .create = create,
    .destroy = destroy,
    .slab_alloc = slab_alloc,
    .slab_free = slab_free,
    .submit = submit,
};

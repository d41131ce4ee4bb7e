/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted device; see fake.h. */
#include "tests/transfer/fake.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/memory.h"
#include "base/status.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A test may move a clock of its own: look again at least this often. */
#define MAX_SLEEP_NS 10000000

struct pending {
    struct pending *next;
    struct fdl_transfer *transfer;
    int64_t due_ns;
    int32_t status;
    uint64_t number;
};

struct fake {
    pthread_t thread;
    const struct fdl_fake_config *script;

    pthread_mutex_t lock; /* guards what follows */
    struct pending *first;
    uint64_t submitted;
    bool stopping;

    struct fdl_event changed; /* first or stopping */
};

/* The first transfer if it is due (or else NULL), and how long to sleep if it
 * is not. */
static struct pending *take_due(struct fake *f, int64_t *sleep_ns, bool *over)
{
    pthread_mutex_lock(&f->lock);
    struct pending *p = f->first;
    int64_t left = p ? p->due_ns - fdl_now_ns() : INT64_MAX;
    if (left <= 0)
        f->first = p->next;
    *over = !p && f->stopping;
    pthread_mutex_unlock(&f->lock);
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
    struct fake *f = calloc(1, sizeof(*f));
    fdl_assert(f);
    f->script = config->script;
    pthread_mutex_init(&f->lock, NULL);
    fdl_event_init(&f->changed);
    if (pthread_create(&f->thread, NULL, fake_main, f))
        abort(); /* a test without its thread proves nothing */
    *backend = f;
    return FEEDLINE_OK;
}

/* Kinder than the contract asks: what is under way arrives first. */
static void destroy(void *backend)
{
    struct fake *f = backend;
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stopping = true;
    pthread_mutex_unlock(&f->lock);
    fdl_event_notify(&f->changed, 1);
    pthread_join(f->thread, NULL);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static int32_t slab_alloc(void *backend, uint64_t bytes, struct fdl_slab *out)
{
    (void)backend;
    int32_t status = fdl_backend_host.slab_alloc(NULL, bytes, out);
    if (status < 0)
        return status;
    out->device = fdl_pages_alloc((size_t)bytes);
    fdl_assert(out->device);
    return FEEDLINE_OK;
}

static void slab_free(void *backend, struct fdl_slab *slab)
{
    (void)backend;
    fdl_pages_free(slab->device, (size_t)slab->bytes);
    fdl_backend_host.slab_free(NULL, slab);
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
    fdl_assert(p);
    pthread_mutex_lock(&f->lock);
    uint64_t number = f->submitted++;
    const struct fdl_fake_step *step =
        &f->script->steps[FDL_MIN(number, f->script->n_steps - 1)];
    if (step->submit_status < 0) {
        pthread_mutex_unlock(&f->lock);
        free(p);
        return fdl_fail(step->submit_status,
                        "scripted refusal of transfer %" PRIu64, number);
    }
    int64_t now = fdl_now_ns();
    atomic_store_explicit(&t->start_ns, now, memory_order_relaxed);
    *p = (struct pending){.transfer = t,
                          .due_ns = now + step->latency_ns,
                          .status = step->status,
                          .number = number};
    insert_locked(f, p);
    pthread_mutex_unlock(&f->lock);
    fdl_event_notify(&f->changed, 1);
    return FEEDLINE_OK;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The slow bus: two threads, a queue between them; see slow_bus.h. */
#include "slow_bus.h"

#include "base/status.h"
#include "ledger_log.h"
#include "nap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define QUEUE 4096u /* more than any ring has slots */

/* First in, first out; one thread takes. */
struct queue {
    struct fdl_transfer *at[QUEUE];
    int64_t due_ns[QUEUE];
    uint32_t first, n;
};

struct bus {
    struct slow_bus how;
    pthread_t engine, leaver;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    struct queue copies, leaving;
    bool stopping;
};

static struct {
    pthread_mutex_t lock; /* guards slept */
    struct slow_bus_slept slept;
} total = {.lock = PTHREAD_MUTEX_INITIALIZER};

void slow_bus_slept(struct slow_bus_slept *out)
{
    pthread_mutex_lock(&total.lock);
    *out = total.slept;
    pthread_mutex_unlock(&total.lock);
}

void slow_bus_forget(void)
{
    pthread_mutex_lock(&total.lock);
    total.slept = (struct slow_bus_slept){0};
    pthread_mutex_unlock(&total.lock);
}

static void add_slept(int64_t *sum, int64_t ns)
{
    pthread_mutex_lock(&total.lock);
    *sum += ns;
    pthread_mutex_unlock(&total.lock);
}

static void put(struct bus *b, struct queue *q, struct fdl_transfer *t,
                int64_t due_ns)
{
    pthread_mutex_lock(&b->lock);
    fdl_assert(q->n < QUEUE);
    uint32_t last = (q->first + q->n++) % QUEUE;
    q->at[last] = t;
    q->due_ns[last] = due_ns;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

/* The next one, or NULL when the bus goes. */
static struct fdl_transfer *get(struct bus *b, struct queue *q, int64_t *due_ns)
{
    struct fdl_transfer *t = NULL;
    pthread_mutex_lock(&b->lock);
    while (q->n == 0 && !b->stopping)
        pthread_cond_wait(&b->changed, &b->lock);
    if (q->n > 0) {
        t = q->at[q->first];
        *due_ns = q->due_ns[q->first];
        q->first = (q->first + 1) % QUEUE;
        q->n--;
    }
    pthread_mutex_unlock(&b->lock);
    return t;
}

static void *engine_main(void *arg)
{
    struct bus *b = arg;
    struct fdl_transfer *t;
    int64_t due;
    while ((t = get(b, &b->copies, &due)) != NULL) {
        add_slept(&total.slept.queue_ns, nap(b->how.queue_ns));
        int64_t begin = nap_now();
        t->start_ns = begin;
        add_slept(&total.slept.copy_ns, nap(b->how.copy_ns));
        int64_t end = nap_now();
        t->done_ns = end;
        ledger_log_copy(t->ticket, begin, end);
        t->done(t, FEEDLINE_OK, "");
        put(b, &b->leaving, t, end + b->how.leave_ns);
    }
    return NULL;
}

static void *leaver_main(void *arg)
{
    struct bus *b = arg;
    struct fdl_transfer *t;
    int64_t due;
    while ((t = get(b, &b->leaving, &due)) != NULL) {
        add_slept(&total.slept.leave_ns, nap_until(due));
        t->landed(t);
    }
    return NULL;
}

static int32_t create(const struct fdl_backend_config *config, void **backend)
{
    struct bus *b = calloc(1, sizeof(*b));
    if (!b)
        return fdl_fail_memory(sizeof(*b), "the slow bus");
    b->how = *(const struct slow_bus *)config->script;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    int failed = pthread_create(&b->engine, NULL, engine_main, b);
    failed |= pthread_create(&b->leaver, NULL, leaver_main, b);
    if (failed)
        abort(); /* a test without its threads proves nothing */
    *backend = b;
    return FEEDLINE_OK;
}

static void destroy(void *backend)
{
    struct bus *b = backend;
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->stopping = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->engine, NULL);
    pthread_join(b->leaver, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static int32_t slab_alloc(void *backend, uint64_t bytes, struct fdl_slab *out)
{
    (void)backend;
    return fdl_backend_host.slab_alloc(NULL, bytes, out);
}

static void slab_free(void *backend, struct fdl_slab *slab)
{
    (void)backend;
    fdl_backend_host.slab_free(NULL, slab);
}

static int32_t submit(void *backend, struct fdl_transfer *t)
{
    struct bus *b = backend;
    put(b, &b->copies, t, 0);
    return FEEDLINE_OK;
}

const struct fdl_backend_ops slow_bus_ops = {
    .name = "slow bus",
    .device = FEEDLINE_CPU,
    .create = create,
    .destroy = destroy,
    .slab_alloc = slab_alloc,
    .slab_free = slab_free,
    .submit = submit,
};

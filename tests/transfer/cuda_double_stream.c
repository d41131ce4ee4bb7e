/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of the double: a stream is a queue and, from its first operation on,
 * a thread that runs one after the other.
 *
 * All operations under way are also in one list, in the order in which the
 * program queued them. That order is what the program meant: when an operation
 * begins while an earlier one that touches the same memory is not done, nothing
 * made it wait, and the program is wrong even if the bytes came out right. So
 * one rule finds a slab overwritten under its reader, before its reader began,
 * and a reader that did not wait for its copy.
 *
 *   queued:   copy A -> slab    read slab    copy B -> slab
 *   begins:                                  ^ read is not done: a fault
 */
#include "cuda_double_own.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    int64_t until = now_ns() + ns;
    struct timespec t = {.tv_sec = until / 1000000000,
                         .tv_nsec = until % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

/* How long an operation takes: asleep, or noted where a test has a clock. */
static void spend(struct double_op *op, int64_t ns)
{
    if (double_world.clock)
        op->stream->now += ns;
    else
        sleep_ns(ns);
}

static void sleep_unlocked(int64_t ns)
{
    if (ns <= 0)
        return;
    pthread_mutex_unlock(&double_world.lock);
    sleep_ns(ns);
    pthread_mutex_lock(&double_world.lock);
}

void double_wait_locked(void)
{
    pthread_cond_wait(&double_world.changed, &double_world.lock);
}

/* ---- Order ---------------------------------------------------------- */

static bool meet(const struct double_range *a, const struct double_range *b)
{
    return (a->writes || b->writes) && a->bytes && b->bytes &&
           a->begin < b->begin + b->bytes && b->begin < a->begin + a->bytes;
}

static const char *op_name(const struct double_op *op)
{
    switch (op->kind) {
    case OP_COPY:
        return "a copy";
    case OP_READ:
        return "a read";
    case OP_KERNEL:
        return op->kernel;
    case OP_ALLOC:
        return "an allocation";
    case OP_FREE:
        return "a free";
    default:
        return "a wait";
    }
}

static const char *what_happened(const struct double_range *first,
                                 const struct double_range *second,
                                 bool running)
{
    if (!second->writes)
        return running ? "read while it was written"
                       : "read before it was written";
    if (first->writes)
        return "written again before an earlier write was done";
    return running ? "overwritten while it was read"
                   : "overwritten before it was read";
}

static void check_order_locked(const struct double_op *op)
{
    for (const struct double_op *e = op->earlier; e; e = e->earlier)
        for (int i = 0; i < DOUBLE_RANGES * DOUBLE_RANGES; i++) {
            const struct double_range *first = &e->ranges[i / DOUBLE_RANGES];
            const struct double_range *second = &op->ranges[i % DOUBLE_RANGES];
            if (!meet(first, second))
                continue;
            double_fault_locked(
                "device memory %s: %s of %" PRIu64 " bytes at %p on stream "
                "%" PRIu64 " began before %s of %" PRIu64 " bytes at %p on "
                "stream %" PRIu64 ", which was queued before it, was done",
                what_happened(first, second, e->running), op_name(op),
                second->bytes, (const void *)second->begin, op->stream->handle,
                op_name(e), first->bytes, (const void *)first->begin,
                e->stream->handle);
            break;
        }
}

/* ---- Operations ----------------------------------------------------- */

static struct double_device *device_of(const struct double_op *op)
{
    return &double_world.devices[op->stream->of_device];
}

/* The operation begins. false: its context is broken, and it does nothing. */
static bool begin_locked(struct double_op *op, enum double_function f)
{
    struct double_device *d = device_of(op);
    int ordered = f == FN_COUNT ? 0 : double_ordered_locked(f);
    if (!d->error && ordered)
        d->error = ordered;
    if (d->error)
        return false;
    check_order_locked(op);
    op->running = true;
    return true;
}

static bool changed_since(const struct double_op *op)
{
    return op->watched && double_hash(op->from, op->bytes) != op->hash;
}

/* The bytes move at the end, so that a source that changes at any time until
 * then is seen; the target counts as written from the start. */
static void run_copy_locked(struct double_op *op)
{
    struct double_device *d = device_of(op);
    bool *busy = &d->engine_busy[op->to_host];
    while (*busy)
        double_wait_locked();
    *busy = true;
    if (begin_locked(op, FN_copy)) {
        const struct double_settings *set = &double_world.set;
        int64_t ns = set->latency_ns;
        if (set->bytes_per_ns > 0)
            ns += (int64_t)((double)op->bytes / set->bytes_per_ns);
        const unsigned char *from = double_seen_locked(op);
        pthread_mutex_unlock(&double_world.lock);
        spend(op, ns);
        double_memory_hold();
        bool changed = changed_since(op);
        memcpy(op->to, from, op->bytes);
        double_memory_release();
        pthread_mutex_lock(&double_world.lock);
        if (changed)
            double_fault_locked("host memory changed before its copy was done: "
                                "%" PRIu64 " bytes at %p, for stream %" PRIu64,
                                op->bytes, (const void *)op->from,
                                op->stream->handle);
    }
    *busy = false;
}

static uint64_t hash_held(const struct double_op *op)
{
    double_memory_hold();
    uint64_t hash = double_hash(op->from, op->bytes);
    double_memory_release();
    return hash;
}

static void run_read_locked(struct double_op *op)
{
    if (!begin_locked(op, FN_COUNT))
        return;
    pthread_mutex_unlock(&double_world.lock);
    uint64_t before = hash_held(op);
    spend(op, op->ns);
    uint64_t after = hash_held(op);
    pthread_mutex_lock(&double_world.lock);
    if (before != after)
        double_fault_locked("device memory changed while it was read: "
                            "%" PRIu64 " bytes at %p on stream %" PRIu64,
                            op->bytes, (const void *)op->ranges[0].begin,
                            op->stream->handle);
}

static void run_kernel_locked(struct double_op *op)
{
    if (!begin_locked(op, FN_kernel))
        return;
    double_cost cost = double_world.cost;
    void *user = double_world.cost_user;
    int64_t decode_ns = double_world.set.decode_ns;
    pthread_mutex_unlock(&double_world.lock);
    int64_t ns = cost              ? cost(op->kernel, op->amount, user)
                 : op->args.pixels ? 0
                 : op->images      ? decode_ns
                                   : (int64_t)op->amount;
    spend(op, ns);
    double_memory_hold();
    const char *wrong = double_kernel_run(op);
    char fault[DOUBLE_FAULT_CHARS / 2];
    snprintf(fault, sizeof(fault), "%s", wrong ? wrong : "");
    double_memory_release();
    pthread_mutex_lock(&double_world.lock);
    if (wrong)
        double_fault_locked("%s: %s", op->kernel, fault);
}

static void run_locked(struct double_op *op)
{
    struct double_stream *s = op->stream;
    s->now = FDL_MAX(s->now, op->queued_ns);
    switch (op->kind) {
    case OP_COPY:
        run_copy_locked(op);
        break;
    case OP_WAIT:
        while (!op->record->done)
            double_wait_locked();
        s->now = FDL_MAX(s->now, op->record->ns);
        break;
    case OP_RECORD:
        op->record->ns = double_world.clock ? s->now : now_ns();
        op->record->done = true;
        break;
    case OP_READ:
        run_read_locked(op);
        break;
    case OP_KERNEL:
        run_kernel_locked(op);
        break;
    case OP_ALLOC:
        begin_locked(op, FN_COUNT);
        break;
    case OP_FREE:
        begin_locked(op, FN_COUNT);
        double_pool_freed_locked(op->allocation);
        break;
    }
}

/* splitmix64 */
static uint64_t scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A function of the numbers of stream and operation alone, so that threads may
 * come in any order. */
static int64_t random_delay_locked(const struct double_stream *s)
{
    const struct double_settings *set = &double_world.set;
    uint64_t x = scramble(scramble(set->seed ^ s->handle << 32) ^ s->finished);
    if (set->delay_ns <= 0 || x & 1)
        return 0;
    return (int64_t)((x >> 1) % (uint64_t)set->delay_ns);
}

static void unlink_locked(struct double_op *op)
{
    struct double_world *w = &double_world;
    *(op->earlier ? &op->earlier->later : &w->oldest) = op->later;
    *(op->later ? &op->later->earlier : &w->newest) = op->earlier;
}

static void end_first_locked(struct double_stream *s)
{
    struct double_op *op = s->first;
    s->first = op->next;
    if (!s->first)
        s->last = NULL;
    s->finished++;
    unlink_locked(op);
    double_unref_locked(op->record);
    free(op->staged);
    free(op);
}

static void *stream_main(void *arg)
{
    struct double_stream *s = arg;
    pthread_mutex_lock(&double_world.lock);
    for (;;) {
        while (s->first ? s->paused && !s->closing
                        : !s->closing || s->waiters > 0)
            pthread_cond_wait(&s->wake, &double_world.lock);
        if (!s->first)
            break;
        s->busy = true;
        sleep_unlocked(random_delay_locked(s));
        run_locked(s->first);
        end_first_locked(s);
        s->busy = false;
        pthread_cond_broadcast(&double_world.changed);
    }
    pthread_cond_destroy(&s->wake);
    free(s);
    double_world.n_threads--;
    pthread_cond_broadcast(&double_world.changed);
    pthread_mutex_unlock(&double_world.lock);
    return NULL;
}

/* ---- Queues --------------------------------------------------------- */

static bool start_thread(struct double_stream *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    bool ok = pthread_create(&thread, &attr, stream_main, s) == 0;
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* As on hardware, the caller is held up while the queue is full. */
static void await_room_locked(struct double_stream *s)
{
    s->waiters++;
    while (s->queued - s->finished >= double_world.set.queue) {
        double_world.n_full++;
        pthread_cond_broadcast(&double_world.changed);
        double_wait_locked();
        double_world.n_full--;
    }
    s->waiters--;
    pthread_cond_broadcast(&s->wake);
}

/* Whatever *op owns is the stream's from here on, unless it fails. */
static int queue_locked(struct double_stream *s, const struct double_op *op)
{
    struct double_world *w = &double_world;
    if (s->capturing) {
        int error = double_captured_locked(s);
        if (!error)
            free(op->staged);
        return error;
    }
    await_room_locked(s);
    struct double_op *copy = malloc(sizeof(*copy));
    if (!copy)
        return FDL_CUDA_ERROR_MEMORY;
    if (!s->has_thread) {
        s->has_thread = start_thread(s);
        if (!s->has_thread) {
            free(copy);
            return FDL_CUDA_ERROR_MEMORY;
        }
        w->n_threads++;
    }
    *copy = *op;
    copy->stream = s;
    copy->queued_ns = w->clock ? w->clock() : 0;
    copy->next = copy->later = NULL;
    copy->earlier = w->newest;
    *(w->newest ? &w->newest->later : &w->oldest) = copy;
    w->newest = copy;
    *(s->last ? &s->last->next : &s->first) = copy;
    s->last = copy;
    s->queued++;
    pthread_cond_broadcast(&s->wake);
    return 0;
}

/* What comes next on s waits for what is queued on the other one now. */
static int join_locked(struct double_stream *s, struct double_stream *other)
{
    if (other->finished == other->queued || s->capturing || other->capturing)
        return 0;
    struct double_record *r = calloc(1, sizeof(*r));
    if (!r)
        return FDL_CUDA_ERROR_MEMORY;
    r->refs = 1;
    struct double_op op = {.kind = OP_RECORD, .record = r};
    int error = queue_locked(other, &op);
    if (error) {
        free(r);
        return error;
    }
    op.kind = OP_WAIT;
    error = queue_locked(s, &op);
    r->refs += !error;
    return error;
}

/* The legacy stream and those of threads wait for each other. */
int double_queue_locked(struct double_stream *s, const struct double_op *op)
{
    int error = 0;
    for (struct double_stream *other = double_world.streams; other && !error;
         other = other->next)
        if (other->of_device == s->of_device &&
            ((s->legacy && other->of_thread) ||
             (s->of_thread && other->legacy)))
            error = join_locked(s, other);
    return error ? error : queue_locked(s, op);
}

static struct double_stream *stream_new_locked(int device)
{
    struct double_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->handle = ++double_world.last_handle;
    s->of_device = device;
    pthread_cond_init(&s->wake, NULL);
    s->next = double_world.streams;
    double_world.streams = s;
    return s;
}

static struct double_stream *legacy_locked(void)
{
    struct double_device *d = &double_world.devices[double_device_now()];
    if (!d->legacy) {
        d->legacy = stream_new_locked(double_device_now());
        if (d->legacy)
            d->legacy->legacy = true;
    }
    return d->legacy;
}

/* Of the calling thread. It stays when the thread ends. */
static struct double_stream *own_locked(void)
{
    struct double_stream **own = &double_self.own[double_device_now()];
    if (!*own) {
        *own = stream_new_locked(double_device_now());
        if (*own)
            (*own)->of_thread = true;
    }
    return *own;
}

struct double_stream *double_stream_locked(fdl_cuda_stream handle,
                                           const char *caller)
{
    uintptr_t number = (uintptr_t)handle;
    if (number <= 1)
        return legacy_locked();
    if (handle == FDL_CUDA_PER_THREAD)
        return own_locked();
    for (struct double_stream *s = double_world.streams; s; s = s->next)
        if (s->handle == number && !s->legacy && !s->of_thread)
            return s;
    double_fault_locked("%s: %p is no stream, or one that was destroyed",
                        caller, (void *)handle);
    return NULL;
}

void double_finish_stream_locked(struct double_stream *s)
{
    uint64_t target = s->queued;
    s->waiters++;
    while (s->finished < target)
        double_wait_locked();
    s->waiters--;
    pthread_cond_broadcast(&s->wake);
}

/* Streams come and go while it waits: look again from the start. */
void double_finish_device_locked(int device)
{
    struct double_stream *s = double_world.streams;
    while (s) {
        if (s->of_device == device && s->finished < s->queued) {
            double_finish_stream_locked(s);
            s = double_world.streams;
        } else {
            s = s->next;
        }
    }
}

/* Work that is under way is done first, by the stream's thread, which frees
 * the rest. */
static void close_stream_locked(struct double_stream *s)
{
    struct double_stream **at = &double_world.streams;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->closing = true;
    if (s->has_thread) {
        pthread_cond_broadcast(&s->wake);
        return;
    }
    pthread_cond_destroy(&s->wake);
    free(s);
}

void double_close_all_locked(void)
{
    struct double_world *w = &double_world;
    while (w->streams)
        close_stream_locked(w->streams);
    while (w->n_threads > 0)
        double_wait_locked();
    while (w->events)
        double_event_free_locked(w->events);
}

/* ---- Streams, as the program sees them ------------------------------ */

int cuStreamCreateWithPriority(fdl_cuda_stream *stream, unsigned flags,
                               int priority)
{
    (void)priority; /* clamped to what there is, and there is one */
    int error = double_enter(FN_cuStreamCreateWithPriority);
    if (!error && (!stream || flags > FDL_CUDA_STREAM_NON_BLOCKING))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        struct double_stream *s = stream_new_locked(double_device_now());
        if (s)
            *stream = (fdl_cuda_stream)(uintptr_t)s->handle;
        else
            error = FDL_CUDA_ERROR_MEMORY;
    }
    return double_leave(error);
}

int cuStreamDestroy(fdl_cuda_stream stream)
{
    int error = double_enter(FN_cuStreamDestroy);
    struct double_stream *s = NULL;
    if ((uintptr_t)stream <= 2)
        double_fault_locked("cuStreamDestroy: a default stream");
    else
        s = double_stream_locked(stream, "cuStreamDestroy");
    if (s)
        close_stream_locked(s);
    return double_leave(error ? error : s ? 0 : DOUBLE_ERROR_HANDLE);
}

int cuStreamSynchronize(fdl_cuda_stream stream)
{
    int error = double_enter(FN_cuStreamSynchronize);
    double_world.counters.synchronisations++;
    struct double_stream *s =
        error ? NULL : double_stream_locked(stream, "cuStreamSynchronize");
    if (s)
        error = double_ask_stream_locked(s);
    if (s && !error) {
        int device = s->of_device;
        double_finish_stream_locked(s);
        error = double_error_locked(device);
    } else if (!error) {
        error = DOUBLE_ERROR_HANDLE;
    }
    return double_leave(error);
}

int cuStreamQuery(fdl_cuda_stream stream)
{
    int error = double_enter(FN_cuStreamQuery);
    struct double_stream *s =
        error ? NULL : double_stream_locked(stream, "cuStreamQuery");
    if (s)
        error = double_ask_stream_locked(s);
    if (!s && !error)
        error = DOUBLE_ERROR_HANDLE;
    else if (!error && s->finished < s->queued)
        error = FDL_CUDA_ERROR_NOT_READY;
    return double_leave(error);
}

void double_pause(fdl_cuda_stream stream)
{
    double_enter(FN_COUNT);
    struct double_stream *s = double_stream_locked(stream, "double_pause");
    if (s) {
        s->paused = true;
        s->waiters++;
        while (s->busy)
            double_wait_locked();
        s->waiters--;
        pthread_cond_broadcast(&s->wake);
    }
    double_leave(0);
}

void double_resume(fdl_cuda_stream stream)
{
    double_enter(FN_COUNT);
    struct double_stream *s = double_stream_locked(stream, "double_resume");
    if (s) {
        s->paused = false;
        pthread_cond_broadcast(&s->wake);
    }
    double_leave(0);
}

void double_drain(void)
{
    double_enter(FN_COUNT);
    while (double_world.oldest)
        double_wait_locked();
    double_leave(0);
}

int double_read(fdl_cuda_stream stream, const void *device, uint64_t bytes,
                int64_t ns)
{
    double_enter(FN_COUNT);
    int error = DOUBLE_ERROR_INVALID;
    struct double_stream *s = double_stream_locked(stream, "double_read");
    struct double_allocation *a = double_allocation_at_locked(device, bytes);
    if (!a)
        double_fault_locked("double_read: %" PRIu64 " bytes at %p are not "
                            "within device memory",
                            bytes, device);
    if (s && a) {
        struct double_op op = {
            .kind = OP_READ,
            .ranges = {{.begin = device, .bytes = bytes}},
            .from = double_backing(a, device),
            .bytes = bytes,
            .ns = ns,
        };
        error = double_queue_locked(s, &op);
    }
    return double_leave(error);
}

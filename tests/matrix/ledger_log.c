/* SPDX-License-Identifier: Apache-2.0 */
/* The second set of books; see ledger_log.h. */
#include "ledger_log.h"

#include "loader/stream/ring.h"
#include "nap.h"
#include "tests/wrap.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct ledger_log *current;

/* Of this thread: the sample it reads and the one it works on, and since when;
 * who is called has not been told which sample it is. */
static _Thread_local int64_t reading = -1, working = -1;
static _Thread_local int64_t claimed_ns, taken_ns;
static _Thread_local int64_t delivered_ns;

void ledger_log_use(struct ledger_log *log)
{
    current = log;
}

static void stamp(_Atomic int64_t *at, int64_t ns)
{
    atomic_store_explicit(at, ns, memory_order_relaxed);
}

static int64_t at(const _Atomic int64_t *stamp)
{
    return atomic_load_explicit(stamp, memory_order_relaxed);
}

/* ---- Taps --------------------------------------------------------------- */

/* ".../000123.jpg" is sample 123; -1 is none. */
static int64_t sample_of(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *end = strstr(path, ".jpg");
    char *stop;
    if (!name || !end)
        return -1;
    long sample = strtol(name + 1, &stop, 10);
    return stop == end && sample < (long)LOG_SAMPLES ? sample : -1;
}

WRAP(struct fdl_read *, fdl_window_claim, struct fdl_window *w)
{
    struct fdl_read *read = __real_fdl_window_claim(w);
    claimed_ns = nap_now();
    return read;
}

WRAP(int, open, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    reading = current ? sample_of(path) : -1;
    if (reading >= 0)
        stamp(&current->samples[reading].read_begin, claimed_ns);
    return __real_open(path, flags, mode);
}

static void end_reading(void)
{
    if (current && reading >= 0)
        stamp(&current->samples[reading].read_end, nap_now());
    reading = -1;
}

WRAP(void, fdl_window_complete, struct fdl_window *w, struct fdl_read *r)
{
    end_reading();
    __real_fdl_window_complete(w, r);
}

WRAP(uint32_t, fdl_window_publish, struct fdl_read *r)
{
    end_reading();
    return __real_fdl_window_publish(r);
}

WRAP(struct fdl_read *, fdl_window_take, struct fdl_window *w)
{
    struct fdl_read *read = __real_fdl_window_take(w);
    taken_ns = nap_now();
    return read;
}

WRAP(void, fdl_window_issue, struct fdl_window *w, uint64_t end)
{
    struct ledger_log *log = current;
    int64_t now = nap_now();
    while (log && log->n_issued * (uint64_t)log->batch_size < end &&
           log->n_issued < LOG_SAMPLES)
        stamp(&log->batches[log->n_issued++].issued, now);
    __real_fdl_window_issue(w, end);
}

WRAP(void, fdl_ring_deliver, struct fdl_ring *r, feedline_batch *b)
{
    delivered_ns = nap_now();
    __real_fdl_ring_deliver(r, b);
}

void ledger_log_worked(int64_t sample)
{
    if (!current)
        return;
    working = sample;
    stamp(&current->samples[sample].work_begin, taken_ns);
}

WRAP(void, fdl_ring_sample_done, feedline_batch *b, uint32_t place)
{
    if (current && working >= 0)
        stamp(&current->samples[working].work_end, nap_now());
    working = -1;
    __real_fdl_ring_sample_done(b, place);
}

void ledger_log_copy(uint64_t batch, int64_t begin, int64_t end)
{
    if (!current)
        return;
    stamp(&current->batches[batch].copy_begin, begin);
    stamp(&current->batches[batch].copy_end, end);
}

void ledger_log_wait(int64_t begin, int64_t end, uint64_t batch)
{
    if (delivered_ns > begin)
        end = delivered_ns;
    if (current && current->n_waits < LOG_WAITS)
        current->waits[current->n_waits++] =
            (struct log_wait){begin, end, (uint32_t)batch};
}

/* ---- Every instant ------------------------------------------------------ */

/* Samples of a batch: not sent to read, being read, read, with a worker. */
struct census {
    uint32_t q, r, w, d;
};

static bool has(int64_t stamp, int64_t now)
{
    return stamp != 0 && stamp <= now;
}

static void count(const struct ledger_log *log, uint32_t batch, int64_t now,
                  struct census *c)
{
    *c = (struct census){0};
    for (uint32_t i = 0; i < log->batch_size; i++) {
        uint32_t index = batch * log->batch_size + i;
        if (index >= log->n_samples)
            break;
        const struct log_sample *s = &log->samples[index];
        if (has(at(&s->work_end), now)) {
            continue;
        } else if (has(at(&s->work_begin), now)) {
            c->d++;
        } else if (log->reads && has(at(&s->read_end), now)) {
            c->w++;
        } else if (log->reads && has(at(&s->read_begin), now)) {
            c->r++;
        } else {
            c->q++;
        }
    }
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Of an instant before all samples are done. */
static void split(const struct census *c, uint32_t workers, double part,
                  double ns[FDL_BUCKETS])
{
    double could = smaller(workers, c->q + c->r + c->w + c->d);
    if (could < c->d)
        could = c->d;
    double rest = could - c->d;
    double waits = smaller(rest, c->w);
    double reads = smaller(rest - waits, c->r);
    ns[FDL_BUCKET_PREP] += part * c->d / could;
    ns[FDL_BUCKET_WORKER_WAIT] += part * waits / could;
    ns[FDL_BUCKET_FETCH] += part * reads / could;
    ns[FDL_BUCKET_FETCH_QUEUE] += part * (rest - waits - reads) / could;
}

static void instant(const struct ledger_log *log, uint32_t batch, int64_t now,
                    double part, double ns[FDL_BUCKETS])
{
    const struct log_batch *b = &log->batches[batch];
    struct census c;
    if (!has(at(&b->issued), now)) {
        ns[FDL_BUCKET_SLOT] += part; /* nothing else keeps a loader */
        return;
    }
    count(log, batch, now, &c);
    if (c.q + c.r + c.w + c.d > 0)
        split(&c, log->workers, part, ns);
    else if (log->bus && !has(at(&b->copy_begin), now))
        ns[FDL_BUCKET_TRANSFER_QUEUE] += part;
    else if (log->bus && !has(at(&b->copy_end), now))
        ns[FDL_BUCKET_TRANSFER] += part;
    else
        ns[FDL_BUCKET_WAKE] += part;
}

/* A batch that was ready at `now`, so that a call did not wait for it. */
static bool was_ready(const struct ledger_log *log, uint32_t batch, int64_t now)
{
    struct census c;
    count(log, batch, now, &c);
    return c.q + c.r + c.w + c.d == 0 &&
           (!log->bus || has(at(&log->batches[batch].copy_end), now));
}

void ledger_log_attribute(const struct ledger_log *log, double ns[FDL_BUCKETS])
{
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        ns[i] = 0;
    for (uint32_t i = 0; i < log->n_waits; i++) {
        const struct log_wait *wait = &log->waits[i];
        if (was_ready(log, wait->batch, wait->begin))
            continue;
        for (int64_t t = wait->begin; t < wait->end; t += LOG_INSTANT_NS)
            instant(log, wait->batch, t,
                    smaller((double)(wait->end - t), (double)LOG_INSTANT_NS),
                    ns);
    }
}

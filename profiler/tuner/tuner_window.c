/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences to blocks, blocks to a measurement. A block is at least eight
 * batches and 100 ms; the spread between blocks gives the standard error of
 * their mean. The consumer's own time is the median of the blocks, so that one
 * odd block does not move the plan.
 *
 * A block's time is the sum of what the consumer says of its steps where that
 * is near the clock's: it ends with a batch, while readings come in between.
 */
#include "profiler/tuner/tuner_own.h"

#include <stdlib.h>

void fdl_tuner_window_reset(struct fdl_tuner_window *w)
{
    memset(w, 0, sizeof(*w));
}

/* The consumer's wall. */
double fdl_tuner_block_wall(const struct fdl_tuner_sums *s)
{
    bool near = s->step_ns > 0.5 * s->wall_ns && s->step_ns < 2 * s->wall_ns;
    return near ? s->step_ns : s->wall_ns;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static double part(double a, double b)
{
    double r = ratio(a, b);
    return r < 0 ? 0 : r > 1 ? 1 : r;
}

double fdl_tuner_block_stall(const struct fdl_tuner_sums *s)
{
    return s->span_ns > 0 ? part(s->idle_ns, s->span_ns)
                          : part(s->wait_ns, fdl_tuner_block_wall(s));
}

/* The consumer's own time for a batch: where the device is measured, the time
 * in which it had something to do. */
static double own_of(const struct fdl_tuner_sums *s)
{
    double own = s->span_ns > 0 ? s->span_ns - s->idle_ns : s->own_ns;
    return own > 0 ? own / s->batches : 0;
}

static bool complete(const struct fdl_tuner_sums *s)
{
    if (s->wall_ns < BLOCK_NS || s->batches < 2 ||
        !(fdl_tuner_block_wall(s) > 0))
        return false;
    return s->batches >= BLOCK_BATCHES || s->wall_ns >= LONG_BLOCK_NS;
}

bool fdl_tuner_window_add(struct fdl_tuner_window *w,
                          const struct fdl_tuner_sums *s)
{
    fdl_tuner_add(&w->open, s);
    /* Ends with a batch. */
    if (!(s->batches > 0) || !complete(&w->open))
        return false;
    unsigned at = w->n % FDL_TUNER_BLOCKS;
    w->ln_step[at] = log(fdl_tuner_block_wall(&w->open) / w->open.batches);
    w->g[at] = own_of(&w->open);
    w->stall[at] = fdl_tuner_block_stall(&w->open);
    w->last = w->open;
    fdl_tuner_add(&w->total, &w->open);
    memset(&w->open, 0, sizeof(w->open));
    ++w->n;
    return true;
}

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static double median(const double *of, unsigned n)
{
    double v[FDL_TUNER_BLOCKS];
    memcpy(v, of, n * sizeof(*v));
    qsort(v, n, sizeof(*v), ascending);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static double deviation(const double *of, unsigned n)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < n; ++i)
        sum += of[i];
    for (unsigned i = 0; i < n; ++i)
        squares += (of[i] - sum / n) * (of[i] - sum / n);
    return n > 1 ? sqrt(squares / (n - 1)) : 0;
}

/* Of ln rate. A batch that just missed one block is in the next: what one lost
 * the other wins, so the error of the mean is less than the spread says; with a
 * drift it is more. The covariance of neighbours says how much, if there are
 * enough to tell. */
static double error_of(const double *x, unsigned n)
{
    double mean = 0, together = 0, square = deviation(x, n);
    if (n < 3)
        return 0.1;
    square *= square;
    for (unsigned i = 0; i < n; ++i)
        mean += x[i] / n;
    for (unsigned i = 1; i < n; ++i)
        together += (x[i] - mean) * (x[i - 1] - mean) / (n - 1);
    double factor = n >= 6 && square > 0 && RULE(COVARIANCE)
                        ? 1 + 2 * together / square
                        : 1;
    return sqrt(fmin(fmax(factor, 0.15), 3) * square / n);
}

static void estimate_workers(const struct fdl_tuner *t,
                             const struct fdl_tuner_sums *s,
                             struct fdl_tuner_estimate *out)
{
    double pure = s->work_ns - s->runq_ns - s->throttle_ns - s->lock_ns;
    pure = fmax(pure, s->cpu_ns);
    double batches = ratio(s->samples, t->batch_size ? t->batch_size : 1);
    out->work = ratio(pure, batches);
    /* No processor time at all is a clock that does not tell. */
    out->share = s->cpu_ns > 0 ? part(s->cpu_ns, pure) : 1;
    double all = out->workers * s->wall_ns;
    out->busy = part(s->work_ns, all);
    out->blocked = part(s->blocked_ns, all);
    out->starved = part(s->starved_ns, all);
    out->queued = part(s->runq_ns + s->throttle_ns, s->work_ns);
    out->throttled = part(s->throttle_ns, s->work_ns);
    out->locked = ratio(s->lock_ns, s->wall_ns);
    out->cores_used = ratio(s->cpu_ns, s->wall_ns);
    out->consumer_cores = ratio(s->consumer_cpu_ns, s->wall_ns);
    double own = s->cpu_ns + s->consumer_cpu_ns;
    out->others = ratio(fmax(s->host_busy_ns - own, 0), s->wall_ns);
}

void fdl_tuner_estimate_of(const struct fdl_tuner *t,
                           const struct fdl_tuner_window *w,
                           struct fdl_tuner_estimate *out)
{
    memset(out, 0, sizeof(*out));
    unsigned n = w->n < FDL_TUNER_BLOCKS ? w->n : FDL_TUNER_BLOCKS;
    if (n == 0)
        return;
    const struct fdl_tuner_sums *s = &w->total;
    out->valid = true;
    out->blocks = w->n;
    out->batches = s->batches;
    out->wall_ns = fdl_tuner_block_wall(s);
    out->workers = (double)t->knobs.workers;
    out->rate = ratio(s->batches, fdl_tuner_block_wall(s));
    out->stall = fdl_tuner_block_stall(s);
    out->error = error_of(w->ln_step, n) * sqrt((double)n / w->n);
    out->g = median(w->g, n);
    out->g_spread = out->g > 0 ? deviation(w->g, n) / out->g : 0;
    out->on_device = s->span_ns > 0;
    estimate_workers(t, s, out);
    out->fetch = part(s->fetch_ns, s->wait_ns);
    out->transfer = part(s->transfer_ns, s->wait_ns);
    out->reads = ratio(s->reads, s->batches);
    out->read_ns = ratio(s->read_ns, s->reads);
}

/* e + a * (with - e); rates mix as logarithms, by a weight of their own. */
void fdl_tuner_estimate_mix(struct fdl_tuner_estimate *e,
                            const struct fdl_tuner_estimate *with, double a,
                            double of_rate)
{
    if (!with->valid)
        return;
    if (!e->valid || e->workers != with->workers) {
        *e = *with;
        return;
    }
    double rate =
        e->rate > 0 && with->rate > 0
            ? exp((1 - of_rate) * log(e->rate) + of_rate * log(with->rate))
            : with->rate;
    double error = hypot((1 - of_rate) * e->error, of_rate * with->error);
    double *const mixed[] = {&e->stall,          &e->g,       &e->g_spread,
                             &e->work,           &e->share,   &e->busy,
                             &e->blocked,        &e->starved, &e->queued,
                             &e->throttled,      &e->fetch,   &e->transfer,
                             &e->cores_used,     &e->reads,   &e->read_ns,
                             &e->consumer_cores, &e->locked,  &e->others};
    const double other[] = {with->stall,          with->g,       with->g_spread,
                            with->work,           with->share,   with->busy,
                            with->blocked,        with->starved, with->queued,
                            with->throttled,      with->fetch,   with->transfer,
                            with->cores_used,     with->reads,   with->read_ns,
                            with->consumer_cores, with->locked,  with->others};
    for (size_t i = 0; i < FDL_COUNT_OF(other); ++i)
        *mixed[i] += a * (other[i] - *mixed[i]);
    e->rate = rate;
    e->error = error;
    e->on_device = with->on_device;
    e->batches += with->batches;
    e->blocks += with->blocks;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of mixing.h, and a simulation of what has none. */
#include "loader/order/mixing.h"

#include "base/compiler.h"
#include "base/philox.h"
#include "base/status.h"
#include "loader/order/permute.h"

#include <math.h>
#include <stdlib.h>

#define SIMULATED (UINT64_C(1) << 21) /* samples */

/* ---- Counting labels ---------------------------------------------------- */

#define KINDS (1u << 18)

/* Labels in a set of samples, and how many pairs of them are alike. Labels
 * beyond KINDS share its places: of a million numbers, few pairs do. */
struct tally {
    uint64_t *of; /* [KINDS] */
    double pairs; /* ordered, of different samples */
};

static uint32_t kind_of(int64_t label)
{
    uint64_t u = (uint64_t)label;
    return u < KINDS ? (uint32_t)u
                     : (uint32_t)(u * UINT64_C(0x9e3779b97f4a7c15) >> 46);
}

static void add(struct tally *t, int64_t label)
{
    t->pairs += 2.0 * (double)t->of[kind_of(label)]++;
}

static void take(struct tally *t, int64_t label)
{
    t->pairs -= 2.0 * (double)--t->of[kind_of(label)];
}

static int32_t make_tally(struct tally *t)
{
    *t = (struct tally){.of = calloc(KINDS, sizeof(*t->of))};
    return t->of ? FEEDLINE_OK
                 : fdl_fail_memory(KINDS * sizeof(*t->of), "counted labels");
}

/* ---- Arithmetic --------------------------------------------------------- */

/* Of a batch in which two samples have one label with probability p. */
static double label_variance(double batch, double alike, double p)
{
    return batch * (1 - alike) + batch * (batch - 1) * (p - alike);
}

/* That two samples of a batch are of one group of n. */
static double same_group(double batch, double n)
{
    double m = fmin(batch, n) - 1;
    double sum = batch * m - (1 + batch / n) * m * (m + 1) / 2 +
                 m * (m + 1) * (2 * m + 1) / (6 * n);
    return batch > 1 ? 2 * sum / (batch * (batch - 1)) : 0;
}

/* Blocks of b samples that k of n samples are of, on average. */
static double blocks_of(double k, double b, double n)
{
    if (k > n - b)
        return n / b;
    double none = lgamma(n - b + 1) - lgamma(n - b - k + 1) - lgamma(n + 1) +
                  lgamma(n - k + 1);
    return n / b * -expm1(none);
}

/* Blocks that the samples of a batch are of, on average, wherever the groups of
 * n meet in it. */
static double blocks_in_batch(double batch, double b, double n)
{
    if (batch >= n)
        return batch / b;
    double split = 0;
    for (double k = 1; k < batch; k++)
        split += blocks_of(k, b, n);
    return (1 - (batch - 1) / n) * blocks_of(batch, b, n) + 2 * split / n;
}

/* ---- Blocks ------------------------------------------------------------- */

/* That two samples of a run of b have one label, over all runs, round the end.
 */
static double alike_in_runs(const struct fdl_integers *labels, uint64_t count,
                            uint64_t b, struct tally *t)
{
    double sum = 0;
    for (uint64_t i = 0; i < b; i++)
        add(t, fdl_integers_at(labels, i));
    for (uint64_t i = 0; i < count; i++) {
        sum += t->pairs;
        take(t, fdl_integers_at(labels, i));
        add(t, fdl_integers_at(labels, i + b < count ? i + b : i + b - count));
    }
    double pairs = (double)b * (double)(b - 1);
    for (uint64_t i = 0; i < b; i++)
        take(t, fdl_integers_at(labels, i));
    return pairs > 0 ? sum / (double)count / pairs : 0;
}

static double alike_in_all(const struct fdl_integers *labels, uint64_t count,
                           struct tally *t)
{
    for (uint64_t i = 0; i < count; i++)
        add(t, fdl_integers_at(labels, i));
    return t->pairs;
}

int32_t fdl_mixing_of_blocks(const struct fdl_mixing_source *from,
                             const struct fdl_block_shape *shape,
                             uint64_t batch, struct fdl_mixing *out)
{
    struct tally t;
    int32_t status = make_tally(&t);
    if (status < 0)
        return status;
    uint64_t count = from->count, samples = FDL_MIN(shape->samples, count);
    double all = (double)count, size = (double)FDL_MIN(batch, count);
    double b = (double)samples;
    double blocks = ceil(all / b);
    double n = all / ceil(blocks / (double)shape->lanes);
    double within = alike_in_runs(from->labels, count, samples, &t);
    double pairs = alike_in_all(from->labels, count, &t);
    free(t.of);

    double alike = (pairs + all) / (all * all);
    double full = all > 1 ? pairs / (all * (all - 1)) : 0;
    double same = n > 1 ? (b - 1) / (n - 1) * same_group(size, n) : 0;
    double beyond =
        all > b ? (full * (all - 1) - (b - 1) * within) / (all - b) : 0;
    double p = same * within + (1 - same) * beyond;
    double of_full = label_variance(size, alike, full);
    *out = (struct fdl_mixing){
        .variance = alike < 1 ? 1 : NAN,
        .most = 1 + (size - 1) * same,
        .same_block = same,
        .same_block_full = all > 1 ? (b - 1) / (all - 1) : 0,
        .blocks =
            n < all ? blocks_in_batch(size, b, n) : blocks_of(size, b, all),
        .blocks_full = blocks_of(size, b, all),
    };
    if (alike < 1 && n < all && of_full > 0)
        out->variance = label_variance(size, alike, p) / of_full;
    return FEEDLINE_OK;
}

/* ---- A buffer ----------------------------------------------------------- */

/* The simulation of one epoch. */
struct drawing {
    struct tally tally; /* of the batch that is being filled */
    struct fdl_rng rng;
    int64_t *buffer, *batch;
    uint64_t size, held; /* of the buffer */
    uint64_t batch_size, drawn;
    double pairs; /* alike in full batches */
    uint64_t batches, samples;
};

static void take_in(struct drawing *d, int64_t label)
{
    d->samples++;
    if (d->held < d->size) {
        d->buffer[d->held++] = label;
        return;
    }
    uint32_t k = fdl_rng_below(&d->rng, (uint32_t)d->size);
    add(&d->tally, d->buffer[k]);
    d->batch[d->drawn++] = d->buffer[k];
    d->buffer[k] = label;
    if (d->drawn < d->batch_size)
        return;
    d->pairs += d->tally.pairs;
    d->batches++;
    while (d->drawn > 0)
        take(&d->tally, d->batch[--d->drawn]);
}

/* Runs come in random order; enough is what a mean of many batches takes. */
static void draw_epoch(struct drawing *d, const struct fdl_mixing_source *from)
{
    fdl_rng_init(&d->rng, 0, 0, 0, FDL_PLACE_PERMUTE);
    for (uint64_t k = 0; k < from->n_runs && d->samples < SIMULATED; k++) {
        uint64_t run = fdl_permute(from->n_runs, 0, 1, k);
        uint64_t end =
            run + 1 < from->n_runs ? from->runs[run + 1] : from->count;
        for (uint64_t i = from->runs[run]; i < end; i++)
            take_in(d, fdl_integers_at(from->labels, i));
    }
}

static double buffer_variance(struct drawing *d,
                              const struct fdl_mixing_source *from)
{
    double all = (double)from->count, size = (double)d->batch_size;
    double pairs = alike_in_all(from->labels, from->count, &d->tally);
    double alike = (pairs + all) / (all * all);
    double of_full = label_variance(size, alike, pairs / (all * (all - 1)));
    for (uint64_t i = 0; i < from->count; i++)
        take(&d->tally, fdl_integers_at(from->labels, i));
    draw_epoch(d, from);
    if (d->batches == 0 || !(alike < 1) || !(of_full > 0))
        return NAN;
    double p = d->pairs / (double)d->batches / (size * (size - 1));
    return label_variance(size, alike, p) / of_full;
}

int32_t fdl_mixing_of_buffer(const struct fdl_mixing_source *from,
                             uint64_t buffer, uint64_t batch, double *variance)
{
    struct drawing d = {.size = buffer, .batch_size = batch};
    *variance = NAN;
    if (batch < 2 || buffer < 1 || buffer > UINT32_MAX ||
        buffer + batch > from->count)
        return FEEDLINE_OK;
    int32_t status = make_tally(&d.tally);
    d.buffer = malloc((buffer + batch) * sizeof(*d.buffer));
    d.batch = d.buffer + buffer;
    if (status >= 0 && d.buffer)
        *variance = buffer_variance(&d, from);
    else
        status = fdl_fail_memory((buffer + batch) * sizeof(*d.buffer),
                                 "a simulated buffer");
    free(d.buffer);
    free(d.tally.of);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What read times depend on, of simulated storage with a fixed number of reads
 * in flight. */
#include "base/compiler.h"
#include "base/philox.h"
#include "profiler/measure/total.h"
#include "test.h"

#include <math.h>

#define RATE  0.01 /* bytes per ns: 10 MB/s */
#define SIZE  1e6
#define SEEDS 200
#define MOST  64

enum kind {
    SERVER,     /* bytes, first come first served */
    OPERATIONS, /* reads, first come first served: each takes as long */
    SHARED,     /* all in flight get the same part of the rate */
    LATENCY,    /* each read has its own, whatever its size */
    OWN_RATE,   /* each read has RATE for itself */
};

struct storage {
    enum kind kind;
    double spread; /* of sizes: SIZE times 1 - spread to 1 + spread */
    uint32_t reads;
    uint32_t depth, last_depth; /* in flight; the second for the second half */
};

struct flight {
    double begin, due, left; /* left: bytes, where they share */
    double bytes, ahead;
};

/* A run, and what was measured. */
struct run {
    struct storage s;
    struct fdl_rng dice;
    struct flight flights[MOST];
    uint32_t n;
    double now, free; /* free: the server, of what was sent */
    double under_way, bytes;
    struct fdl_stage stage;
    struct fdl_read_fit fit;
    double rate; /* of all reads */
};

static struct run run;
static struct fdl_total total;

static double between(double low, double high)
{
    return low + (high - low) * fdl_rng_uniform(&run.dice);
}

static double due(double bytes)
{
    double begin = fmax(run.now, run.free);
    switch (run.s.kind) {
    case SERVER:
        return run.free = begin + bytes / RATE;
    case OPERATIONS:
        return run.free = begin + SIZE / RATE;
    case LATENCY:
        return run.now + between(20e6, 60e6);
    default:
        return run.now + bytes / RATE;
    }
}

static void send_one(void)
{
    double bytes = round(SIZE * between(1 - run.s.spread, 1 + run.s.spread));
    run.flights[run.n++] = (struct flight){
        .begin = run.now,
        .due = due(bytes),
        .left = bytes,
        .bytes = bytes,
        .ahead = run.under_way,
    };
    run.under_way += bytes;
}

/* When flight i is there, if none were sent in the meantime. */
static double end_of(uint32_t i)
{
    const struct flight *f = &run.flights[i];
    return run.s.kind == SHARED ? run.now + f->left * run.n / RATE : f->due;
}

static void receive_one(void)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < run.n; i++)
        if (end_of(i) < end_of(first))
            first = i;
    double then = end_of(first);
    for (uint32_t i = 0; i < run.n; i++)
        run.flights[i].left -= (then - run.now) * RATE / run.n;
    run.now = then;
    struct flight f = run.flights[first];
    run.flights[first] = run.flights[--run.n];
    run.under_way -= f.bytes;
    run.bytes += f.bytes;
    fdl_stage_read(&run.stage, (int64_t)(run.now - f.begin), (uint64_t)f.bytes,
                   (uint64_t)f.ahead);
}

static bool simulate(const struct storage *s, uint32_t seed)
{
    static uint64_t base;
    memset(&run, 0, sizeof(run));
    memset(&total, 0, sizeof(total));
    run.s = *s;
    if (!base)
        base = test_seed() + 1;
    fdl_rng_init(&run.dice, base, seed, 0, 0);
    for (uint32_t i = 0; i < s->reads; i++) {
        uint32_t depth =
            s->last_depth && i >= s->reads / 2 ? s->last_depth : s->depth;
        while (run.n < depth)
            send_one();
        receive_one();
    }
    run.rate = run.bytes / run.now;
    fdl_total_add(&total, &run.stage);
    return fdl_read_fit_of(&total.products, &run.fit);
}

static bool near(double found, double wanted, double relative)
{
    return fabs(found * run.rate - wanted) <= relative * wanted;
}

/* 78 reads, 7 at a time: slope times rate is 1. */
TEST(one_server_shows_in_the_bytes_ahead)
{
    struct storage s = {SERVER, 0.4, 78, 7, 0};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        assert_true(simulate(&s, seed));
        assert_true(near(run.fit.ahead_ns, 1, 0.1));
        assert_true(near(run.fit.byte_ns, 1, 0.1));
        assert_true(run.fit.fixed_ns < 0.1 * SIZE / RATE);
    }
}

/* While the queue fills, files of one size tell it too. */
TEST(one_server_shows_while_its_queue_fills)
{
    struct storage s = {SERVER, 0, 78, 7, 0};
    assert_true(simulate(&s, 0));
    assert_true(near(run.fit.ahead_ns, 1, 0.1));
    assert_true(run.fit.byte_ns == -1 && run.fit.fixed_ns == -1);
}

TEST(deeper_queues_show_that_the_rate_is_shared)
{
    struct storage s = {SHARED, 0, 400, 2, 16};
    assert_true(simulate(&s, 0));
    assert_true(near(run.fit.ahead_ns, 1, 0.3));
}

/* Nobody waits for the others. A few reads may tell nothing. */
TEST(reads_with_a_latency_have_none_ahead)
{
    struct storage s = {LATENCY, 0.4, 78, 7, 0};
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        assert_false(simulate(&s, seed) && run.fit.ahead_ns * run.rate > 0.5);
    s.reads = 1000;
    s.last_depth = 16;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        assert_true(simulate(&s, seed));
        assert_true(run.fit.ahead_ns >= 0 && run.fit.byte_ns >= 0);
        assert_true(run.fit.ahead_ns * run.rate < 0.3);
        assert_true(run.fit.byte_ns * run.rate < 3);
        assert_true(run.fit.fixed_ns > 0);
    }
}

TEST(reads_with_a_rate_have_none_ahead)
{
    struct storage s = {OWN_RATE, 0.4, 78, 7, 0};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        assert_true(simulate(&s, seed));
        assert_true(run.fit.ahead_ns * run.rate < 0.1);
        assert_true(fabs(run.fit.byte_ns * RATE - 1) < 0.01);
    }
}

/* Operations are the limit: reads wait for others, not for their own bytes. */
TEST(a_server_of_operations_has_no_bytes_of_its_own)
{
    struct storage s = {OPERATIONS, 0.4, 1000, 4, 16};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        assert_true(simulate(&s, seed));
        assert_true((run.fit.byte_ns + 2 * run.fit.byte_error_ns) * run.rate <
                    0.5);
    }
}

/* ---- Lines -------------------------------------------------------------- */

static bool fit_stage(const struct fdl_stage *stage, struct fdl_read_fit *fit)
{
    memset(&total, 0, sizeof(total));
    fdl_total_add(&total, stage);
    return fdl_read_fit_of(&total.products, fit);
}

/* 100 us and 2 ns a byte, one way or the other by 1 us. */
TEST(a_read_has_a_fixed_part)
{
    static struct fdl_stage stage;
    struct fdl_read_fit fit;
    for (int64_t k = 0; k < 1000; k++) {
        int64_t bytes = 20000 + k * 100;
        int64_t ns = 100000 + 2 * bytes + (k % 2 ? 1000 : -1000);
        fdl_stage_read(&stage, ns, (uint64_t)bytes, 0);
    }
    assert_true(fit_stage(&stage, &fit));
    assert_true(fit.fixed_ns > 99000 && fit.fixed_ns < 101000);
    assert_true(fit.byte_ns > 1.99 && fit.byte_ns < 2.01);
    assert_true(fit.ahead_ns == -1);
    /* 1 us around a line, over sizes 28.9 KB around their mean, 1000 of them */
    assert_true(fit.byte_error_ns > 0.0010 && fit.byte_error_ns < 0.0012);
    static struct fdl_total same;
    same = total;
    fdl_total_subtract(&total, &same);
    assert_false(fdl_read_fit_of(&total.products, &fit));
}

/* Files of one size tell nothing, nor do times that follow no size, nor a few
 * reads, nor sizes that always have as many bytes ahead. */
TEST(a_fit_needs_sizes_and_times)
{
    static struct fdl_stage stages[4];
    struct fdl_read_fit fit;
    for (int64_t k = 0; k < 1000; k++) {
        uint64_t bytes = (uint64_t)(20000 + k * 100);
        int64_t hiccup = k == 999 ? INT64_C(100000000000) : 1000;
        fdl_stage_read(&stages[0], 100000 + k % 7, 30000, 60000);
        fdl_stage_read(&stages[1], hiccup, bytes, 0);
        if (k < 60)
            fdl_stage_read(&stages[2], (int64_t)bytes, bytes, 0);
        fdl_stage_read(&stages[3], (int64_t)bytes + k % 7, bytes, 3 * bytes);
    }
    for (size_t i = 0; i < FDL_COUNT_OF(stages); i++)
        assert_false(fit_stage(&stages[i], &fit));
}

TEST_MAIN("read_fit")

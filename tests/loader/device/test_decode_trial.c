/* SPDX-License-Identifier: Apache-2.0 */
/* Who decodes, by what a consumer sees: each rule, and what is said. */
#include "base/compiler.h"
#include "loader/tune/decode_trial.h"
#include "test.h"

#define MS INT64_C(1000000)

/* A loader and its consumer, as far as readings tell: how long a batch takes
 * either of them to decode, and the consumer to use. */
struct model {
    struct fdl_decode_trial t;
    struct fdl_decode_reading r;
    double host_ms, device_ms, step_ms;
    double spare;    /* part of the workers' time, though they are waited for */
    double left;     /* part of the samples */
    uint32_t blocks; /* so far */
    uint32_t pause;  /* every so many blocks the program is away; 0: never */
};

#define BATCHES 10u

static void begin(struct model *m, double host_ms, double device_ms,
                  double step_ms)
{
    *m = (struct model){
        .host_ms = host_ms,
        .device_ms = device_ms,
        .step_ms = step_ms,
        .left = 0.95,
        .r = {.batch_size = 100, .outstanding = 4, .settled = true},
    };
}

static int64_t ns(double ms)
{
    return (int64_t)(ms * (double)MS);
}

/* Ten batches. true: something changed. */
static bool block(struct model *m)
{
    bool device = fdl_decode_trial_device(&m->t);
    double decode = device ? m->device_ms : m->host_ms;
    double wait = FDL_MAX(decode - m->step_ms, 0.0);
    double wall = m->step_ms + wait;
    struct fdl_decode_reading *r = &m->r;
    r->batches += BATCHES;
    r->samples += (uint64_t)(BATCHES * r->batch_size);
    if (device) {
        r->made += (uint64_t)(m->left * BATCHES * r->batch_size);
        r->make_ns += ns(BATCHES * m->device_ms);
        r->idle_ns += ns(BATCHES * (wall - 1));
        r->work_ns += ns(BATCHES);
    } else {
        r->idle_ns += ns(BATCHES * (wall - m->host_ms + wall * m->spare));
        r->work_ns += ns(BATCHES * m->host_ms);
    }
    r->wall_ns += ns(BATCHES * wall);
    r->of_ns += ns(BATCHES * wall);
    r->stall_ns += ns(BATCHES * wait);
    if (m->pause && ++m->blocks % m->pause == 0)
        r->wall_ns += ns(5000);
    return fdl_decode_trial_observe(&m->t, r);
}

static uint32_t blocks(struct model *m, uint32_t n)
{
    uint32_t changes = 0;
    for (uint32_t i = 0; i < n; i++)
        changes += block(m);
    return changes;
}

static void until(struct model *m, enum fdl_decode_state state)
{
    for (uint32_t i = 0; m->t.state != state; i++) {
        assert_true(i < 100000);
        block(m);
    }
}

static void assert_said(const struct model *m, const char *words)
{
    if (!strstr(m->t.reason, words))
        fail_msg("\"%s\" is not in \"%s\"", words, m->t.reason);
}

TEST(a_host_that_keeps_up_stays)
{
    struct model m;
    begin(&m, 9, 1, 10);
    assert_int_equal(blocks(&m, 1000), 1);
    assert_int_equal(m.t.state, FDL_DECODE_ON_HOST);
    assert_int_equal(m.t.trials, 0);
    assert_said(&m, "keeps up: the consumer waits 0.0 % of the time");
}

/* It waits for reads, or for the bus. */
TEST(workers_that_idle_are_not_what_is_waited_for)
{
    struct model m;
    begin(&m, 20, 1, 10);
    m.spare = 0.5;
    assert_int_equal(blocks(&m, 1000), 1);
    assert_int_equal(m.t.trials, 0);
    assert_said(&m,
                "waits 50.0 % of the time, but the workers are busy in 66.7 % "
                "of theirs");
}

TEST(a_faster_device_is_kept)
{
    struct model m;
    begin(&m, 20, 5, 10);
    until(&m, FDL_DECODE_TRYING_DEVICE);
    assert_said(&m, "waits 50.0 % of the time for workers that decode 5000.0");
    until(&m, FDL_DECODE_ON_DEVICE);
    assert_said(&m, "10000.0 images/s where the device decodes 95.0 % of the "
                    "samples, 5000.0 where the host does");
    assert_int_equal(blocks(&m, 10000), 0);
    assert_true(fdl_decode_trial_device(&m.t));
}

/* 4 % are less than what counts as faster, but nobody waits any more. */
TEST(a_device_that_feeds_is_kept)
{
    struct model m;
    begin(&m, 10.4, 5, 10);
    until(&m, FDL_DECODE_ON_DEVICE);
    assert_int_equal(blocks(&m, 10000), 0);
}

/* The GPU that trains is delayed by the kernels: the step grows by as much as
 * was gained. */
TEST(a_device_that_delays_the_training_is_left)
{
    struct model m;
    begin(&m, 20, 1, 10);
    until(&m, FDL_DECODE_TRYING_DEVICE);
    m.step_ms = 20.5;
    until(&m, FDL_DECODE_ON_HOST);
    assert_said(&m, "4878.0 images/s where the device decodes");
}

/* Each trial doubles the time to the next, and at some time there are no more.
 */
TEST(a_slower_device_is_tried_less_and_less)
{
    struct model m;
    uint32_t before = 0, gap = 0, at = 0;
    begin(&m, 20, 30, 10);
    for (uint32_t i = 0; i < FDL_DECODE_TRIALS; i++) {
        at = 0;
        while (m.t.state != FDL_DECODE_TRYING_DEVICE) {
            block(&m);
            at++;
        }
        gap = at;
        assert_true(gap > before);
        before = i == 0 ? 0 : gap;
        until(&m, FDL_DECODE_ON_HOST);
    }
    assert_int_equal(blocks(&m, 100000), 0);
    assert_int_equal(m.t.state, FDL_DECODE_ON_HOST);
}

/* As in the first epoch, while the index is made: later it is another matter.
 */
TEST(few_samples_are_a_reason_to_try_again)
{
    struct model m;
    begin(&m, 20, 5, 10);
    m.left = 0.04;
    until(&m, FDL_DECODE_TRYING_DEVICE);
    until(&m, FDL_DECODE_ON_HOST);
    assert_said(&m, "only 4.0 % of the samples");
    m.left = 0.9;
    until(&m, FDL_DECODE_ON_DEVICE);
}

TEST(the_host_is_tried_where_the_device_is_the_limit)
{
    struct model m;
    begin(&m, 20, 11, 10);
    until(&m, FDL_DECODE_ON_DEVICE);
    m.device_ms = 40; /* others use the GPU now */
    until(&m, FDL_DECODE_TRYING_HOST);
    assert_said(&m,
                "waits 75.0 % of the time, and the device decodes in 100.0");
    until(&m, FDL_DECODE_ON_HOST);
    assert_said(&m, "5000.0 images/s where the host decodes, 2500.0 where the "
                    "device does");
}

TEST(the_device_stays_where_the_host_is_no_faster)
{
    struct model m;
    begin(&m, 40, 20, 10);
    until(&m, FDL_DECODE_ON_DEVICE);
    until(&m, FDL_DECODE_TRYING_HOST);
    until(&m, FDL_DECODE_ON_DEVICE);
    assert_said(&m, "2500.0 images/s where the host decodes, 5000.0");
}

TEST(nothing_is_tried_while_the_tuner_does)
{
    struct model m;
    begin(&m, 20, 5, 10);
    m.r.settled = false;
    assert_int_equal(blocks(&m, 1000), 0);
    m.r.settled = true;
    until(&m, FDL_DECODE_ON_DEVICE);
}

/* Batches that are under way are the other one's. */
TEST(a_trial_begins_with_its_own_batches)
{
    struct model m;
    begin(&m, 20, 5, 10);
    m.r.outstanding = 1000;
    until(&m, FDL_DECODE_TRYING_DEVICE);
    assert_int_equal(blocks(&m, 1000 / BATCHES), 0);
    assert_int_equal(m.t.state, FDL_DECODE_TRYING_DEVICE);
}

/* Pauses of five seconds, once in five blocks. */
TEST(pauses_do_not_decide)
{
    struct model m;
    begin(&m, 20, 5, 10);
    m.pause = 5;
    until(&m, FDL_DECODE_ON_DEVICE);
    assert_said(&m, "10000.0 images/s where the device decodes");
}

TEST(a_trial_that_is_cut_off_did_not_happen)
{
    struct model m;
    begin(&m, 20, 5, 10);
    assert_false(fdl_decode_trial_pause(&m.t));
    until(&m, FDL_DECODE_TRYING_DEVICE);
    assert_true(fdl_decode_trial_pause(&m.t));
    assert_false(fdl_decode_trial_device(&m.t));
    assert_false(fdl_decode_trial_pause(&m.t));
    until(&m, FDL_DECODE_ON_DEVICE);
    m.device_ms = 40;
    until(&m, FDL_DECODE_TRYING_HOST);
    assert_true(fdl_decode_trial_pause(&m.t));
    assert_true(fdl_decode_trial_device(&m.t));
}

/* Statistics that begin anew, and numbers that cannot be. */
TEST(counters_that_run_backwards_begin_anew)
{
    struct model m;
    begin(&m, 20, 5, 10);
    for (uint32_t i = 0; i < 1000; i++) {
        if (i % 5 == 0)
            m.r.stall_ns = m.r.of_ns = m.r.make_ns = 0;
        block(&m);
    }
    assert_int_equal(m.t.trials, 0);
    until(&m, FDL_DECODE_ON_DEVICE);
}

/* Reasons stay where they are; behind the last there is none. */
TEST(reasons_stay)
{
    static struct fdl_decode_choice c;
    const char *first;
    char words[16];
    assert_string_equal(fdl_decode_reason(&c), "");
    for (uint32_t i = 0; i < FDL_DECODE_REASONS + 5; i++) {
        snprintf(words, sizeof(words), "reason %u", i);
        fdl_decode_choose(&c, i % 2, words);
        assert_int_equal(atomic_load(&c.device), i % 2);
        if (i == 0)
            first = fdl_decode_reason(&c);
    }
    assert_string_equal(first, "reason 0");
    assert_string_equal(fdl_decode_reason(&c), "reason 31");
}

TEST_MAIN("decode_trial")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch and a ledger on the same loader reach the same verdict: as far as a
 * watch sees its workers, which are processes, it is told what the ledger is
 * told. Everything it cannot see has a code of its own.
 */
#include "base/compiler.h"
#include "profiler/verdict/verdict.h"
#include "test.h"

#include <string.h>

#define S INT64_C(1000000000)

/* What held up the workers; parts of their time that sum to 1 at most, the rest
 * is sleep. */
struct cause {
    const char *code;
    double core, queued;
    uint32_t workers, cpus;
    double outside_cores; /* of other processes */
    double throttled;     /* of wall */
};

static const struct cause causes[] = {
    {"PREP_BOUND_TUNABLE", 0.02, 0, 2, 4, 0, 0},          /* asleep */
    {"PREP_BOUND_TUNABLE", 0.02, 0.03, 4, 2, 0.2, 0},     /* asleep */
    {"PREP_BOUND_TUNABLE", 0.98, 0.01, 2, 8, 0.1, 0},     /* cores left */
    {"PREP_BOUND_CPU_SATURATED", 0.98, 0.01, 4, 4, 0, 0}, /* none left */
    {"OVERSUBSCRIBED", 0.30, 0.69, 8, 2, 0.1, 0},         /* own workers */
    {"OVERSUBSCRIBED", 0.30, 0.69, 2, 2, 1.4, 0},         /* others */
    {"CPU_THROTTLED", 0.95, 0.01, 2, 2, 0, 0.4},
};

/* Ten seconds of which the consumer waited nine. */
static void plant(const struct cause *c, bool watched, struct fdl_evidence *e)
{
    fdl_evidence_init(e);
    e->batches = e->calls = 200;
    e->wall_ns = 10 * S;
    e->user_ns = 1 * S;
    e->median_step_ns = S / 200;
    e->ledger.wait_ns = 9 * S;
    e->workers = c->workers;
    e->cpus_usable = c->cpus;
    e->consumer_cores = e->foreign_cores = 0;
    e->outside_cores = c->outside_cores;
    e->throttled_ns = (int64_t)(c->throttled * 10 * S);
    e->worker_busy_ns = c->workers * 10 * S;
    e->worker_cpu_ns = (int64_t)(c->core * (double)e->worker_busy_ns);
    e->worker_runq_ns = (int64_t)(c->queued * (double)e->worker_busy_ns);
    e->worker_sleep_ns =
        e->worker_busy_ns - e->worker_cpu_ns - e->worker_runq_ns;
    if (watched) {
        e->outside = "DataLoader";
        e->outside_option = "num_workers";
        e->outside_processes = c->workers;
        e->outside_process_cores = c->core * c->workers;
        e->outside_queued = c->queued;
    } else {
        e->ledger.ns[FDL_BUCKET_PREP] = 9 * S;
    }
}

static void judge(const struct fdl_evidence *e, struct fdl_verdict *first)
{
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    assert_true(fdl_verdict_judge(e, all) > 0);
    *first = all[0];
}

static void assert_in(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" lacks \"%s\"", text, words);
}

TEST(a_starved_consumer)
{
    for (size_t i = 0; i < FDL_COUNT_OF(causes); i++) {
        struct fdl_evidence e;
        struct fdl_verdict ledger, watch;
        plant(&causes[i], false, &e);
        judge(&e, &ledger);
        plant(&causes[i], true, &e);
        judge(&e, &watch);
        assert_string_equal(ledger.code, causes[i].code);
        assert_string_equal(watch.code, causes[i].code);
        assert_string_equal(watch.level, ledger.level);
        assert_int_equal(watch.moves.workers, 0);
        assert_in(watch.sentence, "\"DataLoader\" took that time");
        assert_null(strstr(watch.sentence, "decode"));
        assert_null(strstr(watch.action, "quality"));
        assert_null(strstr(watch.action, " (workers="));
    }
}

/* In the words of the loader that is watched. */
TEST(advice_names_its_option)
{
    struct fdl_evidence e;
    struct fdl_verdict v;
    plant(&causes[0], true, &e);
    e.workers_max = 4;
    judge(&e, &v);
    assert_in(v.action, "num_workers=4");
    e.workers = 0; /* the thread that waits makes its batches, and sleeps */
    e.worker_busy_ns = e.worker_cpu_ns = e.worker_sleep_ns = 0;
    e.outside_processes = 0;
    e.wait_cpu_ns = S / 10;
    judge(&e, &v);
    assert_string_equal(v.code, "PREP_BOUND_TUNABLE");
    assert_in(v.action, "Set num_workers=4");
    e.outside_option = NULL;
    judge(&e, &v);
    assert_string_equal(v.code, "ITERABLE_BOUND");
}

/* What "the tuner does that" is about stands right before it. */
TEST(waiting_less_is_advice_as_well)
{
    struct fdl_evidence e;
    struct fdl_verdict v;
    plant(&causes[0], true, &e);
    judge(&e, &v);
    assert_in(v.action, "others work. Or let each wait less");
    plant(&causes[0], false, &e);
    e.tuning = true;
    judge(&e, &v);
    assert_in(v.action, "while one waits, others work. With ");
}

/* Workers with nothing to do are busy to a watch, but no limit. */
TEST(pauses_are_worth_their_time)
{
    struct fdl_evidence e;
    struct fdl_verdict v;
    plant(&causes[1], true, &e);
    e.ledger.wait_ns = S / 2;
    e.user_ns = 19 * S / 2;
    e.gaps = 20;
    e.gap_ns = 5 * S;
    judge(&e, &v);
    assert_string_equal(v.code, "CONSUMER_HOST_BOUND");
    assert_true(v.predicted_gain > 0.99 && v.predicted_gain < 1.01);
}

/* Much of the workers' time is in one function: that is the cause, or, where
 * they queue for cores, what else would help. */
TEST(a_costly_function_is_named)
{
    for (size_t i = 0; i < FDL_COUNT_OF(causes); i++) {
        struct fdl_evidence e;
        struct fdl_verdict v;
        plant(&causes[i], true, &e);
        e.op.name = "train.py:14 in vignette";
        e.op.samples = 1000;
        e.op.wall_ns = e.custom_ns = e.worker_busy_ns / 10 * 9;
        e.op.cpu_ns = e.op.wall_ns / 2;
        judge(&e, &v);
        assert_string_equal(v.code, causes[i].code);
        if (strcmp(v.code, "CPU_THROTTLED") == 0)
            continue;
        assert_in(v.sentence, e.op.name);
        assert_in(v.sentence, "90 % of the workers' time");
        assert_in(v.evidence, e.op.name);
        if (strstr(v.action, "while one waits") == NULL)
            assert_in(v.action, e.op.name);
        e.op.wall_ns = e.custom_ns = e.worker_busy_ns / 10 * 3;
        judge(&e, &v);
        assert_in(v.sentence, e.op.name); /* it calls others */
        e.op.wall_ns = e.custom_ns = e.worker_busy_ns / 10 * 2;
        judge(&e, &v);
        assert_null(strstr(v.sentence, e.op.name));
        assert_null(strstr(v.action, e.op.name));
    }
}

/* Workers that sleep are not why a thread computes while it waits. */
TEST(a_handover_is_nobodys_work)
{
    struct fdl_evidence e;
    struct fdl_verdict v;
    plant(&causes[0], true, &e);
    e.wait_cpu_ns = 8 * S;
    judge(&e, &v);
    assert_string_equal(v.code, "ITERABLE_BOUND");
    assert_in(v.action, "hand over less");
}

/* Its pauses, and nothing about the loader; with their period. */
TEST(a_consumer_that_pauses)
{
    for (int watched = 0; watched < 2; watched++) {
        struct fdl_evidence e;
        struct fdl_verdict v;
        plant(&causes[0], watched, &e);
        e.ledger.wait_ns = S / 20;
        if (!watched)
            e.ledger.ns[FDL_BUCKET_PREP] = S / 20;
        e.user_ns = 10 * S - S / 20;
        e.gaps = 20;
        e.gap_ns = 8 * S;
        e.gap_period = 10;
        judge(&e, &v);
        assert_string_equal(v.code, "CONSUMER_HOST_BOUND");
        assert_string_equal(v.level, "FED");
        assert_in(v.sentence, "every 10 steps");
    }
}

TEST(a_consumer_that_is_fed)
{
    for (int watched = 0; watched < 2; watched++) {
        struct fdl_evidence e;
        struct fdl_verdict v;
        struct cause one = causes[0];
        one.workers = 1;
        plant(&one, watched, &e);
        e.ledger.wait_ns = S / 20;
        if (!watched)
            e.ledger.ns[FDL_BUCKET_PREP] = S / 20;
        e.user_ns = 10 * S - S / 20;
        e.median_step_ns = e.user_ns / 200;
        judge(&e, &v);
        assert_string_equal(v.code, "FED");
    }
}

TEST(waits_with_a_period)
{
    for (int watched = 0; watched < 2; watched++) {
        struct fdl_evidence e;
        struct fdl_verdict all[FDL_VERDICTS_MAX];
        bool found = false;
        plant(&causes[0], watched, &e);
        e.stall_period = 20;
        e.stall_strength = 0.9;
        uint32_t n = fdl_verdict_judge(&e, all);
        assert_string_equal(all[0].code, "PREP_BOUND_TUNABLE");
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(all[i].code, "PERIODIC_STALL") == 0) {
                assert_in(all[i].sentence, "every 20 batches");
                found = true;
            }
        assert_true(found);
    }
}

TEST_MAIN("verdict_watch")

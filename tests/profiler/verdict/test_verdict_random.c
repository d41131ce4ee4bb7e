/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for any evidence, sensible or not: whole sentences, gains within
 * bounds, the largest first, evidence that is JSON.
 */
#include "dice.h"
#include "verdict_rows.h"

#include <jansson.h>
#include <math.h>

static struct dice dice;

static uint32_t pick(uint32_t n)
{
    return dice_below(&dice, n);
}

static int64_t any_ns(void)
{
    static const int64_t odd[] = {INT64_MIN, -SEC, -1, 0, 1, INT64_MAX};
    uint32_t k = pick(12);
    return k < FDL_COUNT_OF(odd) ? odd[k] : (int64_t)pick(100000) * 1000000;
}

static double any_double(void)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -1,
                                 0,   -5,       1e300,     1e-300};
    uint32_t k = pick(16);
    return k < FDL_COUNT_OF(odd) ? odd[k]
                                 : dice_between(&dice, 0, 1) * (k % 2 ? 1 : 20);
}

static uint32_t any_count(void)
{
    static const uint32_t odd[] = {0, 1, 2, 7, 8, 64, UINT32_MAX};
    return odd[pick(FDL_COUNT_OF(odd))];
}

static void fill_times(struct fdl_evidence *e)
{
    int64_t *const of[] = {
        &e->lock.wall_ns,   &e->custom_ns,         &e->epoch_edge_ns,
        &e->ticket_tail_ns, &e->lock.cpu_ns,       &e->worker_throttle_ns,
        &e->ledger.wait_ns, &e->ledger.lacking_ns, &e->device_idle_ns,
        &e->lock.wait_ns,   &e->worker_cpu_ns,     &e->worker_busy_ns,
        &e->user_ns,        &e->worker_sleep_ns,   &e->copy_ns,
        &e->slow_stall_ns,  &e->wall_ns,           &e->overlap_ns,
        &e->worker_runq_ns, &e->median_step_ns,    &e->device_span_ns,
        &e->gap_ns,         &e->phase_ns,          &e->first_batch_ns,
        &e->throttled_ns,   &e->worker_blocked_ns, &e->make_ns};
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++)
        *of[i] = any_ns();
    for (int b = 0; b < FDL_BUCKETS; b++)
        e->ledger.ns[b] = any_ns();
}

static void fill_numbers(struct fdl_evidence *e)
{
    double *const of[] = {UNKNOWN_MAY_BE(e), &e->copy_gbps, &e->ceiling_gbps};
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++)
        *of[i] = any_double();
}

/* Of a name, which would have its own spaces and full stops in a row. */
static char any_byte(void)
{
    char c = (char)pick(256);
    return c == ' ' || c == '.' ? '_' : c;
}

static void fill_any(struct fdl_evidence *e)
{
    static const char *const phases[] = {NULL,
                                         "",
                                         "forward",
                                         "all_reduce",
                                         "\x1b[31m\n\"\\\xff\xc3",
                                         "a phase of thirty-one bytes, ok"};
    fdl_evidence_init(e);
    fill_times(e);
    fill_numbers(e);
    e->batches = pick(3) ? 8 + any_count() : UINT64_MAX;
    e->samples = any_count();
    e->calls = any_count();
    e->ready_calls = any_count();
    e->long_waits = any_count();
    e->passed_waits = any_count();
    e->lock.calls = any_count();
    e->lock.waits = any_count();
    e->gaps = any_count();
    e->gap_period = any_count();
    e->stall_period = any_count();
    e->phase = phases[pick(FDL_COUNT_OF(phases))];
    e->lock.name = phases[pick(FDL_COUNT_OF(phases))];
    e->world = any_count();
    e->epoch_edges = any_count();
    e->workers = any_count();
    e->cpus_usable = any_count();
    e->cpus_allowed = any_count();
    e->depth = any_count();
    e->io_depth = any_count();
    e->memory_limited = pick(2);
    e->reads_storage = pick(2);
    e->more_reads_failed = pick(2);
    e->has_device = pick(2);
    e->gpu_power_capped = pick(8) == 0;
    e->gpu_thermal_capped = pick(8) == 0;
    for (size_t i = 0; i < sizeof(e->foreign_name) - 1; i++)
        e->foreign_name[i] = any_byte();
}

static void check_any_text(const char *text, size_t capacity)
{
    size_t length = strlen(text);
    assert_in_range(length, 8, capacity - 2);
    assert_int_equal(text[length - 1], '.');
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            fail_msg("a byte %d in \"%s\"", *c, text);
    assert_null(strstr(text, "  "));
    assert_null(strstr(text, ".."));
    assert_null(strstr(text, "nan"));
}

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

static void check_one(const struct fdl_verdict *v)
{
    static const char *const levels[] = {"FED", "MINOR", "MODERATE", "HIGH",
                                         "UNKNOWN"};
    json_error_t error;
    check_any_text(v->sentence, sizeof(v->sentence));
    check_any_text(v->action, sizeof(v->action));
    assert_true(is_one_of(v->level, levels, FDL_COUNT_OF(levels)));
    assert_in_range(v->confidence_ppm, 0, 1000000);
    assert_true(v->predicted_gain >= 0 && v->predicted_gain <= 99);
    assert_true(v->share >= 0 && v->share <= 1);
    json_t *doc = json_loads(v->evidence, 0, &error);
    if (!json_is_object(doc))
        fail_msg("%s: %s in %s", v->code, error.text, v->evidence);
    assert_true(json_is_number(json_object_get(doc, "stall")));
    json_decref(doc);
}

/* The gain of a cause is at most to be fed; a quota stops the consumer too. */
static void check_gain(const struct fdl_verdict *v, double stall)
{
    double most = stall < 0.99 ? 1 / (1 - stall) - 1 : 99;
    if (strcmp(v->code, "CPU_THROTTLED") == 0)
        most = 99;
    if (v->share > 0 && v->predicted_gain > most * (1 + 1e-9) + 1e-9)
        fail_msg("%s gains %g of %g", v->code, v->predicted_gain, most);
}

static double stall_of(const struct fdl_evidence *e)
{
    bool device = e->has_device && e->device_span_ns > 0 &&
                  (double)e->device_span_ns >= 0.1 * (double)e->wall_ns;
    double part = (double)(device ? e->device_idle_ns : e->ledger.wait_ns);
    double of = (double)(device ? e->device_span_ns : e->wall_ns);
    return part > 0 && of > 0 ? fmin(part / of, 1) : 0;
}

static void check_list(const struct fdl_evidence *e,
                       const struct fdl_verdict *v, uint32_t n)
{
    double share = 2;
    assert_in_range(n, 1, FDL_VERDICTS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        check_one(&v[i]);
        check_gain(&v[i], stall_of(e));
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(v[k].code, v[i].code);
        /* These two explain more of the time than their share of the stall. */
        if (v[i].share == 0 || strcmp(v[i].code, "SLOW_START") == 0 ||
            strcmp(v[i].code, "CPU_THROTTLED") == 0)
            continue;
        assert_true(v[i].share <= share + 1e-9);
        share = v[i].share;
    }
}

TEST(test_anything)
{
    dice.state = test_seed();
    for (int run = 0; run < 60000; run++) {
        struct fdl_verdict v[FDL_VERDICTS_MAX];
        struct fdl_evidence e;
        fill_any(&e);
        memset(v, 0xee, sizeof(v));
        check_list(&e, v, fdl_verdict_judge(&e, v));
    }
}

static bool has(const struct fdl_verdict *v, uint32_t n, const char *prefix)
{
    for (uint32_t i = 0; i < n; i++)
        if (strncmp(v[i].code, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* Nothing but the ledger is known: no rule that needs more may speak. */
TEST(test_unknown)
{
    static const char *const allowed[] = {"FED",
                                          "PREP_BOUND_TUNABLE",
                                          "PREP_BOUND_CPU_SATURATED",
                                          "FETCH_LATENCY_BOUND",
                                          "XFER_BOUND",
                                          "CONSUMER_HOLDS_SLOTS",
                                          "DEPTH_LIMITED",
                                          "OVERSUBSCRIBED",
                                          "OUT_OF_SCOPE"};
    dice.state = test_seed();
    for (int run = 0; run < 20000; run++) {
        struct fdl_verdict v[FDL_VERDICTS_MAX];
        struct fdl_evidence e;
        fdl_evidence_init(&e);
        e.batches = 100;
        e.wall_ns = 100 * SEC;
        e.workers = 1 + pick(8);
        e.cpus_usable = 1 + pick(8);
        for (int b = 0; b < FDL_BUCKETS; b++)
            e.ledger.ns[b] = pick(3) ? 0 : (int64_t)pick(10) * SEC;
        for (int b = 0; b < FDL_BUCKETS; b++)
            e.ledger.wait_ns += e.ledger.ns[b];
        uint32_t n = fdl_verdict_judge(&e, v);
        check_list(&e, v, n);
        for (uint32_t i = 0; i < n; i++)
            if (!is_one_of(v[i].code, allowed, FDL_COUNT_OF(allowed)))
                fail_msg("%s speaks of what it cannot know", v[i].code);
    }
}

/* More of the same wait: a cause that was named stays, FED never comes back,
 * and the level does not fall. */
TEST(test_monotonous)
{
    static const struct {
        enum fdl_bucket bucket;
        const char *prefix;
    } of[] = {{FDL_BUCKET_PREP, "PREP_"},
              {FDL_BUCKET_WORKER_WAIT, "PREP_"},
              {FDL_BUCKET_FETCH, "FETCH_"},
              {FDL_BUCKET_TRANSFER, "XFER_"}};
    dice.state = test_seed();
    for (int run = 0; run < 4000; run++) {
        struct fdl_evidence e;
        size_t cause = pick(FDL_COUNT_OF(of));
        bool named = false;
        double gain = 0;
        fdl_evidence_init(&e);
        e.batches = 100;
        e.wall_ns = 100 * SEC;
        e.workers = 1 + pick(8);
        e.cpus_usable = 1 + pick(8);
        for (int b = 0; b < FDL_BUCKETS; b++)
            e.ledger.ns[b] = pick(2) ? 0 : (int64_t)pick(1000) * 1000000;
        for (int step = 0; step < 30; step++) {
            struct fdl_verdict v[FDL_VERDICTS_MAX];
            e.ledger.ns[of[cause].bucket] += (int64_t)pick(3) * SEC;
            e.ledger.wait_ns = 0;
            for (int b = 0; b < FDL_BUCKETS; b++)
                e.ledger.wait_ns += e.ledger.ns[b];
            uint32_t n = fdl_verdict_judge(&e, v);
            bool first = strncmp(v[0].code, of[cause].prefix,
                                 strlen(of[cause].prefix)) == 0;
            if (named) {
                assert_false(has(v, n, "FED"));
                assert_true(first);
                assert_true(v[0].predicted_gain >= gain - 1e-9);
            }
            named = first;
            gain = named ? v[0].predicted_gain : 0;
        }
        assert_true(named || e.ledger.ns[of[cause].bucket] < 15 * SEC);
    }
}

TEST_MAIN("verdict_random")

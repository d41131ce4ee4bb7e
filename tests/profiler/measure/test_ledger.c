/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep against the definition: a second evaluation that looks at each
 * nanosecond on its own, on thousands of random tickets of a few samples and
 * some hundred nanoseconds; and scenarios whose answer one can see.
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "profiler/measure/ledger.h"
#include "test.h"

#define MAX_SAMPLES 8

static struct fdl_sample_times samples[MAX_SAMPLES];
static struct fdl_ledger_scratch *scratch;
static struct fdl_ledger ledger;

static void setup(void)
{
    memset(samples, 0, sizeof(samples));
    memset(&ledger, 0, sizeof(ledger));
    fdl_ledger_scratch_destroy(scratch);
    assert_int_equal(fdl_ledger_scratch_create(MAX_SAMPLES, &scratch), 0);
}

static int64_t bucket_sum(void)
{
    int64_t sum = 0;
    for (int i = 0; i < FDL_BUCKETS; i++) {
        assert_true(ledger.ns[i] >= 0);
        sum += ledger.ns[i];
    }
    return sum;
}

/* All of the wait is in these buckets; the others are empty. */
static void expect(const int64_t want[FDL_BUCKETS], uint32_t waits)
{
    int64_t sum = 0;
    for (int i = 0; i < FDL_BUCKETS; i++) {
        if (ledger.ns[i] != want[i])
            print_error("%s\n", fdl_bucket_name((enum fdl_bucket)i));
        assert_int_equal(ledger.ns[i], want[i]);
        sum += want[i];
    }
    assert_int_equal(ledger.wait_ns, sum);
    assert_int_equal(ledger.waits, waits);
}

static void stamp(uint32_t i, int64_t read_start, int64_t read_done,
                  int64_t work_start, int64_t work_done)
{
    samples[i].read_start = read_start;
    samples[i].read_done = read_done;
    samples[i].work_start = work_start;
    samples[i].work_done = work_done;
}

static struct fdl_ticket_times ticket_of(uint32_t n, uint32_t workers)
{
    return (struct fdl_ticket_times){
        .issued = 1, .workers = workers, .n_samples = n, .samples = samples};
}

/* ---- Brute force --------------------------------------------------------- */

static bool is_past(int64_t stamp_ns, int64_t t, int64_t b)
{
    return stamp_ns != 0 && stamp_ns <= t && stamp_ns < b;
}

/* The first bucket of the header's definition for one sample at one time. */
static int place_at(const struct fdl_sample_times *s, bool copied, int64_t t,
                    int64_t b)
{
    if (copied || is_past(s->work_done, t, b))
        return 4;
    if (is_past(s->work_start, t, b))
        return 3;
    if (is_past(s->read_done, t, b))
        return 2;
    return is_past(s->read_start, t, b) ? 1 : 0;
}

static void evaluate_at(const struct fdl_ticket_times *k, int64_t t, int64_t b,
                        double part[FDL_BUCKETS], double *lacking)
{
    double in[5] = {0};
    bool copied = is_past(k->transfer_done, t, b);
    bool copying = copied || is_past(k->transfer_start, t, b);
    if (!is_past(k->issued, t, b)) {
        part[k->slots_held ? FDL_BUCKET_SLOT : FDL_BUCKET_NOT_ISSUED] += 1;
        return;
    }
    for (uint32_t i = 0; i < k->n_samples; i++)
        in[place_at(&k->samples[i], copying, t, b)]++;
    if (in[4] == k->n_samples) {
        part[copied    ? FDL_BUCKET_WAKE
             : copying ? FDL_BUCKET_TRANSFER
                       : FDL_BUCKET_TRANSFER_QUEUE] += 1;
        return;
    }
    double p = FDL_MIN((double)k->workers, in[0] + in[1] + in[2] + in[3]);
    p = FDL_MAX(p, in[3]);
    double rest = p - in[3];
    part[FDL_BUCKET_PREP] += in[3] / p;
    if (rest > in[2])
        *lacking += in[3] / p;
    static const enum fdl_bucket order[] = {
        FDL_BUCKET_WORKER_WAIT, FDL_BUCKET_FETCH, FDL_BUCKET_FETCH_QUEUE};
    for (int i = 0; i < 3; i++) {
        double used = FDL_MIN(rest, in[2 - i]);
        part[order[i]] += used / p;
        rest -= used;
    }
}

static int64_t draw_stamp(struct fdl_rng *rng)
{
    return fdl_rng_below(rng, 8) == 0 ? 0 : 1 + fdl_rng_below(rng, 400);
}

/* Mostly in order, as threads write them; sometimes anything. */
static void draw_sample(struct fdl_rng *rng, struct fdl_sample_times *s)
{
    int64_t at[4];
    bool ordered = fdl_rng_below(rng, 4) > 0;
    int64_t t = 1 + fdl_rng_below(rng, 100);
    uint32_t reached = fdl_rng_below(rng, 6);
    for (uint32_t i = 0; i < 4; i++) {
        t += fdl_rng_below(rng, 90);
        at[i] = !ordered ? draw_stamp(rng) : i < reached ? t : 0;
    }
    s->cold = fdl_rng_below(rng, 2);
    s->read_start = at[0];
    s->read_done = at[1];
    s->work_start = at[2];
    s->work_done = at[3];
}

TEST_WITH(test_random_tickets, setup, NULL)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (int round = 0; round < 5000; round++) {
        struct fdl_ticket_times k = {.issued = draw_stamp(&rng) / 3,
                                     .transfer_start = draw_stamp(&rng) * 2,
                                     .transfer_done = draw_stamp(&rng) * 2,
                                     .slots_held = fdl_rng_below(&rng, 2),
                                     .workers = 1 + fdl_rng_below(&rng, 6),
                                     .n_samples =
                                         fdl_rng_below(&rng, MAX_SAMPLES + 1),
                                     .samples = samples};
        for (uint32_t i = 0; i < k.n_samples; i++)
            draw_sample(&rng, &samples[i]);
        int64_t a = fdl_rng_below(&rng, 300);
        int64_t b = a + 1 + fdl_rng_below(&rng, 400);
        double want[FDL_BUCKETS] = {0}, lacking = 0;
        for (int64_t t = a; t < b; t++)
            evaluate_at(&k, t, b, want, &lacking);
        memset(&ledger, 0, sizeof(ledger));
        fdl_ledger_add(&ledger, scratch, &k, a, b);
        assert_int_equal(bucket_sum(), b - a);
        assert_int_equal(ledger.wait_ns, b - a);
        assert_true((double)ledger.lacking_ns >= lacking - 1.01 &&
                    (double)ledger.lacking_ns <= lacking + 1.01);
        assert_true(ledger.cold_ns >= 0 &&
                    ledger.cold_ns <= ledger.ns[FDL_BUCKET_FETCH] + 1);
        for (int i = 0; i < FDL_BUCKETS; i++) {
            double off = (double)ledger.ns[i] - want[i];
            if (off < -1.01 || off > 1.01)
                print_error("round %d, %s: %lld, want %f\n", round,
                            fdl_bucket_name((enum fdl_bucket)i),
                            (long long)ledger.ns[i], want[i]);
            assert_true(off >= -1.01 && off <= 1.01);
        }
    }
}

/* Thirds and sevenths of nanoseconds over a thousand samples do not add up to
 * anything: the parts stay within a nanosecond of the exact ones. */
TEST_WITH(test_rounding_does_not_drift, setup, NULL)
{
    enum { N = 1000 };
    static struct fdl_sample_times many[N];
    struct fdl_ledger_scratch *big;
    double want[FDL_BUCKETS] = {0}, lacking = 0;
    assert_int_equal(fdl_ledger_scratch_create(N, &big), 0);
    for (int i = 0; i < N; i++) {
        many[i].read_start = 1 + i / 3;
        many[i].read_done = 2 + i;
        many[i].work_start = 3 + i * 2;
        many[i].work_done = 10 + i * 2 + i % 7;
    }
    struct fdl_ticket_times k = {
        .issued = 1, .workers = 7, .n_samples = N, .samples = many};
    for (int64_t t = 1; t < 3000; t++)
        evaluate_at(&k, t, 3000, want, &lacking);
    fdl_ledger_add(&ledger, big, &k, 1, 3000);
    assert_int_equal(bucket_sum(), 2999);
    for (int i = 0; i < FDL_BUCKETS; i++)
        assert_true((double)ledger.ns[i] > want[i] - 2 &&
                    (double)ledger.ns[i] < want[i] + 2);
    fdl_ledger_scratch_destroy(big);
}

/* ---- Scenarios ----------------------------------------------------------- */

TEST_WITH(test_one_slow_read, setup, NULL)
{
    for (uint32_t i = 0; i < 7; i++)
        stamp(i, 10, 20, 30, 40);
    stamp(7, 10, 0, 0, 0);
    struct fdl_ticket_times k = ticket_of(8, 4);
    fdl_ledger_add(&ledger, scratch, &k, 100, 1100);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_FETCH] = 1000}, 1);
}

TEST_WITH(test_last_sample_is_decoded, setup, NULL)
{
    for (uint32_t i = 0; i < 7; i++)
        stamp(i, 10, 20, 30, 40);
    stamp(7, 10, 20, 90, 1100);
    struct fdl_ticket_times k = ticket_of(8, 4);
    fdl_ledger_add(&ledger, scratch, &k, 100, 1100);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_PREP] = 1000}, 1);
}

TEST_WITH(test_one_worker_of_two, setup, NULL)
{
    stamp(0, 10, 20, 30, 0); /* decoded                       */
    stamp(1, 10, 20, 0, 0);  /* could be, by the other worker */
    struct fdl_ticket_times k = ticket_of(2, 2);
    fdl_ledger_add(&ledger, scratch, &k, 100, 1100);
    expect(
        (int64_t[FDL_BUCKETS]){
            [FDL_BUCKET_PREP] = 500, [FDL_BUCKET_WORKER_WAIT] = 500},
        1);
    assert_int_equal(ledger.lacking_ns, 0);
}

/* Of 4 workers 1 decodes; of the 3 others 1 has bytes, 1 waits for a read and 1
 * for the I/O depth. */
TEST_WITH(test_order_of_the_rest, setup, NULL)
{
    stamp(0, 10, 20, 30, 0);
    stamp(1, 10, 20, 0, 0);
    stamp(2, 10, 0, 0, 0);
    struct fdl_ticket_times k = ticket_of(8, 4);
    fdl_ledger_add(&ledger, scratch, &k, 100, 500);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_PREP] = 100,
                                  [FDL_BUCKET_WORKER_WAIT] = 100,
                                  [FDL_BUCKET_FETCH] = 100,
                                  [FDL_BUCKET_FETCH_QUEUE] = 100},
           1);
    assert_int_equal(ledger.lacking_ns, 100);
}

/* Of two reads the one that is sent later is from storage. */
TEST_WITH(test_cold_reads, setup, NULL)
{
    stamp(0, 200, 0, 0, 0);
    stamp(1, 10, 300, 0, 0);
    samples[0].cold = true;
    struct fdl_ticket_times k = ticket_of(2, 2);
    fdl_ledger_add(&ledger, scratch, &k, 100, 500);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_FETCH_QUEUE] = 50,
                                  [FDL_BUCKET_FETCH] = 250,
                                  [FDL_BUCKET_WORKER_WAIT] = 100},
           1);
    assert_int_equal(ledger.cold_ns, 50 + 100);
}

TEST_WITH(test_a_ticket_from_end_to_end, setup, NULL)
{
    stamp(0, 200, 300, 400, 500);
    struct fdl_ticket_times k = ticket_of(1, 4);
    k.issued = 150;
    k.slots_held = true;
    k.transfer_start = 520;
    k.transfer_done = 600;
    fdl_ledger_add(&ledger, scratch, &k, 100, 630);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_SLOT] = 50,
                                  [FDL_BUCKET_FETCH_QUEUE] = 50,
                                  [FDL_BUCKET_FETCH] = 100,
                                  [FDL_BUCKET_WORKER_WAIT] = 100,
                                  [FDL_BUCKET_PREP] = 100,
                                  [FDL_BUCKET_TRANSFER_QUEUE] = 20,
                                  [FDL_BUCKET_TRANSFER] = 80,
                                  [FDL_BUCKET_WAKE] = 30},
           1);
}

TEST_WITH(test_not_issued, setup, NULL)
{
    stamp(0, 10, 20, 30, 40);
    struct fdl_ticket_times k = ticket_of(1, 1);
    k.issued = 0;
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    k.issued = 200; /* b itself is too late */
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    k.issued = 5000;
    k.slots_held = true;
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    expect(
        (int64_t[FDL_BUCKETS]){
            [FDL_BUCKET_NOT_ISSUED] = 200, [FDL_BUCKET_SLOT] = 100},
        3);
}

TEST_WITH(test_stamps_beyond_b, setup, NULL)
{
    stamp(0, 10, 250, 260, 270);
    struct fdl_ticket_times k = ticket_of(1, 1);
    k.transfer_start = 280;
    k.transfer_done = 290;
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_FETCH] = 100}, 1);
}

TEST_WITH(test_all_done_before, setup, NULL)
{
    stamp(0, 10, 20, 30, 40);
    struct fdl_ticket_times k = ticket_of(1, 1);
    k.transfer_start = 50;
    k.transfer_done = 60;
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_WAKE] = 100}, 1);
}

/* Read from memory: nobody stamps reads. */
TEST_WITH(test_missing_steps_are_implied, setup, NULL)
{
    stamp(0, 0, 0, 150, 180);
    struct fdl_ticket_times k = ticket_of(1, 1);
    k.transfer_done = 190;
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_FETCH_QUEUE] = 50,
                                  [FDL_BUCKET_PREP] = 30,
                                  [FDL_BUCKET_TRANSFER_QUEUE] = 10,
                                  [FDL_BUCKET_WAKE] = 10},
           1);
}

TEST_WITH(test_more_at_work_than_workers, setup, NULL)
{
    for (uint32_t i = 0; i < 4; i++)
        stamp(i, 10, 20, 30, 0);
    stamp(4, 10, 0, 0, 0);
    struct fdl_ticket_times k = ticket_of(5, 2);
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_PREP] = 100}, 1);
}

TEST_WITH(test_no_wait, setup, NULL)
{
    stamp(0, 10, 20, 30, 40);
    struct fdl_ticket_times k = ticket_of(1, 1);
    fdl_ledger_add(&ledger, scratch, &k, 100, 100);
    fdl_ledger_add(&ledger, scratch, &k, 200, 100);
    expect((int64_t[FDL_BUCKETS]){0}, 0);
}

TEST_WITH(test_no_samples, setup, NULL)
{
    struct fdl_ticket_times k = {.issued = 150, .workers = 0};
    k.transfer_start = 160;
    fdl_ledger_add(&ledger, scratch, &k, 100, 200);
    expect((int64_t[FDL_BUCKETS]){[FDL_BUCKET_NOT_ISSUED] = 50,
                                  [FDL_BUCKET_TRANSFER_QUEUE] = 10,
                                  [FDL_BUCKET_TRANSFER] = 40},
           1);
}

TEST_WITH(test_very_long_wait, setup, NULL)
{
    const int64_t day = INT64_C(86400) * 1000000000;
    const int64_t b = 30 * 365 * day; /* thirty years */
    stamp(0, 1, 2, 3, 0);
    stamp(1, 1, 2, 0, 0);
    stamp(2, 1, 0, 0, 0);
    struct fdl_ticket_times k = ticket_of(3, 3);
    fdl_ledger_add(&ledger, scratch, &k, 100, b);
    assert_int_equal(bucket_sum(), b - 100);
    assert_true(ledger.ns[FDL_BUCKET_PREP] - (b - 100) / 3 <= 1);
    assert_true(ledger.ns[FDL_BUCKET_FETCH] - (b - 100) / 3 <= 1);
}

TEST(test_names)
{
    for (int i = 0; i < FDL_BUCKETS; i++) {
        const char *name = fdl_bucket_name((enum fdl_bucket)i);
        assert_true(strlen(name) > 0);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, fdl_bucket_name((enum fdl_bucket)k));
    }
    assert_string_equal(fdl_bucket_name(FDL_BUCKET_NOT_ISSUED), "not_issued");
    assert_string_equal(fdl_bucket_name(FDL_BUCKET_PREP), "prep");
    assert_string_equal(fdl_bucket_name(FDL_BUCKET_WAKE), "wake");
    assert_string_equal(fdl_bucket_name(FDL_BUCKETS), "unknown");
}

TEST_MAIN("ledger")

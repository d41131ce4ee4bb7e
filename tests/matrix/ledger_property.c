/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a real loader against what was really done to it.
 *
 * First where the answer is known in closed form: a single cause, of which the
 * delay's maker says how long it slept. Then twenty random pipelines against
 * the second set of books (ledger_log.h).
 *
 * The clock stands still while anybody works (still_clock.h), and all sleeps
 * are multiples of the instants at which the second books look. So nothing but
 * what sleeps on demand takes time, and both books must say the same, whatever
 * else the machine does: but for a few ns, by which the ledger rounds each part
 * of a wait.
 */
#include "dice.h"
#include "fixture.h"
#include "ledger_log.h"
#include "loader/loader.h"
#include "nap.h"
#include "slow_bus.h"
#include "slow_reads.h"
#include "still_clock.h"

#include <feedline/custom_op.h>

#include <math.h>

#define ROUNDED   (10 * US) /* of a bucket, all waits together */
#define PIPELINES 20u
#define IMAGES    480u

#define LEAST_BATCH (8 * MS)

static struct fixture images;
static struct ledger_log books;

/* ---- A run -------------------------------------------------------------- */

struct pipeline {
    uint32_t workers, depth, batch_size, io_depth, batches;
    bool reads, bus;
    struct slow_reads storage;
    int64_t work_low_ns, work_high_ns; /* of a sample, drawn in between */
    int64_t step_ns;                   /* of the consumer, a batch */
    int64_t timeout_ns;                /* of next(); -1: none */
    struct slow_bus copies;
};

/* What its makers say that it took. */
struct truth {
    struct feedline_stats stats;
    struct feedline_wait_stats waits;
    double ns[FDL_BUCKETS]; /* of the ledger */
    double wait_ns;
    int64_t read_ns, work_ns, step_ns;
    int64_t wall_ns;
    struct slow_bus_slept bus;
    uint32_t timeouts; /* calls that gave no batch */
};

static struct {
    const struct pipeline *p;
    _Atomic int64_t slept_ns;
    uint64_t seed;
} work;

static int32_t work_run(const struct feedline_op_call *call)
{
    const struct pipeline *p = work.p;
    struct dice d = {work.seed + (uint64_t)call->sample_index};
    double ns =
        dice_between(&d, (double)p->work_low_ns, (double)p->work_high_ns);
    int64_t slept = nap((int64_t)ns / LOG_INSTANT_NS * LOG_INSTANT_NS);
    ledger_log_worked(call->sample_index);
    atomic_fetch_add(&work.slept_ns, slept);
    return FEEDLINE_OK;
}

static struct fdl_pipeline *make_steps(void)
{
    struct fdl_pipeline *p;
    struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "work", .run = work_run};
    assert_ok(fdl_pipeline_create("none", &p));
    assert_ok(fdl_pipeline_add(p, "resize", "width=8 height=8"));
    assert_ok(fdl_pipeline_register(p, &def));
    assert_ok(fdl_pipeline_add(p, "work", NULL));
    return p;
}

static feedline_dataset *make_dataset(const struct pipeline *p)
{
    static char text[IMAGES][96];
    const char *paths[IMAGES];
    uint32_t n = p->batches * p->batch_size;
    feedline_dataset *ds;
    assert_true(n <= IMAGES);
    if (!p->reads) {
        assert_ok(feedline_dataset_open_memory(
            (const void *const *)(const void *)images.data, images.sizes, NULL,
            n, &ds));
        return ds;
    }
    for (uint32_t i = 0; i < n; i++) {
        fixture_path(&images, i, text[i], sizeof(text[i]));
        paths[i] = text[i];
    }
    assert_ok(feedline_dataset_open_paths(paths, NULL, n, &ds));
    return ds;
}

static feedline_loader *make_loader(const struct pipeline *p)
{
    char text[256];
    struct fdl_options options;
    struct fdl_backend_config config = {.script = &p->copies};
    feedline_loader *l;
    snprintf(text, sizeof(text),
             "dtype=u8 epochs=1 reader=%s workers=%u depth=%u batch_size=%u "
             "io_depth=%u live=false",
             p->reads ? "pread" : "memory", p->workers, p->depth, p->batch_size,
             p->io_depth);
    assert_ok(fdl_options_init(&options, "loader", fdl_loader_options,
                               FDL_LOADER_OPTIONS));
    assert_ok(fdl_options_set_args(&options, text));
    feedline_dataset *ds = make_dataset(p);
    struct fdl_pipeline *steps = make_steps();
    assert_ok(fdl_loader_create(&options, ds, steps,
                                p->bus ? &slow_bus_ops : &fdl_backend_host,
                                &config, &l));
    fdl_pipeline_destroy(steps);
    feedline_dataset_close(ds);
    fdl_options_fini(&options);
    return l;
}

static void consume(feedline_loader *l, const struct pipeline *p,
                    struct truth *t)
{
    for (uint32_t i = 0; i < p->batches;) {
        feedline_batch *b;
        int64_t before = nap_now();
        int32_t status = feedline_loader_next(l, p->timeout_ns, &b);
        assert_ok(status);
        ledger_log_wait(before, nap_now(), i);
        if (status == FEEDLINE_TIMEOUT) {
            t->timeouts++;
            continue;
        }
        assert_int_equal(status, FEEDLINE_OK);
        feedline_batch_release(b);
        if (++i < p->batches)
            t->step_ns += nap(p->step_ns);
    }
}

static void gather(feedline_loader *l, struct truth *t)
{
    t->stats.struct_size = sizeof(t->stats);
    t->waits.struct_size = sizeof(t->waits);
    assert_ok(feedline_loader_get_stats(l, &t->stats));
    assert_ok(feedline_loader_get_wait_stats(l, &t->waits));
    const uint64_t ns[FDL_BUCKETS] = {t->waits.not_issued_ns,
                                      t->waits.slot_ns,
                                      t->waits.fetch_queue_ns,
                                      t->waits.fetch_ns,
                                      t->waits.worker_wait_ns,
                                      t->waits.prep_ns,
                                      t->waits.transfer_queue_ns,
                                      t->waits.transfer_ns,
                                      t->waits.wake_ns};
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        t->ns[i] = (double)ns[i];
    t->wait_ns = (double)t->stats.wait_ns;
    t->work_ns = atomic_load(&work.slept_ns);
    slow_bus_slept(&t->bus);
}

static void run(const struct pipeline *p, uint64_t seed, struct truth *t)
{
    memset(t, 0, sizeof(*t));
    memset(&books, 0, sizeof(books));
    books.batch_size = p->batch_size;
    books.workers = p->workers;
    books.n_samples = p->batches * p->batch_size;
    books.reads = p->reads;
    books.bus = p->bus;
    work.p = p;
    work.seed = seed;
    atomic_store(&work.slept_ns, 0);
    slow_bus_forget();
    slow_reads_set(&p->storage);
    int64_t read_before = slow_reads_slept_ns();
    SCOPED_LOADER l = make_loader(p);
    ledger_log_use(&books);
    assert_ok(feedline_loader_start(l, 0));
    int64_t begin = nap_now();
    consume(l, p, t);
    t->wall_ns = nap_now() - begin;
    gather(l, t);
    t->read_ns = slow_reads_slept_ns() - read_before;
    ledger_log_use(NULL);
}

/* ---- Judging ------------------------------------------------------------ */

static void check_bucket(enum fdl_bucket bucket, double got, double want)
{
    if (fabs(got - want) > (double)ROUNDED)
        fail_msg("%s is %.3f ms, and should be %.3f ms",
                 fdl_bucket_name(bucket), got / 1e6, want / 1e6);
}

static void print_ns(const double got[FDL_BUCKETS],
                     const double want[FDL_BUCKETS])
{
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        if (got[i] >= 1e5 || want[i] >= 1e5)
            printf("    %-14s %9.3f ms, should be %9.3f ms\n",
                   fdl_bucket_name((enum fdl_bucket)i), got[i] / 1e6,
                   want[i] / 1e6);
}

/* A piece of a wait that timed out before its batch was issued knows nobody who
 * held the slots, so there the two causes count as one. */
static void merge_slot(const struct pipeline *p, double ns[FDL_BUCKETS])
{
    if (p->timeout_ns < 0)
        return;
    ns[FDL_BUCKET_SLOT] += ns[FDL_BUCKET_NOT_ISSUED];
    ns[FDL_BUCKET_NOT_ISSUED] = 0;
}

/* Against the second books. */
static void check_buckets(const struct pipeline *p, const struct truth *t)
{
    double got[FDL_BUCKETS], want[FDL_BUCKETS];
    memcpy(got, t->ns, sizeof(got));
    ledger_log_attribute(&books, want);
    merge_slot(p, got);
    merge_slot(p, want);
    print_ns(got, want);
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        check_bucket((enum fdl_bucket)i, got[i], want[i]);
}

static void check_sums(const struct pipeline *p, const struct truth *t)
{
    const struct feedline_stats *s = &t->stats;
    double sum = 0;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        sum += t->ns[i];
    assert_true(sum == t->wait_ns); /* whole numbers below 2^53 */
    assert_int_equal(t->waits.residual_ns, 0);
    assert_int_equal(s->wall_ns, s->wait_ns + s->user_ns + s->api_ns);
    assert_int_equal(s->batches, p->batches);
    assert_int_equal(s->wall_ns, t->wall_ns);
    assert_int_equal(s->user_ns, t->step_ns);
}

/* ---- Closed forms ------------------------------------------------------- */

/* One sample a batch, one batch ahead, one of everything. */
static const struct pipeline plain = {.workers = 1,
                                      .depth = 1,
                                      .batch_size = 1,
                                      .io_depth = 1,
                                      .batches = 30,
                                      .timeout_ns = -1};

/* That bucket, and all by the second books. */
static void expect(const struct pipeline *p, const struct truth *t,
                   enum fdl_bucket bucket, int64_t ns)
{
    check_buckets(p, t);
    check_sums(p, t);
    check_bucket(bucket, t->ns[bucket], (double)ns);
}

static void setup(void)
{
    fixture_create(&images, IMAGES);
    still_clock_begin();
}

static void teardown(void)
{
    still_clock_end();
    fixture_remove(&images);
}

TEST_WITH(prep_is_what_the_worker_slept, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.work_low_ns = 10 * MS;
    p.work_high_ns = 40 * MS;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_PREP, t.work_ns);
}

/* The next batch is made while the consumer is at its own work. */
TEST_WITH(work_behind_the_consumer_is_no_wait, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.work_low_ns = p.work_high_ns = 40 * MS;
    p.step_ns = 15 * MS;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_PREP, t.work_ns - t.step_ns);
}

TEST_WITH(fetch_is_what_the_read_slept, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.reads = true;
    p.storage.latency_ns = 30 * MS;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_FETCH, t.read_ns);
}

/* With m samples missing m workers could be busy, and one read is on its way:
 * 1 / m of the instant is the read's, the rest is before the others are sent.
 * For four samples, (1/4 + 1/3 + 1/2 + 1) / 4 = 25/48 of all. */
TEST_WITH(one_read_at_a_time_is_a_queue, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.reads = true;
    p.workers = p.batch_size = 4;
    p.batches = 10;
    p.storage.latency_ns = 25 * MS;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_FETCH, t.read_ns * 25 / 48);
    expect(&p, &t, FDL_BUCKET_FETCH_QUEUE, t.read_ns * 23 / 48);
}

/* Two samples that are there, and one worker: it is always busy with them. */
TEST_WITH(a_busy_worker_is_no_worker_wait, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.batch_size = 2;
    p.batches = 20;
    p.work_low_ns = p.work_high_ns = 20 * MS;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_PREP, t.work_ns);
}

TEST_WITH(transfer_is_what_the_copy_slept, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.bus = true;
    p.copies = (struct slow_bus){.queue_ns = 20 * MS, .copy_ns = 30 * MS};
    p.batches = 20;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_TRANSFER, t.bus.copy_ns);
    expect(&p, &t, FDL_BUCKET_TRANSFER_QUEUE, t.bus.queue_ns);
}

/* A call that ends by its timeout has seen a part of the copy; together they
 * are one wait. */
TEST_WITH(a_copy_outlasts_many_calls, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.bus = true;
    p.copies = (struct slow_bus){.queue_ns = 20 * MS, .copy_ns = 30 * MS};
    p.batches = 20;
    p.timeout_ns = 4 * MS;
    run(&p, test_seed(), &t);
    assert_true(t.timeouts > p.batches);
    assert_in_range(t.waits.waits, 1, p.batches);
    expect(&p, &t, FDL_BUCKET_TRANSFER, t.bus.copy_ns);
    expect(&p, &t, FDL_BUCKET_TRANSFER_QUEUE, t.bus.queue_ns);
}

/* Three slots that each stay away for 90 ms: of 12 batches, 3 are there at
 * once, and then it takes 90 ms until the next 3 can begin. */
TEST_WITH(slots_that_stay_away, setup, teardown)
{
    struct pipeline p = plain;
    struct truth t;
    p.bus = true;
    p.copies.leave_ns = 90 * MS;
    p.batches = 12;
    run(&p, test_seed(), &t);
    expect(&p, &t, FDL_BUCKET_SLOT, 3 * 90 * MS);
}

/* ---- Random pipelines --------------------------------------------------- */

static int64_t draw_ms(struct dice *d, uint32_t below, uint32_t least,
                       uint32_t most)
{
    return dice_below(d, below)
               ? (int64_t)(least * MS) + dice_below(d, most - least) * MS
               : 0;
}

/* What a batch takes, if everything goes on at once. */
static int64_t batch_ns(const struct pipeline *p)
{
    int64_t prep = (p->work_low_ns + p->work_high_ns) / 2 * p->batch_size /
                   FDL_MIN(p->workers, p->batch_size);
    int64_t read = p->storage.latency_ns * p->batch_size /
                   FDL_MIN(p->io_depth, p->batch_size);
    int64_t copy = p->bus ? p->copies.queue_ns + p->copies.copy_ns : 0;
    return FDL_MAX(FDL_MAX(prep, read), FDL_MAX(copy, p->step_ns));
}

/* Of about 0.7 s, and no more samples than there are. */
static uint32_t count_batches(const struct pipeline *p)
{
    int64_t n = 700 * MS / FDL_MAX(batch_ns(p), MS);
    return (uint32_t)FDL_MAX(FDL_MIN(n, IMAGES / p->batch_size), 6);
}

static void draw_pipeline(struct dice *d, struct pipeline *p)
{
    *p = (struct pipeline){.workers = 1 + dice_below(d, 4),
                           .depth = 1 + dice_below(d, 4),
                           .batch_size = 1 + dice_below(d, 8),
                           .io_depth = 1 + dice_below(d, 4),
                           .reads = dice_below(d, 3) > 0,
                           .bus = dice_below(d, 3) == 0,
                           .timeout_ns = -1};
    if (p->reads)
        p->storage.latency_ns = draw_ms(d, 4, 3, 20);
    p->work_low_ns = draw_ms(d, 6, 3, 12);
    p->work_high_ns = p->work_low_ns + draw_ms(d, 2, 2, 25);
    p->step_ns = draw_ms(d, 3, 3, 20);
    if (p->bus)
        p->copies = (struct slow_bus){
            draw_ms(d, 2, 3, 15), draw_ms(d, 4, 5, 25), draw_ms(d, 2, 20, 90)};
    if (dice_below(d, 4) == 0)
        p->timeout_ns = 7 * MS;
    if (batch_ns(p) < LEAST_BATCH) { /* nothing to speak of was drawn */
        p->work_low_ns += LEAST_BATCH;
        p->work_high_ns += LEAST_BATCH;
    }
    p->batches = count_batches(p);
}

static void check_random(struct dice *d, uint32_t number)
{
    struct pipeline p;
    struct truth t;
    draw_pipeline(d, &p);
    printf(
        "%2u: %u batches of %u, %u workers, depth %u, %s %lld ms at %u, work "
        "%lld to %lld ms, step %lld ms, bus %lld %lld %lld ms, timeout %lld "
        "ms\n",
        number, p.batches, p.batch_size, p.workers, p.depth,
        p.reads ? "read" : "memory", (long long)(p.storage.latency_ns / MS),
        p.io_depth, (long long)(p.work_low_ns / MS),
        (long long)(p.work_high_ns / MS), (long long)(p.step_ns / MS),
        (long long)(p.copies.queue_ns / MS), (long long)(p.copies.copy_ns / MS),
        (long long)(p.copies.leave_ns / MS), (long long)(p.timeout_ns / MS));
    uint64_t seed = dice_u64(d);
    run(&p, seed, &t);
    check_buckets(&p, &t);
    check_sums(&p, &t);
}

TEST_WITH(random_pipelines, setup, teardown)
{
    struct dice d = {test_seed()};
    for (uint32_t i = 0; i < PIPELINES; i++)
        check_random(&d, i);
}

TEST_MAIN("ledger_property")

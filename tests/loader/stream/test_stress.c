/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of public calls against a model that knows only a place in
 * the stream. After each call the model says what the next batch must be, and
 * each sample of it is compared with what a plain run delivered there, again
 * when a batch that was held is given back.
 *
 * A second thread makes the calls that any thread may make (errands.h).
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "errands.h"
#include "tests/loader/fixture.h"

#define N      37 /* not a multiple of the batch size */
#define BATCH  8
#define EPOCHS 3
#define HELD   3
#define STEPS  400 /* of one walk */
#define WALKS  4

static struct fixture images;
static uint64_t expected[EPOCHS][N]; /* hash of the sample at each place */

/* ---- The model ---------------------------------------------------------- */

struct place {
    uint64_t epoch, position;
};

struct lease {
    feedline_batch *batch;
    struct place place;
};

struct walk {
    feedline_loader *loader;
    struct errands errands;
    struct fdl_rng random;
    struct place at;
    bool end_due; /* at is past the last sample, END is to come */
    bool stopped;
    uint32_t interrupts; /* that were asked for and not seen */
    uint32_t delivered;
    struct lease held[HELD];
    uint32_t n_held;
    struct place saved;
    char state[256]; /* of saved; empty: none */
};

static uint32_t draw(struct walk *w, uint32_t below)
{
    return fdl_rng_below(&w->random, below);
}

static void move_to(struct walk *w, uint64_t epoch, uint64_t position)
{
    w->at = (struct place){epoch, position};
    w->end_due = w->stopped = false;
}

/* Where the stream stands, as the library counts: an end that is due has
 * been passed. */
static struct place stands_at(const struct walk *w)
{
    return w->end_due ? (struct place){w->at.epoch + 1, 0} : w->at;
}

static uint32_t check_batch(const feedline_batch *b, struct place at)
{
    struct feedline_batch_info info = fixture_info(b);
    assert_int_equal(info.epoch, at.epoch);
    assert_int_equal(info.count,
                     N - at.position < BATCH ? N - at.position : BATCH);
    for (uint32_t i = 0; i < info.count; i++)
        assert_true(fixture_hash_sample(FIXTURE_HASH, &info, i) ==
                    expected[at.epoch][at.position + i]);
    return info.count;
}

/* ---- Steps -------------------------------------------------------------- */

static void release_one(struct walk *w, uint32_t i)
{
    struct lease lease = w->held[i];
    w->held[i] = w->held[--w->n_held];
    check_batch(lease.batch, lease.place);
    if (draw(w, 2))
        errands_send(&w->errands, ERRAND_RELEASE, 0, lease.batch);
    else
        feedline_batch_release(lease.batch);
}

static void release_all(struct walk *w)
{
    while (w->n_held > 0)
        release_one(w, 0);
}

static void take_batch(struct walk *w, feedline_batch *b)
{
    assert_false(w->end_due || w->stopped);
    uint32_t count = check_batch(b, w->at);
    if (w->n_held == HELD)
        release_one(w, draw(w, HELD));
    w->held[w->n_held++] = (struct lease){b, w->at};
    w->at.position += count;
    w->end_due = w->at.position == N;
    w->delivered++;
    if (draw(w, 3))
        release_one(w, w->n_held - 1);
}

static void step_next(struct walk *w)
{
    static const int64_t timeouts[] = {0, 1000, 1000000, -1, -1, -1};
    int64_t timeout = timeouts[draw(w, FDL_COUNT_OF(timeouts))];
    feedline_batch *b;
    int32_t status = feedline_loader_next(w->loader, timeout, &b);
    assert_true((status == FEEDLINE_OK) == (b != NULL));
    switch (status) {
    case FEEDLINE_OK:
        take_batch(w, b);
        break;
    case FEEDLINE_END:
        assert_true(w->end_due && !w->stopped);
        w->at = stands_at(w);
        w->end_due = false;
        break;
    case FEEDLINE_TIMEOUT:
        assert_true(timeout >= 0 && !w->end_due && !w->stopped);
        break;
    case FEEDLINE_INTERRUPTED:
        assert_true(w->interrupts > 0);
        w->interrupts--;
        break;
    case FEEDLINE_ESTATE: /* stopped, or this walk holds all there are */
        assert_true(w->stopped || (w->n_held > 0 && !w->end_due));
        release_all(w);
        break;
    default:
        fail_msg("next: %s: %s", feedline_status_name(status),
                 feedline_last_error());
    }
}

static void step_errand(struct walk *w)
{
    enum errand errand = (enum errand)draw(w, ERRANDS);
    w->interrupts += errand == ERRAND_INTERRUPT;
    errands_send(&w->errands, errand, 1 + draw(w, 6), NULL);
}

static void step_start(struct walk *w)
{
    struct place here = stands_at(w);
    uint64_t epoch = draw(w, 2) ? here.epoch : draw(w, EPOCHS - 1);
    assert_ok(feedline_loader_start(w->loader, epoch));
    move_to(w, epoch, 0);
}

static void step_position(struct walk *w)
{
    struct place to = {draw(w, EPOCHS - 1), draw(w, N)};
    assert_ok(feedline_loader_set_position(w->loader, to.epoch, to.position));
    move_to(w, to.epoch, to.position);
}

static void step_save(struct walk *w)
{
    uint64_t needed;
    assert_ok(
        feedline_loader_save(w->loader, w->state, sizeof(w->state), &needed));
    w->saved = stands_at(w);
}

static void step_restore(struct walk *w)
{
    if (!w->state[0])
        return;
    assert_ok(feedline_loader_restore(w->loader, w->state));
    move_to(w, w->saved.epoch, w->saved.position);
}

static void step_stop(struct walk *w)
{
    assert_ok(feedline_loader_stop(w->loader));
    w->stopped = true;
}

static void step(struct walk *w)
{
    uint32_t what = draw(w, 100);
    if (what < 62)
        step_next(w);
    else if (what < 82)
        step_errand(w);
    else if (what < 87 && w->n_held > 0)
        release_one(w, draw(w, w->n_held));
    else if (what < 91)
        step_start(w);
    else if (what < 93)
        step_position(w);
    else if (what < 96)
        step_save(w);
    else if (what < 98)
        step_restore(w);
    else if (what < 99)
        step_stop(w);
    if (stands_at(w).epoch >= EPOCHS) { /* beyond what is known */
        assert_ok(feedline_loader_start(w->loader, 0));
        move_to(w, 0, 0);
    }
    struct place here = stands_at(w), told;
    assert_ok(
        feedline_loader_get_position(w->loader, &told.epoch, &told.position));
    assert_int_equal(told.epoch, here.epoch);
    assert_int_equal(told.position, here.position);
}

/* ---- Cases -------------------------------------------------------------- */

static void setup(void)
{
    fixture_create(&images, N);
}

/* Samples of a folder come in another order than those in memory. */
static void learn(feedline_dataset *ds, const char *stream)
{
    char options[128];
    snprintf(options, sizeof(options), "%s workers=1 depth=1", stream);
    SCOPED_LOADER l = fixture_open(ds, options);
    struct place at = {0, 0};
    while (at.epoch < EPOCHS) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END) {
            assert_int_equal(at.position, N);
            at = (struct place){at.epoch + 1, 0};
            continue;
        }
        struct feedline_batch_info info = fixture_info(b);
        for (uint32_t i = 0; i < info.count; i++)
            expected[at.epoch][at.position++] =
                fixture_hash_sample(FIXTURE_HASH, &info, i);
        feedline_batch_release(b);
    }
}

static void teardown(void)
{
    fixture_remove(&images);
}

static void walk(feedline_dataset *ds, const char *options, uint64_t seed)
{
    struct walk w = {.loader = fixture_open(ds, options)};
    fdl_rng_init(&w.random, seed, 0, 0, 0);
    errands_start(&w.errands, w.loader);
    for (int i = 0; i < STEPS; i++)
        step(&w);
    release_all(&w);
    errands_stop(&w.errands);
    feedline_loader_destroy(w.loader);
    assert_true(w.delivered > STEPS / 10);
}

/* stream: the options that the pixels depend on; how: the others. */
static void walks(feedline_dataset *ds, const char *stream, const char *how)
{
    uint64_t seed = test_seed();
    char options[128];
    snprintf(options, sizeof(options), "%s %s", stream, how);
    learn(ds, stream);
    for (uint64_t i = 0; i < WALKS; i++)
        walk(ds, options, seed + i);
}

TEST_WITH(random_calls_on_memory, setup, teardown)
{
    walks(images.ds, "shuffle=true", "workers=3");
}

TEST_WITH(random_calls_on_files, setup, teardown)
{
    walks(images.files, "shuffle=true", "workers=3 reader=pread");
}

TEST_WITH(random_calls_on_kept_files, setup, teardown)
{
    walks(images.files, "shuffle=true", "workers=2 reader=memory");
}

/* io_uring where it can be used, or what stands in for it. */
TEST_WITH(random_calls_on_any_reader, setup, teardown)
{
    walks(images.files, "shuffle=true", "workers=2 depth=1");
}

TEST_WITH(random_calls_for_images_of_any_size, setup, teardown)
{
    walks(images.files, "shuffle=true max_sample_bytes=20k", "workers=3");
}

TEST_MAIN("stress")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random walks through an order that is given: batches of any size are appended
 * ahead of next() or one by one, epochs are joined, left or begun after a stop,
 * batches are kept and come back in any order. A model that knows only what was
 * appended says what each call must answer, and every sample is compared with
 * what the library's own order makes of it, when it comes and when it goes.
 *
 * A second thread does what any thread may: turns knobs, reads statistics,
 * draws, and what hangs, and gives batches back. It sleeps until it has
 * something to do.
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "order_rig.h"

#include <feedline/order.h>
#include <feedline/tuning.h>

#include <pthread.h>
#include <semaphore.h>

#define STEPS   600u
#define WALKS   3u
#define WAITING 40u /* more than this model appends at once */
#define HELD    24u

static struct order_rig rig;

/* ---- The second thread -------------------------------------------------- */

enum errand {
    ERRAND_WORKERS,
    ERRAND_DEPTH,
    ERRAND_IO_DEPTH,
    ERRAND_STATS,
    ERRAND_VERDICT,
    ERRAND_STUCK,
    ERRAND_DRAW,
    ERRANDS,
    ERRAND_RELEASE = ERRANDS,
    ERRAND_QUIT
};

struct helper {
    pthread_t thread;
    feedline_loader *loader;
    sem_t room, work; /* one errand at a time, which these hand over: */
    enum errand errand;
    int64_t value;
    feedline_batch *batch;
    int32_t failed; /* first error; for after the join */
};

static int32_t run_errand(struct helper *h)
{
    static const char *const knobs[] = {[ERRAND_WORKERS] = "workers",
                                        [ERRAND_DEPTH] = "depth",
                                        [ERRAND_IO_DEPTH] = "io_depth"};
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    struct feedline_verdict verdict = {.struct_size = sizeof(verdict)};
    struct feedline_stuck_worker stuck = {.struct_size = sizeof(stuck)};
    struct feedline_draw draw = {.struct_size = sizeof(draw)};
    switch (h->errand) {
    case ERRAND_STATS:
        return feedline_loader_get_stats(h->loader, &stats);
    case ERRAND_VERDICT:
        return feedline_loader_get_verdict(h->loader, &verdict);
    case ERRAND_STUCK:
        return feedline_loader_get_stuck(h->loader, 0, &stuck);
    case ERRAND_DRAW:
        return feedline_loader_get_draw(h->loader, 0, 1, 99, 0, 40, 30, &draw);
    case ERRAND_RELEASE:
        feedline_batch_release(h->batch);
        return FEEDLINE_OK;
    default:
        return feedline_loader_set_int(h->loader, knobs[h->errand], h->value);
    }
}

static void *help(void *arg)
{
    struct helper *h = arg;
    for (;;) {
        while (sem_wait(&h->work) != 0)
            ;
        if (h->errand == ERRAND_QUIT)
            return NULL;
        int32_t status = run_errand(h);
        if (status < 0 && !h->failed)
            h->failed = status;
        sem_post(&h->room);
    }
}

/* Waits for the errand before. */
static void send(struct helper *h, enum errand errand, int64_t value,
                 feedline_batch *batch)
{
    while (sem_wait(&h->room) != 0)
        ;
    h->errand = errand;
    h->value = value;
    h->batch = batch;
    sem_post(&h->work);
}

/* ---- The model ---------------------------------------------------------- */

struct lease {
    feedline_batch *batch;
    struct order_batch given;
    uint64_t seed, epoch;
};

struct walk {
    feedline_loader *loader;
    struct helper helper;
    struct fdl_rng random;
    bool begun, ended;
    uint64_t seed, epoch, position;
    struct order_batch waiting[WAITING];
    uint32_t n_waiting;
    struct lease held[HELD];
    uint32_t n_held, most_held; /* that it may keep */
    uint32_t delivered, joined;
};

static uint32_t draw(struct walk *w, uint32_t below)
{
    return fdl_rng_below(&w->random, below);
}

static void release_one(struct walk *w, uint32_t i)
{
    struct lease lease = w->held[i];
    w->held[i] = w->held[--w->n_held];
    order_check(&rig, lease.batch, &lease.given, lease.seed, lease.epoch);
    if (draw(w, 2))
        send(&w->helper, ERRAND_RELEASE, 0, lease.batch);
    else
        feedline_batch_release(lease.batch);
}

static void take(struct walk *w, feedline_batch *b)
{
    assert_true(w->begun && w->n_waiting > 0);
    struct order_batch given = w->waiting[0];
    order_check(&rig, b, &given, w->seed, w->epoch);
    memmove(w->waiting, w->waiting + 1, --w->n_waiting * sizeof(given));
    w->position += given.count;
    w->delivered++;
    if (w->n_held == w->most_held)
        release_one(w, draw(w, w->n_held));
    w->held[w->n_held++] = (struct lease){b, given, w->seed, w->epoch};
    if (draw(w, 3) == 0)
        release_one(w, w->n_held - 1);
}

/* ---- Steps -------------------------------------------------------------- */

static void step_next(struct walk *w)
{
    static const int64_t timeouts[] = {0, 1000, 1000000, -1, -1, -1};
    int64_t timeout = timeouts[draw(w, FDL_COUNT_OF(timeouts))];
    feedline_batch *b;
    int32_t status = feedline_loader_next(w->loader, timeout, &b);
    assert_true((status == FEEDLINE_OK) == (b != NULL));
    switch (status) {
    case FEEDLINE_OK:
        take(w, b);
        break;
    case FEEDLINE_TIMEOUT:
        assert_true(timeout >= 0 && w->n_waiting > 0);
        break;
    case FEEDLINE_END:
        assert_true(w->begun && w->ended && w->n_waiting == 0);
        break;
    case FEEDLINE_ESTATE: /* not begun, or nothing is there to wait for */
        assert_true(!w->begun || (!w->ended && w->n_waiting == 0));
        break;
    default:
        fail_msg("next: %s: %s", feedline_status_name(status),
                 feedline_last_error());
    }
}

static void step_append(struct walk *w)
{
    struct order_batch b = {.count = 1 + draw(w, ORDER_BATCH)};
    for (uint32_t i = 0; i < b.count; i++) {
        b.indices[i] = draw(w, ORDER_N);
        b.copies[i] = draw(w, 2) ? 0 : draw(w, ORDER_COPIES);
    }
    if (w->n_waiting == WAITING)
        return;
    int32_t status = order_append(w->loader, &b);
    if (w->begun && !w->ended) {
        assert_ok(status);
        w->waiting[w->n_waiting++] = b;
    } else {
        assert_int_equal(status, FEEDLINE_ESTATE);
    }
}

static void step_begin(struct walk *w)
{
    w->joined += w->begun && w->n_waiting == 0;
    w->seed = draw(w, ORDER_SEEDS);
    w->epoch = draw(w, ORDER_EPOCHS);
    w->position = draw(w, 100);
    assert_ok(feedline_loader_begin(w->loader, w->epoch, w->seed, w->position));
    w->begun = true;
    w->ended = false;
    w->n_waiting = 0;
}

static void step_end(struct walk *w)
{
    assert_int_equal(feedline_loader_end(w->loader),
                     w->begun ? FEEDLINE_OK : FEEDLINE_ESTATE);
    w->ended = w->begun;
}

static void step_stop(struct walk *w)
{
    assert_ok(feedline_loader_stop(w->loader));
    w->begun = w->ended = false;
    w->n_waiting = 0;
}

static void step(struct walk *w)
{
    uint32_t what = draw(w, 100);
    if (what < 44)
        step_next(w);
    else if (what < 76)
        step_append(w);
    else if (what < 90)
        send(&w->helper, (enum errand)draw(w, ERRANDS), 1 + draw(w, 6), NULL);
    else if (what < 94 && w->n_held > 0)
        release_one(w, draw(w, w->n_held));
    else if (what < 97)
        step_begin(w);
    else if (what < 99)
        step_end(w);
    else if (draw(w, 3) == 0)
        step_stop(w);
    if (!w->begun)
        return;
    uint64_t epoch, position;
    assert_ok(feedline_loader_get_position(w->loader, &epoch, &position));
    assert_int_equal(epoch, w->epoch);
    assert_int_equal(position, w->position);
}

/* ---- Cases -------------------------------------------------------------- */

static void walk(const char *options, uint32_t most_held, uint64_t seed)
{
    struct walk w = {.loader = order_loader(&rig, options),
                     .most_held = most_held};
    w.helper.loader = w.loader;
    fdl_rng_init(&w.random, seed, 0, 0, 0);
    assert_int_equal(sem_init(&w.helper.room, 0, 1), 0);
    assert_int_equal(sem_init(&w.helper.work, 0, 0), 0);
    assert_int_equal(pthread_create(&w.helper.thread, NULL, help, &w.helper),
                     0);
    for (uint32_t i = 0; i < STEPS; i++)
        step(&w);
    while (w.n_held > 0)
        release_one(&w, 0);
    send(&w.helper, ERRAND_QUIT, 0, NULL);
    pthread_join(w.helper.thread, NULL);
    assert_int_equal(w.helper.failed, FEEDLINE_OK);
    sem_destroy(&w.helper.room);
    sem_destroy(&w.helper.work);
    feedline_loader_destroy(w.loader);
    assert_true(w.delivered > STEPS / 40); /* on a slow machine, too */
    assert_true(w.joined > 0);
}

/* stream: the options that the pixels depend on; how: the others. A batch may
 * be on its way back when the next one is asked for: one is left in reserve. */
static void walks(bool folder, const char *stream, const char *how,
                  uint32_t most_held)
{
    uint64_t seed = test_seed();
    char options[192];
    snprintf(options, sizeof(options), "%s %s", stream, how);
    order_rig_open(&rig, folder, stream);
    for (uint64_t i = 0; i < WALKS; i++)
        walk(options, most_held, seed + i);
    order_rig_close(&rig);
}

static void on_memory(void **state)
{
    (void)state;
    walks(false, "", "workers=3", 1);
}

static void on_files(void **state)
{
    (void)state;
    walks(true, "", "workers=3 reader=pread", 1);
}

static void on_kept_files(void **state)
{
    (void)state;
    walks(true, "", "workers=2 reader=memory", 1);
}

static void on_a_ring(void **state)
{
    (void)state;
    walks(true, "dtype=f32 layout=nhwc", "workers=3 reader=auto", 1);
}

static void with_batches_kept(void **state)
{
    (void)state;
    walks(true, "", "workers=3 held=grow reader=pread", HELD);
}

static void with_batches_kept_by_a_tuner(void **state)
{
    (void)state;
    walks(false, "", "held=grow tuner=auto memory_budget=1m", HELD);
}

static void with_sizes_of_their_own(void **state)
{
    (void)state;
    walks(true, "max_sample_bytes=64k", "workers=3 held=grow", HELD);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(on_memory),
    cmocka_unit_test(on_files),
    cmocka_unit_test(on_kept_files),
    cmocka_unit_test(on_a_ring),
    cmocka_unit_test(with_batches_kept),
    cmocka_unit_test(with_batches_kept_by_a_tuner),
    cmocka_unit_test(with_sizes_of_their_own),
};

TEST_MAIN("order_walk", cases)

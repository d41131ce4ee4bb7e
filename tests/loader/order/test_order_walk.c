/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random walks through an order that is given: batches of any size are appended
 * ahead of next() or one by one, epochs are joined, left or begun after a stop,
 * batches are kept and come back in any order. A model that knows only what was
 * appended says what each call must answer, and every sample is compared with
 * what the library's own order makes of it, when it comes and when it goes.
 * Some are exported too, and a tensor may outlive its batch. Calls that must be
 * refused are made in between, and change nothing.
 *
 * A second thread does what any thread may (errands.h).
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "loader/api/dlpack.h"
#include "order_rig.h"
#include "tests/loader/stream/errands.h"

#include <feedline/exchange.h>
#include <feedline/order.h>

#define STEPS   600u
#define WALKS   3u
#define WAITING 40u /* more than this model appends at once */
#define HELD    24u

static struct order_rig rig;

/* ---- The model ---------------------------------------------------------- */

struct lease {
    feedline_batch *batch;
    struct fdl_dl_versioned *tensor; /* of its labels; NULL: none */
    struct order_batch given;
    uint64_t seed, epoch;
};

struct walk {
    feedline_loader *loader;
    struct errands errands;
    struct fdl_rng random;
    bool begun, ended;
    uint64_t seed, epoch, position;
    struct order_batch waiting[WAITING];
    uint32_t n_waiting;
    struct lease held[HELD];
    uint32_t n_held, most_held;             /* that it may keep */
    uint32_t delivered, joined, interrupts; /* the last: not seen yet */
};

static uint32_t draw(struct walk *w, uint32_t below)
{
    return fdl_rng_below(&w->random, below);
}

static void give_back(struct walk *w, feedline_batch *b)
{
    if (draw(w, 2))
        errands_send(&w->errands, ERRAND_RELEASE, 0, b);
    else
        feedline_batch_release(b);
}

static uint64_t sum_of(const struct fdl_dl_tensor *labels)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < labels->shape[0]; i++)
        sum = sum * 31 + (uint64_t)((const int64_t *)labels->data)[i];
    return sum;
}

/* The tensor first, or the batch: whatever is left is whole. */
static void release_one(struct walk *w, uint32_t i)
{
    struct lease lease = w->held[i];
    struct fdl_dl_versioned *tensor = lease.tensor;
    w->held[i] = w->held[--w->n_held];
    order_check(&rig, lease.batch, &lease.given, lease.seed, lease.epoch);
    bool outlives = tensor && draw(w, 2);
    if (tensor && !outlives)
        tensor->deleter(tensor);
    uint64_t sum = outlives ? sum_of(&tensor->tensor) : 0;
    give_back(w, lease.batch);
    if (outlives) {
        assert_true(sum_of(&tensor->tensor) == sum);
        tensor->deleter(tensor);
    }
}

static void *export_labels(feedline_batch *b)
{
    void *tensor;
    assert_ok(feedline_batch_export(b, FEEDLINE_LABELS,
                                    FEEDLINE_DLPACK_VERSIONED, &tensor));
    return tensor;
}

static void take(struct walk *w, feedline_batch *b)
{
    assert_true(w->begun && w->n_waiting > 0);
    struct lease lease = {b, NULL, w->waiting[0], w->seed, w->epoch};
    order_check(&rig, b, &lease.given, w->seed, w->epoch);
    memmove(w->waiting, w->waiting + 1, --w->n_waiting * sizeof(lease.given));
    w->position += lease.given.count;
    w->delivered++;
    if (draw(w, 3) == 0)
        lease.tensor = export_labels(b);
    if (w->n_held == w->most_held)
        release_one(w, draw(w, w->n_held));
    w->held[w->n_held++] = lease;
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
    case FEEDLINE_INTERRUPTED: /* as often as somebody wanted, at most */
        assert_true(w->interrupts > 0);
        w->interrupts--;
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

static void step_errand(struct walk *w)
{
    enum errand errand = (enum errand)draw(w, ERRANDS);
    w->interrupts += errand == ERRAND_INTERRUPT;
    errands_send(&w->errands, errand, 1 + draw(w, 6), NULL);
}

/* Refused, whatever state the loader is in, and without a trace. */
static void step_mistake(struct walk *w)
{
    static const uint64_t indices[ORDER_BATCH + 1] = {ORDER_N};
    static const uint32_t copies[ORDER_BATCH + 1] = {1u << 16};
    feedline_loader *l = w->loader;
    bool open = w->begun && !w->ended;
    int32_t refused = open ? FEEDLINE_ERANGE : FEEDLINE_ESTATE;
    uint64_t needed;
    switch (draw(w, 8)) {
    case 0:
        assert_int_equal(feedline_loader_append(l, indices, NULL, 1), refused);
        break;
    case 1:
        assert_int_equal(
            feedline_loader_append(l, indices + 1, NULL, ORDER_BATCH + 1),
            refused);
        break;
    case 2:
        assert_int_equal(feedline_loader_append(l, indices + 1, copies, 1),
                         refused);
        break;
    case 3:
        assert_int_equal(feedline_loader_append(l, indices, NULL, 0), refused);
        break;
    case 4:
        assert_int_equal(feedline_loader_begin(l, UINT64_C(1) << 62, 0, 0),
                         FEEDLINE_EINVAL);
        break;
    case 5:
        assert_int_equal(feedline_loader_start(l, w->epoch), FEEDLINE_ESTATE);
        break;
    case 6:
        assert_int_equal(feedline_loader_save(l, NULL, 0, &needed),
                         FEEDLINE_ESTATE);
        break;
    default:
        assert_int_equal(feedline_loader_set_position(l, 0, 0),
                         FEEDLINE_ESTATE);
    }
}

static void step(struct walk *w)
{
    uint32_t what = draw(w, 100);
    if (what < 44)
        step_next(w);
    else if (what < 76)
        step_append(w);
    else if (what < 88)
        step_errand(w);
    else if (what < 91)
        step_mistake(w);
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

static uint32_t delivered, joined; /* by all walks of a case */

static void walk(const char *options, uint32_t most_held, uint64_t seed)
{
    struct walk w = {.loader = order_loader(&rig, options),
                     .most_held = most_held};
    fdl_rng_init(&w.random, seed, 0, 0, 0);
    errands_start(&w.errands, w.loader);
    for (uint32_t i = 0; i < STEPS; i++)
        step(&w);
    while (w.n_held > 0)
        release_one(&w, 0);
    errands_stop(&w.errands);
    feedline_loader_destroy(w.loader);
    delivered += w.delivered;
    joined += w.joined;
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
    /* However slow the machine: every second next() waits for its batch. */
    assert_true(delivered > WALKS * STEPS / 40);
    assert_true(joined > 0);
}

TEST(on_memory)
{
    walks(false, "", "workers=3", 1);
}

TEST(on_files)
{
    walks(true, "", "workers=3 reader=pread", 1);
}

TEST(on_kept_files)
{
    walks(true, "", "workers=2 reader=memory", 1);
}

TEST(on_a_ring)
{
    walks(true, "dtype=f32 layout=nhwc", "workers=3 reader=auto", 1);
}

TEST(with_batches_kept)
{
    walks(true, "", "workers=3 held=grow reader=pread", HELD);
}

TEST(with_batches_kept_by_a_tuner)
{
    walks(false, "", "held=grow tuner=auto memory_budget=1m", HELD);
}

TEST(with_sizes_of_their_own)
{
    walks(true, "max_sample_bytes=64k", "workers=3 held=grow", HELD);
}

TEST_MAIN("order_walk")

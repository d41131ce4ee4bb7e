/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches made elsewhere: they come in their places among the loader's own,
 * whatever the order and the thread they are brought in and on; what a plan
 * says is what the loader's own order delivers; and what is refused.
 */
#include "base/compiler.h"
#include "tests/loader/order/order_rig.h"

#include <feedline/elsewhere.h>
#include <feedline/order.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 24u
#define EPOCH   1u

static struct order_rig rig;

static void setup(void)
{
    order_rig_open(&rig, true, "");
}

static void teardown(void)
{
    order_rig_close(&rig);
}

static struct order_batch nth(uint32_t i)
{
    return order_row(7 * i + 1, 3, 1 + i % ORDER_BATCH);
}

static bool is_elsewhere(uint32_t i, uint32_t every)
{
    return i % every == 0;
}

/* ---- Somebody else ------------------------------------------------------ */

/* Holds batch i as another loader made it. */
struct maker {
    feedline_loader *loader;
    feedline_batch *made[BATCHES];
};

static void make_all(struct maker *m, const char *options)
{
    m->loader = order_loader(&rig, options);
    assert_ok(feedline_loader_begin(m->loader, EPOCH, 0, 0));
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct order_batch given = nth(i);
        assert_ok(order_append(m->loader, &given));
    }
    for (uint32_t i = 0; i < BATCHES; i++)
        m->made[i] = fixture_next(m->loader);
}

static void maker_end(struct maker *m)
{
    for (uint32_t i = 0; i < BATCHES; i++)
        feedline_batch_release(m->made[i]);
    feedline_loader_destroy(m->loader);
}

static struct feedline_brought of_batch(const feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    return (struct feedline_brought){
        .struct_size = sizeof(struct feedline_brought),
        .images = info.images.data,
        .image_bytes = info.image_bytes,
        .labels = info.labels.data,
        .sample_index = info.sample_index,
        .sample_status = info.sample_status,
    };
}

static int32_t bring(feedline_loader *l, uint64_t ticket,
                     const feedline_batch *b)
{
    struct feedline_brought what = of_batch(b);
    return feedline_loader_bring(l, ticket, &what);
}

/* ---- Order -------------------------------------------------------------- */

static void append_all(feedline_loader *l, uint32_t every,
                       uint64_t tickets[BATCHES])
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct order_batch given = nth(i);
        if (is_elsewhere(i, every)) {
            assert_ok(feedline_loader_expect(l, given.count, &tickets[i]));
            assert_int_equal(tickets[i] % BATCHES, i);
        } else {
            assert_ok(order_append(l, &given));
        }
    }
}

/* The last ones come first; those there is no room for, again later. */
static void bring_what_fits(feedline_loader *l, const struct maker *m,
                            const uint64_t *tickets, uint32_t every,
                            bool *there)
{
    for (uint32_t i = BATCHES; i-- > 0;) {
        if (!is_elsewhere(i, every) || there[i])
            continue;
        int32_t status = bring(l, tickets[i], m->made[i]);
        assert_true(status == FEEDLINE_OK || status == FEEDLINE_TIMEOUT);
        there[i] = status == FEEDLINE_OK;
    }
}

static void deliver(feedline_loader *l, const struct maker *m, uint32_t every)
{
    uint64_t tickets[BATCHES] = {0};
    bool there[BATCHES] = {false};
    assert_ok(feedline_loader_begin(l, EPOCH, 0, 0));
    append_all(l, every, tickets);
    assert_ok(feedline_loader_end(l));
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct order_batch given = nth(i);
        bring_what_fits(l, m, tickets, every, there);
        order_take(&rig, l, &given, 0, EPOCH);
    }
    feedline_batch *b;
    assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_END);
}

TEST_WITH(they_come_in_their_places, setup, teardown)
{
    static const char *const how[] = {"workers=2 depth=3", "depth=1 workers=1",
                                      "reader=memory workers=3",
                                      "reader=pread depth=30"};
    struct maker m;
    make_all(&m, "workers=2 held=grow");
    for (size_t k = 0; k < FDL_COUNT_OF(how); k++) {
        SCOPED_LOADER l = order_loader(&rig, how[k]);
        for (uint32_t every = 1; every <= 5; every++)
            deliver(l, &m, every);
    }
    maker_end(&m);
}

TEST_WITH(positions_count_them, setup, teardown)
{
    uint64_t ticket, epoch, position;
    struct maker m;
    make_all(&m, "held=grow");
    SCOPED_LOADER l = order_loader(&rig, "depth=2");
    struct order_batch first = nth(3), second = nth(4);
    assert_ok(feedline_loader_begin(l, EPOCH, 0, 10));
    assert_ok(feedline_loader_expect(l, first.count, &ticket));
    assert_ok(order_append(l, &second));
    assert_ok(bring(l, ticket, m.made[3]));
    feedline_batch *b = fixture_next(l);
    assert_int_equal(fixture_info(b).position, 10);
    assert_int_equal(fixture_info(b).sequence, 0);
    feedline_batch_release(b);
    assert_ok(feedline_loader_get_position(l, &epoch, &position));
    assert_int_equal(position, 10 + first.count);
    b = fixture_next(l);
    order_check(&rig, b, &second, 0, EPOCH);
    assert_int_equal(fixture_info(b).position, 10 + first.count);
    feedline_batch_release(b);
    assert_int_equal(fixture_stats(l).samples, first.count + second.count);
    maker_end(&m);
}

/* ---- Threads ------------------------------------------------------------ */

struct courier {
    feedline_loader *loader;
    const struct maker *maker;
    const uint64_t *tickets;
    _Atomic bool stop;
};

/* Until every batch is there, or none is expected any more. */
static void *carry(void *arg)
{
    struct courier *c = arg;
    for (uint32_t i = 0; i < BATCHES && !atomic_load(&c->stop);) {
        int32_t status = bring(c->loader, c->tickets[i], c->maker->made[i]);
        i += status != FEEDLINE_TIMEOUT;
    }
    return NULL;
}

TEST_WITH(another_thread_brings_them, setup, teardown)
{
    struct maker m;
    make_all(&m, "workers=2 held=grow");
    SCOPED_LOADER l = order_loader(&rig, "depth=3 workers=2");
    for (uint32_t round = 0; round < 30; round++) {
        uint64_t tickets[BATCHES];
        pthread_t thread;
        struct courier c = {.loader = l, .maker = &m, .tickets = tickets};
        assert_ok(feedline_loader_begin(l, EPOCH, 0, 0));
        append_all(l, 1, tickets);
        assert_int_equal(pthread_create(&thread, NULL, carry, &c), 0);
        /* Some are left to be brought when the run ends. */
        for (uint32_t i = 0; i < BATCHES - round % 5; i++) {
            struct order_batch given = nth(i);
            order_take(&rig, l, &given, 0, EPOCH);
        }
        if (round % 3 == 0)
            assert_ok(feedline_loader_stop(l));
        atomic_store(&c.stop, true);
        pthread_join(thread, NULL);
    }
    maker_end(&m);
}

/* ---- Errors ------------------------------------------------------------- */

TEST_WITH(an_error_comes_in_its_place, setup, teardown)
{
    uint64_t ticket;
    feedline_batch *b;
    SCOPED_LOADER l = order_loader(&rig, "depth=3");
    struct order_batch first = nth(0);
    struct feedline_brought what = {.struct_size = sizeof(what),
                                    .status = FEEDLINE_EDECODE,
                                    .reason = "node seven: a.jpg is damaged"};
    for (uint32_t k = 0; k < 2; k++) {
        assert_ok(feedline_loader_begin(l, EPOCH, 0, 0));
        assert_ok(order_append(l, &first));
        assert_ok(feedline_loader_expect(l, 2, &ticket));
        assert_ok(feedline_loader_bring(l, ticket, &what));
        order_take(&rig, l, &first, 0, EPOCH);
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDECODE,
                     what.reason ? "node seven: a.jpg is damaged"
                                 : "could not be decoded");
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE,
                     "ended with an error");
        what.reason = NULL;
    }
}

TEST_WITH(what_is_not_expected_is_refused, setup, teardown)
{
    uint64_t ticket, later;
    struct maker m;
    make_all(&m, "held=grow");
    SCOPED_LOADER l = order_loader(&rig, "depth=1");
    struct order_batch own = nth(0);
    struct feedline_brought what = of_batch(m.made[1]);
    assert_error(feedline_loader_expect(l, 2, &ticket), FEEDLINE_ESTATE,
                 "no epoch was begun");
    assert_error(bring(l, 0, m.made[1]), FEEDLINE_ESTATE, "ticket 0");
    assert_ok(feedline_loader_begin(l, EPOCH, 0, 0));
    assert_error(feedline_loader_expect(l, 0, &ticket), FEEDLINE_ERANGE,
                 "a batch of 0 samples: 1 to 8");
    assert_error(feedline_loader_expect(l, 9, &ticket), FEEDLINE_ERANGE,
                 "1 to 8");
    assert_error(feedline_loader_expect(l, 2, NULL), FEEDLINE_EINVAL, "ticket");
    assert_ok(feedline_loader_expect(l, 2, &ticket));
    assert_ok(feedline_loader_expect(l, 2, &later));
    assert_ok(order_append(l, &own));
    assert_int_equal(bring(l, later, m.made[1]), FEEDLINE_TIMEOUT);
    assert_error(bring(l, later + 1, m.made[1]), FEEDLINE_ESTATE, "ticket 2");
    assert_error(bring(l, later + 9, m.made[1]), FEEDLINE_ESTATE, "ticket 10");
    assert_error(bring(l, ticket, m.made[2]), FEEDLINE_EINVAL,
                 "9216 bytes of images for 2 samples, which take 6144");
    const struct feedline_brought all = what;
    what.labels = NULL;
    assert_error(feedline_loader_bring(l, ticket, &what), FEEDLINE_EINVAL,
                 "NULL");
    what = all;
    what.images = NULL;
    assert_error(feedline_loader_bring(l, ticket, &what), FEEDLINE_EINVAL,
                 "NULL");
    what = all;
    what.sample_index = NULL;
    assert_error(feedline_loader_bring(l, ticket, &what), FEEDLINE_EINVAL,
                 "NULL");
    assert_ok(bring(l, ticket, m.made[1]));
    assert_error(bring(l, ticket, m.made[1]), FEEDLINE_ESTATE,
                 "brought already");
    feedline_batch_release(fixture_next(l));
    assert_error(bring(l, ticket, m.made[1]), FEEDLINE_ESTATE, "ticket 0");
    struct feedline_brought sound = of_batch(m.made[1]);
    sound.sample_status = NULL; /* all of them are */
    assert_ok(feedline_loader_bring(l, later, &sound));
    feedline_batch *b = fixture_next(l);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(fixture_info(b).sample_status[i], FEEDLINE_OK);
    feedline_batch_release(b);
    assert_ok(feedline_loader_end(l));
    assert_error(feedline_loader_expect(l, 2, &later), FEEDLINE_ESTATE,
                 "the epoch was ended");
    assert_ok(feedline_loader_stop(l));
    assert_error(bring(l, later, m.made[1]), FEEDLINE_ESTATE, "ticket 1");
    maker_end(&m);
}

TEST_WITH(only_images_of_one_size_are_brought, setup, teardown)
{
    uint64_t ticket;
    SCOPED_LOADER own = fixture_open(rig.dataset, "");
    SCOPED_LOADER various =
        order_loader(&rig, "order=given max_sample_bytes=1m");
    SCOPED_LOADER encoded = order_loader(&rig, "decode=none");
    SCOPED_LOADER mixed = fixture_with(
        rig.dataset, NULL, "center_crop size=8;mix mixup_alpha=1 num_classes=9",
        "order=given batch_size=4");
    assert_error(feedline_loader_expect(own, 1, &ticket), FEEDLINE_ESTATE,
                 "order=given");
    assert_error(feedline_loader_expect(various, 1, &ticket), FEEDLINE_ENOSYS,
                 "images of different sizes");
    assert_error(feedline_loader_expect(encoded, 1, &ticket), FEEDLINE_ENOSYS,
                 "no pixels of its own");
    assert_error(feedline_loader_expect(mixed, 1, &ticket), FEEDLINE_ENOSYS,
                 "mixed images");
}

/* ---- Plans -------------------------------------------------------------- */

static void check_plan(feedline_loader *l, uint64_t epoch, uint64_t position,
                       uint64_t number, const feedline_batch *b)
{
    uint64_t indices[ORDER_BATCH];
    uint32_t copies[ORDER_BATCH];
    struct feedline_batch_info info = fixture_info(b);
    struct feedline_planned p = {.struct_size = sizeof(p)};
    assert_ok(
        feedline_loader_plan(l, epoch, position, number, indices, copies, &p));
    assert_int_equal(p.count, info.count);
    assert_int_equal(p.epoch, info.epoch);
    assert_int_equal(p.sequence, info.sequence);
    assert_int_equal(p.position, info.position);
    assert_int_equal(p.place, info.place);
    for (uint32_t i = 0; i < p.count; i++)
        assert_int_equal(indices[i], info.sample_index[i]);
}

TEST_WITH(a_plan_is_what_is_delivered, setup, teardown)
{
    static const char *const orders[] = {
        "", "shuffle=true seed=3", "shuffle=block block=3 lanes=2",
        "shuffle=true world=3 rank=1 drop_last=true",
        "shuffle=true repeats=3 epoch_samples=50 world=2 rank=1"};
    static const uint64_t positions[] = {0, 8, 13, 36, 1000};
    for (size_t k = 0; k < FDL_COUNT_OF(orders); k++) {
        char options[128];
        snprintf(options, sizeof(options), "batch_size=%u %s", ORDER_BATCH,
                 orders[k]);
        SCOPED_LOADER l = fixture_open(rig.dataset, options);
        for (size_t p = 0; p < FDL_COUNT_OF(positions); p++) {
            assert_ok(feedline_loader_set_position(l, 2, positions[p]));
            for (uint64_t n = 0; n < 12; n++) {
                feedline_batch *b = fixture_take(l);
                check_plan(l, 2, positions[p], n, b);
                feedline_batch_release(b);
            }
        }
    }
}

TEST_WITH(plans_that_are_none, setup, teardown)
{
    uint64_t indices[ORDER_BATCH];
    uint32_t copies[ORDER_BATCH];
    struct feedline_planned p = {.struct_size = sizeof(p)};
    SCOPED_LOADER given = order_loader(&rig, "");
    SCOPED_LOADER own = fixture_open(rig.dataset, "");
    assert_error(feedline_loader_plan(given, 0, 0, 0, indices, copies, &p),
                 FEEDLINE_ESTATE, "the program plans the order");
    assert_error(feedline_loader_plan(own, 0, 0, 0, NULL, copies, &p),
                 FEEDLINE_EINVAL, "indices is NULL");
    assert_error(feedline_loader_plan(own, 0, 0, 0, indices, NULL, &p),
                 FEEDLINE_EINVAL, "copies is NULL");
    assert_error(feedline_loader_plan(own, 0, 0, 0, indices, copies, NULL),
                 FEEDLINE_EINVAL, "");
    assert_error(
        feedline_loader_plan(own, UINT64_C(1) << 62, 0, 0, indices, copies, &p),
        FEEDLINE_EINVAL, "is beyond the last");
}

TEST_MAIN("elsewhere")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of batches that were given: places of samples, by one thread, and
 * by many that look while another appends as many as there may ever be.
 */
#include "base/compiler.h"
#include "base/event.h"
#include "base/philox.h"
#include "base/status.h"
#include "loader/order/given.h"
#include "test.h"

#include <feedline/order.h>

#include <pthread.h>
#include <stdatomic.h>

#define COUNT   1000u
#define BATCH   5u
#define READERS 3u

static struct fdl_given *create(void)
{
    struct fdl_given *g;
    assert_int_equal(fdl_given_create(BATCH, COUNT, &g), FEEDLINE_OK);
    fdl_given_reset(g);
    return g;
}

/* ---- One thread --------------------------------------------------------- */

TEST(places_are_found)
{
    static const uint64_t indices[] = {7, 999, 0, 7, 3};
    static const uint32_t copies[] = {0, 65535, 2, 1, 0};
    static const uint32_t counts[] = {3, 1, 5, 2};
    struct fdl_given *g = create();
    struct fdl_ticket_range range;
    struct fdl_place place;
    assert_false(fdl_given_ticket(g, 0, &range));
    fdl_given_begin(g, 6, 50);
    uint64_t sample = 0;
    for (uint64_t t = 0; t < FDL_COUNT_OF(counts); t++) {
        assert_int_equal(fdl_given_append(g, 0, indices, copies, counts[t]),
                         FEEDLINE_OK);
        assert_true(fdl_given_ticket(g, t, &range));
        assert_int_equal(range.epoch, 6);
        assert_int_equal(range.sequence, t);
        assert_int_equal(range.first_sample, sample);
        assert_int_equal(range.position, 50 + sample);
        assert_int_equal(range.count, counts[t]);
        assert_false(range.last);
        for (uint32_t i = 0; i < counts[t]; i++, sample++) {
            fdl_given_locate(g, sample, &place);
            assert_int_equal(place.ticket, t);
            assert_int_equal(place.slot_place, i);
            assert_int_equal(place.epoch, 6);
            assert_int_equal(place.position, 50 + sample);
            assert_int_equal(place.index, indices[i]);
            assert_int_equal(place.copy, copies[i]);
        }
    }
    assert_false(fdl_given_ticket(g, FDL_COUNT_OF(counts), &range));
    assert_int_equal(fdl_given_waiting(g, 1), 3);
    fdl_given_destroy(g);
}

TEST(an_epoch_goes_on_from_the_last)
{
    static const uint64_t indices[] = {1, 2, 3};
    struct fdl_given *g = create();
    struct fdl_ticket_range range;
    assert_false(fdl_given_is_open(g));
    fdl_given_begin(g, 0, 0);
    assert_true(fdl_given_is_open(g));
    assert_int_equal(fdl_given_append(g, 0, indices, NULL, 3), FEEDLINE_OK);
    fdl_given_end(g);
    assert_false(fdl_given_is_open(g));
    fdl_given_begin(g, 1, 20);
    assert_int_equal(fdl_given_append(g, 1, indices, NULL, 2), FEEDLINE_OK);
    assert_true(fdl_given_ticket(g, 1, &range));
    assert_int_equal(range.epoch, 1);
    assert_int_equal(range.sequence, 0);
    assert_int_equal(range.first_sample, 3);
    assert_int_equal(range.position, 20);
    fdl_given_reset(g);
    assert_false(fdl_given_is_open(g));
    assert_int_equal(fdl_given_waiting(g, 0), 0);
    fdl_given_destroy(g);
}

/* ---- Many --------------------------------------------------------------- */

/* What is claimed, found and done, as by window and ring. */
struct crowd {
    struct fdl_given *given;
    _Atomic uint64_t end, next; /* samples that may be claimed, and are */
    _Atomic bool closed;
    struct fdl_event more, done;
    _Atomic uint32_t left[2 * FEEDLINE_GIVEN_MAX]; /* samples of a ticket */
    _Atomic uint64_t wrong;
};

static uint64_t index_of(uint64_t ticket, uint32_t place)
{
    return (ticket * 31 + place * 7) % COUNT;
}

static void find(struct crowd *c, uint64_t sample)
{
    struct fdl_place p;
    fdl_given_locate(c->given, sample, &p);
    if (p.index != index_of(p.ticket, p.slot_place) || p.copy != p.ticket % 9 ||
        p.position != sample)
        atomic_fetch_add(&c->wrong, 1);
    /* acq_rel, as in the ring: the last one is followed by the consumer. */
    if (atomic_fetch_sub_explicit(&c->left[p.ticket % FDL_COUNT_OF(c->left)], 1,
                                  memory_order_acq_rel) == 1)
        fdl_event_notify(&c->done, 1);
}

/* Samples are claimed in order, each once. */
static bool claim(struct crowd *c, uint64_t *sample)
{
    uint64_t next = atomic_load_explicit(&c->next, memory_order_relaxed);
    while (next < atomic_load_explicit(&c->end, memory_order_acquire))
        if (atomic_compare_exchange_weak_explicit(&c->next, &next, next + 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
            *sample = next;
            return true;
        }
    return false;
}

static void *read_samples(void *arg)
{
    struct crowd *c = arg;
    uint64_t sample;
    while (!atomic_load(&c->closed)) {
        if (claim(c, &sample)) {
            find(c, sample);
            continue;
        }
        uint32_t key = fdl_event_prepare(&c->more);
        bool found = claim(c, &sample);
        if (found || atomic_load(&c->closed))
            fdl_event_cancel(&c->more);
        else
            fdl_event_wait(&c->more, key, -1);
        if (found)
            find(c, sample);
    }
    return NULL;
}

static void await(struct crowd *c, uint64_t ticket)
{
    _Atomic uint32_t *left = &c->left[ticket % FDL_COUNT_OF(c->left)];
    while (atomic_load_explicit(left, memory_order_acquire) > 0) {
        uint32_t key = fdl_event_prepare(&c->done);
        if (atomic_load_explicit(left, memory_order_acquire) == 0)
            fdl_event_cancel(&c->done);
        else
            fdl_event_wait(&c->done, key, -1);
    }
}

static uint64_t append(struct crowd *c, uint64_t awaited, uint64_t ticket,
                       uint32_t count)
{
    uint64_t indices[BATCH];
    uint32_t copies[BATCH];
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = index_of(ticket, i);
        copies[i] = (uint32_t)(ticket % 9);
    }
    atomic_store_explicit(&c->left[ticket % FDL_COUNT_OF(c->left)], count,
                          memory_order_relaxed);
    assert_int_equal(
        fdl_given_append(c->given, awaited, indices, copies, count),
        FEEDLINE_OK);
    return count;
}

TEST(readers_need_no_lock)
{
    static struct crowd c;
    struct fdl_rng random;
    pthread_t threads[READERS];
    uint64_t awaited = 0, appended = 0, samples = 0;
    fdl_rng_init(&random, test_seed(), 0, 0, 0);
    c.given = create();
    fdl_event_init(&c.more);
    fdl_event_init(&c.done);
    fdl_given_begin(c.given, 0, 0);
    for (uint32_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_samples, &c),
                         0);
    while (awaited < 8 * FEEDLINE_GIVEN_MAX) {
        uint64_t ahead = 1 + fdl_rng_below(&random, FEEDLINE_GIVEN_MAX);
        while (appended < awaited + ahead) {
            samples += append(&c, awaited, appended++,
                              1 + fdl_rng_below(&random, BATCH));
            atomic_store_explicit(&c.end, samples, memory_order_release);
            fdl_event_notify(&c.more, 1);
        }
        for (uint64_t take = 1 + fdl_rng_below(&random, (uint32_t)ahead);
             take > 0; take--)
            await(&c, awaited++);
    }
    atomic_store(&c.closed, true);
    fdl_event_notify(&c.more, UINT32_MAX);
    for (uint32_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&c.wrong), 0);
    fdl_given_destroy(c.given);
}

TEST_MAIN("given")

/* SPDX-License-Identifier: Apache-2.0 */
/* The read window: alone, step by step; then under many threads. */
#include "base/event.h"
#include "base/thread.h"
#include "decode/decoder.h"
#include "loader/read/window.h"
#include "test.h"

#include <sched.h>

#define MAX_FILE ((uint64_t)64 << 20)

/* ---- Step by step ------------------------------------------------------- */

struct bench {
    struct fdl_window *window;
    struct fdl_sample_times times[64];
    uint32_t wakes;
};

static void bench_resolve(void *user, struct fdl_read *r)
{
    struct bench *b = user;
    r->index = r->sample;
    r->times = &b->times[r->sample % 64];
}

static void bench_wake(void *user)
{
    ((struct bench *)user)->wakes++;
}

static void bench_open(struct bench *b, uint32_t max_limit)
{
    memset(b, 0, sizeof(*b));
    assert_int_equal(
        fdl_window_create(max_limit, MAX_FILE, bench_resolve, b, &b->window),
        FEEDLINE_OK);
    fdl_window_set_waker(b->window, bench_wake, b);
}

static struct fdl_read *claim(struct bench *b, uint64_t sample)
{
    struct fdl_read *r = fdl_window_claim(b->window);
    assert_non_null(r);
    assert_int_equal(r->sample, sample);
    return r;
}

static void take(struct bench *b, uint64_t sample)
{
    struct fdl_read *r = fdl_window_take(b->window);
    assert_non_null(r);
    assert_int_equal(r->sample, sample);
    fdl_window_free(b->window, r);
}

TEST(claims_what_is_issued)
{
    struct bench b;
    bench_open(&b, 8);
    assert_null(fdl_window_claim(b.window));
    assert_false(fdl_window_is_full(b.window));
    assert_false(fdl_window_has_reads(b.window));

    fdl_window_issue(b.window, 2);
    assert_int_equal(b.wakes, 1);
    assert_true(fdl_window_has_room(b.window));
    struct fdl_read *first = claim(&b, 0);
    struct fdl_read *second = claim(&b, 1);
    assert_null(fdl_window_claim(b.window));
    assert_false(fdl_window_has_room(b.window));
    assert_false(fdl_window_is_full(b.window));
    assert_true(fdl_window_has_reads(b.window));
    assert_null(fdl_window_take(b.window));

    fdl_window_issue(b.window, 1); /* takes nothing back */
    fdl_window_complete(b.window, second);
    fdl_window_complete(b.window, first);
    assert_true(first->times->read_start > 0);
    assert_true(first->times->read_done >= first->times->read_start);
    take(&b, 0);
    take(&b, 1);
    assert_null(fdl_window_take(b.window));
    assert_false(fdl_window_has_reads(b.window));
    fdl_window_destroy(b.window);
}

/* Of 100 KB each, side by side. */
static void bench_peek(void *user, uint64_t sample, struct fdl_source *out)
{
    (void)user;
    *out = (struct fdl_source){
        .path = "shard", .offset = sample * 100000, .length = 100000};
}

static void bench_resolve_part(void *user, struct fdl_read *r)
{
    bench_resolve(user, r);
    bench_peek(user, r->sample, &r->source);
}

/* The limit is one of reads, whoever rides in them. */
TEST(those_who_ride_take_no_room)
{
    struct bench b = {0};
    assert_int_equal(
        fdl_window_create(2, MAX_FILE, bench_resolve_part, &b, &b.window),
        FEEDLINE_OK);
    fdl_window_set_peek(b.window, bench_peek);
    fdl_window_issue(b.window, 100);
    struct fdl_read *first = claim(&b, 0), *second = claim(&b, 2);
    assert_int_equal(first->mate->sample, 1);
    assert_int_equal(first->span, 200000);
    assert_null(first->mate->mate);
    assert_int_equal(second->mate->sample, 3);
    assert_true(fdl_window_is_full(b.window));

    fdl_read_fail(first, FEEDLINE_EIO, "both");
    struct fdl_read *mate = first->mate;
    assert_int_equal(fdl_window_publish(first), 2);
    assert_ptr_equal(fdl_window_take(b.window), first);
    assert_ptr_equal(fdl_window_take(b.window), mate);
    fdl_window_free(b.window, mate);
    assert_true(fdl_window_is_full(b.window));
    fdl_window_free(b.window, first);
    assert_true(fdl_window_has_room(b.window));
    fdl_read_fail(second, FEEDLINE_EIO, "both");
    fdl_window_complete(b.window, second);
    take(&b, 2);
    take(&b, 3);
    assert_int_equal(claim(&b, 4)->mate->sample, 5);
    fdl_window_destroy(b.window);
}

TEST(counts_the_bytes_ahead)
{
    struct bench b;
    struct fdl_read *r[4];
    bench_open(&b, 8);
    fdl_window_issue(b.window, 4);
    for (uint64_t i = 0; i < 4; i++)
        r[i] = claim(&b, i);
    r[0]->size = 100;
    r[1]->size = 20;
    r[2]->size = 3;
    fdl_read_send(b.window, r[0]);
    fdl_read_send(b.window, r[1]);
    r[0]->size = 0;                  /* it failed */
    fdl_read_arrive(b.window, r[3]); /* which never was sent */
    fdl_read_arrive(b.window, r[0]);
    fdl_read_send(b.window, r[2]);
    assert_int_equal(r[0]->ahead, 0);
    assert_int_equal(r[1]->ahead, 100);
    assert_int_equal(r[2]->ahead, 20);
    for (uint32_t i = 0; i < 4; i++)
        fdl_window_complete(b.window, r[i]);
    fdl_window_destroy(b.window);
}

TEST(takes_the_oldest_that_is_ready)
{
    struct bench b;
    bench_open(&b, 8);
    fdl_window_issue(b.window, 4);
    struct fdl_read *slow = claim(&b, 0);
    struct fdl_read *one = claim(&b, 1);
    struct fdl_read *two = claim(&b, 2);
    struct fdl_read *three = claim(&b, 3);
    fdl_window_complete(b.window, three);
    fdl_window_complete(b.window, one);
    take(&b, 1);
    take(&b, 3);
    fdl_window_complete(b.window, two);
    fdl_window_complete(b.window, slow);
    take(&b, 0);
    take(&b, 2);
    fdl_window_destroy(b.window);
}

TEST(a_slow_sample_is_overtaken_by_a_window)
{
    struct bench b;
    bench_open(&b, 2); /* four entries */
    fdl_window_issue(b.window, 100);
    struct fdl_read *slow = claim(&b, 0);
    for (uint64_t s = 1; s < 4; s++) {
        fdl_window_complete(b.window, claim(&b, s));
        take(&b, s);
    }
    /* There is room by the count, but sample 4 needs the entry of sample 0. */
    assert_null(fdl_window_claim(b.window));
    assert_true(fdl_window_is_full(b.window));

    fdl_window_complete(b.window, slow);
    b.wakes = 0;
    take(&b, 0);
    assert_int_equal(b.wakes, 1);
    claim(&b, 4);
    fdl_window_destroy(b.window);
}

TEST(wakes_readers_at_a_quarter)
{
    struct bench b;
    bench_open(&b, 8);
    fdl_window_issue(b.window, 100);
    for (uint64_t s = 0; s < 8; s++)
        fdl_window_complete(b.window, claim(&b, s));
    assert_true(fdl_window_is_full(b.window));
    assert_null(fdl_window_claim(b.window));

    b.wakes = 0;
    take(&b, 0);
    assert_int_equal(b.wakes, 0);
    take(&b, 1);
    assert_int_equal(b.wakes, 1);
    claim(&b, 8);
    claim(&b, 9);
    assert_null(fdl_window_claim(b.window));
    fdl_window_destroy(b.window);
}

TEST(the_limit_may_change)
{
    struct bench b;
    bench_open(&b, 8);
    fdl_window_set_limit(b.window, 1);
    assert_int_equal(b.wakes, 1);
    fdl_window_issue(b.window, 100);
    fdl_window_complete(b.window, claim(&b, 0));
    assert_true(fdl_window_is_full(b.window));
    b.wakes = 0;
    fdl_window_set_limit(b.window, 3);
    assert_int_equal(b.wakes, 1);
    claim(&b, 1);
    claim(&b, 2);
    assert_null(fdl_window_claim(b.window));

    /* Below what is held: nothing until enough was freed. */
    fdl_window_set_limit(b.window, 2);
    b.wakes = 0;
    take(&b, 0);
    assert_int_equal(b.wakes, 0);
    assert_null(fdl_window_claim(b.window));
    fdl_window_destroy(b.window);
}

TEST(reset_starts_over)
{
    struct bench b;
    bench_open(&b, 4);
    fdl_window_issue(b.window, 100);
    claim(&b, 0);
    fdl_window_complete(b.window, claim(&b, 1));
    claim(&b, 2);
    assert_non_null(fdl_window_take(b.window));
    fdl_window_close(b.window);
    assert_true(fdl_window_is_closed(b.window));
    assert_null(fdl_window_claim(b.window));

    fdl_window_reset(b.window);
    assert_false(fdl_window_is_closed(b.window));
    assert_null(fdl_window_claim(b.window));
    fdl_window_issue(b.window, 1);
    fdl_window_complete(b.window, claim(&b, 0));
    take(&b, 0);
    fdl_window_destroy(b.window);
}

TEST(buffers_grow_and_large_ones_go)
{
    struct bench b;
    bench_open(&b, 1);
    fdl_window_issue(b.window, 100);
    assert_int_equal(fdl_window_memory(b.window), 0);

    struct fdl_read *r = claim(&b, 0);
    assert_int_equal(fdl_read_reserve(b.window, r, 100000), FEEDLINE_OK);
    assert_true(r->capacity >= 100000 + FDL_ENCODED_PADDING);
    assert_int_equal(fdl_window_memory(b.window), r->capacity);
    uint8_t *buffer = r->buffer;
    assert_int_equal(fdl_read_reserve(b.window, r, 0), FEEDLINE_OK);
    assert_ptr_equal(r->buffer, buffer);

    memset(r->buffer, 0xff, r->capacity);
    r->size = 77;
    fdl_read_finish(r);
    assert_int_equal(r->status, FEEDLINE_OK);
    assert_ptr_equal(r->data, r->buffer);
    assert_int_equal(r->readable, 77 + FDL_ENCODED_PADDING);
    for (uint32_t i = 0; i < FDL_ENCODED_PADDING; i++)
        assert_int_equal(r->data[77 + i], 0);
    assert_int_equal(r->data[76], 0xff);

    assert_int_equal(fdl_read_reserve(b.window, r, FDL_READ_KEEP_BYTES),
                     FEEDLINE_OK);
    assert_int_equal(fdl_window_memory(b.window), r->capacity);
    fdl_window_complete(b.window, r);
    take(&b, 0);
    assert_int_equal(fdl_window_memory(b.window), 0);
    fdl_window_destroy(b.window);
}

/* Reads a file of so many bytes; returns the memory that is kept behind it. */
static uint64_t kept_behind(struct bench *b, uint64_t sample, uint64_t bytes)
{
    struct fdl_read *r = claim(b, sample);
    assert_int_equal(fdl_read_reserve(b->window, r, bytes), FEEDLINE_OK);
    assert_true(fdl_window_memory(b->window) >= bytes);
    fdl_window_complete(b->window, r);
    take(b, sample);
    return fdl_window_memory(b->window);
}

/* A buffer grows to what files usually need, and not to the one large file that
 * each of them meets some day. */
TEST(what_few_files_need_is_not_kept)
{
    struct bench b;
    uint64_t s = 0, usual = 0;
    bench_open(&b, 1);
    fdl_window_issue(b.window, 1000);
    while (s < 20)
        usual = kept_behind(&b, s++, 100000);
    assert_true(usual >= 100000);
    assert_true(kept_behind(&b, s++, 250000) >= 250000);
    assert_int_equal(kept_behind(&b, s++, 1000000), 0);
    assert_int_equal(kept_behind(&b, s++, 100000), usual);
    /* Where files have become large, that is what they usually need. */
    while (s < 999)
        kept_behind(&b, s++, 1000000);
    assert_true(kept_behind(&b, s, 1000000) >= 1000000);
    fdl_window_destroy(b.window);
}

/* All entries are used in turn, and yet there are only as many buffers as
 * samples are held. */
TEST(memory_is_bound_by_the_limit)
{
    struct bench b;
    bench_open(&b, 32); /* 64 entries */
    fdl_window_set_limit(b.window, 2);
    fdl_window_issue(b.window, 1000);
    uint64_t one = 0;
    for (uint64_t s = 0; s < 1000; s += 2) {
        for (uint64_t i = s; i < s + 2; i++) {
            struct fdl_read *r = claim(&b, i);
            assert_int_equal(fdl_read_reserve(b.window, r, 10000), FEEDLINE_OK);
            one = r->capacity;
            fdl_window_complete(b.window, r);
        }
        take(&b, s);
        take(&b, s + 1);
        assert_true(fdl_window_memory(b.window) <= 2 * one);
    }
    assert_true(one >= 10000);
    fdl_window_destroy(b.window);
}

/* An allowance: idle memory goes first, then whoever asks has to wait, but for
 * one file, and for those who may not wait. */
TEST(memory_is_bound_by_the_allowance)
{
    struct bench b;
    struct fdl_read *r[4];
    bench_open(&b, 4);
    fdl_window_issue(b.window, 100);
    for (uint64_t i = 0; i < 4; i++)
        r[i] = claim(&b, i);
    assert_int_equal(fdl_read_reserve(b.window, r[0], 10000), FEEDLINE_OK);
    uint64_t one = r[0]->capacity;
    fdl_window_set_allowance(b.window, 2 * one);
    assert_int_equal(fdl_read_reserve(b.window, r[1], 10000), FEEDLINE_OK);
    assert_int_equal(fdl_read_reserve(b.window, r[2], 10000), FDL_READ_NO_ROOM);
    assert_null(r[2]->buffer);
    r[2]->exempt = true;
    assert_int_equal(fdl_read_reserve(b.window, r[2], 10000), FEEDLINE_OK);
    assert_int_equal(fdl_window_memory(b.window), 3 * one);
    fdl_read_release(b.window, r[2]); /* there was too much: not kept */
    assert_int_equal(fdl_window_memory(b.window), 2 * one);

    fdl_read_release(b.window, r[1]); /* kept, until others need it */
    assert_int_equal(fdl_window_memory(b.window), 2 * one);
    assert_int_equal(fdl_read_reserve(b.window, r[3], 3 * one),
                     FDL_READ_NO_ROOM);
    assert_int_equal(fdl_window_memory(b.window), one);
    fdl_read_release(b.window, r[0]);
    assert_int_equal(fdl_read_reserve(b.window, r[3], 3 * one), FEEDLINE_OK);
    assert_int_equal(fdl_window_memory(b.window), r[3]->capacity);
    assert_int_equal(fdl_window_largest(b.window), r[3]->capacity);
    assert_int_equal(fdl_read_reserve(b.window, r[0], 1), FDL_READ_NO_ROOM);
    fdl_window_set_allowance(b.window, 0); /* what is in use stays */
    assert_int_equal(fdl_window_memory(b.window), r[3]->capacity);
    fdl_read_release(b.window, r[3]);
    assert_int_equal(fdl_window_memory(b.window), 0);
    for (uint64_t i = 0; i < 4; i++)
        fdl_window_complete(b.window, r[i]);
    fdl_window_destroy(b.window);
}

/* Who finds none gives nothing back: those who wait would try in vain, and wake
 * the one who woke them. */
TEST(no_room_wakes_nobody)
{
    struct bench b;
    bench_open(&b, 4);
    fdl_window_issue(b.window, 100);
    struct fdl_read *holds = claim(&b, 0), *asks = claim(&b, 1);
    struct fdl_event *room = fdl_window_room(b.window);
    fdl_window_set_allowance(b.window, 1);
    assert_int_equal(fdl_read_reserve(b.window, holds, 10000), FEEDLINE_OK);
    uint32_t key = fdl_event_prepare(room);
    assert_int_equal(fdl_read_reserve(b.window, asks, 10000), FDL_READ_NO_ROOM);
    assert_int_equal(fdl_event_prepare(room), key);
    fdl_read_release(b.window, holds);
    assert_true(fdl_event_prepare(room) != key);
    for (int i = 0; i < 3; i++)
        fdl_event_cancel(room);
    fdl_window_complete(b.window, holds);
    fdl_window_complete(b.window, asks);
    fdl_window_destroy(b.window);
}

TEST(errors_are_one_line)
{
    struct bench b;
    bench_open(&b, 1);
    fdl_window_issue(b.window, 1);
    struct fdl_read *r = claim(&b, 0);
    assert_int_equal(fdl_read_reserve(b.window, r, MAX_FILE + 1),
                     FEEDLINE_ERANGE);
    assert_int_equal(r->status, FEEDLINE_ERANGE);
    assert_string_equal(r->reason, "the file has 67108865 bytes; "
                                   "max_file_bytes allows 67108864");
    r->size = 5;
    assert_int_equal(fdl_read_fail(r, FEEDLINE_EIO, "a\nb %d", 7),
                     FEEDLINE_EIO);
    assert_string_equal(r->reason, "a?b 7");
    assert_int_equal(r->status, FEEDLINE_EIO);
    assert_int_equal(r->size, 0);
    assert_null(r->data);
    fdl_window_destroy(b.window);

    /* As large as can be asked for without max_file_bytes in the way. */
    assert_int_equal(
        fdl_window_create(1, UINT64_MAX, bench_resolve, &b, &b.window),
        FEEDLINE_OK);
    fdl_window_issue(b.window, 1);
    r = claim(&b, 0);
    assert_int_equal(fdl_read_reserve(b.window, r, UINT64_MAX),
                     FEEDLINE_ENOMEM);
    assert_int_equal(r->status, FEEDLINE_ENOMEM);
    fdl_window_destroy(b.window);
}

/* ---- Many threads ------------------------------------------------------- */

#define N_CLAIMERS 3
#define N_TAKERS   3

struct crowd {
    struct fdl_thread threads[N_CLAIMERS + N_TAKERS];
    struct fdl_window *window;
    struct fdl_event room; /* claimers sleep here */
    uint64_t n_samples;
    uint32_t limit;
    _Atomic uint32_t *seen; /* [n_samples] 1 claimed, 2 taken */
    uint64_t *note;         /* [n_samples] plain: written by the claimer */
    struct fdl_sample_times *times;
    _Atomic uint64_t held;
    _Atomic uint64_t taken;
    _Atomic uint32_t faults;
};

static void expect(struct crowd *c, bool good)
{
    if (!good)
        atomic_fetch_add(&c->faults, 1);
}

static void crowd_resolve(void *user, struct fdl_read *r)
{
    struct crowd *c = user;
    expect(c, atomic_fetch_add(&c->held, 1) < c->limit);
    expect(c, r->sample < c->n_samples);
    expect(c, atomic_exchange(&c->seen[r->sample], 1) == 0);
    r->times = &c->times[r->sample];
}

static void crowd_wake(void *user)
{
    fdl_event_notify(&((struct crowd *)user)->room, 1);
    if (fdl_window_is_closed(((struct crowd *)user)->window))
        fdl_event_notify(&((struct crowd *)user)->room, UINT32_MAX);
}

static void *claimer(void *arg)
{
    struct crowd *c = arg;
    uint64_t last = 0; /* sample + 1 */
    while (!fdl_window_is_closed(c->window)) {
        struct fdl_read *r = fdl_window_claim(c->window);
        if (!r) {
            uint32_t key = fdl_event_prepare(&c->room);
            r = fdl_window_claim(c->window);
            if (r || fdl_window_is_closed(c->window))
                fdl_event_cancel(&c->room);
            else
                fdl_event_wait(&c->room, key, -1);
        }
        if (!r)
            continue;
        if (fdl_window_has_room(c->window))
            fdl_event_notify(&c->room, 1);
        expect(c, r->sample >= last);
        last = r->sample + 1;
        r->size = r->sample * 3;
        expect(c, fdl_read_reserve(c->window, r, 1 + r->sample % 40000) ==
                      FEEDLINE_OK);
        r->buffer[0] = (uint8_t)r->sample;
        r->buffer[r->sample % 40000] = (uint8_t)r->sample;
        c->note[r->sample] = r->sample * 5;
        fdl_window_complete(c->window, r);
    }
    return NULL;
}

static void finish_sample(struct crowd *c, struct fdl_read *r)
{
    uint64_t s = r->sample;
    expect(c, atomic_exchange(&c->seen[s], 2) == 1);
    expect(c, r->size == s * 3 && c->note[s] == s * 5);
    expect(c, r->buffer[0] == (uint8_t)s && r->buffer[s % 40000] == (uint8_t)s);
    atomic_fetch_sub(&c->held, 1);
    fdl_window_free(c->window, r);
    if (atomic_fetch_add(&c->taken, 1) + 1 == c->n_samples)
        fdl_window_close(c->window);
}

static void *taker(void *arg)
{
    struct crowd *c = arg;
    struct fdl_event *ready = fdl_window_ready(c->window);
    while (!fdl_window_is_closed(c->window)) {
        struct fdl_read *r = fdl_window_take(c->window);
        if (!r) {
            uint32_t key = fdl_event_prepare(ready);
            r = fdl_window_take(c->window);
            if (r || fdl_window_is_closed(c->window))
                fdl_event_cancel(ready);
            else
                fdl_event_wait(ready, key, -1);
        }
        if (r)
            finish_sample(c, r);
    }
    return NULL;
}

/* Opens the window of a crowd, whose threads begin. */
static void start_crowd(struct crowd *c)
{
    fdl_event_init(&c->room);
    assert_int_equal(
        fdl_window_create(c->limit, MAX_FILE, crowd_resolve, c, &c->window),
        FEEDLINE_OK);
    fdl_window_set_waker(c->window, crowd_wake, c);
    for (uint32_t i = 0; i < N_CLAIMERS + N_TAKERS; i++)
        assert_int_equal(fdl_thread_start(&c->threads[i], "crowd",
                                          i < N_CLAIMERS ? claimer : taker, c),
                         FEEDLINE_OK);
}

static void join_crowd(struct crowd *c)
{
    for (uint32_t i = 0; i < N_CLAIMERS + N_TAKERS; i++)
        fdl_thread_join(&c->threads[i]);
}

static void run_crowd(uint32_t limit, uint64_t n_samples)
{
    struct crowd c = {.n_samples = n_samples, .limit = limit};
    c.seen = calloc(n_samples, sizeof(*c.seen));
    c.note = calloc(n_samples, sizeof(*c.note));
    c.times = calloc(n_samples, sizeof(*c.times));
    start_crowd(&c);
    for (uint64_t end = 0; end < n_samples; end += 1000)
        fdl_window_issue(c.window, FDL_MIN(end + 1000, n_samples));
    join_crowd(&c);

    assert_int_equal(c.faults, 0);
    assert_int_equal(c.held, 0);
    assert_int_equal(c.taken, n_samples);
    assert_true(fdl_window_memory(c.window) <= limit * (uint64_t)49152);
    for (uint64_t s = 0; s < n_samples; s++)
        assert_int_equal(c.seen[s], 2);
    fdl_window_destroy(c.window);
    free(c.seen);
    free(c.note);
    free(c.times);
}

TEST(many_threads_one_entry_at_a_time)
{
    run_crowd(1, 30000);
}

TEST(many_threads_three_entries)
{
    run_crowd(3, 70000);
}

TEST(many_threads_a_wide_window)
{
    run_crowd(32, 100000);
}

TEST(closing_wakes_everyone)
{
    struct crowd c = {.limit = 4};
    start_crowd(&c);
    /* All of them are about to sleep, or do. */
    struct fdl_event *ready = fdl_window_ready(c.window);
    while (atomic_load(&c.room.waiters) < N_CLAIMERS ||
           atomic_load(&ready->waiters) < N_TAKERS)
        sched_yield();
    fdl_window_close(c.window);
    join_crowd(&c);
    fdl_window_destroy(c.window);
}

struct caller {
    struct fdl_window *window;
    _Atomic bool over;
};

static void *issue_for_ever(void *arg)
{
    struct caller *c = arg;
    for (uint64_t end = 1; !atomic_load(&c->over); end++)
        fdl_window_issue(c->window, end);
    return NULL;
}

struct calls {
    _Atomic uint32_t n;
};

static void count_call(void *user)
{
    struct calls *calls = user;
    atomic_fetch_add_explicit(&calls->n, 1, memory_order_relaxed);
}

TEST(a_waker_that_was_replaced_is_not_called)
{
    struct bench b;
    bench_open(&b, 4);
    struct caller c = {.window = b.window};
    struct fdl_thread thread = {0};
    fdl_window_set_waker(b.window, NULL, NULL);
    assert_int_equal(fdl_thread_start(&thread, "caller", issue_for_ever, &c),
                     FEEDLINE_OK);
    for (int i = 0; i < 100; i++) {
        /* A sanitizer sees any call after the free. */
        struct calls *calls = calloc(1, sizeof(*calls));
        fdl_window_set_waker(b.window, count_call, calls);
        while (atomic_load(&calls->n) == 0)
            sched_yield();
        fdl_window_set_waker(b.window, NULL, NULL);
        uint32_t final = atomic_load(&calls->n);
        sched_yield();
        assert_int_equal(atomic_load(&calls->n), final);
        free(calls);
    }
    atomic_store(&c.over, true);
    fdl_thread_join(&thread);
    fdl_window_destroy(b.window);
}

TEST_MAIN("window")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source whose reads begin in the order of the stream. What they are is noted
 * without a lock or an atomic, as a program may do that is called in order: the
 * thread sanitizer says whether it may.
 */
#include "tests/loader/fixture.h"

#include <feedline/files.h>
#include <feedline/order.h>
#include <feedline/source.h>

#include <sched.h>
#include <stdatomic.h>

#define N     31
#define BATCH 4
#define NOTES 4096

FIXTURE_IMAGES(N)

struct note {
    uint64_t index, epoch, ticket;
    uint32_t place, copy;
};

static struct {
    struct note notes[NOTES];
    uint32_t n, random;
    int64_t blocks_at; /* this read returns when it is cancelled; -1: none */
    uint64_t fails;    /* this sample does */
    _Atomic uint32_t blocked;
    struct feedline_source source;
} store;

/* Before and behind what is done in order. */
static void dawdle(uint32_t turns)
{
    while (turns-- > 0)
        sched_yield();
}

static int32_t deliver(struct feedline_read_call *call)
{
    uint64_t size = images.sizes[call->index];
    void *to =
        size > call->room ? feedline_read_grow(call, size) : call->buffer;
    call->length = size;
    if (to)
        memcpy(to, images.data[call->index], size);
    return FEEDLINE_OK;
}

static int32_t read_sample(struct feedline_read_call *call)
{
    store.random = store.random * 1664525u + 1013904223u;
    uint32_t turns = store.random >> 28;
    bool blocks = store.blocks_at == (int64_t)store.n;
    dawdle(turns);
    if (store.n < NOTES)
        store.notes[store.n++] = (struct note){
            call->index, call->epoch, call->ticket, call->place, call->copy};
    if (blocks) {
        atomic_store(&store.blocked, 1);
        while (!feedline_read_is_cancelled(call))
            sched_yield();
    }
    dawdle(turns / 2);
    if (call->index == store.fails)
        return feedline_read_fail(call, FEEDLINE_EIO, "not today");
    return deliver(call);
}

static feedline_dataset *open_store(void)
{
    feedline_dataset *ds = NULL;
    store.n = 0;
    store.random = 1;
    store.blocks_at = -1;
    store.fails = N;
    atomic_store(&store.blocked, 0);
    store.source = (struct feedline_source){
        .struct_size = sizeof(store.source),
        .flags = FEEDLINE_SOURCE_IN_ORDER,
        .name = "s3",
        .count = N,
        .read = read_sample,
        .labels = images.labels,
    };
    assert_ok(feedline_dataset_open_source(&store.source, &ds));
    return ds;
}

/* The batch has the samples of the notes from *seen on. */
static void expect_noted(const feedline_batch *b, uint64_t ticket,
                         uint32_t *seen)
{
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t i = 0; i < info.count; i++) {
        const struct note *note = &store.notes[(*seen)++];
        assert_int_equal(note->index, info.sample_index[i]);
        assert_int_equal(note->epoch, info.epoch);
        assert_int_equal(note->ticket, ticket);
        assert_int_equal(note->place, i);
    }
}

/* Only when the loader is stopped: it reads ahead. */
static void expect_epochs(const char *options, uint32_t epochs)
{
    feedline_dataset *ds = open_store();
    feedline_batch *all[NOTES / BATCH];
    uint32_t n = 0, seen = 0;
    feedline_loader *l =
        fixture_with(ds, NULL, "resize size=32;center_crop size=32",
                     "batch_size=%u held=grow seed=3 %s", BATCH, options);
    for (uint32_t ends = 0; ends < epochs;) {
        feedline_batch *b = fixture_next(l);
        if (b)
            all[n++] = b;
        else
            ends++;
    }
    assert_ok(feedline_loader_stop(l));
    for (uint32_t i = 0; i < n; i++)
        expect_noted(all[i], i, &seen);
    fixture_release_all(all, n);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
}

TEST_WITH(reads_begin_in_the_order_of_the_stream, setup, teardown)
{
    char options[128];
    for (uint32_t depth = 1; depth <= 8; depth++) {
        snprintf(options, sizeof(options),
                 "reader=pread io_depth=%u workers=%u shuffle=true", depth,
                 depth % 3 + 1);
        expect_epochs(options, 3);
    }
}

/* Workers read, each time anew. */
TEST_WITH(so_do_those_of_workers, setup, teardown)
{
    char options[128];
    for (uint32_t workers = 1; workers <= 4; workers++) {
        snprintf(options, sizeof(options),
                 "reader=memory workers=%u shuffle=true", workers);
        expect_epochs(options, 3);
        assert_true(store.n >= 3 * N);
    }
}

TEST_WITH(copies_are_told_apart, setup, teardown)
{
    uint32_t of[N] = {0};
    expect_epochs("io_depth=5 repeats=3 shuffle=true epoch_samples=93", 1);
    for (uint32_t i = 0; i < 3 * N; i++) {
        const struct note *note = &store.notes[i];
        assert_int_equal(note->copy, of[note->index]++);
    }
}

/* No more memory than a buffer or two: whose turn it is gets one. */
TEST_WITH(with_hardly_any_memory, setup, teardown)
{
    expect_epochs("reader=pread io_depth=8 workers=2 memory_budget=1000000 "
                  "depth=2",
                  2);
    expect_epochs("reader=memory workers=4 memory_budget=1000000 depth=2", 2);
}

TEST_WITH(a_sample_that_fails_passes_its_turn_on, setup, teardown)
{
    feedline_dataset *ds = open_store();
    store.fails = 5;
    SCOPED_LOADER l =
        fixture_open(ds, "io_depth=6 on_error=zero epochs=2 batch_size=4");
    fixture_run(l, 2);
    assert_int_equal(feedline_loader_failure_count(l), 2);
    feedline_dataset_close(ds);
}

TEST_WITH(with_one_at_a_time_as_well, setup, teardown)
{
    feedline_dataset *ds = open_store();
    feedline_dataset_close(ds);
    store.source.flags |= FEEDLINE_SOURCE_ONE_AT_A_TIME;
    assert_ok(feedline_dataset_open_source(&store.source, &ds));
    SCOPED_LOADER one = fixture_open(ds, "io_depth=6");
    fixture_run(one, 2);
    feedline_dataset_close(ds);
}

/* Batches of any size, and each ticket is an append. */
TEST_WITH(in_an_order_that_is_given, setup, teardown)
{
    static const uint64_t rows[][BATCH] = {
        {7, 3, 7}, {30}, {1, 2, 3, 4}, {4, 4}, {0, 9, 8}};
    static const uint32_t copies[][BATCH] = {
        {0, 2, 1}, {5}, {1, 1, 1, 1}, {0, 3}, {0, 0, 0}};
    static const uint32_t counts[] = {3, 1, 4, 2, 3};
    feedline_dataset *ds = open_store();
    SCOPED_LOADER l =
        fixture_open(ds, "order=given shuffle=false drop_last=false "
                         "batch_size=4 io_depth=7");
    uint32_t seen = 0;
    assert_ok(feedline_loader_begin(l, 2, 0, 0));
    for (uint32_t i = 0; i < FDL_COUNT_OF(counts); i++)
        assert_ok(feedline_loader_append(l, rows[i], copies[i], counts[i]));
    assert_ok(feedline_loader_end(l));
    for (uint32_t i = 0; i < FDL_COUNT_OF(counts); i++) {
        feedline_batch *b = fixture_next(l);
        assert_int_equal(fixture_info(b).count, counts[i]);
        for (uint32_t k = 0; k < counts[i]; k++)
            assert_int_equal(store.notes[seen + k].copy, copies[i][k]);
        expect_noted(b, i, &seen);
        feedline_batch_release(b);
    }
    assert_null(fixture_next(l));
    feedline_dataset_close(ds);
}

/* ---- The end ------------------------------------------------------------- */

/* The read of sample `at` blocks, and all others wait for their turns. */
static void ends_while_others_wait(const char *options, int64_t at)
{
    feedline_dataset *ds = open_store();
    store.blocks_at = at;
    feedline_loader *l = fixture_open(ds, options);
    assert_ok(feedline_loader_start(l, 0));
    while (!atomic_load(&store.blocked))
        sched_yield();
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(store.n, at + 1);
    /* And the next run begins with the first turn. */
    store.blocks_at = -1;
    store.n = 0;
    assert_ok(feedline_loader_start(l, 3));
    fixture_run(l, 1);
    assert_ok(feedline_loader_stop(l));
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(store.notes[i].epoch, 3);
        assert_int_equal(store.notes[i].ticket, i / BATCH);
    }
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
}

TEST_WITH(ends_while_threads_wait_for_their_turns, setup, teardown)
{
    for (int64_t at = 0; at < 9; at++)
        ends_while_others_wait("reader=pread io_depth=8 batch_size=4", at);
}

TEST_WITH(ends_while_workers_wait_for_their_turns, setup, teardown)
{
    for (int64_t at = 0; at < 9; at++)
        ends_while_others_wait("reader=memory workers=4 batch_size=4", at);
}

/* ---- Mistakes ------------------------------------------------------------ */

TEST_WITH(replacements_have_no_place_in_the_order, setup, teardown)
{
    feedline_loader *l = NULL;
    feedline_dataset *ds = open_store();
    assert_error(fixture_try(&l, ds, NULL, "resize size=32;center_crop size=32",
                             "on_error=skip"),
                 FEEDLINE_EINVAL, "s3 is read in the order of the stream");
    assert_null(l);
    feedline_dataset_close(ds);
}

/* What reads outside the stream has no turn, and waits for none. */
TEST_WITH(checkers_wait_for_nobody, setup, teardown)
{
    feedline_checker *c = NULL;
    struct feedline_checked out = {.struct_size = sizeof(out)};
    feedline_dataset *ds = open_store();
    assert_ok(feedline_checker_create(NULL, ds, &c));
    for (uint64_t i = N; i-- > 0;) {
        assert_ok(feedline_checker_check(c, i, &out));
        assert_int_equal(out.bytes, images.sizes[i]);
    }
    feedline_checker_destroy(c);
    feedline_dataset_close(ds);
}

TEST_MAIN("in_order")

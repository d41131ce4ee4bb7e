/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that the program reads: the stream is that of the folder whose files
 * it reads, whoever calls it; what it says or does wrong is said of the sample.
 */
#include "base/compiler.h"
#include "loader/dataset/dataset.h"
#include "tests/loader/fixture.h"

#include <feedline/files.h>
#include <feedline/source.h>
#include <feedline/tuning.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N 31

FIXTURE_IMAGES(N)

/* A store that has the folder's files, in its order. */
struct store {
    uint8_t *data[N];
    uint64_t sizes[N];
    int64_t labels[N];
    uint64_t told[N]; /* as sizes, to the library */
    _Atomic uint32_t inside, most, reads, closed, cancelled, begun;
    int32_t (*odd)(struct feedline_read_call *call); /* for sample 5 */
    struct feedline_source source;
};

static struct store store;

static int32_t read_sample(struct feedline_read_call *call)
{
    struct store *s = call->context;
    uint32_t inside = atomic_fetch_add(&s->inside, 1) + 1;
    uint32_t most = atomic_load(&s->most);
    while (most < inside &&
           !atomic_compare_exchange_weak(&s->most, &most, inside))
        ;
    atomic_fetch_add(&s->reads, 1);
    int32_t status = FEEDLINE_OK;
    if (call->index == 5 && s->odd) {
        status = s->odd(call);
    } else {
        call->length = s->sizes[call->index];
        if (call->length > call->room)
            feedline_read_grow(call, call->length);
        if (call->buffer)
            memcpy(call->buffer, s->data[call->index], call->length);
    }
    atomic_fetch_sub(&s->inside, 1);
    return status;
}

static void close_store(void *context)
{
    struct store *s = context;
    atomic_fetch_add(&s->closed, 1);
}

static void load(struct store *s, uint64_t i)
{
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_dataset_get_sample(images.files, i, &info));
    FILE *f = fopen(info.path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    s->sizes[i] = (uint64_t)ftell(f);
    rewind(f);
    s->data[i] = malloc(s->sizes[i]);
    assert_non_null(s->data[i]);
    assert_int_equal(fread(s->data[i], 1, s->sizes[i], f), s->sizes[i]);
    assert_int_equal(fclose(f), 0);
    s->labels[i] = info.label;
    s->told[i] = s->sizes[i];
}

static void setup_store(void)
{
    setup();
    memset(&store, 0, sizeof(store));
    for (uint64_t i = 0; i < N; i++)
        load(&store, i);
    store.source = (struct feedline_source){
        .struct_size = sizeof(store.source),
        .name = "s3",
        .count = N,
        .read = read_sample,
        .close = close_store,
        .context = &store,
        .labels = store.labels,
    };
}

static void teardown_store(void)
{
    for (uint64_t i = 0; i < N; i++)
        free(store.data[i]);
    teardown();
}

static feedline_dataset *open_store(void)
{
    feedline_dataset *ds = NULL;
    assert_ok(feedline_dataset_open_source(&store.source, &ds));
    return ds;
}

/* ---- The same as files --------------------------------------------------- */

static const char *const orders[] = {
    "shuffle=true seed=7",
    "shuffle=true seed=7 world=2 rank=1",
};

TEST_WITH(same_stream_as_the_folder, setup_store, teardown_store)
{
    static const char *const readers[] = {"auto", "pread io_depth=7",
                                          "memory workers=3"};
    feedline_dataset *ds = open_store();
    for (size_t k = 0; k < FDL_COUNT_OF(orders); k++) {
        SCOPED_LOADER folder = fixture_open(images.files, orders[k]);
        uint64_t hash = fixture_run(folder, 2);
        for (size_t i = 0; i < FDL_COUNT_OF(readers); i++) {
            char options[128];
            snprintf(options, sizeof(options), "%s reader=%s", orders[k],
                     readers[i]);
            SCOPED_LOADER l = fixture_open(ds, options);
            assert_true(fixture_run(l, 2) == hash);
        }
    }
    feedline_dataset_close(ds);
    assert_int_equal(store.closed, 1);
}

TEST_WITH(one_at_a_time_and_of_known_sizes, setup_store, teardown_store)
{
    store.source.flags = FEEDLINE_SOURCE_ONE_AT_A_TIME;
    store.source.sizes = store.told;
    feedline_dataset *ds = open_store();
    SCOPED_LOADER folder = fixture_open(images.files, orders[0]);
    SCOPED_LOADER l = fixture_open(ds, orders[0]);
    assert_true(fixture_run(l, 1) == fixture_run(folder, 1));
    assert_int_equal(store.most, 1);
    feedline_dataset_close(ds);
}

TEST_WITH(goes_on_in_mid_epoch, setup_store, teardown_store)
{
    char state[256];
    uint64_t needed, expected = 0, got = 0;
    feedline_dataset *ds = open_store();
    SCOPED_LOADER folder = fixture_open(images.files, orders[0]);
    for (uint32_t i = 0; i < 2; i++)
        fixture_consume(fixture_next(folder), &got);
    SCOPED_LOADER first = fixture_open(ds, orders[0]);
    for (uint32_t i = 0; i < 2; i++)
        fixture_consume(fixture_next(first), &expected);
    assert_true(got == expected);
    assert_ok(feedline_loader_save(first, state, sizeof(state), &needed));
    SCOPED_LOADER second = fixture_open(ds, orders[0]);
    assert_ok(feedline_loader_restore(second, state));
    fixture_consume(fixture_next(folder), &got);
    fixture_consume(fixture_next(second), &expected);
    assert_true(got == expected);

    store.source.fingerprint = "version 2";
    feedline_dataset *other = open_store();
    SCOPED_LOADER third = fixture_open(other, orders[0]);
    assert_error(feedline_loader_restore(third, state), FEEDLINE_EINVAL,
                 "data set");
    feedline_dataset_close(other);
    feedline_dataset_close(ds);
}

TEST_WITH(tells_what_it_is, setup_store, teardown_store)
{
    static const char *const classes[] = {"ant", "bee", "cat"};
    const char *names[N];
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    feedline_dataset *ds = open_store();
    assert_ok(feedline_dataset_get_sample(ds, 5, &info));
    assert_string_equal(info.path, "s3:5");
    assert_null(info.file);
    assert_true(info.bytes == UINT64_MAX);
    feedline_dataset_close(ds);

    for (uint32_t i = 0; i < N; i++)
        names[i] = i == 5 ? "cat/5.jpg" : "other";
    store.source.names = names;
    store.source.sizes = store.told;
    store.source.classes = classes;
    store.source.n_classes = 3;
    ds = open_store();
    assert_ok(feedline_dataset_get_sample(ds, 5, &info));
    assert_string_equal(info.path, "cat/5.jpg");
    assert_int_equal(info.bytes, store.sizes[5]);
    assert_int_equal(info.label, store.labels[5]);
    assert_string_equal(feedline_dataset_class_name(ds, 2), "cat");
    feedline_dataset_close(ds);
}

/* The rest keep the numbers that the program knows them by. */
TEST_WITH(leaves_out_what_is_in_quarantine, setup_store, teardown_store)
{
    char list[128];
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    snprintf(list, sizeof(list), "%s.list", images.folder);
    FILE *f = fopen(list, "w");
    assert_non_null(f);
    fprintf(f, "s3:0\ns3:7\twhy\n");
    assert_int_equal(fclose(f), 0);
    store.source.quarantine = list;
    store.source.sizes = store.told; /* moved along, or reads would fail */
    feedline_dataset *ds = open_store();
    unlink(list);
    assert_ok(feedline_dataset_get_sample(ds, 6, &info));
    assert_string_equal(info.path, "s3:8");
    assert_int_equal(info.offset, 8);
    SCOPED_LOADER l = fixture_open(ds, "shuffle=true");
    fixture_run(l, 1);
    assert_int_equal(feedline_loader_failure_count(l), 0);
    feedline_dataset_close(ds);
}

/* ---- Wrong --------------------------------------------------------------- */

TEST_WITH(only_reading_of_files_is_measured, setup_store, teardown_store)
{
    struct feedline_reading r = {.struct_size = sizeof(r)};
    feedline_config *cfg;
    SCOPED_DATASET ds = open_store();
    assert_ok(feedline_config_create(&cfg));
    assert_error(feedline_dataset_measure_reading(cfg, ds, 1000000, 0, &r),
                 FEEDLINE_EINVAL, "not in files");
    assert_error(
        feedline_dataset_measure_reading(cfg, images.ds, 1000000, 0, &r),
        FEEDLINE_EINVAL, "not in files");
    feedline_config_destroy(cfg);
}

TEST_WITH(mistakes_are_named, setup_store, teardown_store)
{
    feedline_dataset *ds = NULL;
    struct feedline_source *s = &store.source;
    const struct feedline_source good = *s;
    const char *names[N] = {NULL};
    s->count = 0;
    assert_error(feedline_dataset_open_source(s, &ds), FEEDLINE_EINVAL,
                 "has samples, a name");
    *s = good;
    s->flags = 0x70;
    assert_error(feedline_dataset_open_source(s, &ds), FEEDLINE_EINVAL,
                 "unknown flags 0x70");
    *s = good;
    s->names = names;
    assert_error(feedline_dataset_open_source(s, &ds), FEEDLINE_EINVAL,
                 "name 0 is NULL");
    *s = good;
    store.told[3] = UINT64_MAX;
    s->sizes = store.told;
    assert_error(feedline_dataset_open_source(s, &ds), FEEDLINE_EINVAL,
                 "size 3 is 18446744073709551615");
    *s = good;
    s->n_classes = 1;
    assert_error(feedline_dataset_open_source(s, &ds), FEEDLINE_EINVAL,
                 "classes is NULL");
    assert_null(ds);
    assert_int_equal(store.closed, 0);

    *s = good;
    ds = open_store();
    SCOPED_LOADER l = fixture_open(ds, "reader=uring");
    assert_error(feedline_loader_start(l, 0), FEEDLINE_EINVAL,
                 "reader=uring reads files, and s3 is read by the program");
    feedline_dataset_close(ds);
}

static int32_t says_why(struct feedline_read_call *call)
{
    return feedline_read_fail(call, FEEDLINE_ENOENT, "no such\nkey");
}

static int32_t says_nothing(struct feedline_read_call *call)
{
    (void)call;
    return FEEDLINE_EIO;
}

static int32_t says_nonsense(struct feedline_read_call *call)
{
    (void)call;
    return 7;
}

static int32_t says_too_much(struct feedline_read_call *call)
{
    call->length = call->room + 1;
    return FEEDLINE_OK;
}

static int32_t says_minus_one(struct feedline_read_call *call)
{
    call->length = UINT64_MAX;
    return FEEDLINE_OK;
}

static int32_t gives_half(struct feedline_read_call *call)
{
    const struct store *s = call->context;
    call->length = s->sizes[call->index] / 2;
    memcpy(call->buffer, s->data[call->index], call->length);
    return FEEDLINE_OK;
}

static int32_t gives_nothing(struct feedline_read_call *call)
{
    (void)call;
    return FEEDLINE_OK;
}

static int32_t wants_too_much(struct feedline_read_call *call)
{
    assert_null(feedline_read_grow(call, UINT64_MAX));
    assert_null(feedline_read_grow(call, 1)); /* it has failed for good */
    return FEEDLINE_OK;
}

static int32_t is_too_large(struct feedline_read_call *call)
{
    const struct store *s = call->context;
    call->length = 3 << 20;
    memset(feedline_read_grow(call, call->length), 0, call->length);
    memcpy(call->buffer, s->data[call->index], s->sizes[call->index]);
    return FEEDLINE_OK;
}

static const struct fault {
    int32_t (*odd)(struct feedline_read_call *call);
    bool sizes;
    int32_t status;
    const char *reason;
} faults[] = {
    {says_why, false, FEEDLINE_ENOENT, "no such?key"},
    {says_nothing, false, FEEDLINE_EIO, "s3 returned EIO"},
    {says_nonsense, false, FEEDLINE_EUSER, "s3 returned 7"},
    {says_too_much, false, FEEDLINE_EIO, "into a buffer of"},
    {says_too_much, true, FEEDLINE_EIO, "expected "},
    {says_minus_one, false, FEEDLINE_EIO, "18446744073709551615 bytes into"},
    {gives_half, true, FEEDLINE_EIO, "expected "},
    {gives_half, false, FEEDLINE_EDECODE, ""},
    {gives_nothing, false, FEEDLINE_EDECODE, "empty"},
    {wants_too_much, false, FEEDLINE_ERANGE, "max_file_bytes allows"},
};

static void expect_fault(const struct fault *fault, const char *reader)
{
    struct feedline_failure f = {.struct_size = sizeof(f)};
    store.odd = fault->odd;
    store.source.sizes = fault->sizes ? store.told : NULL;
    feedline_dataset *ds = open_store();
    char options[64];
    snprintf(options, sizeof(options), "reader=%s on_error=zero epochs=1",
             reader);
    SCOPED_LOADER l = fixture_open(ds, options);
    fixture_run(l, 1);
    assert_int_equal(feedline_loader_failure_count(l), 1);
    assert_ok(feedline_loader_get_failure(l, 0, &f));
    assert_int_equal(f.sample_index, 5);
    assert_string_equal(f.path, "s3:5");
    assert_int_equal(f.status, fault->status);
    if (!strstr(f.reason, fault->reason))
        fail_msg("\"%s\" lacks \"%s\"", f.reason, fault->reason);
    feedline_dataset_close(ds);
}

TEST_WITH(faults_are_the_samples_own, setup_store, teardown_store)
{
    for (size_t i = 0; i < FDL_COUNT_OF(faults); i++)
        expect_fault(&faults[i], i % 2 ? "memory" : "pread");
}

TEST_WITH(a_damaged_sample_is_replaced_or_raised, setup_store, teardown_store)
{
    feedline_batch *b;
    store.odd = says_why;
    feedline_dataset *ds = open_store();
    SCOPED_LOADER skips =
        fixture_open(ds, "on_error=skip shuffle=true epochs=2");
    fixture_run(skips, 2);
    assert_int_equal(feedline_loader_failure_count(skips), 2);
    SCOPED_LOADER raises = fixture_open(ds, "batch_size=6");
    assert_error(feedline_loader_next(raises, -1, &b), FEEDLINE_ENOENT,
                 "s3:5: no such?key");
    feedline_dataset_close(ds);
}

static int32_t fails(struct feedline_read_call *call)
{
    (void)call;
    return FEEDLINE_EIO;
}

TEST_WITH(a_store_that_is_gone_ends_the_run, setup_store, teardown_store)
{
    feedline_batch *b;
    store.source.read = fails;
    feedline_dataset *ds = open_store();
    SCOPED_LOADER l = fixture_open(ds, "on_error=skip");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EIO,
                 "replacements drawn for it failed too");
    feedline_dataset_close(ds);
}

TEST_WITH(checkers_read_it_too, setup_store, teardown_store)
{
    feedline_checker *c = NULL;
    struct feedline_checked out = {.struct_size = sizeof(out)};
    store.odd = is_too_large;
    feedline_dataset *ds = open_store();
    assert_ok(feedline_checker_create(NULL, ds, &c));
    assert_ok(feedline_checker_check(c, 4, &out));
    assert_int_equal(out.status, FEEDLINE_OK);
    assert_int_equal(out.bytes, store.sizes[4]);
    assert_ok(feedline_checker_check(c, 5, &out)); /* far more than usual */
    assert_int_equal(out.bytes, 3 << 20);
    store.odd = says_why;
    assert_ok(feedline_checker_check(c, 5, &out));
    assert_int_equal(out.status, FEEDLINE_ENOENT);
    feedline_dataset_close(ds);
    assert_int_equal(store.closed, 0);
    feedline_checker_destroy(c);
    assert_int_equal(store.closed, 1);
}

/* ---- The end ------------------------------------------------------------- */

/* Until it is told to return; how: by the flag of the call, or by cancel. */
static int32_t blocks(struct feedline_read_call *call)
{
    struct store *s = call->context;
    atomic_fetch_add(&s->begun, 1);
    while (s->source.cancel ? !atomic_load(&s->cancelled)
                            : !feedline_read_is_cancelled(call))
        sched_yield();
    return FEEDLINE_EIO;
}

static void cancel(struct feedline_read_call *call)
{
    struct store *s = call->context;
    atomic_fetch_add(&s->cancelled, 1);
}

static void ends_while_it_blocks(const char *options)
{
    feedline_batch *b;
    store.source.read = blocks;
    feedline_dataset *ds = open_store();
    feedline_loader *l = fixture_open(ds, options);
    assert_int_equal(feedline_loader_next(l, 0, &b), FEEDLINE_TIMEOUT);
    while (atomic_load(&store.begun) == 0)
        sched_yield();
    feedline_dataset_close(ds);
    feedline_loader_destroy(l); /* hangs if it is not told */
    assert_int_equal(store.closed, 1);
}

TEST_WITH(ends_while_it_blocks_until_it_sees, setup_store, teardown_store)
{
    ends_while_it_blocks("io_depth=3");
}

TEST_WITH(ends_while_it_blocks_until_cancelled, setup_store, teardown_store)
{
    store.source.cancel = cancel;
    ends_while_it_blocks("io_depth=3");
}

TEST_WITH(ends_while_workers_block, setup_store, teardown_store)
{
    store.source.cancel = cancel;
    ends_while_it_blocks("reader=memory workers=2");
}

TEST_WITH(ends_while_others_wait_their_turn, setup_store, teardown_store)
{
    store.source.flags = FEEDLINE_SOURCE_ONE_AT_A_TIME;
    store.source.cancel = cancel;
    ends_while_it_blocks("io_depth=5");
    assert_int_equal(store.begun, 1);
}

/* Another loader of the same data set does not notice. */
TEST_WITH(one_loader_ends_and_another_does_not, setup_store, teardown_store)
{
    store.source.cancel = cancel;
    feedline_dataset *ds = open_store();
    SCOPED_LOADER folder = fixture_open(images.files, orders[0]);
    SCOPED_LOADER l = fixture_open(ds, orders[0]);
    for (uint32_t i = 0; i < 5; i++) {
        feedline_loader *other = fixture_open(ds, "io_depth=2");
        assert_ok(feedline_loader_start(other, 0));
        feedline_loader_destroy(other);
    }
    assert_true(fixture_run(l, 1) == fixture_run(folder, 1));
    feedline_dataset_close(ds);
}

/* ---- Waiting and work ---------------------------------------------------- */

/* 1 ms asleep. */
static int32_t sleeps(struct feedline_read_call *call)
{
    usleep(1000);
    return read_sample(call);
}

TEST_WITH(waiting_is_told_from_work, setup_store, teardown_store)
{
    char text[8192];
    uint64_t needed;
    store.source.read = sleeps;
    feedline_dataset *ds = open_store();
    SCOPED_LOADER l = fixture_open(ds, "io_depth=2 epochs=1");
    fixture_run(l, 1);
    assert_ok(feedline_loader_explain(l, text, sizeof(text), &needed));
    const char *found = strstr(text, "Your reader `s3`: ");
    assert_non_null(found);
    assert_non_null(strstr(found, " ms a sample, "));
    assert_ok(feedline_loader_reset_stats(l));
    assert_ok(feedline_loader_explain(l, text, sizeof(text), &needed));
    assert_null(strstr(text, "Your reader"));
    feedline_dataset_close(ds);
}

TEST_MAIN("source")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that hang, and workers whose thread ends: what the program is told,
 * and that nothing hangs. Gates hold work up until the test has seen what it
 * wants to see, so nothing here depends on how fast anything is.
 */
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"
#include "tests/wrap_nowait.h"

#include <feedline/live.h>
#include <feedline/tuning.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define N 24

/* ---- Gates -------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

static void set_gate(bool closed)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = closed;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void pass_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.closed)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* Reads of samples: others read too, of /proc. */
static bool reads_samples(void)
{
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    return strncmp(name, "feedline-io", 11) == 0 ||
           strncmp(name, "feedline-dec", 12) == 0;
}

static _Atomic bool reads_hang;

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t at)
{
    if (atomic_load(&reads_hang) && reads_samples())
        pass_gate();
    return __real_pread(fd, buf, n, at);
}

FIXTURE_IMAGES(N)

static void a_moment(void)
{
    struct timespec t = {.tv_nsec = 2000000};
    nanosleep(&t, NULL);
}

/* ---- Operations --------------------------------------------------------- */

enum end { BY_EXIT, BY_CANCEL };

/* The address sanitizer does not see that a cancelled thread leaves its frames,
 * and takes what runs there next for an overflow. */
#if defined(__SANITIZE_ADDRESS__)
#  define LAST_END BY_EXIT
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define LAST_END BY_EXIT
#  endif
#endif
#ifndef LAST_END
#  define LAST_END BY_CANCEL
#endif

struct culprit {
    int64_t of, modulo; /* samples of this remainder */
    enum end end;
    _Atomic uint32_t ends;
    pthread_t thread;
    _Atomic bool known;
};

static bool is_meant(const struct culprit *c, const struct feedline_op_call *o)
{
    return o->sample_index % c->modulo == c->of;
}

static int32_t wait_at_gate(const struct feedline_op_call *call)
{
    if (is_meant(call->user, call))
        pass_gate();
    return FEEDLINE_OK;
}

static int32_t leave(const struct feedline_op_call *call)
{
    struct culprit *c = call->user;
    if (!is_meant(c, call))
        return FEEDLINE_OK;
    atomic_fetch_add(&c->ends, 1);
    if (c->end == BY_EXIT)
        pthread_exit(NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return FEEDLINE_OK; /* never */
}

static int32_t remember(const struct feedline_op_call *call)
{
    struct culprit *c = call->user;
    if (!atomic_exchange(&c->known, true))
        c->thread = pthread_self();
    return FEEDLINE_OK;
}

typedef int32_t operation(const struct feedline_op_call *call);

static feedline_loader *open_with(feedline_dataset *ds, const char *name,
                                  operation *run, struct culprit *who,
                                  const char *options)
{
    struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = name, .run = run, .user = who};
    char operations[64];
    snprintf(operations, sizeof(operations), "resize width=16 height=16;%s",
             run ? name : "");
    return fixture_with(
        ds, run ? &def : NULL, operations,
        "dtype=u8 batch_size=4 epochs=1 stuck_after=20ms tuner=off %s",
        options);
}

/* ---- What is told ------------------------------------------------------- */

static char log_text[1 << 16];

/* Whether the log, from the start of the test, has these words. */
static bool log_has(const char *words)
{
    char line[600];
    uint64_t needed;
    size_t at = strlen(log_text);
    while (at + sizeof(line) < sizeof(log_text) &&
           feedline_log_read(line, sizeof(line), &needed) == FEEDLINE_OK) {
        at += (size_t)snprintf(log_text + at, sizeof(line), "%s\n", line);
    }
    return strstr(log_text, words);
}

static void wait_for_log(const char *words)
{
    while (!log_has(words))
        a_moment();
}

/* Until one hangs there. On a busy machine others may be late as well. */
static void wait_for_stuck(feedline_loader *l, const char *where,
                           int64_t sample, struct feedline_stuck_worker *out)
{
    out->struct_size = sizeof(*out);
    for (;;) {
        int32_t status;
        for (uint32_t i = 0;
             (status = feedline_loader_get_stuck(l, i, out)) == FEEDLINE_OK;
             i++)
            if (strcmp(out->where, where) == 0 && out->sample_index == sample)
                return;
        assert_int_equal(status, FEEDLINE_END);
        a_moment();
    }
}

static void wait_for_none(feedline_loader *l)
{
    struct feedline_stuck_worker one = {.struct_size = sizeof(one)};
    while (feedline_loader_get_stuck(l, 0, &one) == FEEDLINE_OK)
        a_moment();
}

static void wait_for_verdict(feedline_loader *l, const char *words)
{
    for (;;) {
        struct feedline_verdict v = fixture_verdict(l);
        if (strcmp(v.code, "WORKER_STUCK") == 0 && strstr(v.sentence, words))
            return;
        a_moment();
    }
}

static uint64_t plain_hash(feedline_dataset *ds)
{
    feedline_loader *l = open_with(ds, NULL, NULL, NULL, "workers=1");
    uint64_t hash = fixture_run(l, 1);
    feedline_loader_destroy(l);
    return hash;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* ---- Hanging ------------------------------------------------------------ */

TEST_WITH(a_worker_that_hangs_is_told_of, setup, teardown)
{
    struct culprit who = {.of = 5, .modulo = N};
    struct feedline_stuck_worker one;
    uint64_t hash = plain_hash(images.files);
    SCOPED_LOADER l =
        open_with(images.files, "wait_long", wait_at_gate, &who, "workers=3");
    char name[300];
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_dataset_get_sample(images.files, 5, &info));
    set_gate(true);
    assert_ok(feedline_loader_start(l, 0));
    wait_for_stuck(l, "wait_long", 5, &one);
    assert_int_equal(one.epoch, 0);
    assert_true(one.worker < 3 && one.tid > 0);
    assert_true(one.stuck_ns >= 20000000);
    assert_true(one.path[0] && ends_with(info.path, one.path));
    snprintf(name, sizeof(name), "in wait_long: sample 5 of epoch 0, %s",
             info.path);
    wait_for_log(name);
    assert_true(strstr(fixture_json(l), "\"where\":\"wait_long\""));
    snprintf(name, sizeof(name), "worker %u continues", one.worker);
    assert_false(log_has(name));
    set_gate(false);
    wait_for_log(name);
    assert_true(fixture_run(l, 1) == hash);
    wait_for_none(l);
    assert_true(strstr(fixture_json(l), "\"stuck_workers\":[]"));
}

TEST_WITH(the_verdict_says_what_is_waited_for, setup, teardown)
{
    struct culprit who = {.of = 4, .modulo = N};
    struct feedline_stuck_worker one;
    SCOPED_LOADER l =
        open_with(images.ds, "wait_long", wait_at_gate, &who, "workers=2");
    uint64_t hash = 0;
    set_gate(true);
    feedline_batch *b = fixture_next(l);
    fixture_consume(b, &hash);
    wait_for_stuck(l, "wait_long", 4, &one);
    wait_for_verdict(l, "The next batch waits for one sample that has been in "
                        "\"wait_long\"");
    set_gate(false);
    fixture_run(l, 1);
}

TEST_WITH(reads_that_hang_are_told_of, setup, teardown)
{
    static const char *const readers[] = {"reader=pread io_depth=2",
                                          "reader=memory"};
    uint64_t hash = plain_hash(images.files);
    for (int i = 0; i < 2; i++) {
        struct feedline_stuck_worker one;
        char options[64];
        snprintf(options, sizeof(options), "workers=1 %s", readers[i]);
        SCOPED_LOADER l = open_with(images.files, NULL, NULL, NULL, options);
        set_gate(true);
        atomic_store(&reads_hang, true);
        assert_ok(feedline_loader_start(l, 0));
        wait_for_stuck(l, "read", 0, &one);
        assert_int_equal(one.worker, i ? 0 : UINT32_MAX);
        assert_true(one.path[0]);
        wait_for_verdict(l, "in \"read\"");
        wait_for_log(i ? "in read: sample 0" : "a read has been in flight");
        atomic_store(&reads_hang, false);
        set_gate(false);
        wait_for_log(i ? "continues" : "the stuck read completed");
        assert_true(fixture_run(l, 1) == hash);
    }
}

TEST_WITH(nobody_is_stuck_where_it_is_off, setup, teardown)
{
    struct culprit who = {.of = 0, .modulo = N};
    struct feedline_stuck_worker one = {.struct_size = sizeof(one)};
    feedline_loader *l = open_with(images.ds, "wait_long", wait_at_gate, &who,
                                   "workers=1 stuck_after=0");
    feedline_batch *b;
    set_gate(true);
    assert_int_equal(feedline_loader_next(l, 100000000, &b), FEEDLINE_TIMEOUT);
    assert_int_equal(feedline_loader_get_stuck(l, 0, &one), FEEDLINE_END);
    set_gate(false);
    fixture_run(l, 1);
    feedline_loader_destroy(l);
    assert_false(log_has("at one sample"));
}

static void *destroy_main(void *arg)
{
    feedline_loader_destroy(arg);
    return NULL;
}

TEST_WITH(an_end_that_has_to_wait_says_so, setup, teardown)
{
    struct culprit who = {.of = 1, .modulo = N};
    feedline_loader *l =
        open_with(images.ds, "wait_long", wait_at_gate, &who, "workers=2");
    struct feedline_stuck_worker one;
    pthread_t thread;
    set_gate(true);
    assert_ok(feedline_loader_start(l, 0));
    wait_for_stuck(l, "wait_long", 1, &one);
    assert_int_equal(pthread_create(&thread, NULL, destroy_main, l), 0);
    wait_for_log("stopping; waiting for worker");
    set_gate(false);
    pthread_join(thread, NULL);
}

/* ---- Statistics meanwhile ------------------------------------------------ */

/* Everything that a program may ask of a loader on any thread. */
static void ask_for_everything(feedline_loader *l)
{
    static char text[1 << 17];
    uint64_t needed;
    struct feedline_tuner_info tuner = {.struct_size = sizeof(tuner)};
    (void)fixture_stats(l);
    (void)fixture_waits(l);
    (void)fixture_workers(l);
    (void)fixture_stage(l, FEEDLINE_STAGE_DECODE);
    (void)fixture_verdict(l);
    assert_ok(feedline_loader_get_tuner(l, &tuner));
    (void)fixture_json(l);
    assert_ok(
        feedline_loader_stats_table(l, NULL, 0, text, sizeof(text), &needed));
    assert_ok(feedline_loader_tuner_text(l, text, sizeof(text), &needed));
    assert_ok(feedline_loader_explain(l, text, sizeof(text), &needed));
    assert_ok(feedline_loader_config_json(l, text, sizeof(text), &needed));
    (void)fixture_int(l, "workers");
    (void)fixture_int(l, "seed");
    assert_ok(feedline_loader_reset_stats(l));
}

static void *stop_main(void *arg)
{
    assert_ok(feedline_loader_stop(arg));
    return NULL;
}

static void *deepen_main(void *arg)
{
    assert_ok(feedline_loader_set_int(arg, "depth", 6));
    return NULL;
}

/* The live page of this process, which has one loader. */
static feedline_live *attach(void)
{
    struct feedline_live_info info = {.struct_size = sizeof(info)};
    feedline_live *live;
    for (uint32_t i = 0; info.pid != getpid(); i++)
        assert_int_equal(feedline_live_list(i, &info), FEEDLINE_OK);
    assert_ok(feedline_live_attach(info.pid, info.loader, &live));
    return live;
}

static void wait_for_beat(feedline_live *live)
{
    static struct feedline_live_stats page;
    page.struct_size = sizeof(page);
    assert_ok(feedline_live_read(live, &page));
    int64_t before = page.updated_ns;
    while (page.updated_ns == before) {
        a_moment();
        assert_ok(feedline_live_read(live, &page));
    }
}

/* If anything here waited for the stop, this would hang: the worker is let go
 * only after everything was answered. */
TEST_WITH(a_stop_that_hangs_holds_up_no_statistics, setup, teardown)
{
    struct culprit who = {.of = 5, .modulo = N};
    SCOPED_LOADER l = open_with(images.files, "wait_long", wait_at_gate, &who,
                                "workers=2 live=true reader=memory");
    struct feedline_stuck_worker one;
    pthread_t thread;
    set_gate(true);
    assert_ok(feedline_loader_start(l, 0));
    wait_for_stuck(l, "wait_long", 5, &one);
    assert_int_equal(pthread_create(&thread, NULL, stop_main, l), 0);
    wait_for_log("stopping; waiting for worker");
    ask_for_everything(l);
    feedline_live *live = attach();
    wait_for_beat(live);
    wait_for_beat(live); /* begun after the stop */
    feedline_live_detach(live);
    set_gate(false);
    pthread_join(thread, NULL);
    ask_for_everything(l);
}

static struct fdl_backend_ops slow_ops;
static _Atomic bool pinning;

static int32_t alloc_at_gate(void *backend, uint64_t bytes,
                             struct fdl_slab *slab)
{
    atomic_store(&pinning, true);
    pass_gate();
    return fdl_backend_host.slab_alloc(backend, bytes, slab);
}

/* A setting whose memory takes long to pin does not look stuck, and next() does
 * not wait for it. */
TEST_WITH(pinning_memory_holds_up_nobody, setup, teardown)
{
    SCOPED_LOADER l =
        open_with(images.ds, NULL, NULL, NULL, "workers=2 depth=2 held=grow");
    feedline_batch *b;
    pthread_t thread;
    slow_ops = *l->engine->ring->backend_ops;
    slow_ops.slab_alloc = alloc_at_gate;
    l->engine->ring->backend_ops = &slow_ops; /* before there are threads */
    assert_ok(feedline_loader_start(l, 0));
    atomic_store(&pinning, false);
    set_gate(true);
    assert_int_equal(pthread_create(&thread, NULL, deepen_main, l), 0);
    while (!atomic_load(&pinning))
        a_moment();
    ask_for_everything(l);
    for (int i = 0; i < N / 4; i++) {
        assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_OK);
        feedline_batch_release(b);
    }
    set_gate(false);
    pthread_join(thread, NULL);
}

/* ---- Threads that end --------------------------------------------------- */

/* Every batch that is ready comes first. */
static void expect_end(feedline_loader *l, int most)
{
    feedline_batch *b;
    int32_t status;
    int delivered = 0;
    assert_ok(feedline_loader_start(l, 0));
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
        feedline_batch_release(b);
        delivered++;
    }
    assert_error(status, FEEDLINE_EUSER, "ended in leave");
    assert_true(delivered <= most);
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE, "start");
}

TEST_WITH(an_operation_that_ends_its_thread_ends_the_run, setup, teardown)
{
    static const char *const rows[] = {
        "workers=1 on_error=raise", "workers=4 on_error=raise",
        "workers=1 on_error=skip reader=memory", "workers=3 on_error=skip",
        "workers=2 on_error=zero reader=pread"};
    uint64_t hash = plain_hash(images.files);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct culprit who = {
            .of = 9, .modulo = N, .end = i % 2 ? LAST_END : BY_EXIT};
        SCOPED_LOADER l =
            open_with(images.files, "leave", leave, &who, rows[i]);
        expect_end(l, 2);
        expect_end(l, 2); /* a new run has new threads */
        who.of = -1;
        assert_ok(feedline_loader_start(l, 0));
        assert_true(fixture_run(l, 1) == hash);
    }
}

TEST_WITH(every_thread_may_end, setup, teardown)
{
    struct culprit who = {.of = 0, .modulo = 1};
    SCOPED_LOADER l =
        open_with(images.ds, "leave", leave, &who, "workers=4 on_error=skip");
    expect_end(l, 0);
}

/* Nobody has called next, so nobody knows yet. */
TEST_WITH(a_loader_with_ended_threads_can_be_destroyed, setup, teardown)
{
    struct culprit who = {.of = 0, .modulo = 1};
    SCOPED_LOADER l =
        open_with(images.ds, "leave", leave, &who, "workers=2 on_error=zero");
    assert_ok(feedline_loader_start(l, 0));
    while (atomic_load(&who.ends) < 2)
        a_moment();
    assert_ok(feedline_loader_set_int(l, "workers", 3));
    while (atomic_load(&who.ends) < 3)
        a_moment();
}

/* Only an operation can let its thread be cancelled. */
TEST_WITH(others_cannot_cancel_a_worker, setup, teardown)
{
    struct culprit who = {.of = 0, .modulo = 1};
    uint64_t hash = plain_hash(images.files);
    SCOPED_LOADER l = open_with(images.files, "remember", remember, &who,
                                "workers=1 reader=pread");
    assert_ok(feedline_loader_start(l, 0));
    while (!atomic_load(&who.known))
        a_moment();
    uint64_t got = FIXTURE_HASH;
    feedline_batch *b = fixture_next(l);
    assert_int_equal(pthread_cancel(who.thread), 0);
    fixture_consume(b, &got);
    while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK)
        fixture_consume(b, &got);
    assert_true(got == hash);
}

TEST_MAIN("stuck")

/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that nobody watches: batches come, in order, a run may end and
 * begin again, and it answers questions all the same. */
#include "base/thread.h"
#include "loader/api/api.h"
#include "loader/dataset/dataset.h"
#include "loader/stream/engine.h"
#include "loader/stream/snapshot.h"
#include "tests/loader/fixture.h"

#include <pthread.h>

/* ds: it is closed. op: NULL, or an operation after those of eval_u8. */
static struct fdl_engine *open_observed(feedline_dataset *ds,
                                        const struct feedline_op_def *op,
                                        const struct fdl_observer *observer)
{
    const struct fdl_backend_config config = {.device = 0};
    const struct fdl_backend_ops *ops;
    uint32_t device;
    feedline_config *cfg;
    feedline_pipeline *p;
    struct fdl_engine *e;
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set_int(cfg, "batch_size", 4));
    assert_ok(feedline_config_set_int(cfg, "workers", 2));
    assert_ok(feedline_config_set_int(cfg, "epochs", 2));
    assert_ok(feedline_config_set(cfg, "dtype", "u8"));
    assert_ok(feedline_config_set(cfg, "shuffle", "false"));
    assert_ok(feedline_pipeline_create("eval_u8", &p));
    if (op) {
        assert_ok(feedline_pipeline_register(p, op));
        assert_ok(feedline_pipeline_add(p, op->name, NULL));
    }
    assert_ok(fdl_backend_find("host", &ops, &device));
    assert_ok(fdl_engine_create(&cfg->options, ds, p->pipeline, ops, &config,
                                observer, &e));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    feedline_dataset_close(ds);
    return e;
}

static struct fdl_engine *open_engine(feedline_dataset *ds,
                                      const struct feedline_op_def *op)
{
    return open_observed(ds, op, NULL);
}

/* Two epochs of 12 samples. */
static void drain(struct fdl_engine *e)
{
    feedline_batch *b;
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3)
            assert_int_equal(fdl_consumer_next(e, -1, &b), FEEDLINE_END);
        assert_ok(fdl_consumer_next(e, -1, &b));
        struct feedline_batch_info info = fixture_info(b);
        assert_int_equal(info.epoch, i / 3);
        for (uint32_t k = 0; k < info.count; k++)
            assert_int_equal(info.sample_index[k], 4 * (i % 3) + k);
        feedline_batch_release(b);
    }
    assert_int_equal(fdl_consumer_next(e, -1, &b), FEEDLINE_END);
}

TEST(it_runs_with_no_observer)
{
    struct fixture images;
    feedline_batch *b;
    fixture_create(&images, 12);
    struct fdl_engine *e = open_engine(fixture_memory(&images), NULL);
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(fdl_engine_begin(e, 0, 0));
        drain(e);
    }
    fdl_engine_stop(e);
    assert_int_equal(fdl_consumer_next(e, -1, &b), FEEDLINE_ESTATE);
    fdl_engine_destroy(e);
    fixture_remove(&images);
}

/* ---- Questions ----------------------------------------------------------- */

static uint64_t file_bytes(const struct fixture *images)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < images->n; i++)
        bytes += images->sizes[i];
    return bytes;
}

/* Two epochs of the samples were read, by whatever threads. */
static void check_reads(const struct fdl_engine *e,
                        const struct fixture *images)
{
    static struct fdl_total all;
    struct fdl_read_sums sums;
    fdl_engine_add_reads(e, &all);
    fdl_engine_read_sums(e, &sums);
    assert_int_equal(all.items, 2 * images->n);
    assert_int_equal(all.bytes, 2 * file_bytes(images));
    assert_int_equal(fdl_histogram_total(&all.times), all.items);
    fdl_engine_add_read_times(e, &all.times);
    assert_int_equal(fdl_histogram_total(&all.times), 2 * all.items);
    assert_int_equal(sums.items, all.items);
    assert_int_equal(sums.bytes, all.bytes);
}

/* All threads have ended. */
static void check_workers(const struct fdl_engine *e)
{
    struct fdl_workers_time all;
    int64_t spent = 0;
    assert_int_equal(fdl_engine_worker_count(e), 2);
    fdl_engine_workers_time(e, &all);
    assert_int_equal(all.threads, 0);
    for (uint32_t i = 0; i < FDL_SPENT_KINDS; i++)
        spent += all.spent.ns[i];
    assert_true(spent > 0 && spent <= all.lived_ns);
    for (uint32_t i = 0; i < 2; i++) {
        struct fdl_worker_thread thread;
        struct fdl_sample_at at;
        fdl_engine_worker_thread(e, i, &thread);
        assert_int_equal(thread.tid, 0);
        assert_true(thread.past_cpu_ns > 0);
        assert_false(fdl_engine_worker_at(e, i, &at));
    }
}

TEST(it_tells_what_it_did)
{
    struct fixture images;
    struct fdl_sample_at reads[FDL_READS_AT_MOST];
    struct fdl_in_flight now;
    struct fdl_in_use used;
    struct fdl_device_state device;
    fixture_create(&images, 12);
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    fdl_dataset_ref(images.files); /* for its paths */
    struct fdl_engine *e = open_engine(images.files, NULL);
    assert_int_equal(fdl_engine_worker_count(e), 0);
    fdl_engine_in_flight(e, &now);
    assert_true(now.ready == 0 && now.outstanding == 0 && now.reads == 0);
    assert_int_equal(now.pinned_bytes, 0);
    assert_ok(fdl_engine_begin(e, 0, 0));
    drain(e);
    assert_int_equal(fdl_engine_awaited(e), 6);
    fdl_engine_stop(e);
    check_reads(e, &images);
    check_workers(e);
    assert_int_equal(fdl_engine_reads_at(e, reads), 0);
    fdl_engine_in_use(e, &used);
    assert_true(used.memory_bytes > 0 && used.clock_reads > 0);
    assert_int_equal(used.failed_samples, 0);
    assert_int_equal(used.reader_bytes, 0); /* the reader has stopped */
    assert_true(fdl_engine_workers_cpu_ns(e) > 0);
    for (uint32_t i = 0; i < images.n; i++) {
        assert_ok(feedline_dataset_get_sample(images.files, i, &info));
        assert_string_equal(fdl_engine_path(e, i), info.path);
    }
    assert_false(fdl_engine_has_device(e));
    assert_int_equal(fdl_engine_device(e, &device), FEEDLINE_ESTATE);
    assert_int_equal(fdl_engine_gpu(e), -1);
    assert_false(fdl_engine_stands_in(e));
    fdl_engine_destroy(e);
    fixture_remove(&images);
}

/* An operation that waits until it may go on. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int32_t tid; /* of the thread in it; 0: none was */
    int64_t index;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

static int32_t pass_gate(const struct feedline_op_call *call)
{
    pthread_mutex_lock(&gate.lock);
    gate.tid = fdl_thread_id();
    gate.index = call->sample_index;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    return FEEDLINE_OK;
}

/* Which worker that is. */
static uint32_t worker_of(const struct fdl_engine *e, int32_t tid)
{
    struct fdl_worker_thread thread;
    uint32_t worker = 0;
    for (; worker < fdl_engine_worker_count(e); worker++) {
        fdl_engine_worker_thread(e, worker, &thread);
        if (thread.tid == tid)
            break;
    }
    return worker;
}

TEST(it_tells_what_a_worker_is_at)
{
    struct fixture images;
    struct fdl_sample_at at;
    struct feedline_op_def op = {
        .struct_size = sizeof(op), .name = "gate", .run = pass_gate};
    fixture_create(&images, 12);
    struct fdl_engine *e = open_engine(fixture_memory(&images), &op);
    assert_ok(fdl_engine_begin(e, 0, 0));
    pthread_mutex_lock(&gate.lock);
    while (gate.tid == 0)
        pthread_cond_wait(&gate.changed, &gate.lock);
    uint32_t worker = worker_of(e, gate.tid);
    assert_true(worker < 2);
    assert_true(fdl_engine_worker_at(e, worker, &at)); /* it waits for us */
    assert_int_equal(at.worker, worker);
    assert_int_equal(at.tid, gate.tid);
    assert_int_equal(at.step, FDL_STEP_CUSTOM);
    assert_int_equal(at.epoch, 0);
    assert_int_equal(at.index, gate.index);
    assert_true(at.since_ns > 0);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    drain(e);
    fdl_engine_stop(e);
    fdl_engine_destroy(e);
    fixture_remove(&images);
}

/* ---- Standing in --------------------------------------------------------- */

struct heard {
    uint32_t runs;
    int64_t called;
};

static void hear_called(void *user, int64_t now)
{
    ((struct heard *)user)->called = now;
}

static void hear_beginning(void *user)
{
    ((struct heard *)user)->runs++;
}

TEST(it_stands_in_for_a_watched_loader)
{
    struct fixture images;
    struct heard heard = {0};
    const struct fdl_observer observer = {
        .user = &heard, .called = hear_called, .beginning = hear_beginning};
    struct fdl_knobs knobs;
    fixture_create(&images, 12);
    struct fdl_engine *e =
        open_observed(fixture_memory(&images), NULL, &observer);
    fdl_engine_stand_in(e, 7, 32, 3);
    fdl_engine_in_force(e, &knobs);
    assert_int_equal(knobs.workers, 7);
    assert_true(fdl_engine_stands_in(e));
    assert_int_equal(fdl_engine_gpu(e), 3);
    fdl_engine_stand_in_begin(e);
    fdl_engine_stand_in_called(e, 99);
    assert_int_equal(heard.runs, 1);
    assert_int_equal(heard.called, 99);
    fdl_engine_destroy(e);
    fixture_remove(&images);
}

TEST_MAIN("engine")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every public function refuses: an argument that is NULL, by its name; a
 * number beyond what there is; a call that is for another kind of loader; a
 * handle of the parent in a child of fork(), where its destruction does
 * nothing.
 */
#include "tests/loader/fixture.h"

#include <feedline/bench.h>
#include <feedline/draws.h>
#include <feedline/elsewhere.h>
#include <feedline/exchange.h>
#include <feedline/fields.h>
#include <feedline/files.h>
#include <feedline/job.h>
#include <feedline/live.h>
#include <feedline/masks.h>
#include <feedline/objects.h>
#include <feedline/order.h>
#include <feedline/packed.h>
#include <feedline/shuffle.h>
#include <feedline/source.h>
#include <feedline/statistics.h>
#include <feedline/traces.h>
#include <feedline/tuning.h>
#include <feedline/views.h>
#include <feedline/watch.h>

#include <sys/wait.h>
#include <unistd.h>

#define N 6

static struct fixture images;
static feedline_dataset *ds;
static feedline_config *cfg;
static feedline_pipeline *pipeline;
static feedline_loader *loader;
static feedline_batch *batch;
static feedline_checker *checker;

static void setup(void)
{
    fixture_create(&images, N);
    ds = images.ds;
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_pipeline_create("train", &pipeline));
    loader = fixture_open(ds, "workers=1 batch_size=2");
    batch = fixture_take(loader);
    assert_ok(feedline_checker_create(cfg, ds, &checker));
}

static void teardown(void)
{
    feedline_checker_destroy(checker);
    feedline_batch_release(batch);
    feedline_loader_destroy(loader);
    feedline_pipeline_destroy(pipeline);
    feedline_config_destroy(cfg);
    fixture_remove(&images);
}

#define NO_STRUCT            "the output struct is NULL"
#define REFUSED(call, words) assert_error(call, FEEDLINE_EINVAL, words)
#define BEYOND(call, words)  assert_error(call, FEEDLINE_ERANGE, words)
#define UNFIT(call, words)   assert_error(call, FEEDLINE_ESTATE, words)

/* ---- NULL --------------------------------------------------------------- */

TEST_WITH(null_in_configs, setup, teardown)
{
    int64_t value;
    struct feedline_option_info info = {.struct_size = sizeof(info)};
    REFUSED(feedline_option_count(NULL), "scope is NULL");
    REFUSED(feedline_option_get_info(NULL, 0, &info), "scope is NULL");
    REFUSED(feedline_config_create(NULL), "out is NULL");
    REFUSED(feedline_config_set(NULL, "depth", "1"), "config is NULL");
    REFUSED(feedline_config_set(cfg, NULL, "1"), "key is NULL");
    REFUSED(feedline_config_set(cfg, "depth", NULL), "text is NULL");
    REFUSED(feedline_config_set_int(NULL, "depth", 1), "config is NULL");
    REFUSED(feedline_config_set_int(cfg, NULL, 1), "key is NULL");
    REFUSED(feedline_config_get_int(NULL, "depth", &value), "config is NULL");
    REFUSED(feedline_config_get_int(cfg, NULL, &value), "key is NULL");
    REFUSED(feedline_config_get_int(cfg, "depth", NULL), "out is NULL");
    REFUSED(feedline_config_load(NULL, "a.ini", NULL), "config is NULL");
    REFUSED(feedline_config_load(cfg, NULL, NULL), "path is NULL");
    REFUSED(feedline_config_json(NULL, NULL, 0, NULL), "config is NULL");
    feedline_config_destroy(NULL);
}

TEST_WITH(null_in_datasets, setup, teardown)
{
    feedline_dataset *out = NULL;
    uint64_t n;
    void *data;
    const char *const *paths = NULL;
    const uint64_t *sizes = images.sizes;
    const void *const *memory = (const void *const *)images.data;
    feedline_checker *other;
    struct feedline_reading reading = {.struct_size = sizeof(reading)};
    REFUSED(feedline_dataset_open("folder:x", NULL), "out is NULL");
    REFUSED(feedline_dataset_open(NULL, &out), "uri is NULL");
    REFUSED(feedline_dataset_open_paths(NULL, NULL, 1, &out), "paths is NULL");
    REFUSED(feedline_dataset_open_paths(paths, NULL, 1, NULL), "out is NULL");
    REFUSED(feedline_dataset_open_memory(NULL, sizes, NULL, 1, &out),
            "data is NULL");
    REFUSED(feedline_dataset_open_memory(memory, NULL, NULL, 1, &out),
            "sizes is NULL");
    REFUSED(feedline_dataset_open_memory(memory, sizes, NULL, 1, NULL),
            "out is NULL");
    REFUSED(feedline_dataset_open_pixels(NULL, NULL, 1, 1, 1, 3, &out),
            "pixels is NULL");
    REFUSED(
        feedline_dataset_open_pixels(images.data[0], NULL, 1, 1, 1, 3, NULL),
        "out is NULL");
    REFUSED(feedline_dataset_open_extents(NULL, &out), "extents is NULL");
    REFUSED(feedline_dataset_open_source(NULL, &out), "source is NULL");
    REFUSED(feedline_dataset_get_count(NULL, &n), "data set is NULL");
    REFUSED(feedline_dataset_get_count(ds, NULL), "out is NULL");
    REFUSED(feedline_dataset_get_sample(NULL, 0, NULL), "data set is NULL");
    REFUSED(feedline_dataset_get_sample(ds, 0, NULL), NO_STRUCT);
    REFUSED(feedline_dataset_get_field(NULL, 0, 0, NULL), "data set is NULL");
    REFUSED(feedline_dataset_class_count(NULL), "data set is NULL");
    assert_null(feedline_dataset_class_name(NULL, 0));
    REFUSED(feedline_dataset_add_files(NULL, "a", paths), "data set is NULL");
    REFUSED(feedline_dataset_add_files(ds, NULL, paths), "field is NULL");
    REFUSED(feedline_dataset_add_files(ds, "a", NULL), "paths is NULL");
    REFUSED(feedline_dataset_set_objects(NULL, NULL), "data set is NULL");
    REFUSED(feedline_dataset_read(cfg, NULL, 0, &data, &n), "data set is NULL");
    REFUSED(feedline_dataset_read(cfg, ds, 0, NULL, &n), "out is NULL");
    REFUSED(feedline_dataset_read(cfg, ds, 0, &data, NULL), "out is NULL");
    REFUSED(feedline_checker_create(cfg, NULL, &other), "data set is NULL");
    REFUSED(feedline_checker_create(cfg, ds, NULL), "out is NULL");
    REFUSED(feedline_checker_check(NULL, 0, NULL), "checker is NULL");
    REFUSED(feedline_checker_check(checker, 0, NULL), NO_STRUCT);
    REFUSED(feedline_dataset_measure_reading(cfg, NULL, 1, 0, &reading),
            "data set is NULL");
    REFUSED(feedline_dataset_measure_reading(NULL, ds, 1, 0, &reading),
            "config is NULL");
    REFUSED(feedline_dataset_get_mixing(NULL, cfg, NULL), "data set is NULL");
    REFUSED(feedline_dataset_get_mixing(ds, cfg, NULL), NO_STRUCT);
    struct feedline_mixing mixing = {.struct_size = sizeof(mixing)};
    assert_ok(feedline_dataset_get_mixing(ds, NULL, &mixing)); /* defaults */
    assert_int_equal(mixing.batch, 64);
    assert_null(out);
    feedline_dataset_close(NULL);
}

TEST_WITH(null_in_pipelines, setup, teardown)
{
    const struct feedline_op_def def = {.struct_size = sizeof(def)};
    feedline_pipeline *out;
    REFUSED(feedline_pipeline_create("train", NULL), "out is NULL");
    REFUSED(feedline_pipeline_add(NULL, "resize", "8"), "pipeline is NULL");
    REFUSED(feedline_pipeline_add(pipeline, NULL, "8"), "op is NULL");
    REFUSED(feedline_pipeline_add_views(NULL, pipeline, 1), "pipeline is NULL");
    REFUSED(feedline_pipeline_add_views(pipeline, NULL, 1), "chain is NULL");
    REFUSED(feedline_pipeline_json(NULL, NULL, 0, NULL), "pipeline is NULL");
    REFUSED(feedline_pipeline_register(NULL, &def), "pipeline is NULL");
    REFUSED(feedline_pipeline_load(NULL, "a.so"), "pipeline is NULL");
    REFUSED(feedline_pipeline_load(pipeline, NULL), "path is NULL");
    assert_ok(feedline_pipeline_create(NULL, &out)); /* that is the default */
    feedline_pipeline_destroy(out);
    feedline_pipeline_destroy(NULL);
}

TEST_WITH(null_in_loaders, setup, teardown)
{
    feedline_loader *out;
    uint64_t n, indices[2];
    uint32_t copies[2];
    int64_t value;
    REFUSED(feedline_loader_create(cfg, ds, pipeline, NULL), "out is NULL");
    REFUSED(feedline_loader_create(cfg, NULL, pipeline, &out),
            "data set is NULL");
    REFUSED(feedline_loader_create(cfg, ds, NULL, &out), "pipeline is NULL");
    REFUSED(feedline_loader_start(NULL, 0), "loader is NULL");
    feedline_batch *none = batch;
    REFUSED(feedline_loader_next(NULL, 0, &none), "loader is NULL");
    assert_null(none);
    REFUSED(feedline_loader_next(loader, 0, NULL), "out is NULL");
    REFUSED(feedline_loader_set_stream(NULL, NULL), "loader is NULL");
    assert_int_equal(feedline_loader_interrupt(NULL), FEEDLINE_EINVAL);
    REFUSED(feedline_loader_stop(NULL), "loader is NULL");
    REFUSED(feedline_loader_set_int(NULL, "depth", 1), "loader is NULL");
    REFUSED(feedline_loader_set_int(loader, NULL, 1), "key is NULL");
    REFUSED(feedline_loader_get_int(NULL, "depth", &value), "loader is NULL");
    REFUSED(feedline_loader_get_int(loader, NULL, &value), "key is NULL");
    REFUSED(feedline_loader_get_int(loader, "depth", NULL), "out is NULL");
    REFUSED(feedline_loader_config_json(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_get_epoch_info(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_epoch_info(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_get_position(NULL, &n, &n), "loader is NULL");
    REFUSED(feedline_loader_get_position(loader, NULL, &n), "epoch is NULL");
    REFUSED(feedline_loader_get_position(loader, &n, NULL), "position is NULL");
    REFUSED(feedline_loader_set_position(NULL, 0, 0), "loader is NULL");
    REFUSED(feedline_loader_save(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_save(loader, NULL, 0, NULL), "needed is NULL");
    REFUSED(feedline_loader_restore(NULL, "{}"), "loader is NULL");
    REFUSED(feedline_loader_restore(loader, NULL), "state is NULL");
    REFUSED(feedline_loader_begin(NULL, 0, 0, 0), "loader is NULL");
    REFUSED(feedline_loader_append(NULL, indices, copies, 1), "loader is NULL");
    REFUSED(feedline_loader_end(NULL), "loader is NULL");
    REFUSED(feedline_loader_expect(NULL, 1, &n), "loader is NULL");
    REFUSED(feedline_loader_expect(loader, 1, NULL), "ticket is NULL");
    REFUSED(feedline_loader_bring(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_loader_plan(NULL, 0, 0, 0, indices, copies, NULL),
            "loader is NULL");
    REFUSED(feedline_loader_plan(loader, 0, 0, 0, NULL, copies, NULL),
            "indices is NULL");
    REFUSED(feedline_loader_plan(loader, 0, 0, 0, indices, NULL, NULL),
            "copies is NULL");
    REFUSED(feedline_loader_plan(loader, 0, 0, 0, indices, copies, NULL),
            NO_STRUCT);
    REFUSED(feedline_loader_get_draw(NULL, 0, 0, 0, 0, 1, 1, NULL),
            "loader is NULL");
    REFUSED(feedline_loader_draw_json(NULL, 0, 0, 0, 0, 1, 1, NULL, 0, &n),
            "loader is NULL");
    feedline_loader_destroy(NULL);
}

TEST_WITH(null_in_batches, setup, teardown)
{
    REFUSED(feedline_batch_get_info(NULL, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_info(batch, NULL), NO_STRUCT);
    REFUSED(feedline_batch_wait(NULL, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_field(NULL, 0, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_masks(NULL, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_objects(NULL, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_targets(NULL, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_view(NULL, 0, NULL), "batch is NULL");
    REFUSED(feedline_batch_get_view(batch, 0, NULL), "out is NULL");
    feedline_batch_release(NULL);
    feedline_batch_release_on(NULL, NULL);
}

/* Of each kind: no loader, and nowhere to put it. */
TEST_WITH(null_in_statistics, setup, teardown)
{
    uint64_t n;
    REFUSED(feedline_loader_failure_count(NULL), "loader is NULL");
    REFUSED(feedline_loader_get_failure(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_stats(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_stats(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_reset_stats(NULL), "loader is NULL");
    REFUSED(feedline_loader_get_wait_stats(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_wait_stats(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_stage_count(NULL), "loader is NULL");
    assert_null(feedline_loader_stage_name(NULL, 0));
    REFUSED(feedline_loader_get_stage_stats(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_stage_stats(loader, 0, NULL), NO_STRUCT);
    REFUSED(feedline_loader_get_worker_stats(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_worker_stats(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_phase_begin(NULL, "a"), "loader is NULL");
    REFUSED(feedline_loader_phase_begin(loader, NULL), "name is NULL");
    REFUSED(feedline_loader_phase_end(NULL), "loader is NULL");
    REFUSED(feedline_loader_phase_count(NULL), "loader is NULL");
    REFUSED(feedline_loader_get_phase(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_gaps(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_gaps(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_slow_count(NULL), "loader is NULL");
    REFUSED(feedline_loader_get_slow(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_headroom(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_headroom(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_get_verdict(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_verdict(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_stats_json(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_stats_table(NULL, NULL, 9, NULL, 0, &n),
            "loader is NULL");
    REFUSED(feedline_loader_metrics(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_metrics(loader, NULL, 0, NULL), "needed is NULL");
    REFUSED(feedline_loader_get_device_stats(NULL, NULL), "loader is NULL");
    UNFIT(feedline_loader_get_device_stats(loader, NULL), "");
    REFUSED(feedline_loader_get_stuck(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_machine_get_info(NULL), NO_STRUCT);
    REFUSED(feedline_machine_json(NULL, 0, NULL), "needed is NULL");
    REFUSED(feedline_log_read(NULL, 0, NULL), "needed is NULL");
    REFUSED(feedline_stat_get_info(NULL, 0, NULL), "part is NULL");
    REFUSED(feedline_live_list(0, NULL), "out is NULL");
    REFUSED(feedline_live_attach(1, 0, NULL), "out is NULL");
    REFUSED(feedline_live_read(NULL, NULL), "is NULL");
    REFUSED(feedline_live_metrics(NULL, NULL, 0, &n), "is NULL");
    feedline_live_detach(NULL);
}

TEST_WITH(null_in_tuning_and_traces, setup, teardown)
{
    uint64_t n;
    REFUSED(feedline_loader_get_tuner(NULL, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_tuner(loader, NULL), NO_STRUCT);
    REFUSED(feedline_loader_get_decision(NULL, 0, NULL), "loader is NULL");
    REFUSED(feedline_loader_get_decision(loader, 0, NULL), NO_STRUCT);
    REFUSED(feedline_loader_tuner_json(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_tuner_text(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_explain(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_save_profile(NULL, "a"), "loader is NULL");
    REFUSED(feedline_loader_save_profile(loader, NULL), "path is NULL");
    REFUSED(feedline_loader_trace_save(NULL, "a"), "loader is NULL");
    REFUSED(feedline_loader_trace_save(loader, NULL), "path is NULL");
    REFUSED(feedline_loader_record(NULL, "a", 0), "loader is NULL");
    REFUSED(feedline_loader_record(loader, NULL, 0), "path is NULL");
    REFUSED(feedline_loader_record_step(NULL, 0), "loader is NULL");
    REFUSED(feedline_loader_record_end(NULL, 0), "loader is NULL");
    REFUSED(feedline_loader_fingerprint(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_fingerprint(loader, NULL, 0, NULL),
            "needed is NULL");
    REFUSED(feedline_job_compare(NULL, 1, 1), "fingerprints is NULL");
    REFUSED(feedline_loader_tell(NULL, NULL, 0, &n), "loader is NULL");
    REFUSED(feedline_loader_hear(NULL, "{}"), "loader is NULL");
    REFUSED(feedline_loader_hear(loader, NULL), "told is NULL");
    REFUSED(feedline_job_merge(NULL, NULL, 0, &n), "told is NULL");
    REFUSED(feedline_watch_create(cfg, NULL, NULL), "out is NULL");
    REFUSED(feedline_watch_begin(NULL), "watch is NULL");
    REFUSED(feedline_watch_end(NULL, 0, 0, 0), "watch is NULL");
    REFUSED(feedline_watch_end_at(NULL, 0, 0, 0, 1, 2), "watch is NULL");
    REFUSED(feedline_watch_idle(NULL, 1), "watch is NULL");
    REFUSED(feedline_watch_spent(NULL, "f", 1, 1), "watch is NULL");
}

TEST_WITH(null_in_tools, setup, teardown)
{
    void *out;
    uint64_t n, bytes[2] = {1000, 2000};
    double us[2] = {1, 2};
    int32_t same;
    struct feedline_copy_test test = {.struct_size = sizeof(test)};
    feedline_busy *busy;
    const void *jpeg = images.data[0];
    REFUSED(feedline_jpeg_pack(NULL, 1, &out, &n), "jpeg is NULL");
    REFUSED(feedline_jpeg_pack(jpeg, images.sizes[0], NULL, &n), "packed");
    REFUSED(feedline_jpeg_pack(jpeg, images.sizes[0], &out, NULL), "packed");
    REFUSED(feedline_jpeg_unpack(NULL, 1, &out, &n, &same), "packed is NULL");
    REFUSED(feedline_jpeg_unpack(jpeg, 1, NULL, &n, &same), "jpeg, jpeg_bytes");
    REFUSED(feedline_jpeg_unpack(jpeg, 1, &out, NULL, &same),
            "or same is NULL");
    REFUSED(feedline_jpeg_unpack(jpeg, 1, &out, &n, NULL), "or same is NULL");
    REFUSED(feedline_block_order(4, 1, 1, 0, 0, 0, 1, NULL), "out is NULL");
    REFUSED(feedline_doctor_json(NULL, NULL, 0, &n), "device is NULL");
    REFUSED(feedline_doctor_json("host", NULL, 0, NULL), "needed is NULL");
    REFUSED(feedline_device_look(NULL, NULL), "device is NULL");
    REFUSED(feedline_device_get_info(NULL, NULL), "device is NULL");
    REFUSED(feedline_device_get_info("host", NULL), "'host' is not a GPU");
    REFUSED(feedline_device_time_copy(NULL, &test, NULL), "device is NULL");
    REFUSED(feedline_device_time_copy("host", &test, NULL), "is not a GPU");
    REFUSED(feedline_copy_fit(NULL, us, 2, NULL), "bytes is NULL");
    REFUSED(feedline_copy_fit(bytes, NULL, 2, NULL), "us is NULL");
    REFUSED(feedline_copy_fit(bytes, us, 2, NULL), NO_STRUCT);
    REFUSED(feedline_busy_create("cuda", NULL), "out is NULL");
    REFUSED(feedline_busy_create(NULL, &busy), "device is NULL");
    REFUSED(feedline_busy_create("host", &busy), "is not a GPU");
    REFUSED(feedline_busy_work(NULL, 1), "busy stream is NULL");
    REFUSED(feedline_busy_wait(NULL), "busy stream is NULL");
    assert_null(feedline_busy_stream(NULL));
    feedline_busy_destroy(NULL);
    feedline_checker_destroy(NULL);
}

/* ---- Not enough of it --------------------------------------------------- */

static int32_t read_nothing(struct feedline_read_call *call)
{
    return feedline_read_fail(call, FEEDLINE_EIO, "nothing is read here");
}

TEST(sources_that_lack_something)
{
    static const int64_t labels[1];
    const struct feedline_source good = {.struct_size = sizeof(good),
                                         .name = "store",
                                         .count = 1,
                                         .labels = labels,
                                         .read = read_nothing};
    feedline_dataset *out;
    struct feedline_source bad = good;
    bad.count = 0;
    REFUSED(feedline_dataset_open_source(&bad, &out), "a source has samples");
    bad = good;
    bad.name = NULL;
    REFUSED(feedline_dataset_open_source(&bad, &out), "a name");
    bad.name = "";
    REFUSED(feedline_dataset_open_source(&bad, &out), "a name");
    bad = good;
    bad.read = NULL;
    REFUSED(feedline_dataset_open_source(&bad, &out), "a read function");
    bad = good;
    bad.flags = 1u << 31;
    REFUSED(feedline_dataset_open_source(&bad, &out), "unknown flags");
    bad = good;
    bad.n_classes = 1;
    REFUSED(feedline_dataset_open_source(&bad, &out), "classes is NULL");
    assert_ok(feedline_dataset_open_source(&good, &out));
    feedline_dataset_close(out);
}

TEST(extents_that_lack_something)
{
    static const char *const files[] = {"a.tar", NULL};
    static const char *const classes[] = {NULL};
    static const struct feedline_extent extent = {.file = 0, .length = 9};
    const struct feedline_extents good = {.struct_size = sizeof(good),
                                          .n_files = 1,
                                          .files = files,
                                          .extents = &extent,
                                          .count = 1};
    feedline_dataset *out;
    struct feedline_extents bad = good;
    bad.files = NULL;
    REFUSED(feedline_dataset_open_extents(&bad, &out), "no extents");
    bad = good;
    bad.extents = NULL;
    REFUSED(feedline_dataset_open_extents(&bad, &out), "no extents");
    bad = good;
    bad.count = 0;
    REFUSED(feedline_dataset_open_extents(&bad, &out), "no extents");
    bad = good;
    bad.n_classes = 1;
    REFUSED(feedline_dataset_open_extents(&bad, &out), "no extents");
    bad.classes = classes;
    REFUSED(feedline_dataset_open_extents(&bad, &out), "class 0 is NULL");
    bad = good;
    bad.n_files = 2;
    REFUSED(feedline_dataset_open_extents(&bad, &out), "file 1 is NULL");
    assert_ok(feedline_dataset_open_extents(&good, &out));
    feedline_dataset_close(out);
}

TEST(pixels_of_no_size)
{
    static const uint8_t pixels[3];
    static const struct {
        uint64_t count;
        int32_t height, width, channels;
        const char *says;
    } bad[] = {
        {0, 1, 1, 3, "no images"},
        {1, 1, 1, 2, "2 channels"},
        {1, 0, 1, 3, "1 x 0 images"},
        {1, 1, 0, 3, "0 x 1 images"},
        {1, 65536, 1, 3, "1 x 65536"},
        {1, 1, 65536, 3, "65536 x 1"},
        {UINT64_MAX, 1, 1, 3, "exceed the address space"},
    };
    feedline_dataset *out;
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++)
        REFUSED(feedline_dataset_open_pixels(pixels, NULL, bad[i].count,
                                             bad[i].height, bad[i].width,
                                             bad[i].channels, &out),
                bad[i].says);
    assert_ok(feedline_dataset_open_pixels(pixels, NULL, 1, 1, 1, 3, &out));
    feedline_dataset_close(out);
}

/* ---- Beyond what there is ----------------------------------------------- */

TEST_WITH(numbers_beyond, setup, teardown)
{
    void *data;
    uint64_t n, order[4];
    struct feedline_sample_info sample = {.struct_size = sizeof(sample)};
    struct feedline_sample_field field = {.struct_size = sizeof(field)};
    struct feedline_batch_field column = {.struct_size = sizeof(column)};
    struct feedline_checked checked = {.struct_size = sizeof(checked)};
    struct feedline_stage_stats stage = {.struct_size = sizeof(stage)};
    struct feedline_failure failure = {.struct_size = sizeof(failure)};
    struct feedline_slow_sample slow = {.struct_size = sizeof(slow)};
    struct feedline_phase_stats phase = {.struct_size = sizeof(phase)};
    struct feedline_stat_info row = {.struct_size = sizeof(row)};
    struct feedline_tensor view;
    BEYOND(feedline_dataset_get_sample(ds, N, &sample), "the data set has 6");
    BEYOND(feedline_dataset_get_field(ds, 0, 0, &field), "0 fields");
    BEYOND(feedline_dataset_get_field(ds, N, 0, &field), "6 samples");
    BEYOND(feedline_dataset_read(cfg, ds, N, &data, &n), "6");
    BEYOND(feedline_checker_check(checker, N, &checked), "6");
    assert_null(feedline_dataset_class_name(ds, 0)); /* memory has no names */
    BEYOND(feedline_batch_get_field(batch, 0, &column), "a batch that has 0");
    BEYOND(feedline_batch_get_view(batch, 1, &view), "view 1 of 1");
    BEYOND(feedline_loader_get_stage_stats(loader, 99, &stage), "stage 99");
    assert_null(feedline_stage_name(99));
    assert_null(feedline_loader_stage_name(loader, 99));
    BEYOND(feedline_loader_get_failure(loader, 0, &failure), "0");
    BEYOND(feedline_loader_get_slow(loader, 1000, &slow), "slow sample 1000");
    BEYOND(feedline_loader_get_phase(loader, 1000, &phase), "1000");
    BEYOND(feedline_stat_get_info("stats", 10000, &row), "10000");
    assert_error(feedline_stat_get_info("nothing", 0, &row), FEEDLINE_ENOENT,
                 "nothing");
    assert_null(feedline_op_name(10000));
    assert_null(feedline_image_ending(10000, NULL));
    assert_null(feedline_shard_scheme(10000, NULL));
    REFUSED(feedline_block_order(4, 0, 1, 0, 0, 0, 1, order), "block=0");
    REFUSED(feedline_block_order(4, 1, 0, 0, 0, 0, 1, order), "lanes=0");
    REFUSED(feedline_block_order(4, UINT64_MAX, 1, 0, 0, 0, 1, order),
            "block=");
    REFUSED(feedline_block_order(4, 1, UINT64_MAX, 0, 0, 0, 1, order),
            "lanes=");
    REFUSED(feedline_block_order(0, 1, 1, 0, 0, 0, 1, order), "an order of 0");
    REFUSED(feedline_block_order(4, 1, 1, 0, 0, 5, 0, order), "elements 5");
    REFUSED(feedline_block_order(4, 1, 1, 0, 0, 3, 2, order), "2 more");
    assert_ok(feedline_block_order(4, 1, 1, 0, 0, 4, 0, order));
}

/* Of an order of three batches an epoch: the last batch of the last epoch, and
 * numbers that would begin anew. */
TEST_WITH(plans_beyond, setup, teardown)
{
    const uint64_t last = (UINT64_C(1) << 62) - 1;
    uint64_t indices[2];
    uint32_t copies[2];
    struct feedline_planned planned = {.struct_size = sizeof(planned)};
    assert_ok(
        feedline_loader_plan(loader, last, 0, 2, indices, copies, &planned));
    assert_int_equal(planned.epoch, last);
    assert_int_equal(planned.count, 2);
    assert_int_equal(planned.last, 1);
    BEYOND(feedline_loader_plan(loader, last, 0, 3, indices, copies, &planned),
           "there is no batch 3");
    BEYOND(feedline_loader_plan(loader, 0, 0, UINT64_MAX, indices, copies,
                                &planned),
           "there is no batch 18446744073709551615");
    BEYOND(feedline_loader_plan(loader, 0, 0, UINT64_MAX / 2, indices, copies,
                                &planned),
           "there is no batch");
    REFUSED(
        feedline_loader_plan(loader, last + 1, 0, 0, indices, copies, &planned),
        "is beyond the last");
}

/* A draw of an image that there is not. */
TEST_WITH(draws_beyond, setup, teardown)
{
    struct feedline_draw draw = {.struct_size = sizeof(draw)};
    REFUSED(feedline_loader_get_draw(loader, 0, N, 0, 0, 9, 9, &draw),
            "there is no sample 6");
    REFUSED(feedline_loader_get_draw(loader, 0, 0, 1, 0, 9, 9, &draw),
            "no copy 1 with repeats=1");
    REFUSED(feedline_loader_get_draw(loader, 0, 0, 0, 1, 9, 9, &draw),
            "no view 1 of 1");
    REFUSED(feedline_loader_get_draw(loader, 0, 0, 0, 0, 0, 9, &draw),
            "image size 0x9");
    REFUSED(feedline_loader_get_draw(loader, 0, 0, 0, 0, 9, 0, &draw),
            "image size 9x0");
    assert_ok(feedline_loader_get_draw(loader, 0, 0, 0, 0, 9, 9, &draw));
    SCOPED_LOADER given = fixture_open(ds, "order=given");
    REFUSED(feedline_loader_get_draw(given, 0, 0, UINT32_MAX, 0, 9, 9, &draw),
            "there is no copy 4294967295");
}

/* Options of the loader, of an operation and of a kind of shards. */
TEST(options_have_three_scopes)
{
    struct feedline_option_info info = {.struct_size = sizeof(info)};
    assert_true(feedline_option_count("loader") > 20);
    assert_true(feedline_option_count("resize") > 1);
    int32_t n = feedline_option_count("tar:");
    assert_true(n > 0);
    assert_ok(feedline_option_get_info("tar:", (uint32_t)n - 1, &info));
    assert_error(feedline_option_get_info("tar:", (uint32_t)n, &info),
                 FEEDLINE_ERANGE, "");
    assert_error(feedline_option_count("tar"), FEEDLINE_ENOENT, "tar");
    assert_error(feedline_option_count("nothing:"), FEEDLINE_ENOENT, "nothing");
    assert_error(feedline_option_count(""), FEEDLINE_ENOENT, "");
}

/* Every ending and every scheme, with and without its second half. */
TEST_WITH(lists_end, setup, teardown)
{
    uint32_t flags = 0, n = 0, decoded = 0;
    const char *help, *name;
    for (; (name = feedline_image_ending(n, &flags)); n++) {
        assert_string_equal(feedline_image_ending(n, NULL), name);
        decoded += (flags & FEEDLINE_ENDING_DECODED) != 0;
    }
    assert_in_range(decoded, 2, n - 1);
    for (n = 0; (name = feedline_shard_scheme(n, &help)); n++) {
        assert_string_equal(feedline_shard_scheme(n, NULL), name);
        assert_true(strlen(help) > 0);
    }
    assert_true(n > 3);
}

/* ---- For another kind --------------------------------------------------- */

TEST_WITH(another_kind_of_loader, setup, teardown)
{
    uint64_t n, indices[2] = {0, 1};
    uint32_t copies[2] = {0, 0};
    struct feedline_planned planned = {.struct_size = sizeof(planned)};
    struct feedline_batch_masks masks = {.struct_size = sizeof(masks)};
    struct feedline_batch_objects objects = {.struct_size = sizeof(objects)};
    struct feedline_batch_targets targets = {.struct_size = sizeof(targets)};
    UNFIT(feedline_loader_begin(loader, 0, 0, 0), "order=given");
    UNFIT(feedline_loader_append(loader, indices, copies, 2), "order=given");
    UNFIT(feedline_loader_end(loader), "order=given");
    UNFIT(feedline_loader_expect(loader, 1, &n), "order=given");
    UNFIT(feedline_loader_record_step(loader, 1), "not being recorded");
    UNFIT(feedline_loader_record_end(loader, 0), "not being recorded");
    UNFIT(feedline_watch_begin(loader), "makes its own batches");
    REFUSED(feedline_batch_get_masks(batch, &masks), "no masks");
    UNFIT(feedline_batch_get_objects(batch, &objects), "no objects");
    UNFIT(feedline_batch_get_targets(batch, &targets), "no soft targets");
    UNFIT(feedline_dataset_set_objects(ds, NULL), "a loader of the data set");
    SCOPED_LOADER given = fixture_open(ds, "order=given");
    UNFIT(feedline_loader_start(given, 0), "start is not for order=given");
    UNFIT(feedline_loader_set_position(given, 0, 0), "set_position is not");
    UNFIT(feedline_loader_restore(given, "{}"), "restore is not");
    UNFIT(feedline_loader_save(given, NULL, 0, &n), "the program owns");
    UNFIT(feedline_loader_plan(given, 0, 0, 0, indices, copies, &planned),
          "the program plans");
    UNFIT(feedline_loader_end(given), "begin");
    SCOPED_LOADER watch = NULL;
    assert_ok(feedline_watch_create(NULL, NULL, &watch));
    UNFIT(feedline_loader_start(watch, 0), "watch");
    UNFIT(feedline_loader_set_int(watch, "depth", 2), "watch");
    UNFIT(feedline_watch_end(watch, FEEDLINE_OK, 1, 1), "begin");
}

/* One tensor is not what images of their own sizes make. */
TEST_WITH(a_ragged_batch_is_no_tensor, setup, teardown)
{
    struct feedline_tensor view;
    SCOPED_LOADER l = fixture_open(ds, "max_sample_bytes=256k");
    feedline_batch *b = fixture_take(l);
    REFUSED(feedline_batch_get_view(b, 0, &view), "is not one tensor");
    feedline_batch_release(b);
}

/* What cannot be measured, and times that cannot be. */
TEST_WITH(what_is_not_measured, setup, teardown)
{
    struct feedline_reading reading = {.struct_size = sizeof(reading)};
    struct feedline_copy_test test = {.struct_size = 4};
    struct feedline_copy_time time = {.struct_size = sizeof(time)};
    REFUSED(feedline_dataset_measure_reading(cfg, ds, 1, 0, &reading),
            "not in files");
    assert_ok(feedline_config_set(cfg, "reader", "memory"));
    REFUSED(feedline_dataset_measure_reading(cfg, images.files, 1, 0, &reading),
            "measure another");
    BEYOND(feedline_loader_record(loader, "a", -1), "not a past time");
    BEYOND(feedline_loader_record(loader, "a", INT64_MAX), "not a past time");
    REFUSED(feedline_trace_action(0, 0, 0, 0, 1, 0), "at least 1 step");
    REFUSED(feedline_job_compare("a", 0, 1), "no fingerprints");
    REFUSED(feedline_job_compare("a", 1, 0), "no fingerprints");
    REFUSED(feedline_device_time_copy("host", &test, &time), "is not a GPU");
}

/* ---- In a child of fork() ----------------------------------------------- */

#define FOREIGN(call) failed |= (call) != FEEDLINE_EFORK

/* Nothing of the parent's is touched, so its destruction may come twice. */
static int look_at_the_parents(feedline_loader *watch)
{
    bool failed = false;
    uint64_t n;
    int64_t value;
    feedline_loader *out;
    struct feedline_checked checked = {.struct_size = sizeof(checked)};
    FOREIGN(feedline_config_get_int(cfg, "depth", &value));
    FOREIGN(feedline_pipeline_add(pipeline, "resize", "8"));
    FOREIGN(feedline_dataset_get_count(ds, &n));
    FOREIGN(feedline_loader_create(cfg, ds, pipeline, &out));
    FOREIGN(feedline_loader_interrupt(loader));
    FOREIGN(feedline_loader_get_int(loader, "depth", &value));
    FOREIGN(feedline_batch_wait(batch, NULL));
    FOREIGN(feedline_checker_check(checker, 0, &checked));
    FOREIGN(feedline_watch_begin(watch));
    for (int i = 0; i < 2; i++) {
        feedline_config_destroy(cfg);
        feedline_pipeline_destroy(pipeline);
        feedline_dataset_close(ds);
        feedline_batch_release(batch);
        feedline_batch_release_on(batch, NULL);
        feedline_loader_destroy(loader);
        feedline_loader_destroy(watch);
        feedline_checker_destroy(checker);
    }
    return failed;
}

TEST_WITH(a_child_has_none_of_it, setup, teardown)
{
    SCOPED_LOADER watch = NULL;
    assert_ok(feedline_watch_create(NULL, NULL, &watch));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(look_at_the_parents(watch));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(fixture_info(batch).count, 2);
}

TEST_MAIN("refusals")

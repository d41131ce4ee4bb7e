/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad input and callers' mistakes: a clear error or a per-sample status, the
 * same for any number of workers, and nothing is lost.
 */
#include "loader/dataset/dataset.h"
#include "loader/stream/failure.h"
#include "tests/loader/fixture.h"

#include <feedline/files.h>

#include <unistd.h>

#define N       40
#define DAMAGED 13 /* in the middle of the second batch */
#define MISSING 21

FIXTURE_IMAGES(N)

/* A data set of the folder's files in order, then two of them are broken. */
static feedline_dataset *broken_dataset(void)
{
    static char paths[N][256];
    const char *list[N];
    feedline_dataset *ds;
    for (uint32_t i = 0; i < N; i++) {
        fixture_path(&images, i, paths[i], sizeof(paths[i]));
        list[i] = paths[i];
    }
    assert_ok(feedline_dataset_open_paths(list, images.labels, N, &ds));
    assert_int_equal(truncate(paths[DAMAGED], 60), 0);
    assert_int_equal(unlink(paths[MISSING]), 0);
    return ds;
}

TEST_WITH(raise_comes_in_place_of_its_batch, setup, teardown)
{
    SCOPED_DATASET ds = broken_dataset();
    static const char *const ways[] = {"workers=1", "workers=7",
                                       "workers=3 reader=memory"};
    for (int i = 0; i < 3; i++) {
        SCOPED_LOADER l = fixture_open(ds, ways[i]);
        feedline_batch *b = fixture_next(l);
        feedline_batch_release(b);
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDECODE,
                     "000013.jpg");
        assert_null(b);
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE, "start");
        assert_ok(feedline_loader_start(l, 0));
        assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_OK);
        feedline_batch_release(b);
    }
}

TEST_WITH(failures_name_path_and_reason, setup, teardown)
{
    SCOPED_DATASET ds = broken_dataset();
    SCOPED_LOADER l = fixture_open(ds, "on_error=zero workers=2 epochs=1");
    struct feedline_failure f = {.struct_size = sizeof(f)};
    fixture_run(l, 1);
    assert_int_equal(feedline_loader_failure_count(l), 2);
    bool damaged = false, missing = false;
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(feedline_loader_get_failure(l, i, &f));
        if (f.sample_index == DAMAGED) {
            damaged = true;
            assert_int_equal(f.status, FEEDLINE_EDECODE);
            assert_non_null(strstr(f.path, "000013.jpg"));
            assert_true(f.reason[0] != '\0');
        } else {
            missing = true;
            assert_int_equal(f.sample_index, MISSING);
            assert_int_equal(f.status, FEEDLINE_ENOENT);
            assert_non_null(strstr(f.path, "000021.jpg"));
            assert_non_null(strstr(f.reason, "No such file"));
        }
    }
    assert_true(damaged && missing);
    assert_error(feedline_loader_get_failure(l, 2, &f), FEEDLINE_ERANGE, "2");
    struct feedline_stats stats = fixture_stats(l);
    assert_int_equal(stats.failed_samples, 2);
}

#define MANY 1500u
#define FEW  50u

/* So many parts of a file, of which none is an image. */
static feedline_dataset *bad_parts(const char *path)
{
    static struct feedline_extent parts[MANY];
    const struct feedline_extents e = {.struct_size = sizeof(e),
                                       .n_files = 1,
                                       .files = &path,
                                       .extents = parts,
                                       .count = MANY};
    feedline_dataset *ds;
    for (uint32_t i = 0; i < MANY; i++)
        parts[i] = (struct feedline_extent){.offset = 10 + i % 50, .length = 9};
    assert_ok(feedline_dataset_open_extents(&e, &ds));
    return ds;
}

/* A name that is made lives as long as the data set: of a long run none is made
 * that nobody can ask for. A few are: by each worker for the last failure that
 * is kept, and for samples that were slow or waited for. */
TEST_WITH(names_are_made_of_failures_that_are_kept, setup, teardown)
{
    char path[256];
    uint32_t named = 0;
    fixture_path(&images, 0, path, sizeof(path));
    SCOPED_DATASET ds = bad_parts(path);
    SCOPED_LOADER l = fixture_open(ds, "on_error=zero workers=3 epochs=1");
    fixture_run(l, 1);
    assert_int_equal(feedline_loader_failure_count(l), FDL_FAILURES_KEPT);
    assert_int_equal(fixture_stats(l).failed_samples, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        named += ds->full_names[i] != NULL;
    assert_in_range(named, FDL_FAILURES_KEPT, FDL_FAILURES_KEPT + FEW);
}

/* A part of a file: an error by default, used and counted on request, the same
 * for any number of workers, and in every epoch, whatever part is drawn. */
TEST_WITH(files_that_end_early_are_used_and_counted, setup, teardown)
{
    enum { EPOCHS = 20 };
    char path[256];
    fixture_path(&images, DAMAGED, path, sizeof(path));
    off_t part = (off_t)images.sizes[DAMAGED] * 4 / 5;
    assert_int_equal(truncate(path, part), 0);
    static const char *const ways[] = {
        "on_error=zero", "accept_truncated=0.9 on_error=zero",
        "accept_truncated=0.1 workers=1", "accept_truncated=0.1 workers=5"};
    struct feedline_stats stats[4];
    uint64_t hash[4];
    for (int i = 0; i < 4; i++) {
        SCOPED_LOADER l = fixture_open(images.files, ways[i]);
        stats[i] = (struct feedline_stats){.struct_size = sizeof(stats[i])};
        hash[i] = fixture_run(l, EPOCHS);
        assert_ok(feedline_loader_get_stats(l, &stats[i]));
    }
    for (int i = 0; i < 2; i++)
        assert_in_range(stats[i].failed_samples, EPOCHS, EPOCHS + 1);
    for (int i = 2; i < 4; i++) {
        assert_int_equal(stats[i].failed_samples, 0);
        assert_in_range(stats[i].truncated_samples, EPOCHS, EPOCHS + 1);
    }
    assert_int_equal(stats[0].truncated_samples, 0);
    assert_true(hash[2] == hash[3] && hash[0] == hash[1] && hash[0] != hash[2]);
}

TEST_WITH(zero_leaves_a_black_sample_with_its_error, setup, teardown)
{
    SCOPED_DATASET ds = broken_dataset();
    SCOPED_LOADER l = fixture_open(ds, "on_error=zero workers=3");
    feedline_batch *b;
    for (uint32_t seen = 0; seen < N;) {
        assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_OK);
        struct feedline_batch_info info = fixture_info(b);
        const uint8_t *pixels = info.images.data;
        for (uint32_t i = 0; i < info.count; i++, seen++) {
            bool bad = seen == DAMAGED || seen == MISSING;
            uint64_t sum = 0;
            for (int64_t k = 0; k < info.images.stride[0]; k++)
                sum += pixels[(int64_t)i * info.images.stride[0] + k];
            assert_true(bad == (sum == 0));
            assert_true(bad == (info.sample_status[i] < 0));
            assert_int_equal(info.sample_index[i], seen);
        }
        feedline_batch_release(b);
    }
}

TEST_WITH(skip_keeps_the_batch_full_and_the_stream_the_same, setup, teardown)
{
    SCOPED_DATASET ds = broken_dataset();
    static const char *const ways[] = {
        "on_error=skip workers=1", "on_error=skip workers=7 depth=1",
        "on_error=skip workers=3 reader=memory",
        "on_error=skip workers=2 reader=pread io_depth=1"};
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        SCOPED_LOADER l = fixture_open(ds, ways[i]);
        uint64_t h = fixture_run(l, 2);
        assert_true(i == 0 || h == hash);
        hash = h;
    }
    SCOPED_LOADER l = fixture_open(ds, "on_error=skip");
    feedline_batch *b;
    int replaced = 0;
    while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
        struct feedline_batch_info info = fixture_info(b);
        assert_int_equal(info.count, 8);
        const int64_t *labels = info.labels.data;
        for (uint32_t i = 0; i < info.count; i++) {
            if (info.sample_status[i] != FEEDLINE_REPLACED)
                continue;
            replaced++;
            assert_true(info.sample_index[i] != DAMAGED);
            assert_true(info.sample_index[i] != MISSING);
            assert_int_equal(labels[i], info.sample_index[i] % 3);
        }
        feedline_batch_release(b);
    }
    assert_int_equal(replaced, 2);
}

TEST(skip_ends_when_nothing_can_replace)
{
    static const char text[] = "<!doctype html><p>not found</p>";
    const void *data[4] = {text, text, text, text};
    uint64_t sizes[4] = {sizeof(text), sizeof(text), sizeof(text), 0};
    SCOPED_DATASET ds;
    feedline_batch *b;
    assert_ok(feedline_dataset_open_memory(data, sizes, NULL, 4, &ds));
    SCOPED_LOADER l = fixture_open(ds, "on_error=skip workers=2");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDECODE,
                 "replacements");
}

TEST_WITH(max_failures_ends_the_run, setup, teardown)
{
    SCOPED_DATASET ds = broken_dataset();
    SCOPED_LOADER l =
        fixture_open(ds, "on_error=skip max_failures=1 workers=1");
    feedline_batch *b;
    int32_t status;
    int batches = 0;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
        feedline_batch_release(b);
        batches++;
    }
    assert_int_equal(batches, 2);
    assert_int_equal(status, FEEDLINE_ENOENT);
    assert_non_null(strstr(feedline_last_error(), "max_failures=1"));
}

/* ---- Callers' mistakes -------------------------------------------------- */

TEST(null_handles_are_errors)
{
    feedline_loader *l = (void *)&images;
    feedline_batch *b;
    feedline_dataset *ds;
    feedline_pipeline *p;
    uint64_t n;
    int64_t value;
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    assert_error(feedline_loader_create(NULL, NULL, NULL, &l), FEEDLINE_EINVAL,
                 "data set is NULL");
    assert_null(l);
    assert_error(feedline_loader_next(NULL, 0, &b), FEEDLINE_EINVAL, "loader");
    assert_error(feedline_loader_next(NULL, 0, NULL), FEEDLINE_EINVAL, "out");
    assert_error(feedline_loader_start(NULL, 0), FEEDLINE_EINVAL, "loader");
    assert_error(feedline_loader_stop(NULL), FEEDLINE_EINVAL, "loader");
    assert_int_equal(feedline_loader_interrupt(NULL), FEEDLINE_EINVAL);
    assert_error(feedline_loader_set_int(NULL, "workers", 1), FEEDLINE_EINVAL,
                 "loader");
    assert_error(feedline_loader_get_int(NULL, "workers", &value),
                 FEEDLINE_EINVAL, "loader");
    assert_error(feedline_loader_get_stats(NULL, &stats), FEEDLINE_EINVAL,
                 "loader");
    assert_error(feedline_batch_get_info(NULL, NULL), FEEDLINE_EINVAL, "batch");
    assert_error(feedline_dataset_open(NULL, &ds), FEEDLINE_EINVAL, "uri");
    assert_error(feedline_dataset_get_count(NULL, &n), FEEDLINE_EINVAL, "data");
    assert_error(feedline_pipeline_add(NULL, "resize", NULL), FEEDLINE_EINVAL,
                 "pipeline");
    assert_error(feedline_pipeline_create("trian", &p), FEEDLINE_ENOENT,
                 "train");
    assert_null(p);
    feedline_loader_destroy(NULL);
    feedline_batch_release(NULL);
    feedline_dataset_close(NULL);
    feedline_pipeline_destroy(NULL);
    feedline_config_destroy(NULL);
}

TEST(options_are_checked_and_named)
{
    feedline_config *cfg;
    int64_t value;
    assert_ok(feedline_config_create(&cfg));
    assert_error(feedline_config_set(cfg, "batchsize", "8"), FEEDLINE_ENOENT,
                 "batch_size");
    assert_error(feedline_config_set(cfg, "batch_size", "eight"),
                 FEEDLINE_EINVAL, "eight");
    assert_error(feedline_config_set(cfg, "batch_size", "0"), FEEDLINE_ERANGE,
                 "1 to 65536");
    assert_error(feedline_config_set_int(cfg, "rank", -1), FEEDLINE_ERANGE,
                 "rank");
    assert_error(feedline_config_set(cfg, "reader", "mmap"), FEEDLINE_EINVAL,
                 "pread");
    assert_ok(feedline_config_set(cfg, "batch-size", "12"));
    assert_ok(feedline_config_get_int(cfg, "batch_size", &value));
    assert_int_equal(value, 12);
    assert_ok(feedline_config_set(cfg, "workers", "auto"));
    feedline_config_destroy(cfg);
}

TEST_WITH(options_that_do_not_fit_each_other, setup, teardown)
{
    static const struct {
        const char *options, *words;
        int32_t status;
    } rows[] = {
        {"rank=4 world=4", "rank", FEEDLINE_EINVAL},
        {"world=64 shard_tail=drop", "64 ranks", FEEDLINE_EINVAL},
        {"batch_size=64 drop_last=true", "drop_last", FEEDLINE_EINVAL},
        {"device=cuda:0", "CUDA", FEEDLINE_ENOSYS},
        {"device=cuda:64 dtype=f32", "CUDA", FEEDLINE_ENOSYS},
        {"device=cuda:999999 dtype=f32", "CUDA", FEEDLINE_ENOSYS},
        {"device=tpu", "tpu", FEEDLINE_EINVAL},
        {"memory_budget=4k", "memory_budget", FEEDLINE_ERANGE},
        {"depth=1000 memory_budget=1m", "depth=1000", FEEDLINE_ERANGE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        feedline_loader *l;
        assert_error(fixture_try(&l, images.ds, NULL, "center_crop size=32",
                                 "dtype=u8 batch_size=8 %s", rows[i].options),
                     rows[i].status, rows[i].words);
        assert_null(l);
    }
}

TEST_WITH(live_options_are_checked, setup, teardown)
{
    SCOPED_LOADER l =
        fixture_open(images.ds, "workers=2 memory_budget=1m tuner=off");
    assert_error(feedline_loader_set_int(l, "batch_size", 4), FEEDLINE_ESTATE,
                 "batch_size");
    assert_error(feedline_loader_set_int(l, "drop_last", 0), FEEDLINE_ESTATE,
                 "drop_last cannot change while a loader exists");
    assert_error(feedline_loader_set_int(l, "stuck_after", -1), FEEDLINE_ESTATE,
                 "stuck_after cannot change");
    assert_error(feedline_loader_set_int(l, "wrokers", 4), FEEDLINE_ENOENT,
                 "workers");
    assert_error(feedline_loader_set_int(l, "workers", 0), FEEDLINE_ERANGE,
                 "workers");
    assert_error(feedline_loader_set_int(l, "workers", 100000), FEEDLINE_ERANGE,
                 "workers");
    assert_error(feedline_loader_set_int(l, "depth", 1000), FEEDLINE_ERANGE,
                 "memory_budget");
    assert_int_equal(fixture_int(l, "workers"), 2);
    assert_ok(feedline_loader_set_int(l, "workers", 3));
    assert_int_equal(fixture_int(l, "workers"), 3);
    fixture_run(l, 1);
}

TEST_WITH(pipelines_that_cannot_work_are_refused_at_once, setup, teardown)
{
    feedline_pipeline *p;
    feedline_config *cfg;
    feedline_loader *l;
    assert_ok(feedline_pipeline_create("none", &p));
    assert_error(feedline_pipeline_add(p, "randomcrop", NULL), FEEDLINE_ENOENT,
                 "random");
    assert_error(feedline_pipeline_add(p, "resize", "size=-4"), FEEDLINE_ERANGE,
                 "size");
    assert_error(feedline_pipeline_add(p, "random_resized_crop", "widht=4"),
                 FEEDLINE_ENOENT, "width");
    assert_error(feedline_loader_create(NULL, images.ds, p, &l),
                 FEEDLINE_EINVAL, "size");
    feedline_pipeline_destroy(p);
    assert_ok(feedline_pipeline_create("train", &p));
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set(cfg, "dtype", "u8"));
    assert_error(feedline_loader_create(cfg, images.ds, p, &l), FEEDLINE_EINVAL,
                 "f32");
    assert_ok(feedline_config_set(cfg, "dtype", "f32"));
    assert_ok(feedline_config_set(cfg, "channels", "4"));
    assert_error(feedline_loader_create(cfg, images.ds, p, &l), FEEDLINE_EINVAL,
                 "normalize: mean has 3 numbers, but channels=4");
    assert_error(feedline_config_set(cfg, "channels", "5"), FEEDLINE_ERANGE,
                 "channels");
    feedline_config_destroy(cfg);
    feedline_pipeline_destroy(p);
}

TEST_WITH(structs_without_their_size_are_refused, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    struct feedline_stats stats = {.struct_size = 0, .batches = 77};
    assert_error(feedline_loader_get_stats(l, &stats), FEEDLINE_EINVAL,
                 "struct_size");
    assert_int_equal(stats.batches, 77);
    /* An older caller knows the first fields only. */
    stats.struct_size = 16;
    assert_ok(feedline_loader_get_stats(l, &stats));
    assert_int_equal(stats.struct_size, 16);
    assert_int_equal(stats.batches, 77);
}

TEST_MAIN("failures")

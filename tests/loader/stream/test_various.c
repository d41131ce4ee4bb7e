/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of different sizes: a table of offsets over one piece of memory. The
 * pixels are those of a loader that crops to the same size, wherever they lie;
 * order, failures and resuming are as with one size.
 */
#include "base/compiler.h"
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/ring_own.h"
#include "tests/loader/fixture.h"
#include "tests/transfer/fake.h"

#include <unistd.h>

enum { N = 40 };

FIXTURE_IMAGES(N)

/* The size that fixture_jpeg gives image i. */
static int32_t width_of(int64_t i)
{
    return 40 + (int32_t)(i % 23);
}

static int32_t height_of(int64_t i)
{
    return 36 + (int32_t)(i % 17);
}

/* NULL on error. */
static feedline_loader *open_with(feedline_dataset *ds, const char *options,
                                  const char *operations)
{
    feedline_loader *l;
    (void)fixture_try(&l, ds, NULL, operations,
                      "batch_size=8 dtype=u8 layout=nhwc %s", options);
    return l;
}

/* Everything a consumer may look at, places of images apart. */
static uint64_t hash_batch(uint64_t hash, const feedline_batch *b, size_t item)
{
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t i = 0; i < info.count; i++) {
        const int32_t *size = info.image_size[i];
        const uint8_t *pixels = info.images.data;
        hash = fixture_hash(hash, &info.sample_index[i], sizeof(int64_t));
        hash = fixture_hash(hash, size, 2 * sizeof(*size));
        hash = fixture_hash(hash, pixels + info.image_offset[i],
                            (size_t)size[0] * (size_t)size[1] * 3 * item);
    }
    return hash;
}

static uint64_t hash_run(feedline_loader *l, size_t item)
{
    uint64_t hash = 1;
    feedline_batch *b;
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
        hash = hash_batch(hash, b, item);
        feedline_batch_release(b);
    }
    assert_int_equal(status, FEEDLINE_END);
    return hash;
}

TEST_WITH(the_table_describes_the_batch, setup, teardown)
{
    SCOPED_LOADER l =
        open_with(images.files, "max_sample_bytes=20k workers=3 epochs=1", "");
    assert_non_null(l);
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_info info = fixture_info(b);
    assert_int_equal(info.count, 8);
    assert_int_equal(info.images.shape[0], 8);
    assert_int_equal(info.images.shape[1], 0);
    assert_int_equal(info.images.shape[2], 0);
    assert_int_equal(info.images.shape[3], 3);
    for (int k = 0; k < 4; k++)
        assert_int_equal(info.images.stride[k], 0);
    uint64_t used = 0;
    for (uint32_t i = 0; i < info.count; i++) {
        const int32_t *size = info.image_size[i];
        uint64_t bytes = (uint64_t)size[0] * (uint64_t)size[1] * 3;
        assert_true(size[0] >= 36 && size[0] < 53 && size[1] >= 40);
        assert_int_equal(info.image_offset[i] % 64, 0);
        assert_true((uint64_t)info.image_offset[i] + bytes <= info.image_bytes);
        used += (bytes + 63) / 64 * 64;
        for (uint32_t k = 0; k < i; k++) { /* none lies over another */
            int64_t other = info.image_offset[k];
            int64_t end = other + (int64_t)info.image_size[k][0] *
                                      info.image_size[k][1] * 3;
            assert_true(info.image_offset[i] >= end ||
                        info.image_offset[i] + (int64_t)bytes <= other);
        }
    }
    assert_int_equal(used, info.image_bytes); /* and nothing between them */
    feedline_batch_release(b);
    struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
    assert_ok(feedline_loader_get_epoch_info(l, &epoch));
    assert_int_equal(epoch.shape[0], 8);
    assert_int_equal(epoch.shape[2], 0);
}

/* Image by image against a loader of batches of one, whose size is known. */
TEST_WITH(pixels_are_those_of_one_size, setup, teardown)
{
    SCOPED_LOADER l = open_with(
        images.ds, "max_sample_bytes=20k workers=2 epochs=1 batch_size=7", "");
    feedline_batch *b, *one;
    assert_non_null(l);
    uint32_t seen = 0;
    while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
        struct feedline_batch_info info, want;
        info = fixture_info(b);
        for (uint32_t i = 0; i < info.count; i++, seen++) {
            int64_t index = info.sample_index[i];
            assert_int_equal(info.image_size[i][0], height_of(index));
            assert_int_equal(info.image_size[i][1], width_of(index));
            const void *data = images.data[index];
            SCOPED_DATASET single;
            assert_ok(feedline_dataset_open_memory(&data, &images.sizes[index],
                                                   NULL, 1, &single));
            char crop[64];
            snprintf(crop, sizeof(crop), "center_crop width=%d height=%d",
                     (int)width_of(index), (int)height_of(index));
            SCOPED_LOADER fixed =
                open_with(single, "epochs=1 workers=1 batch_size=1", crop);
            assert_int_equal(feedline_loader_next(fixed, -1, &one),
                             FEEDLINE_OK);
            want = fixture_info(one);
            assert_null(want.image_offset);
            assert_memory_equal(
                want.images.data,
                (const uint8_t *)info.images.data + info.image_offset[i],
                (size_t)(width_of(index) * height_of(index) * 3));
            feedline_batch_release(one);
        }
        feedline_batch_release(b);
    }
    assert_int_equal(seen, N);
}

/* Ragged batches are the same for any workers, depth and reader, after
 * operations of any kind and in every type. */
TEST_WITH(the_stream_does_not_depend_on_how, setup, teardown)
{
    static const char *const ways[] = {
        "workers=1 depth=1 reader=pread", "workers=7 depth=3",
        "workers=3 reader=memory", "workers=2 depth=8 io_depth=1"};
    static const struct {
        const char *dtype, *operations;
        size_t item;
    } work[] = {
        {"dtype=u8", "", 1},
        {"dtype=f32 layout=nchw", "resize size=20", 4},
        {"dtype=u8", "color_jitter brightness=0.4 hue=0.1", 1},
        {"dtype=f16", "random_erasing p=1", 2},
        {"dtype=u8", "random_resized_crop width=30 height=20", 1},
    };
    for (size_t k = 0; k < FDL_COUNT_OF(work); k++) {
        uint64_t want = 0;
        for (size_t i = 0; i < FDL_COUNT_OF(ways); i++) {
            char options[200];
            snprintf(options, sizeof(options),
                     "max_sample_bytes=60k shuffle=true epochs=1 seed=5 %s %s",
                     ways[i], work[k].dtype);
            SCOPED_LOADER l =
                open_with(images.files, options, work[k].operations);
            assert_non_null(l);
            uint64_t got = hash_run(l, work[k].item);
            if (i == 0)
                want = got;
            assert_true(got == want);
        }
    }
}

TEST_WITH(a_run_goes_on_where_it_was, setup, teardown)
{
    const char *options = "max_sample_bytes=20k shuffle=true epochs=1";
    feedline_loader *l = open_with(images.files, options, "");
    feedline_batch *b;
    char line[256];
    uint64_t needed;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_OK);
        feedline_batch_release(b);
    }
    assert_ok(feedline_loader_save(l, line, sizeof(line), &needed));
    uint64_t want = hash_run(l, 1);
    feedline_loader_destroy(l);
    l = open_with(images.files, options, "");
    assert_ok(feedline_loader_restore(l, line));
    assert_true(hash_run(l, 1) == want);
    feedline_loader_destroy(l);
}

/* The images of a batch lie in the device's memory and the table in the host's.
 * One copy moves what is in use, and not a byte behind it. */
TEST_WITH(one_copy_moves_a_batch, setup, teardown)
{
    static const struct fdl_fake_step slow = {.latency_ns = 200000};
    struct fdl_fake_config fake = {.steps = &slow, .n_steps = 1};
    const char *options = "max_sample_bytes=20k shuffle=true epochs=1";
    feedline_loader *host = open_with(images.files, options, ""), *l;
    assert_non_null(host);
    uint64_t want = hash_run(host, 1), got = 1;
    struct fdl_backend_config config = {.script = &fake};
    feedline_pipeline *p;
    feedline_batch *b;
    assert_ok(feedline_pipeline_create("none", &p));
    assert_ok(fdl_loader_create(&host->engine->options, images.files,
                                p->pipeline, &fdl_backend_fake, &config, &l));
    while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
        struct feedline_batch_info info = fixture_info(b);
        const uint8_t *slab = b->slab.device, *pixels = info.images.data;
        const uint8_t *table = (const uint8_t *)info.image_offset;
        assert_ptr_not_equal(b->slab.device, b->slab.host);
        assert_true(pixels > slab && pixels < slab + b->slab.bytes);
        assert_true(table < slab || table >= slab + b->slab.bytes);
        assert_int_equal(b->transfer.bytes,
                         (uint64_t)(pixels - slab) + info.image_bytes);
        got = hash_batch(got, b, 1);
        feedline_batch_release(b);
    }
    assert_true(got == want);
    feedline_loader_destroy(l);
    feedline_pipeline_destroy(p);
    feedline_loader_destroy(host);
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %llu", &pages), 1);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Six slabs reserve 3 GB of addresses; what is not used is never touched. */
TEST_WITH(unused_memory_is_not_touched, setup, teardown)
{
    uint64_t before = resident_bytes();
    SCOPED_LOADER l = open_with(
        images.files, "max_sample_bytes=64m memory_budget=8g epochs=2", "");
    assert_non_null(l);
    hash_run(l, 1);
    struct feedline_stats stats = fixture_stats(l);
    assert_true(stats.memory_bytes > UINT64_C(3) << 30);
    assert_true(resident_bytes() < before + (UINT64_C(256) << 20));
}

/* Which samples are too large follows from them alone. 1 KB above what the
 * smallest need, some are. */
TEST_WITH(samples_above_the_limit_fail, setup, teardown)
{
    feedline_batch *b;
    feedline_loader *l =
        open_with(images.ds, "max_sample_bytes=6000 workers=2", "");
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK)
        feedline_batch_release(b);
    assert_int_equal(status, FEEDLINE_ERANGE);
    assert_non_null(strstr(feedline_last_error(), "max_sample_bytes=6000"));
    feedline_loader_destroy(l);

    for (int workers = 1; workers < 6; workers += 2) {
        char options[128];
        snprintf(options, sizeof(options),
                 "max_sample_bytes=6000 epochs=1 on_error=zero workers=%d",
                 workers);
        l = open_with(images.ds, options, "");
        while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
            struct feedline_batch_info info = fixture_info(b);
            for (uint32_t i = 0; i < info.count; i++) {
                int64_t k = info.sample_index[i];
                bool large = width_of(k) * height_of(k) * 3 > 6000;
                assert_int_equal(info.sample_status[i],
                                 large ? FEEDLINE_ERANGE : FEEDLINE_OK);
                assert_int_equal(info.image_size[i][0],
                                 large ? 0 : height_of(k));
                assert_int_equal(info.image_size[i][1],
                                 large ? 0 : width_of(k));
            }
            feedline_batch_release(b);
        }
        feedline_loader_destroy(l);
    }
}

/* The header of these files is sound: they fail after they took room. */
static void damage_most(void)
{
    for (uint32_t i = 0; i < N; i++) {
        char path[256];
        fixture_path(&images, i, path, sizeof(path));
        if (i % 3 > 0)
            assert_int_equal(truncate(path, (off_t)images.sizes[i] - 40), 0);
    }
}

TEST_WITH(damaged_samples_have_no_size, setup, teardown)
{
    damage_most();
    feedline_loader *l = open_with(
        images.files, "max_sample_bytes=20k on_error=zero epochs=1", "");
    assert_non_null(l);
    feedline_batch *b;
    uint32_t damaged = 0;
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
        struct feedline_batch_info info = fixture_info(b);
        for (uint32_t i = 0; i < info.count; i++) {
            bool sound = info.sample_status[i] == FEEDLINE_OK;
            damaged += !sound;
            assert_true((info.image_size[i][0] > 0) == sound);
            assert_true((info.image_size[i][1] > 0) == sound);
            assert_int_equal(info.image_offset[i] % 64, 0);
            assert_true((uint64_t)info.image_offset[i] <= info.image_bytes);
        }
        feedline_batch_release(b);
    }
    assert_int_equal(status, FEEDLINE_END);
    assert_int_equal(damaged, N - (N + 2) / 3);
    feedline_loader_destroy(l);

    l = open_with(images.files, "max_sample_bytes=20k epochs=1", "");
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK)
        feedline_batch_release(b);
    assert_int_equal(status, FEEDLINE_EDECODE);
    feedline_loader_destroy(l);
}

/* Each replacement of every sample of a batch is larger than the one before, up
 * to the limit and not beyond; the slab holds them all. */
TEST_WITH(every_claim_finds_room, setup, teardown)
{
    SCOPED_LOADER l =
        open_with(images.files, "max_sample_bytes=3000 on_error=skip", "");
    assert_non_null(l);
    uint32_t depth = 1;
    assert_ok(fdl_ring_set_depth(l->engine->ring, &depth));
    feedline_batch *b =
        l->engine->ring->slots[0]; /* nobody else's: not started */
    struct fdl_output_format f = b->ring->kind.layout.format;
    fdl_ring_take_memory_locked(b);
    const uint8_t *end = (const uint8_t *)b->slab.host + b->slab.bytes;
    void *dst;
    f.height = 1;
    for (uint32_t place = 0; place < 8; place++) {
        for (f.width = 100; f.width <= 1000; f.width += 50) {
            assert_ok(fdl_slot_claim(b, place, &f, &dst));
            assert_int_equal((uintptr_t)dst % 64, 0);
            assert_true((const uint8_t *)dst + f.width * 3 <= end);
        }
        f.width = 1001;
        assert_error(fdl_slot_claim(b, place, &f, &dst), FEEDLINE_ERANGE,
                     "takes 3003 bytes, more than max_sample_bytes=3000");
    }
}

/* A sample that fails late has taken room; its replacement may need more. Most
 * of these files end early, so this happens all the time. */
TEST_WITH(replacements_find_room, setup, teardown)
{
    damage_most();
    uint64_t want = 0;
    for (int workers = 1; workers < 8; workers += 3) {
        char options[160];
        /* 62 x 52 pixels are the most: no byte to spare. */
        snprintf(options, sizeof(options),
                 "max_sample_bytes=9672 epochs=1 on_error=skip shuffle=true "
                 "workers=%d",
                 workers);
        SCOPED_LOADER l = open_with(images.files, options, "");
        uint64_t got = hash_run(l, 1);
        if (workers == 1)
            want = got;
        assert_true(got == want);
    }
}

TEST_WITH(what_does_not_fit_is_refused, setup, teardown)
{
    assert_null(open_with(images.ds, "", "")); /* no size, none asked for */
    assert_null(open_with(images.ds, "batch_size=10 max_sample_bytes=9k",
                          "five_crop width=9 height=9"));
    assert_non_null(strstr(feedline_last_error(), "max_sample_bytes"));
    assert_null(
        open_with(images.ds, "max_sample_bytes=1t memory_budget=1g", ""));
    assert_non_null(strstr(feedline_last_error(), "memory_budget"));
}

TEST_MAIN("various")

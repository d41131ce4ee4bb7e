/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader delivers depends on seed, epoch and position and on nothing
 * else: the hash of a stream stays the same for any way of making it.
 */
#include "base/cpu.h"
#include "dice.h"
#include "tests/loader/fixture.h"

#include <feedline/draws.h>

#define N 61 /* not a multiple of the batch size */

FIXTURE_IMAGES(N)

static uint64_t hash_of(feedline_dataset *ds, const char *options)
{
    feedline_loader *l = fixture_open(ds, options);
    uint64_t hash = fixture_run(l, 2);
    feedline_loader_destroy(l);
    return hash;
}

static const char *const orders[] = {
    "shuffle=true seed=7",
    "shuffle=block block=5 lanes=4 seed=7",
    "shuffle=block block=5 lanes=4 seed=7 world=2 rank=1",
};

static feedline_loader *open_with(feedline_dataset *ds, const char *order,
                                  const char *more)
{
    char options[160];
    snprintf(options, sizeof(options), "%s %s", order, more);
    return fixture_open(ds, options);
}

TEST_WITH(each_sample_once_in_order, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "workers=3");
    feedline_batch *b;
    int64_t expected = 0;
    for (uint64_t sequence = 0;; sequence++) {
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END)
            break;
        struct feedline_batch_info info = fixture_info(b);
        assert_int_equal(info.sequence, sequence);
        assert_int_equal(info.epoch, 0);
        assert_int_equal(info.images.shape[0], info.count);
        assert_int_equal(info.images.shape[1], 3);
        assert_int_equal(info.images.shape[3], 32);
        assert_int_equal(info.images.stride[0], 3 * 32 * 32);
        for (uint32_t i = 0; i < info.count; i++) {
            assert_int_equal(info.sample_index[i], expected);
            assert_int_equal(((const int64_t *)info.labels.data)[i],
                             expected % 3);
            assert_int_equal(info.sample_status[i], FEEDLINE_OK);
            expected++;
        }
        feedline_batch_release(b);
    }
    assert_int_equal(expected, N);
}

TEST_WITH(same_for_any_workers_depth_and_reader, setup, teardown)
{
    static const char *const ways[] = {
        "workers=1 depth=1",
        "workers=2 depth=8",
        "workers=7 depth=2",
        "workers=7 depth=1 reader=pread io_depth=1",
        "workers=2 reader=pread io_depth=9",
        "workers=1 reader=memory",
        "workers=5 reader=memory depth=3",
        "reader=pread cache_budget=1",
        "reader=memory cache=keep",
    };
    for (size_t k = 0; k < FDL_COUNT_OF(orders); k++) {
        uint64_t hash = hash_of(images.files, orders[k]);
        for (size_t i = 0; i < FDL_COUNT_OF(ways); i++) {
            SCOPED_LOADER l = open_with(images.files, orders[k], ways[i]);
            assert_true(fixture_run(l, 2) == hash);
        }
        SCOPED_LOADER l = open_with(images.files, orders[k], "seed=8");
        assert_false(fixture_run(l, 2) == hash);
    }
}

TEST_WITH(same_for_io_uring, setup, teardown)
{
    if (!(feedline_features() & FEEDLINE_FEATURE_URING))
        test_skip("io_uring is not built in");
    uint64_t hash = hash_of(images.files, "shuffle=true reader=pread");
    SCOPED_LOADER l = fixture_open(
        images.files,
        "shuffle=true reader=uring io_depth=5 workers=3 cache_budget=1");
    if (feedline_loader_start(l, 0) == FEEDLINE_ENOSYS) {
        printf("%s\n", feedline_last_error());
        test_skip("io_uring cannot be used here");
    }
    assert_true(fixture_run(l, 2) == hash);
}

TEST_WITH(same_for_any_cpu_level, setup, teardown)
{
    static const char *const formats[] = {
        "dtype=u8 layout=nchw",   "dtype=u8 layout=nhwc",
        "dtype=f32 layout=nchw",  "dtype=f32 layout=nhwc",
        "dtype=f32 channels=1",   "dtype=f16 layout=nchw",
        "dtype=f16 layout=nhwc",  "dtype=bf16 layout=nchw",
        "dtype=bf16 layout=nhwc", "dtype=bf16 channels=1"};
    enum fdl_cpu_level top = fdl_cpu_level();
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        fdl_cpu_set_level(FDL_CPU_C);
        uint64_t hash = hash_of(images.ds, formats[i]);
        for (int level = FDL_CPU_C; level <= (int)top; level++) {
            fdl_cpu_set_level((enum fdl_cpu_level)level);
            assert_true(hash_of(images.ds, formats[i]) == hash);
        }
    }
}

/* One epoch of images that come out at a quarter of their size or less, which
 * is where fast decodes less. */
static uint64_t hash_of_small(feedline_dataset *ds, const char *quality,
                              const char *workers)
{
    feedline_loader *l =
        fixture_with(ds, NULL, "resize width=8 height=8",
                     "dtype=u8 quality=%s workers=%s", quality, workers);
    assert_ok(feedline_loader_start(l, 0));
    uint64_t hash = fixture_run(l, 1);
    feedline_loader_destroy(l);
    return hash;
}

TEST_WITH(quality_names_the_stream, setup, teardown)
{
    uint64_t exact = hash_of_small(images.ds, "exact", "1");
    uint64_t fast = hash_of_small(images.ds, "fast", "1");
    assert_true(fast != exact);
    enum fdl_cpu_level top = fdl_cpu_level();
    for (int level = FDL_CPU_C; level <= (int)top; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        assert_true(hash_of_small(images.ds, "fast", "3") == fast);
        assert_true(hash_of_small(images.ds, "exact", "3") == exact);
    }
}

/* Random walks of every live knob while the stream runs. */
TEST_WITH(knobs_never_touch_the_stream, setup, teardown)
{
    uint64_t hash = hash_of(images.files, "shuffle=true");
    struct dice dice = {test_seed()};
    for (int walk = 0; walk < 6; walk++) {
        SCOPED_LOADER l = fixture_open(images.files, "shuffle=true workers=2");
        uint64_t walked = FIXTURE_HASH;
        for (uint32_t ended = 0; ended < 2;) {
            feedline_batch *b;
            static const char *const knobs[] = {"workers", "depth", "io_depth"};
            const char *knob = knobs[dice_below(&dice, 3)];
            assert_ok(
                feedline_loader_set_int(l, knob, 1 + dice_below(&dice, 9)));
            int32_t status = feedline_loader_next(l, -1, &b);
            assert_ok(status);
            if (status == FEEDLINE_OK)
                fixture_consume(b, &walked);
            ended += status == FEEDLINE_END;
        }
        assert_true(walked == hash);
    }
}

/* Stops after `batches`, goes on in another loader from the saved state. */
static uint64_t resumed_at(feedline_dataset *ds, const char *order,
                           uint32_t batches)
{
    char state[256];
    uint64_t needed;
    uint64_t hash = FIXTURE_HASH;
    uint32_t ended = 0;
    feedline_batch *b;
    feedline_loader *l = open_with(ds, order, "workers=2 depth=3");
    for (uint32_t i = 0; i < batches;) {
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            fixture_consume(b, &hash);
        ended += status == FEEDLINE_END;
        i += status == FEEDLINE_OK;
    }
    uint64_t epoch, position;
    assert_ok(feedline_loader_get_position(l, &epoch, &position));
    assert_ok(feedline_loader_save(l, state, sizeof(state), &needed));
    feedline_loader_destroy(l);

    l = open_with(ds, order, "workers=5 depth=1");
    assert_ok(feedline_loader_restore(l, state));
    for (ended = (uint32_t)epoch; ended < 2;) {
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            fixture_consume(b, &hash);
        ended += status == FEEDLINE_END;
    }
    feedline_loader_destroy(l);
    return hash;
}

TEST_WITH(resumes_at_any_batch, setup, teardown)
{
    for (size_t k = 0; k < FDL_COUNT_OF(orders); k++) {
        uint64_t hash = hash_of(images.ds, orders[k]);
        uint32_t per_rank = strstr(orders[k], "world=2") ? (N + 1) / 2 : N;
        uint32_t per_epoch = (per_rank + 7) / 8;
        for (uint32_t batches = 0; batches < 2 * per_epoch; batches++)
            assert_true(resumed_at(images.ds, orders[k], batches) == hash);
    }
}

TEST_WITH(state_of_another_stream_is_refused, setup, teardown)
{
    char text[256];
    uint64_t needed;
    SCOPED_LOADER l = fixture_open(images.ds, "seed=1");
    assert_ok(feedline_loader_save(l, text, sizeof(text), &needed));
    assert_true(needed <= sizeof(text));
    feedline_loader *other = fixture_open(images.ds, "seed=2");
    assert_error(feedline_loader_restore(other, text), FEEDLINE_EINVAL, "seed");
    assert_error(feedline_loader_restore(other, "{"), FEEDLINE_EINVAL, "");
    feedline_loader_destroy(other);
    images.n--;
    SCOPED_DATASET fewer = fixture_memory(&images);
    images.n++;
    other = fixture_open(fewer, "seed=1");
    assert_error(feedline_loader_restore(other, text), FEEDLINE_EINVAL,
                 "data set");
    feedline_loader_destroy(other);
}

TEST_WITH(state_of_another_block_order_is_refused, setup, teardown)
{
    static const struct {
        const char *order, *says;
    } others[] = {
        {"shuffle=block block=5 lanes=3", "lanes=4, this loader"},
        {"shuffle=block block=6 lanes=4", "block=5 lanes=4, this loader"},
        {"shuffle=block lanes=4", "has block=64"},
        {"shuffle=true", "shuffle=\"block\""},
        {"shuffle=false", "has shuffle=false"},
    };
    char text[256];
    uint64_t needed;
    SCOPED_LOADER l = fixture_open(images.ds, "shuffle=block block=5 lanes=4");
    assert_ok(feedline_loader_save(l, text, sizeof(text), &needed));
    for (size_t i = 0; i < FDL_COUNT_OF(others); i++) {
        SCOPED_LOADER other = fixture_open(images.ds, others[i].order);
        assert_error(feedline_loader_restore(other, text), FEEDLINE_EINVAL,
                     others[i].says);
    }
}

/* All ranks together give the whole set, each equally many batches. */
TEST_WITH(ranks_share_the_set, setup, teardown)
{
    uint32_t seen[N] = {0};
    uint64_t batches = 0;
    for (int rank = 0; rank < 4; rank++) {
        char options[64];
        snprintf(options, sizeof(options), "shuffle=true world=4 rank=%d",
                 rank);
        SCOPED_LOADER l = fixture_open(images.ds, options);
        struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
        assert_ok(feedline_loader_get_epoch_info(l, &epoch));
        assert_true(rank == 0 || epoch.batches == batches);
        batches = epoch.batches;
        feedline_batch *b;
        while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK) {
            struct feedline_batch_info info = fixture_info(b);
            for (uint32_t i = 0; i < info.count; i++)
                seen[info.sample_index[i]]++;
            feedline_batch_release(b);
        }
    }
    uint32_t sum = 0;
    for (int i = 0; i < N; i++) {
        assert_true(seen[i] >= 1);
        sum += seen[i];
    }
    assert_int_equal(sum, (N + 3) / 4 * 4);
}

TEST_WITH(drawn_parameters_explain_the_pixels, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "seed=3");
    uint32_t flips = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct feedline_draw draw = {.struct_size = sizeof(draw)};
        struct feedline_draw again = {.struct_size = sizeof(again)};
        int32_t width = 40 + (int32_t)i % 23, height = 36 + (int32_t)i % 17;
        assert_ok(
            feedline_loader_get_draw(l, 4, i, 0, 0, width, height, &draw));
        assert_ok(
            feedline_loader_get_draw(l, 4, i, 0, 0, width, height, &again));
        assert_memory_equal(&draw, &again, sizeof(draw));
        assert_true(draw.x >= 0 && draw.x + draw.width <= width);
        assert_true(draw.y >= 0 && draw.y + draw.height <= height);
        assert_int_equal(draw.resize_width, 32);
        assert_int_equal(draw.window_height, 32);
        flips += (uint32_t)draw.flip;
    }
    assert_true(flips > N / 5 && flips < N - N / 5);
}

TEST_MAIN("stream")

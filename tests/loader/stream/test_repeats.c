/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that come more than once: copies, which draw for themselves, and
 * views, which share their draws; over ranks, short batches, a resumed run and
 * damaged files.
 */
#include "tests/loader/fixture.h"

#include <feedline/draws.h>

#define N     29
#define SIDE  24
#define IMAGE (3 * SIDE * SIDE)

FIXTURE_IMAGES(N)

#define FIVE "resize size=36;five_crop width=24 height=24"
#define TEN  "resize size=36;ten_crop width=24 height=24"
#define DRAW "random_resized_crop width=24 height=24;horizontal_flip"

#define OPTIONS "dtype=u8 batch_size=10 workers=2 %s"

static feedline_loader *open_loader(feedline_dataset *ds, const char *options,
                                    const char *operations)
{
    return fixture_with(ds, NULL, operations, OPTIONS, options);
}

/* The next batch, false at the END. */
static bool next(feedline_loader *l, feedline_batch **b,
                 struct feedline_batch_info *info)
{
    int32_t status = feedline_loader_next(l, -1, b);
    assert_ok(status);
    if (status == FEEDLINE_END)
        return false;
    *info = (struct feedline_batch_info){.struct_size = sizeof(*info)};
    assert_ok(feedline_batch_get_info(*b, info));
    return true;
}

/* All images of the coming epoch, one after the other; *n: how many. The caller
 * frees. */
static uint8_t *all_images(feedline_loader *l, uint32_t *n)
{
    uint8_t *all = NULL;
    feedline_batch *b;
    struct feedline_batch_info info;
    *n = 0;
    while (next(l, &b, &info)) {
        all = realloc(all, (size_t)(*n + info.count) * IMAGE);
        assert_non_null(all);
        memcpy(all + (size_t)*n * IMAGE, info.images.data,
               (size_t)info.count * IMAGE);
        *n += info.count;
        feedline_batch_release(b);
    }
    return all;
}

/* ---- Views -------------------------------------------------------------- */

static void check_views(feedline_dataset *ds, const char *options,
                        const char *operations, uint32_t views)
{
    SCOPED_LOADER l = open_loader(ds, options, operations);
    feedline_batch *b;
    struct feedline_batch_info info;
    struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
    uint64_t sample = 0, batches = 0;
    assert_ok(feedline_loader_get_epoch_info(l, &epoch));
    assert_int_equal(epoch.views, views);
    while (next(l, &b, &info)) {
        const int64_t *labels = info.labels.data;
        assert_int_equal(info.views, views);
        assert_int_equal(info.position, sample);
        assert_int_equal(info.count % views, 0);
        assert_int_equal(info.images.shape[0], info.count);
        assert_int_equal(info.labels.shape[0], info.count);
        assert_true(info.count <= epoch.shape[0]);
        for (uint32_t i = 0; i < info.count; i++) {
            uint64_t index = sample + i / views;
            assert_int_equal(info.sample_index[i], index);
            assert_int_equal(labels[i], index % 3);
            assert_int_equal(info.sample_status[i], FEEDLINE_OK);
        }
        sample += info.count / views;
        batches++;
        feedline_batch_release(b);
    }
    /* With drop_last a part of them. */
    uint64_t full = epoch.batches * (uint64_t)epoch.shape[0] / views;
    assert_int_equal(sample, full < epoch.samples ? full : epoch.samples);
    assert_int_equal(batches, epoch.batches);
    struct feedline_stats stats = fixture_stats(l);
    assert_int_equal(stats.samples, sample);
}

TEST_WITH(views_come_in_a_row, setup, teardown)
{
    check_views(images.ds, "batch_size=5", FIVE, 5);
    check_views(images.ds, "batch_size=20", FIVE, 5);
    check_views(images.ds, "batch_size=5000", FIVE, 5);
    check_views(images.ds, "batch_size=30", TEN, 10);
    check_views(images.ds, "batch_size=40 drop_last=true", TEN, 10);
    check_views(images.ds, "batch_size=7", DRAW, 1);
}

TEST_WITH(views_have_their_pixels, setup, teardown)
{
    SCOPED_LOADER five = open_loader(images.ds, "", FIVE);
    SCOPED_LOADER ten = open_loader(images.ds, "batch_size=70", TEN);
    SCOPED_LOADER middle = open_loader(
        images.ds, "", "resize size=36;center_crop width=24 height=24");
    uint32_t n_five, n_ten, n_middle;
    uint8_t *fives = all_images(five, &n_five);
    uint8_t *tens = all_images(ten, &n_ten);
    uint8_t *middles = all_images(middle, &n_middle);
    assert_int_equal(n_middle, N);
    assert_int_equal(n_five, 5 * N);
    assert_int_equal(n_ten, 10 * N);
    for (size_t i = 0; i < N; i++) {
        assert_memory_equal(fives + (5 * i + 4) * IMAGE, middles + i * IMAGE,
                            IMAGE);
        assert_memory_equal(fives + 5 * i * IMAGE, tens + 10 * i * IMAGE,
                            5 * IMAGE);
        /* The first of the mirror image is the mirrored second. */
        for (size_t at = 0; at < IMAGE; at++)
            assert_int_equal(tens[(10 * i + 5) * IMAGE + at],
                             tens[(10 * i + 1) * IMAGE + at / SIDE * SIDE +
                                  SIDE - 1 - at % SIDE]);
    }
    free(fives);
    free(tens);
    free(middles);
}

/* ---- Copies ------------------------------------------------------------- */

/* Pixels by sample and copy, of all ranks together. Each comes once. */
static void gather(feedline_dataset *ds, uint32_t world, uint32_t repeats,
                   uint32_t epoch_samples, uint8_t *pixels, bool *seen)
{
    memset(seen, 0, N * repeats * sizeof(*seen));
    for (uint32_t rank = 0; rank < world; rank++) {
        char options[128];
        feedline_batch *b;
        struct feedline_batch_info info;
        snprintf(options, sizeof(options),
                 "seed=3 shuffle=true shard_tail=drop rank=%u world=%u "
                 "repeats=%u epoch_samples=%u",
                 rank, world, repeats, epoch_samples);
        SCOPED_LOADER l = open_loader(ds, options, DRAW);
        while (next(l, &b, &info)) {
            for (uint32_t i = 0; i < info.count; i++) {
                uint64_t n = info.position + i / info.views;
                uint64_t copy = (n * world + rank) % repeats;
                uint64_t at = (uint64_t)info.sample_index[i] * repeats + copy;
                assert_false(seen[at]);
                seen[at] = true;
                memcpy(pixels + at * IMAGE,
                       (const uint8_t *)info.images.data + i * IMAGE, IMAGE);
            }
            feedline_batch_release(b);
        }
    }
}

/* What a copy looks like depends on no rank, and no two copies look alike. */
TEST_WITH(copies_are_the_same_on_any_ranks, setup, teardown)
{
    enum { REPEATS = 3, ALL = N * REPEATS };
    static uint8_t one[ALL * IMAGE], many[ALL * IMAGE];
    bool seen_one[ALL], seen[ALL];
    gather(images.ds, 1, REPEATS, ALL, one, seen_one);
    for (uint32_t at = 0; at < ALL; at++) {
        assert_true(seen_one[at]);
        if (at % REPEATS > 0)
            assert_memory_not_equal(one + at * IMAGE, one + (at - 1) * IMAGE,
                                    IMAGE);
    }
    for (uint32_t world = 1; world <= 4; world++) {
        for (uint32_t length = 0; length <= ALL; length += 29) {
            uint32_t n = 0, places = length ? length : N;
            gather(images.ds, world, REPEATS, length, many, seen);
            for (uint32_t at = 0; at < ALL; at++) {
                n += seen[at];
                if (seen[at])
                    assert_memory_equal(one + at * IMAGE, many + at * IMAGE,
                                        IMAGE);
            }
            assert_int_equal(n, places / world * world);
        }
    }
}

/* The first copy is what comes without repeats. */
TEST_WITH(first_copies_are_those_without_repeats, setup, teardown)
{
    static uint8_t single[N * IMAGE], copies[N * 2 * IMAGE];
    bool seen[2 * N];
    gather(images.ds, 1, 1, N, single, seen);
    gather(images.ds, 1, 2, 2 * N, copies, seen);
    for (uint32_t i = 0; i < N; i++)
        assert_memory_equal(single + i * IMAGE, copies + 2 * i * IMAGE, IMAGE);
}

/* ---- Streams ------------------------------------------------------------ */

static const char *const streams[][2] = {
    {"seed=5 shuffle=true repeats=3", DRAW},
    {"seed=5 shuffle=true repeats=4 epoch_samples=71", DRAW},
    {"seed=5 shuffle=true repeats=2 epoch_samples=20",
     "random_resized_crop width=30 height=30;five_crop width=24 height=24;"
     "color_jitter brightness=0.5"},
    {"seed=5 repeats=3 epoch_samples=33", TEN},
};

TEST_WITH(same_for_any_workers_and_depth, setup, teardown)
{
    static const char *const ways[] = {
        "workers=1 depth=1", "workers=5 depth=3 batch_size=40",
        "reader=pread io_depth=2", "reader=memory workers=3"};
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        feedline_loader *l =
            open_loader(images.files, streams[i][0], streams[i][1]);
        uint64_t hash = fixture_run(l, 3);
        feedline_loader_destroy(l);
        for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
            char options[192];
            snprintf(options, sizeof(options), "%s %s", streams[i][0], ways[k]);
            l = open_loader(images.files, options, streams[i][1]);
            assert_true(fixture_run(l, 3) == hash);
            feedline_loader_destroy(l);
        }
    }
}

/* Two batches, then another loader with other batches to the end. */
TEST_WITH(resumes_in_the_middle, setup, teardown)
{
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        feedline_loader *l =
            open_loader(images.ds, streams[i][0], streams[i][1]);
        uint64_t expected = fixture_run(l, 1), hash = expected;
        feedline_loader_destroy(l);

        char saved[256], options[192];
        uint64_t needed, epoch, position;
        feedline_batch *b;
        struct feedline_batch_info info;
        uint64_t samples = 0;
        l = open_loader(images.ds, streams[i][0], streams[i][1]);
        for (int k = 0; k < 2; k++) {
            assert_true(next(l, &b, &info));
            samples += info.count / info.views;
            hash = k == 0 ? FIXTURE_HASH : hash;
            fixture_consume(b, &hash);
        }
        assert_ok(feedline_loader_save(l, saved, sizeof(saved), &needed));
        feedline_loader_destroy(l);

        snprintf(options, sizeof(options), "%s batch_size=30 workers=1",
                 streams[i][0]);
        l = open_loader(images.ds, options, streams[i][1]);
        assert_ok(feedline_loader_restore(l, saved));
        assert_ok(feedline_loader_get_position(l, &epoch, &position));
        assert_int_equal(epoch, 0);
        assert_int_equal(position, samples);
        while (next(l, &b, &info)) {
            assert_int_equal(info.position, samples);
            samples += info.count / info.views;
            fixture_consume(b, &hash);
        }
        assert_true(hash == expected);
        feedline_loader_destroy(l);
    }
}

TEST_WITH(states_of_other_streams_are_refused, setup, teardown)
{
    char saved[256];
    uint64_t needed;
    feedline_loader *l =
        open_loader(images.ds, "repeats=3 epoch_samples=29", DRAW);
    assert_ok(feedline_loader_save(l, saved, sizeof(saved), &needed));
    feedline_loader_destroy(l);
    l = open_loader(images.ds, "repeats=2", DRAW);
    assert_error(feedline_loader_restore(l, saved), FEEDLINE_EINVAL,
                 "repeats=3");
    feedline_loader_destroy(l);
    l = open_loader(images.ds, "repeats=3 epoch_samples=30", DRAW);
    assert_error(feedline_loader_restore(l, saved), FEEDLINE_EINVAL,
                 "epochs of 29 samples");
    feedline_loader_destroy(l);
    /* 29 is what the data set has. Views are none of the state's business. */
    l = open_loader(images.ds, "repeats=3", FIVE);
    assert_ok(feedline_loader_restore(l, saved));
    feedline_loader_destroy(l);
}

/* ---- Damage ------------------------------------------------------------- */

#define DAMAGED 4

static feedline_dataset *damaged_dataset(void)
{
    static const uint8_t nothing[16] = "this is nothing";
    const void *data[N];
    uint64_t sizes[N];
    feedline_dataset *ds;
    for (uint32_t i = 0; i < N; i++) {
        data[i] = i == DAMAGED ? nothing : images.data[i];
        sizes[i] = i == DAMAGED ? sizeof(nothing) : images.sizes[i];
    }
    assert_ok(feedline_dataset_open_memory(data, sizes, images.labels, N, &ds));
    return ds;
}

static void check_damage(const char *options, int32_t status)
{
    SCOPED_DATASET ds = damaged_dataset();
    SCOPED_LOADER l = open_loader(ds, options, FIVE);
    feedline_batch *b;
    struct feedline_batch_info info;
    uint64_t bad = 0;
    int64_t replacement = -1;
    while (next(l, &b, &info)) {
        const int64_t *labels = info.labels.data;
        for (uint32_t i = 0; i < info.count; i++) {
            if (info.sample_status[i] == FEEDLINE_OK)
                continue;
            const uint8_t *pixels =
                (const uint8_t *)info.images.data + i * IMAGE;
            bool empty = true;
            for (size_t at = 0; at < IMAGE; at++)
                empty = empty && pixels[at] == 0;
            assert_int_equal(info.sample_status[i], status);
            assert_int_equal(empty, status < 0);
            replacement = bad ? replacement : info.sample_index[i];
            assert_int_equal(info.sample_index[i], replacement);
            assert_int_equal(labels[i], replacement % 3);
            bad++;
        }
        feedline_batch_release(b);
    }
    /* Two copies of five views; each copy failed once. */
    assert_int_equal(bad, 10);
    assert_int_equal(replacement == DAMAGED, status < 0);
    assert_int_equal(feedline_loader_failure_count(l), 2);
}

TEST_WITH(all_views_of_a_damaged_sample_are_one, setup, teardown)
{
    check_damage("repeats=2 epoch_samples=58 on_error=skip", FEEDLINE_REPLACED);
    check_damage("repeats=2 epoch_samples=58 on_error=zero", FEEDLINE_EDECODE);
    SCOPED_DATASET ds = damaged_dataset();
    SCOPED_LOADER l = open_loader(ds, "", FIVE);
    feedline_batch *b;
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK)
        feedline_batch_release(b);
    assert_int_equal(status, FEEDLINE_EDECODE);
}

/* ---- Draws, custom operations, what is refused -------------------------- */

TEST_WITH(draws_are_told_for_copies_and_views, setup, teardown)
{
    SCOPED_LOADER l = open_loader(
        images.ds, "repeats=2",
        "random_resized_crop width=40 height=30;ten_crop width=24 height=24");
    struct feedline_draw first = {.struct_size = sizeof(first)};
    struct feedline_draw draw = {.struct_size = sizeof(draw)};
    assert_ok(feedline_loader_get_draw(l, 1, 2, 0, 0, 300, 200, &first));
    assert_int_equal(first.window_width, 24);
    for (uint32_t view = 0; view < 10; view++) {
        assert_ok(feedline_loader_get_draw(l, 1, 2, 0, view, 300, 200, &draw));
        assert_int_equal(draw.x, first.x);
        assert_int_equal(draw.width, first.width);
        assert_int_equal(draw.flip, view >= 5);
        bool right = view < 5 ? view % 2 == 1 : view % 5 % 2 == 0;
        if (view % 5 < 4)
            assert_int_equal(draw.window_x, right ? 16 : 0);
        if (view % 5 < 4)
            assert_int_equal(draw.window_y, view % 5 < 2 ? 0 : 6);
    }
    assert_ok(feedline_loader_get_draw(l, 1, 2, 1, 0, 300, 200, &draw));
    assert_memory_not_equal(&draw, &first, sizeof(draw));

    char text[1024];
    uint64_t size;
    assert_ok(feedline_loader_draw_json(l, 1, 2, 1, 7, 300, 200, text,
                                        sizeof(text), &size));
    assert_non_null(strstr(text, "\"view\":7"));
    assert_error(feedline_loader_get_draw(l, 0, N, 0, 0, 9, 9, &draw),
                 FEEDLINE_EINVAL, "no sample 29");
    assert_error(feedline_loader_get_draw(l, 0, 0, 2, 0, 9, 9, &draw),
                 FEEDLINE_EINVAL, "no copy 2");
    assert_error(feedline_loader_draw_json(l, 0, 0, 0, 10, 9, 9, text,
                                           sizeof(text), &size),
                 FEEDLINE_EINVAL, "no view 10");
}

static int32_t paint(const struct feedline_op_call *call)
{
    uint8_t value = (uint8_t)(10 * call->copy + call->view);
    for (int32_t y = 0; y < call->image.height; y++)
        memset((uint8_t *)call->image.data + y * call->image.row_bytes, value,
               (size_t)call->image.row_bytes);
    return FEEDLINE_OK;
}

TEST_WITH(custom_operations_know_copy_and_view, setup, teardown)
{
    const struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "paint", .run = paint};
    SCOPED_LOADER l =
        fixture_with(images.ds, &def, FIVE ";paint", OPTIONS, "repeats=3");
    uint32_t n;
    uint8_t *all = all_images(l, &n);
    assert_int_equal(n, 5 * N);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(all[i * IMAGE], 10 * (i / 5 % 3) + i % 5);
        assert_int_equal(all[(i + 1) * IMAGE - 1], all[i * IMAGE]);
    }
    free(all);
}

TEST_WITH(what_cannot_be_is_refused, setup, teardown)
{
    static const struct {
        const char *options, *operations, *says;
    } bad[] = {
        {"batch_size=64", FIVE, "batch_size=64 images are not a multiple"},
        {"batch_size=64", FIVE, "five_crop makes of a sample; use 60"},
        {"batch_size=3", FIVE, "use 5"},
        {"batch_size=65536", TEN, "use 65530"},
        {"batch_size=1", TEN, "the 10 views that ten_crop makes"},
        {"epoch_samples=30", DRAW, "epoch_samples=30 is more than the 29"},
        {"repeats=2 epoch_samples=59", DRAW, "more than the 58"},
        {"repeats=9 epoch_samples=2 drop_last=true", DRAW, "drop_last=false"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        feedline_loader *l = (void *)&images;
        assert_error(fixture_try(&l, images.ds, NULL, bad[i].operations,
                                 OPTIONS, bad[i].options),
                     FEEDLINE_EINVAL, bad[i].says);
        assert_null(l);
    }
    feedline_config *cfg;
    assert_ok(feedline_config_create(&cfg));
    assert_error(feedline_config_set(cfg, "repeats", "0"), FEEDLINE_ERANGE,
                 "repeats");
    assert_error(feedline_config_set(cfg, "repeats", "65"), FEEDLINE_ERANGE,
                 "repeats");
    feedline_config_destroy(cfg);
}

TEST_MAIN("repeats")

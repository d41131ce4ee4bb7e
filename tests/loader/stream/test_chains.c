/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views by chains of their own: the pixels of each are those that its chain
 * makes of the sample by itself with the draws of that view, wherever workers,
 * depth and restarts put the work; tables have a row for each image.
 */
#include "decode/decoder.h"
#include "decode/pipeline.h"
#include "loader/api/api.h"
#include "loader/api/dlpack.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"

#include <feedline/draws.h>
#include <feedline/exchange.h>
#include <feedline/views.h>

#include <unistd.h>

enum { N = 23, VIEWS = 6, BATCH = 4 /* samples */, MOST = 32 * 32 * 3 * 4 };

FIXTURE_IMAGES(N)

static feedline_pipeline *chain(const char *recipe, const char *op,
                                const char *args)
{
    feedline_pipeline *p;
    assert_ok(feedline_pipeline_create(recipe, &p));
    if (op)
        assert_ok(feedline_pipeline_add(p, op, args));
    return p;
}

/* Two large crops with colours, three small ones, and one without draws. */
static feedline_pipeline *six_views(void)
{
    feedline_pipeline *views = chain("none", NULL, NULL);
    feedline_pipeline *large =
        chain("none", "random_resized_crop", "width=32 height=28");
    assert_ok(feedline_pipeline_add(large, "horizontal_flip", NULL));
    assert_ok(feedline_pipeline_add(large, "color_jitter", "brightness=0.4"));
    feedline_pipeline *small =
        chain("none", "random_resized_crop", "width=12 height=12");
    feedline_pipeline *whole = chain("none", "resize", "width=20 height=16");
    assert_ok(feedline_pipeline_add_views(views, large, 2));
    assert_ok(feedline_pipeline_add_views(views, small, 3));
    assert_ok(feedline_pipeline_add_views(views, whole, 1));
    feedline_pipeline_destroy(large);
    feedline_pipeline_destroy(small);
    feedline_pipeline_destroy(whole);
    return views;
}

/* A status; options as of fixture_try. */
static int32_t try_views(feedline_loader **out, feedline_dataset *ds,
                         const feedline_pipeline *p, const char *options)
{
    feedline_config *cfg;
    char text[256], *save;
    snprintf(text, sizeof(text), "batch_size=24 seed=3 shuffle=true %s",
             options);
    assert_ok(feedline_config_create(&cfg));
    for (char *word = strtok_r(text, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value = '\0';
        assert_ok(feedline_config_set(cfg, word, value + 1));
    }
    int32_t status = feedline_loader_create(cfg, ds, p, out);
    feedline_config_destroy(cfg);
    return status;
}

static feedline_loader *open_views(feedline_dataset *ds, const char *options)
{
    feedline_loader *l;
    feedline_pipeline *p = six_views();
    assert_ok(try_views(&l, ds, p, options));
    feedline_pipeline_destroy(p);
    return l;
}

static struct feedline_tensor view_of(const feedline_batch *b, uint32_t v)
{
    struct feedline_tensor t;
    assert_ok(feedline_batch_get_view(b, v, &t));
    return t;
}

static size_t element(const struct feedline_tensor *t)
{
    return t->dtype == FEEDLINE_U8 ? 1 : 4;
}

/* Sample n of the view, and its bytes. */
static const uint8_t *image_of(const struct feedline_tensor *t, uint32_t n,
                               size_t *bytes)
{
    size_t sample = (size_t)t->stride[0] * element(t);
    *bytes = (size_t)(t->shape[1] * t->shape[2] * t->shape[3]) * element(t);
    return (const uint8_t *)t->data + n * sample;
}

/* What a chain makes of the sample's file, decoded for it alone. */
static void render_alone(const feedline_loader *l, struct fdl_decoder *d,
                         int64_t index, uint64_t epoch, uint32_t view,
                         const struct feedline_tensor *t, uint8_t *out)
{
    struct fdl_encoded bytes = {.data = images.data[index],
                                .size = images.sizes[index],
                                .readable = images.sizes[index]};
    struct fdl_draw_key key = {.seed = 3,
                               .epoch = epoch,
                               .sample = (uint64_t)index,
                               .view = (int32_t)view,
                               .channels = 3};
    bool nhwc = t->shape[3] == 3;
    struct fdl_output_format f = {
        .height = (int32_t)t->shape[nhwc ? 1 : 2],
        .width = (int32_t)t->shape[nhwc ? 2 : 3],
        .channels = 3,
        .dtype = t->dtype,
        .nhwc = nhwc,
    };
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct fdl_plan plan;
    assert_ok(fdl_decoder_open(d, &bytes, &info));
    assert_ok(fdl_pipeline_draw(l->engine->pipeline, &key, info.width,
                                info.height, &plan));
    assert_ok(fdl_decoder_render(d, &plan, &f, out, &cost));
}

static void check_batch(const feedline_loader *l, struct fdl_decoder *d,
                        const feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    uint8_t want[MOST];
    assert_int_equal(info.views, VIEWS);
    assert_int_equal(info.count % VIEWS, 0);
    uint32_t samples = info.count / VIEWS;
    for (uint32_t v = 0; v < VIEWS; v++) {
        struct feedline_tensor t = view_of(b, v);
        assert_int_equal(t.shape[0], samples);
        for (uint32_t n = 0; n < samples; n++) {
            size_t bytes;
            const uint8_t *got = image_of(&t, n, &bytes);
            int64_t index = info.sample_index[n * VIEWS + v];
            assert_int_equal(((const int64_t *)info.labels.data)[n * VIEWS + v],
                             images.labels[index]);
            assert_int_equal(info.sample_status[n * VIEWS + v], FEEDLINE_OK);
            render_alone(l, d, index, info.epoch, v, &t, want);
            assert_memory_equal(got, want, bytes);
        }
    }
}

static void check_loader(const char *options)
{
    struct fdl_decode_limits limits = {.max_pixels = 1u << 20, .max_scans = 99};
    struct fdl_decoder *d;
    feedline_batch *b;
    uint32_t samples = 0;
    assert_ok(fdl_decoder_create(&limits, &d));
    SCOPED_LOADER l = open_views(images.ds, options);
    while ((b = fixture_next(l))) {
        check_batch(l, d, b);
        samples += fixture_info(b).count / VIEWS;
        feedline_batch_release(b);
    }
    assert_int_equal(samples, N);
    fdl_decoder_destroy(d);
}

TEST_WITH(each_view_is_what_its_chain_makes, setup, teardown)
{
    check_loader("dtype=u8 epochs=1");
    check_loader("dtype=u8 layout=nhwc epochs=1 workers=3");
    check_loader("dtype=f32 epochs=1 workers=2");
}

/* View 0 of a loader of views is what a loader of its chain alone delivers. */
TEST_WITH(first_view_is_the_chain_alone, setup, teardown)
{
    feedline_batch *b, *alone;
    SCOPED_LOADER views = open_views(images.ds, "dtype=u8 epochs=1");
    SCOPED_LOADER one =
        fixture_with(images.ds, NULL,
                     "random_resized_crop width=32 height=28;horizontal_flip;"
                     "color_jitter brightness=0.4",
                     "batch_size=4 seed=3 shuffle=true dtype=u8 epochs=1");
    while ((b = fixture_next(views))) {
        alone = fixture_next(one);
        struct feedline_tensor t = view_of(b, 0);
        struct feedline_batch_info info = fixture_info(alone);
        struct feedline_tensor images_of_b = fixture_info(b).images;
        assert_int_equal(info.count, t.shape[0]);
        assert_memory_equal(t.data, info.images.data, info.image_bytes);
        assert_ptr_equal(images_of_b.data, t.data);
        assert_memory_equal(images_of_b.shape, t.shape, sizeof(t.shape));
        feedline_batch_release(b);
        feedline_batch_release(alone);
    }
    assert_null(fixture_next(one));
}

/* All views lie in one piece. Releases the batch. */
static void consume(feedline_batch *b, uint64_t *hash)
{
    struct feedline_batch_info info = fixture_info(b);
    *hash = fixture_hash(*hash, info.images.data, info.image_bytes);
    *hash =
        fixture_hash(*hash, info.sample_index, info.count * sizeof(int64_t));
    *hash =
        fixture_hash(*hash, info.sample_status, info.count * sizeof(int32_t));
    feedline_batch_release(b);
}

static uint64_t rest_of(feedline_loader *l)
{
    uint64_t hash = 0;
    for (feedline_batch *b; (b = fixture_next(l));)
        consume(b, &hash);
    return hash;
}

static uint64_t hash_of(const char *options)
{
    SCOPED_LOADER l = open_views(images.files, options);
    uint64_t first = rest_of(l);
    return first * 31 + rest_of(l);
}

TEST_WITH(same_for_any_workers_and_depth, setup, teardown)
{
    uint64_t want = hash_of("dtype=u8 epochs=2 workers=1 depth=1");
    assert_true(hash_of("dtype=u8 epochs=2 workers=5 depth=3") == want);
    assert_true(hash_of("dtype=u8 epochs=2 workers=2 reader=pread") == want);
    assert_true(hash_of("dtype=u8 epochs=2 workers=2 seed=4") != want);
}

TEST_WITH(resumes_between_batches, setup, teardown)
{
    char state[256];
    uint64_t needed;
    SCOPED_LOADER l = open_views(images.ds, "dtype=u8 epochs=1");
    SCOPED_LOADER again = open_views(images.ds, "dtype=u8 epochs=1 workers=2");
    feedline_batch_release(fixture_next(l));
    feedline_batch_release(fixture_next(l));
    assert_ok(feedline_loader_save(l, state, sizeof(state), &needed));
    uint64_t want = rest_of(l);
    assert_ok(feedline_loader_restore(again, state));
    assert_true(rest_of(again) == want);
}

/* Draws are told view by view, and differ. */
TEST_WITH(draws_are_told, setup, teardown)
{
    struct feedline_draw draws[VIEWS];
    SCOPED_LOADER l = open_views(images.ds, "dtype=u8");
    for (uint32_t v = 0; v < VIEWS; v++) {
        draws[v].struct_size = sizeof(draws[v]);
        assert_ok(feedline_loader_get_draw(l, 0, 5, 0, v, 640, 480, &draws[v]));
    }
    assert_int_equal(draws[0].resize_width, 32);
    assert_int_equal(draws[1].resize_width, 32);
    assert_int_equal(draws[2].resize_width, 12);
    assert_int_equal(draws[5].resize_width, 20);
    assert_int_equal(draws[5].width, 640);
    assert_true(memcmp(&draws[0].x, &draws[1].x, 4 * sizeof(int32_t)) != 0);
    assert_true(memcmp(&draws[2].x, &draws[3].x, 4 * sizeof(int32_t)) != 0);
    assert_error(feedline_loader_get_draw(l, 0, 5, 0, VIEWS, 640, 480, draws),
                 FEEDLINE_EINVAL, "no view 6 of 6");
}

TEST_WITH(views_are_tensors, setup, teardown)
{
    SCOPED_LOADER l = open_views(images.ds, "dtype=u8");
    struct feedline_epoch_info info = {.struct_size = sizeof(info)};
    struct feedline_tensor t;
    void *exported;
    assert_ok(feedline_loader_get_epoch_info(l, &info));
    assert_int_equal(info.views, VIEWS);
    assert_int_equal(info.shape[0], BATCH);
    assert_int_equal(info.shape[3], 32);
    feedline_batch *b = fixture_next(l);
    /* Views of one size follow each other. */
    struct feedline_tensor first = view_of(b, 2), second = view_of(b, 3);
    assert_ptr_equal((uint8_t *)first.data + BATCH * 12 * 12 * 3, second.data);
    assert_error(feedline_batch_get_view(b, VIEWS, &t), FEEDLINE_ERANGE,
                 "no view 6 of 6");
    assert_ok(feedline_batch_export(b, FEEDLINE_VIEW + 5, 0, &exported));
    struct fdl_dl_managed *managed = exported;
    assert_int_equal(managed->tensor.shape[2], 16);
    managed->deleter(managed);
    assert_error(feedline_batch_export(b, FEEDLINE_VIEW + 6, 0, &exported),
                 FEEDLINE_EINVAL, "no part 22");
    feedline_batch_release(b);
}

/* five_crop's views are read in the same way. */
TEST_WITH(views_of_an_operation_are_read_alike, setup, teardown)
{
    SCOPED_LOADER l = fixture_with(images.ds, NULL, "five_crop size=20",
                                   "batch_size=10 dtype=u8");
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t v = 0; v < 5; v++) {
        struct feedline_tensor t = view_of(b, v);
        assert_int_equal(t.shape[0], 2);
        for (uint32_t n = 0; n < 2; n++) {
            size_t bytes, same;
            const uint8_t *got = image_of(&t, n, &bytes);
            assert_ptr_equal(got, fixture_image(&info, n * 5 + v, &same));
            assert_int_equal(bytes, same);
        }
    }
    feedline_batch_release(b);
}

/* ---- Failures ----------------------------------------------------------- */

static void damage(uint32_t i)
{
    char path[256];
    fixture_path(&images, i, path, sizeof(path));
    assert_int_equal(truncate(path, (off_t)(images.sizes[i] / 2)), 0);
}

TEST_WITH(a_damaged_sample_is_black_in_each_view, setup, teardown)
{
    feedline_batch *b;
    uint32_t black = 0;
    damage(3);
    damage(8);
    SCOPED_LOADER l =
        open_views(images.files, "dtype=u8 epochs=1 on_error=zero workers=2");
    while ((b = fixture_next(l))) {
        struct feedline_batch_info info = fixture_info(b);
        for (uint32_t i = 0; i < info.count; i++) {
            struct feedline_tensor t = view_of(b, i % VIEWS);
            size_t bytes;
            const uint8_t *got = image_of(&t, i / VIEWS, &bytes);
            bool zero = true;
            for (size_t k = 0; k < bytes; k++)
                zero &= got[k] == 0;
            assert_int_equal(zero, info.sample_status[i] < 0);
            black += zero;
        }
        feedline_batch_release(b);
    }
    assert_int_equal(black, 2 * VIEWS);
}

TEST_WITH(a_damaged_sample_is_replaced_in_each_view, setup, teardown)
{
    damage(3);
    uint64_t want =
        hash_of("dtype=u8 epochs=1 on_error=skip workers=1 depth=1");
    assert_true(hash_of("dtype=u8 epochs=1 on_error=skip workers=4") == want);
}

TEST_WITH(mistakes_are_told, setup, teardown)
{
    feedline_pipeline *views = chain("none", NULL, NULL);
    feedline_pipeline *five = chain("none", "five_crop", "size=8");
    feedline_pipeline *train = chain("train", NULL, NULL);
    feedline_loader *l;
    assert_error(feedline_pipeline_add_views(NULL, train, 1), FEEDLINE_EINVAL,
                 "pipeline is NULL");
    assert_error(feedline_pipeline_add_views(views, NULL, 1), FEEDLINE_EINVAL,
                 "chain is NULL");
    assert_error(feedline_pipeline_add_views(views, views, 1), FEEDLINE_EINVAL,
                 "no chain of itself");
    assert_error(feedline_pipeline_add_views(train, views, 1), FEEDLINE_EINVAL,
                 "put random_resized_crop into each chain");
    assert_error(feedline_pipeline_add_views(views, five, 1), FEEDLINE_EINVAL,
                 "five_crop makes several");
    assert_error(feedline_pipeline_add_views(views, train, 0), FEEDLINE_ERANGE,
                 "1 to 64");
    assert_error(feedline_pipeline_add_views(views, train, 65), FEEDLINE_ERANGE,
                 "65 views");
    assert_ok(feedline_pipeline_add_views(views, train, 63));
    assert_error(feedline_pipeline_add_views(views, train, 2), FEEDLINE_ERANGE,
                 "2 views after 63");
    assert_error(feedline_pipeline_add_views(five, views, 1), FEEDLINE_EINVAL,
                 "five_crop");
    assert_error(feedline_pipeline_add(views, "normalize", NULL),
                 FEEDLINE_EINVAL, "consists of views");
    assert_error(try_views(&l, images.ds, views, ""), FEEDLINE_EINVAL,
                 "batch_size=24 images are not a multiple of the 63 views");
    assert_error(try_views(&l, images.ds, views, "batch_size=63 dtype=u8"),
                 FEEDLINE_EINVAL, "normalised");
    feedline_pipeline_destroy(five);
    feedline_pipeline_destroy(train);
    feedline_pipeline_destroy(views);

    views = six_views();
    assert_error(
        try_views(&l, images.ds, views, "dtype=u8 max_sample_bytes=100k"),
        FEEDLINE_EINVAL, "max_sample_bytes at 0");
    feedline_pipeline_destroy(views);
}

/* Memory for batches is laid out by the program for one tensor only. */
TEST_WITH(lent_memory_is_refused, setup, teardown)
{
    static _Alignas(64) uint8_t memory[1 << 20];
    SCOPED_LOADER l = open_views(images.ds, "dtype=u8");
    feedline_batch_release(fixture_next(l));
    assert_error(feedline_loader_lend(l, memory, sizeof(memory)),
                 FEEDLINE_ENOSYS, "several chains");
}

TEST_WITH(pipeline_is_told_as_json, setup, teardown)
{
    char text[4096];
    uint64_t needed;
    feedline_pipeline *p = six_views();
    assert_ok(feedline_pipeline_json(p, text, sizeof(text), &needed));
    assert_non_null(strstr(text, "{\"views\":2,\"pipeline\":["
                                 "{\"op\":\"random_resized_crop\""));
    assert_non_null(strstr(text, "{\"views\":1,\"pipeline\":["
                                 "{\"op\":\"resize\""));
    feedline_pipeline_destroy(p);
}

TEST_MAIN("chains")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose samples are files and a pipeline: it gets the very batches of
 * a loader that has this pipeline and these files.
 */
#include "base/compiler.h"
#include "tests/loader/fixture.h"

#include <feedline/recorded.h>
#include <feedline/views.h>

enum { N = 23, BATCH = 4, TICKETS = 64, SIDE = 28, EPOCHS = 3 };

#define SEED 5

/* ---- The program --------------------------------------------------------- */

static struct {
    struct fixture images;
    char paths[N][96];
    feedline_pipeline *pipeline;
    int32_t dtype, nhwc;
    uint32_t views; /* of a sample */
    uint64_t bytes; /* of an image */
    uint8_t *out;   /* [ticket][place][view] */
} program;

static uint8_t *place_of(uint64_t ticket, uint32_t place, uint32_t view)
{
    uint64_t image = (ticket * BATCH + place) * program.views + view;
    assert_true(ticket < TICKETS);
    return program.out + image * program.bytes;
}

static int32_t read_sample(struct feedline_read_call *call)
{
    struct feedline_recorded_image images[FEEDLINE_RECORDED_IMAGES_MAX];
    for (uint32_t v = 0; v < program.views; v++)
        images[v] = (struct feedline_recorded_image){
            .struct_size = sizeof(images[v]),
            .path = program.paths[call->index],
            .length = -1,
            .out = place_of(call->ticket, call->place, v),
            .out_bytes = program.bytes,
            .dtype = program.dtype,
            .nhwc = program.nhwc,
            .channels = 3,
            .height = SIDE,
            .width = SIDE,
            .pipeline = program.pipeline,
            .draw_seed = SEED,
            .draw_epoch = call->epoch,
            .draw_sample = call->index,
            .draw_copy = call->copy,
            .draw_view = v,
        };
    return feedline_read_recorded(call, images, program.views);
}

static void setup(void)
{
    fixture_create(&program.images, N);
    for (uint32_t i = 0; i < N; i++)
        fixture_path(&program.images, i, program.paths[i],
                     sizeof(program.paths[i]));
    assert_ok(feedline_pipeline_create("none", &program.pipeline));
    program.views = 1;
}

static void teardown(void)
{
    free(program.out);
    feedline_pipeline_destroy(program.pipeline);
    fixture_remove(&program.images);
    memset(&program, 0, sizeof(program));
}

/* "name args;name args" */
static void add_operations(const char *operations)
{
    char text[512], *save;
    snprintf(text, sizeof(text), "%s", operations);
    for (char *op = strtok_r(text, ";", &save); op;
         op = strtok_r(NULL, ";", &save)) {
        char *args = strchr(op, ' ');
        if (args)
            *args++ = '\0';
        assert_ok(feedline_pipeline_add(program.pipeline, op, args));
    }
}

/* Where images go that are like those of a batch with this tensor. */
static void make_room(const struct feedline_tensor *like, size_t element)
{
    program.nhwc = like->shape[3] == 3;
    program.dtype = like->dtype;
    program.bytes = 3 * SIDE * SIDE * element;
    free(program.out);
    program.out = calloc(TICKETS * BATCH * program.views, program.bytes);
    assert_non_null(program.out);
}

static feedline_dataset *open_program(void)
{
    const struct feedline_source source = {
        .struct_size = sizeof(source),
        .flags = FEEDLINE_SOURCE_RECORDED,
        .name = "files",
        .count = N,
        .read = read_sample,
        .labels = program.images.labels,
    };
    feedline_dataset *ds;
    assert_ok(feedline_dataset_open_source(&source, &ds));
    return ds;
}

/* ---- Both ---------------------------------------------------------------- */

static void compare_batch(const feedline_batch *native,
                          const feedline_batch *recorded, uint64_t ticket)
{
    struct feedline_batch_info a = fixture_info(native);
    struct feedline_batch_info b = fixture_info(recorded);
    assert_int_equal(a.count, b.count);
    assert_int_equal(a.epoch, b.epoch);
    for (uint32_t i = 0; i < a.count; i++) {
        size_t bytes;
        const uint8_t *pixels = fixture_image(&a, i, &bytes);
        assert_int_equal(a.sample_index[i], b.sample_index[i]);
        assert_int_equal(b.sample_status[i], FEEDLINE_OK);
        assert_int_equal(bytes, program.bytes);
        assert_memory_equal(pixels, place_of(ticket, i, 0), bytes);
    }
}

/* Both deliver the same. options: of either. */
static void compare(const char *operations, const char *options, size_t element)
{
    const char *all = "batch_size=4 seed=5 shuffle=true epochs=3 %s";
    SCOPED_DATASET ds = open_program();
    SCOPED_LOADER native =
        fixture_with(program.images.ds, NULL, operations, all, options);
    SCOPED_LOADER recorded = fixture_with(ds, NULL, "", all, options);
    uint32_t ends = 0;
    add_operations(operations);
    for (uint64_t ticket = 0; ends < EPOCHS; ticket++) {
        feedline_batch *a = fixture_next(native);
        if (a && ticket == 0) {
            struct feedline_tensor like = fixture_info(a).images;
            make_room(&like, element);
        }
        feedline_batch *b = fixture_next(recorded);
        assert_int_equal(a == NULL, b == NULL);
        if (a)
            compare_batch(a, b, ticket);
        ticket -= !a;
        ends += !a;
        feedline_batch_release(a);
        feedline_batch_release(b);
    }
    assert_int_equal(feedline_loader_failure_count(recorded), 0);
}

#define TRAIN                                                                  \
  "random_resized_crop size=28;horizontal_flip;trivial_augment_wide;"          \
  "normalize;random_erasing p=0.5"

TEST_WITH(floats_are_those_of_a_native_loader, setup, teardown)
{
    compare(TRAIN, "dtype=f32 workers=2", sizeof(float));
}

TEST_WITH(bytes_in_rows_with_an_index, setup, teardown)
{
    compare("random_resized_crop size=28;random_photometric_distort",
            "dtype=u8 layout=nhwc jpeg_index=true workers=2", 1);
}

TEST_WITH(halves_rounded_as_the_option_says, setup, teardown)
{
    compare("resize width=40 height=33;random_crop size=28;normalize",
            "dtype=f16 rounding=multiply reader=memory", 2);
}

/* Each copy of a sample has draws of its own. */
TEST_WITH(copies_of_samples, setup, teardown)
{
    compare(TRAIN, "dtype=bf16 repeats=3 epoch_samples=23", 2);
}

/* Chains of views draw view by view. */
TEST_WITH(views_are_those_of_a_native_loader, setup, teardown)
{
    feedline_pipeline *views;
    feedline_config *cfg;
    feedline_loader *native;
    uint64_t ticket = 0;
    feedline_batch *a;
    add_operations(TRAIN);
    program.views = 3;
    assert_ok(feedline_pipeline_create("none", &views));
    assert_ok(feedline_pipeline_add_views(views, program.pipeline, 3));
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set(cfg, "seed", "5"));
    assert_ok(feedline_config_set(cfg, "batch_size", "12"));
    assert_ok(feedline_config_set(cfg, "epochs", "1"));
    assert_ok(feedline_loader_create(cfg, program.images.ds, views, &native));
    SCOPED_DATASET ds = open_program();
    SCOPED_LOADER recorded =
        fixture_with(ds, NULL, "", "batch_size=4 seed=5 epochs=1 workers=2");
    for (; (a = fixture_next(native)); ticket++) {
        struct feedline_tensor t = fixture_info(a).images;
        if (ticket == 0)
            make_room(&t, sizeof(float));
        feedline_batch *b = fixture_next(recorded);
        for (uint32_t v = 0; v < 3; v++) {
            assert_ok(feedline_batch_get_view(a, v, &t));
            for (uint32_t i = 0; i < fixture_info(b).count; i++)
                assert_memory_equal((const uint8_t *)t.data +
                                        i * (uint64_t)t.stride[0] * 4,
                                    place_of(ticket, i, v), program.bytes);
        }
        feedline_batch_release(a);
        feedline_batch_release(b);
    }
    assert_null(fixture_next(recorded));
    feedline_loader_destroy(native);
    feedline_config_destroy(cfg);
    feedline_pipeline_destroy(views);
}

/* Errors name the image, and are the sample's. */
TEST_WITH(a_pipeline_that_does_not_fit, setup, teardown)
{
    feedline_batch *b;
    add_operations("random_crop size=28;normalize");
    program.dtype = FEEDLINE_U8;
    program.bytes = 3 * SIDE * SIDE;
    program.out = calloc(TICKETS * BATCH, program.bytes);
    SCOPED_DATASET ds = open_program();
    SCOPED_LOADER l = fixture_with(ds, NULL, "", "batch_size=4 epochs=1");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EINVAL,
                 "000000.jpg: normalize in the pipeline makes floats");
}

TEST_MAIN("recorded_native")

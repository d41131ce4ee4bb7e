/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are decoded once and rendered several times: the pixels are those
 * of renders that decode each time, whatever the file is. */
#include "make_jpeg.h"
#include "make_png.h"
#include "tests/decode/rig.h"

enum { RENDERS = 6, SIDE = 24, MOST = SIDE * SIDE * 4 };

struct file {
    uint8_t *data;
    size_t size;
};

static struct file jpeg(int32_t components, bool progressive, int32_t h)
{
    struct make_jpeg m = {.width = 97,
                          .height = 61,
                          .components = components,
                          .h = h,
                          .v = h,
                          .quality = 90,
                          .progressive = progressive,
                          .seed = 5};
    struct file f;
    f.data = make_jpeg(&m, &f.size);
    return f;
}

static struct file png(int colour, bool turned)
{
    struct make_png m = {.width = 53,
                         .height = 88,
                         .depth = 8,
                         .colour = colour,
                         .exif = turned ? rig_on_its_side : NULL,
                         .exif_bytes = turned ? sizeof(rig_on_its_side) : 0,
                         .seed = 7};
    struct file f;
    f.data = make_png(&m, &f.size);
    return f;
}

/* Plan number i of an image. */
static void plan_of(uint32_t i, const struct fdl_image_info *info,
                    struct fdl_plan *out)
{
    static const char *const ops[][2] = {
        {"random_resized_crop", "width=24 height=24"},
        {"horizontal_flip", NULL},
        {"vertical_flip", NULL},
        {NULL, NULL}};
    SCOPED_PIPELINE p = rig_pipeline(ops);
    assert_int_equal(first_plan(p, 1, 0, i, info->width, info->height, out),
                     FEEDLINE_OK);
}

static void check(struct fdl_decoder *d, const struct file *file,
                  int32_t channels)
{
    struct fdl_encoded bytes = file_of(file->data, file->size);
    struct fdl_output_format f = {SIDE, SIDE, channels, FEEDLINE_U8, true};
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct fdl_plan plan;
    struct fdl_box box = {0, 0, 0, 0};
    uint8_t want[RENDERS][MOST], got[MOST];
    for (uint32_t i = 0; i < RENDERS; i++) {
        assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
        plan_of(i, &info, &plan);
        assert_int_equal(fdl_decoder_render(d, &plan, &f, want[i], &cost),
                         FEEDLINE_OK);
        if (i == 0)
            box = plan.geometry.box;
        fdl_box_join(&box, &plan.geometry.box);
    }
    cost = (struct fdl_render_cost){0};
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    assert_int_equal(fdl_decoder_keep(d, &box, channels, &cost), FEEDLINE_OK);
    assert_true(cost.pixels > 0 && cost.clock_reads > 0);
    for (uint32_t i = RENDERS; i-- > 0;) {
        plan_of(i, &info, &plan);
        assert_int_equal(fdl_decoder_render(d, &plan, &f, got, &cost),
                         FEEDLINE_OK);
        assert_memory_equal(got, want[i], (size_t)(SIDE * SIDE * channels));
    }
    fdl_decoder_abort(d);
}

TEST(renders_are_those_of_the_file)
{
    struct file files[] = {jpeg(1, false, 1), jpeg(3, false, 2),
                           jpeg(3, true, 2),  jpeg(4, false, 1),
                           png(0, false),     png(2, true),
                           png(4, false),     png(6, true)};
    for (int32_t columns_first = 0; columns_first < 2; columns_first++) {
        SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){
            .apply_exif = true, .columns_first = columns_first != 0});
        for (size_t i = 0; i < FDL_COUNT_OF(files); i++)
            for (int32_t channels = 1; channels <= 4; channels++)
                check(d, &files[i], channels);
    }
    for (size_t i = 0; i < FDL_COUNT_OF(files); i++)
        free(files[i].data);
}

/* A damaged file is refused while it is kept, and the decoder goes on. */
TEST(damage_is_told_at_once)
{
    struct file whole = jpeg(3, false, 1);
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_encoded bytes = file_of(whole.data, whole.size / 2);
    struct fdl_box box = {0, 0, 97, 61};
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    assert_int_equal(fdl_decoder_keep(d, &box, 3, &cost), FEEDLINE_EDECODE);
    fdl_decoder_abort(d);
    check(d, &whole, 3);
    fdl_decoder_destroy(d);
    free(whole.data);
}

TEST_MAIN("decode_kept")

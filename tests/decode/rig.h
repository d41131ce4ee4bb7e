/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of decode/ share: decoders, pipelines, odd files, and what a
 * decoder may say about them. */
#ifndef FDL_TESTS_DECODE_RIG_H
#define FDL_TESTS_DECODE_RIG_H

#include "base/compiler.h"
#include "base/status.h"
#include "test.h"
#include "tests/decode/inputs.h"

/* Destroyed where its block ends; clang does not count that as a use. */
#define SCOPED_DECODER                                                         \
  __attribute__((cleanup(rig_end_decoder), unused)) struct fdl_decoder *
#define SCOPED_PIPELINE                                                        \
  __attribute__((cleanup(rig_end_pipeline), unused)) struct fdl_pipeline *

static inline void rig_end_decoder(struct fdl_decoder **d)
{
    fdl_decoder_destroy(*d);
}

static inline void rig_end_pipeline(struct fdl_pipeline **p)
{
    fdl_pipeline_destroy(*p);
}

/* A limit of 0 stands for one that small images meet. */
static inline struct fdl_decoder *rig_decoder(struct fdl_decode_limits limits)
{
    struct fdl_decoder *d;
    if (limits.max_pixels == 0)
        limits.max_pixels = 1u << 16;
    if (limits.max_scans == 0)
        limits.max_scans = 30;
    assert_int_equal(fdl_decoder_create(&limits, &d), FEEDLINE_OK);
    return d;
}

/* Of a recipe; NULL: empty. */
static inline struct fdl_pipeline *rig_recipe(const char *recipe)
{
    struct fdl_pipeline *p;
    assert_int_equal(fdl_pipeline_create(recipe, &p), FEEDLINE_OK);
    return p;
}

static inline void rig_add(struct fdl_pipeline *p, const char *op,
                           const char *args)
{
    if (fdl_pipeline_add(p, op, args) != FEEDLINE_OK)
        fail_msg("%s %s: %s", op, args ? args : "", fdl_last_error());
}

/* Of names and arguments up to a NULL. */
static inline struct fdl_pipeline *rig_pipeline(const char *const (*ops)[2])
{
    struct fdl_pipeline *p = rig_recipe(NULL);
    for (; (*ops)[0]; ops++)
        rig_add(p, (*ops)[0], (*ops)[1]);
    return p;
}

/* The plan of a sample, which there has to be. */
static inline struct fdl_plan rig_plan(const struct fdl_pipeline *p,
                                       uint64_t sample, int32_t width,
                                       int32_t height)
{
    struct fdl_plan plan;
    if (first_plan(p, 1, 0, sample, width, height, &plan) != FEEDLINE_OK)
        fail_msg("%s", fdl_last_error());
    return plan;
}

static inline void *rig_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    assert_non_null(p);
    return p;
}

/* The first n bytes in memory that ends where they end, for sanitizers. */
static inline uint8_t *rig_copy(const void *data, size_t n)
{
    return memcpy(rig_alloc(n), data, n);
}

/* All of a plan, of an image that there has to be. */
static inline struct fdl_render_cost rig_render(
    struct fdl_decoder *d, const struct fdl_encoded *bytes,
    const struct fdl_plan *plan, const struct fdl_output_format *f, void *out)
{
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    if (fdl_decoder_open(d, bytes, &info) ||
        fdl_decoder_render(d, plan, f, out, &cost))
        fail_msg("%s", fdl_last_error());
    return cost;
}

/* As much of `box` as there is, resampled to side x side bytes of RGB. */
static inline int32_t rig_decode(struct fdl_decoder *d,
                                 const struct fdl_encoded *bytes,
                                 struct fdl_box box, int32_t side, uint8_t *out,
                                 struct fdl_render_cost *cost)
{
    struct fdl_image_info info;
    fdl_clear_error();
    int32_t status = fdl_decoder_open(d, bytes, &info);
    if (status)
        return status;
    box.width = FDL_MIN(box.width, info.width);
    box.height = FDL_MIN(box.height, info.height);
    box.x = FDL_MIN(box.x, info.width - box.width);
    box.y = FDL_MIN(box.y, info.height - box.height);
    struct fdl_plan plan;
    fdl_plan_init(&plan, info.width, info.height);
    fdl_plan_crop(&plan, box);
    if (fdl_geometry_resize(&plan.geometry, side, side))
        fail_msg("%s", fdl_last_error());
    struct fdl_output_format f = {side, side, 3, FEEDLINE_U8, true};
    return fdl_decoder_render(d, &plan, &f, out, cost);
}

/* A file may be refused, with one line that says where. */
static inline void rig_check_clean(int32_t status)
{
    if (status == FEEDLINE_OK)
        return;
    assert_true(status == FEEDLINE_EDECODE || status == FEEDLINE_ERANGE ||
                status == FEEDLINE_ENOMEM);
    assert_non_null(strstr(fdl_last_error(), "offset"));
    assert_null(strchr(fdl_last_error(), '\n'));
}

/* EXIF data: stored on its side. */
static const uint8_t rig_on_its_side[] = {
    'M', 'M',  0, '*', 0, 0, 0, 8, 0, 1, /* header, count */
    1,   0x12, 0, 3,   0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0};

/* Two pixels, lossless: (10, 255, 7) and (128, 64, 32). */
static const uint8_t rig_webp[] = {
    0x52, 0x49, 0x46, 0x46, 0x22, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42,
    0x50, 0x56, 0x50, 0x38, 0x4c, 0x16, 0x00, 0x00, 0x00, 0x2f, 0x01,
    0x00, 0x00, 0x00, 0x0f, 0xf0, 0xa0, 0xff, 0x2b, 0xd8, 0xfd, 0x20,
    0x63, 0xfe, 0x23, 0x0d, 0x15, 0x88, 0xe8, 0x7f, 0x00};

#endif

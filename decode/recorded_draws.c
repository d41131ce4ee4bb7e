/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of a program: one that may be there, and its draws. */
#include "base/philox.h"
#include "base/status.h"
#include "base/thread.h"
#include "decode/pipeline.h"
#include "decode/recorded_image.h"

#include <inttypes.h>

/* ---- What the pipeline does ---------------------------------------------- */

static int32_t refuse(const char *op, const char *why)
{
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s in the pipeline of a recorded image: %s", op, why);
}

static int32_t check_operations(const struct fdl_pipeline *p)
{
    struct fdl_mix mix;
    const char *views = NULL, *objects = fdl_pipeline_objects_op(p);
    (void)fdl_pipeline_views(p, &views);
    if (views)
        return refuse(views, "it makes several images of one");
    if (objects)
        return refuse(objects, "there are no objects");
    if (fdl_pipeline_mix(p, &mix))
        return refuse("mix", "there is no batch to mix it with");
    if (fdl_pipeline_custom_count(p) > 0)
        return refuse(fdl_pipeline_custom_name(p, 0),
                      "it is an operation of the program's");
    return FEEDLINE_OK;
}

/* ---- What comes out ------------------------------------------------------ */

/* A pipeline may leave open what size an image becomes; then it is seen when it
 * is drawn. */
static int32_t check_size(const struct fdl_pipeline *p,
                          const struct feedline_recorded_image *image)
{
    int32_t width, height;
    if (fdl_pipeline_output_size(p, 0, 0, &width, &height) != FEEDLINE_OK) {
        fdl_clear_error();
        return FEEDLINE_OK;
    }
    if (width == image->width && height == image->height)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "the pipeline makes images %" PRId32 "x%" PRId32
                    ", but the output is %" PRId32 "x%" PRId32,
                    width, height, image->width, image->height);
}

static int32_t check_output(const struct fdl_pipeline *p,
                            const struct feedline_recorded_image *image)
{
    int32_t status = fdl_pipeline_check_channels(p, image->channels);
    if (!status)
        status = check_size(p, image);
    if (!status && image->dtype == FEEDLINE_U8 && fdl_pipeline_normalizes(p))
        status = fdl_fail(FEEDLINE_EINVAL,
                          "normalize in the pipeline makes floats, but the "
                          "output is of bytes");
    return status;
}

/* ---- Steps --------------------------------------------------------------- */

static bool may_come_before(uint32_t op)
{
    return op == FEEDLINE_STEP_CONVERT || op == FEEDLINE_STEP_CROP ||
           op == FEEDLINE_STEP_TRANSPOSE;
}

static bool is_behind(uint32_t op)
{
    return !fdl_recorded_on_pixels(op);
}

/* The last pass is one: it does what the pipeline says, or what steps say. */
static bool is_last_pass(uint32_t op)
{
    return op == FEEDLINE_STEP_NORMALIZE || op == FEEDLINE_STEP_LOOKUP;
}

static int32_t check_step(const struct fdl_pipeline *p, uint32_t op)
{
    const char *late = fdl_pipeline_late_op(p);
    if (!may_come_before(op) && !is_behind(op))
        return fdl_fail(FEEDLINE_EINVAL,
                        "before a pipeline there are CONVERT, CROP and "
                        "TRANSPOSE only");
    if (is_last_pass(op) && (late || fdl_pipeline_normalizes(p)))
        return fdl_fail(FEEDLINE_EINVAL,
                        "it cannot come behind %s of the "
                        "pipeline",
                        late ? late : "normalize");
    return FEEDLINE_OK;
}

static int32_t check_steps(const struct fdl_pipeline *p,
                           const struct feedline_recorded_image *image)
{
    for (uint32_t i = 0; i < image->n_steps; i++) {
        uint32_t op = image->steps[i].op;
        int32_t status = check_step(p, op);
        if (status)
            return fdl_fail(status, "step %" PRIu32 " (%s): %s", i + 1,
                            fdl_recorded_name(op), fdl_last_error());
    }
    return FEEDLINE_OK;
}

/* ---- Draws --------------------------------------------------------------- */

static int32_t check_key(const struct feedline_recorded_image *image)
{
    if (image->draw_sample >= FDL_SAMPLES_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "draw_sample is %" PRIu64 "; it is below 2^48",
                        image->draw_sample);
    if (image->draw_copy >= FDL_COPY_NUMBERS)
        return fdl_fail(FEEDLINE_ERANGE,
                        "draw_copy is %" PRIu32 "; it is below %" PRIu32,
                        image->draw_copy, FDL_COPY_NUMBERS);
    if (image->draw_view >= FEEDLINE_VIEWS_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "draw_view is %" PRIu32 "; it is below %d",
                        image->draw_view, FEEDLINE_VIEWS_MAX);
    return FEEDLINE_OK;
}

int32_t fdl_recorded_check_draws(const struct feedline_recorded_image *image)
{
    const feedline_pipeline *handle = image->pipeline;
    if (handle->fork_generation != fdl_fork_generation())
        return fdl_fail(FEEDLINE_EFORK,
                        "its pipeline was made before fork(): make a new one "
                        "in the child");
    int32_t status = check_key(image);
    if (!status)
        status = check_operations(handle->pipeline);
    if (!status)
        status = check_steps(handle->pipeline, image);
    return status ? status : check_output(handle->pipeline, image);
}

int32_t fdl_recorded_draw(const struct feedline_recorded_image *image,
                          struct fdl_plan *plan)
{
    const struct fdl_draw_key key = {
        .seed = image->draw_seed,
        .epoch = image->draw_epoch,
        .sample = image->draw_sample,
        .copy = image->draw_copy,
        .view = FDL_EVERY_VIEW,
        .as_view = image->draw_view,
        .channels = image->channels,
    };
    return fdl_pipeline_draw_behind(image->pipeline->pipeline, &key, plan);
}

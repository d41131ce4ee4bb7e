/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomRotation without expand: Pillow's rotate about the centre
 * of the image, the angle drawn evenly, counter-clockwise.
 *
 * Pillow walks the result and looks each pixel up in the image, through an
 * affine map: for nearest in fixed point of 16 bits as long as all four corners
 * fit, else in double by repeated addition; for bilinear in double, each pixel
 * for itself, the value cut off and not rounded. Multiples of 90 degrees are
 * moves of pixels. All of that is met here.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/rotate.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_DEGREES, ROW_INTERPOLATION, ROW_FILL, ROWS };
enum { NEAREST, BILINEAR };

#define DEGREES_MAX 1e6
#define PI          3.14159265358979323846

static const struct fdl_option options[ROWS] = {
    [ROW_DEGREES] = {.name = "degrees",
                     .type = FEEDLINE_T_DOUBLES,
                     .double_min = -DEGREES_MAX,
                     .double_max = DEGREES_MAX,
                     .default_text = "10",
                     .unit = "degrees",
                     .help = "largest angle to both sides, or the range"},
    [ROW_INTERPOLATION] = {.name = "interpolation",
                           .type = FEEDLINE_T_ENUM,
                           .default_text = "nearest",
                           .unit = "",
                           .choices = "nearest|bilinear",
                           .help = "how pixels between pixels are found"},
    [ROW_FILL] = FDL_OPTION_FILL,
};

struct rotation {
    double matrix[6]; /* from the result to the image */
    int32_t quarters; /* 1 to 3 turns of 90 degrees; 0: see matrix */
    int32_t bilinear;
    uint8_t fill[4];
};

static struct fdl_option_value range_of(const struct fdl_options *o)
{
    struct fdl_option_value v = *fdl_option_value(o, ROW_DEGREES);
    if (v.n_doubles == 1) {
        v.doubles[1] = v.doubles[0];
        v.doubles[0] = -v.doubles[0];
    }
    return v;
}

static int32_t check(const struct fdl_options *o)
{
    struct fdl_option_value v = range_of(o);
    if (v.n_doubles > 2 || v.doubles[0] > v.doubles[1])
        return fdl_fail(FEEDLINE_EINVAL,
                        "random_rotation: degrees takes one number that is not "
                        "negative, or two, the smaller one first");
    return fdl_fill_check(o, ROW_FILL);
}

/* To 15 decimals, half to even of the exact value, as Python's round does. */
static double round_15(double x)
{
    char text[32];
    snprintf(text, sizeof(text), "%.15f", x);
    return strtod(text, NULL);
}

static void make_matrix(double degrees, int32_t width, int32_t height,
                        double m[6])
{
    double angle = -(degrees * (PI / 180.0));
    double x = width / 2.0, y = height / 2.0;
    m[0] = m[4] = round_15(cos(angle));
    m[1] = round_15(sin(angle));
    m[3] = round_15(-sin(angle));
    m[2] = m[0] * -x + m[1] * -y + 0.0 + x;
    m[5] = m[3] * -x + m[4] * -y + 0.0 + y;
}

/* ---- Running ------------------------------------------------------------ */

static void turn_quarters(const struct fdl_image *in, struct fdl_image *out,
                          int32_t quarters)
{
    int32_t w = in->width, h = in->height;
    for (int32_t c = 0; c < in->channels; c++) {
        for (int32_t y = 0; y < out->height; y++) {
            uint8_t *to = fdl_image_row(out, c, y);
            for (int32_t x = 0; x < out->width; x++) {
                if (quarters == 2)
                    to[x] = fdl_image_row(in, c, h - 1 - y)[w - 1 - x];
                else if (quarters == 1)
                    to[x] = fdl_image_row(in, c, x)[w - 1 - y];
                else
                    to[x] = fdl_image_row(in, c, h - 1 - x)[y];
            }
        }
    }
}

static int32_t fixed(double v)
{
    return (int32_t)floor(v * 65536.0 + 0.5);
}

/* Whether every pixel of the image lies within 15 bits before the point. */
static bool fits_fixed(const double m[6], int32_t width, int32_t height)
{
    for (int32_t corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? width : 0, y = corner & 2 ? height : 0;
        if (!(fabs(x * m[0] + y * m[1] + m[2]) < 32768.0 &&
              fabs(x * m[3] + y * m[4] + m[5]) < 32768.0))
            return false;
    }
    return true;
}

static void put(const struct fdl_image *in, struct fdl_image *out, int32_t x,
                int32_t y, int32_t from_x, int32_t from_y, const uint8_t *fill)
{
    bool inside =
        from_x >= 0 && from_x < in->width && from_y >= 0 && from_y < in->height;
    size_t to = (size_t)y * (size_t)out->width + (size_t)x;
    size_t from =
        inside ? (size_t)from_y * (size_t)in->width + (size_t)from_x : 0;
    for (size_t c = 0; c < (size_t)in->channels; c++)
        out->data[c * out->plane + to] =
            inside ? in->data[c * in->plane + from] : fill[c];
}

static void nearest_fixed(const struct rotation *r, const struct fdl_image *in,
                          struct fdl_image *out)
{
    const double *m = r->matrix;
    int32_t step_x = fixed(m[0]), step_y = fixed(m[3]);
    int32_t line_x = fixed(m[1]), line_y = fixed(m[4]);
    int32_t start_x = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
    int32_t start_y = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int32_t y = 0; y < out->height; y++) {
        int32_t at_x = start_x, at_y = start_y;
        for (int32_t x = 0; x < out->width; x++) {
            put(in, out, x, y, at_x >> 16, at_y >> 16, r->fill);
            at_x += step_x;
            at_y += step_y;
        }
        start_x += line_x;
        start_y += line_y;
    }
}

static int32_t coordinate(double v)
{
    return v < 0.0 ? -1 : (int32_t)v;
}

/* Of sides beyond 32768 pixels. */
static void nearest_double(const struct rotation *r, const struct fdl_image *in,
                           struct fdl_image *out)
{
    const double *m = r->matrix;
    double start_x = m[2] + m[1] * 0.5 + m[0] * 0.5;
    double start_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
    for (int32_t y = 0; y < out->height; y++) {
        double at_x = start_x, at_y = start_y;
        for (int32_t x = 0; x < out->width; x++) {
            put(in, out, x, y, coordinate(at_x), coordinate(at_y), r->fill);
            at_x += m[0];
            at_y += m[3];
        }
        start_x += m[1];
        start_y += m[4];
    }
}

/* Colours and alpha: the fill, too, is of multiplied colours in Pillow. */
static void multiply(const struct fdl_image *image)
{
    size_t colours = FDL_COLOURS(image->channels);
    for (size_t c = 0; c < colours; c++)
        fdl_alpha_multiply(image->data + c * image->plane, image->plane, 1,
                           image->data + colours * image->plane);
}

static void divide(const struct fdl_image *image)
{
    size_t colours = FDL_COLOURS(image->channels);
    for (size_t c = 0; c < colours; c++)
        fdl_alpha_divide(image->data + c * image->plane, image->plane,
                         image->data + colours * image->plane);
}

static int32_t bilinear(const struct rotation *r, struct fdl_canvas *canvas,
                        struct fdl_image *out)
{
    const struct fdl_rotate_kernels *k = fdl_kernels[fdl_cpu_level()].rotate;
    struct fdl_rotate_job job = {.in = &canvas->image, .out = out};
    memcpy(job.matrix, r->matrix, sizeof(job.matrix));
    memcpy(job.fill, r->fill, sizeof(job.fill));
    if (k->scratch_bytes) {
        size_t bytes = k->scratch_bytes(&canvas->image);
        if (bytes == 0)
            return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
        int32_t status =
            fdl_canvas_scratch(canvas, FDL_SCRATCH_STEP, bytes, &job.scratch);
        if (status)
            return status;
    }
    if (FDL_HAS_ALPHA(out->channels))
        multiply(&canvas->image);
    k->bilinear(&job);
    if (FDL_HAS_ALPHA(out->channels))
        divide(out);
    return FEEDLINE_OK;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *canvas)
{
    struct rotation r;
    struct fdl_image *in = &canvas->image, out;
    fdl_step_values(step, &r, sizeof(r));
    int32_t status = fdl_canvas_spare(canvas, in->width, in->height, &out);
    if (status)
        return status;
    if (r.quarters)
        turn_quarters(in, &out, r.quarters);
    else if (r.bilinear)
        status = bilinear(&r, canvas, &out);
    else if (fits_fixed(r.matrix, in->width, in->height))
        nearest_fixed(&r, in, &out);
    else
        nearest_double(&r, in, &out);
    if (!status)
        fdl_canvas_swap(canvas, &out);
    return status;
}

static const struct fdl_step_kind kind = {.run = run};

/* ---- Planning ----------------------------------------------------------- */

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    struct fdl_option_value v = range_of(o);
    double drawn =
        v.doubles[0] + (v.doubles[1] - v.doubles[0]) * fdl_rng_uniform(rng);
    fdl_note_double(plan, "angle", drawn);
    double angle = fmod(drawn, 360.0);
    if (angle < 0)
        angle += 360.0;
    if (angle == 0)
        return FEEDLINE_OK;

    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    struct rotation r = {
        .bilinear = fdl_option_int(o, ROW_INTERPOLATION) == BILINEAR,
    };
    if (angle == 180 || (width == height && (angle == 90 || angle == 270)))
        r.quarters = (int32_t)angle / 90;
    else
        make_matrix(angle, width, height, r.matrix);
    fdl_fill_of(o, ROW_FILL, r.fill);
    fdl_plan_add(plan, &kind, &r, sizeof(r));
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_random_rotation = {
    .name = "random_rotation",
    .help = "turn about the centre by a random angle, the size stays",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .check_channels = fdl_fill_check_channels,
    .plan = plan,
};

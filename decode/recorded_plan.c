/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a program, written into a plan by the functions that operations
 * of a pipeline use.
 *
 * What they mean depends on the mode of the image, which begins as that of the
 * file. As long as pixels were only picked, as by crops and flips, a
 * conversion may as well be the decoder's: then the file is `stored`, and
 * nothing is known of its pixels but where they are. A palette is looked up in
 * there as well, or by a step if something else came first.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"
#include "decode/kernels/alpha.h"
#include "decode/plan/adjust.h"
#include "decode/plan/affine.h"
#include "decode/plan/blur.h"
#include "decode/plan/channels.h"
#include "decode/plan/erase.h"
#include "decode/plan/expect.h"
#include "decode/plan/float_step.h"
#include "decode/plan/point.h"
#include "decode/plan/sharpness.h"
#include "decode/plan/turn.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Pillow's modes, as far as they matter. */
enum mode {
    MODE_1 = 0x1, /* a bit is 0 or 255 */
    MODE_L = 0x2,
    MODE_LA = 0x4,
    MODE_RGB = 0x8,
    MODE_RGBA = 0x10,
    MODE_P = 0x20,
    MODE_OTHER = 0x40, /* to be converted */
    MODE_YCBCR = 0x80,

    MODES_PICKED = MODE_1 | MODE_P, /* resampled by nearest only */
    MODES_PLAIN = MODE_L | MODE_RGB,
    MODES_COLOUR = MODES_PLAIN | MODE_LA | MODE_RGBA,
    MODES_ALL = MODES_PICKED | MODES_COLOUR | MODE_OTHER,
    MODES_MOVED = MODES_ALL | MODE_YCBCR,
    MODES_CV = MODES_PLAIN | MODE_RGBA,
};

struct program {
    struct fdl_decoder *d;
    const struct feedline_recorded_image *image;
    struct fdl_plan *plan;
    enum mode mode;
    bool stored;
    const struct fdl_palette *palette; /* of P that is not stored */
};

/* ---- Modes -------------------------------------------------------------- */

static const struct {
    const char *name;
    enum mode mode;
} modes[] = {{"1", MODE_1},        {"L", MODE_L},       {"LA", MODE_LA},
             {"RGB", MODE_RGB},    {"RGBA", MODE_RGBA}, {"P", MODE_P},
             {"YCbCr", MODE_YCBCR}};

static enum mode mode_of(const char *name)
{
    for (size_t i = 0; i < FDL_COUNT_OF(modes); i++) {
        if (strcmp(modes[i].name, name) == 0)
            return modes[i].mode;
    }
    return MODE_OTHER;
}

static const char *name_of(const struct program *p)
{
    for (size_t i = 0; i < FDL_COUNT_OF(modes); i++) {
        if (modes[i].mode == p->mode)
            return modes[i].name;
    }
    return p->d->info.mode;
}

static int32_t channels_of(enum mode mode)
{
    switch (mode) {
    case MODE_LA:
        return 2;
    case MODE_RGB:
    case MODE_YCBCR:
        return 3;
    case MODE_RGBA:
        return 4;
    default:
        return 1;
    }
}

static void set_mode(struct program *p, enum mode mode)
{
    p->mode = mode;
    p->plan->alpha = FDL_HAS_ALPHA(channels_of(mode));
}

/* From here on there are pixels, in the mode of now. */
static int32_t leave_file(struct program *p)
{
    if (!p->stored)
        return FEEDLINE_OK;
    if (p->mode == MODE_OTHER)
        return fdl_fail(FEEDLINE_EINVAL,
                        "an image of Pillow's mode %s has to be converted "
                        "first",
                        p->d->info.mode);
    if (p->mode == MODE_P)
        p->palette = fdl_decoder_indices(p->d);
    p->plan->channels = channels_of(p->mode);
    p->stored = false;
    return FEEDLINE_OK;
}

/* Whether each pixel still is one of the file. */
static bool only_picks(const struct fdl_plan *plan)
{
    return plan->n_pixel_steps == 0 &&
           (!fdl_geometry_is_resampled(&plan->geometry) ||
            plan->geometry.filter == FDL_FILTER_NEAREST);
}

/* A colour that means transparent is compared when an image gets its alpha: in
 * the file, or nowhere. */
static int32_t check_key(const struct program *p, enum mode to)
{
    bool keyed = p->d->info.keyed && FDL_HAS_ALPHA(channels_of(to)) &&
                 (p->mode & (MODE_1 | MODE_L | MODE_RGB));
    if (!keyed)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "the transparent colour of this %s is not known any more; "
                    "convert it before other steps",
                    p->d->info.format->name);
}

static const enum mode by_channels[] = {MODE_1, MODE_L, MODE_LA, MODE_RGB,
                                        MODE_RGBA};

static int32_t convert(struct program *p, int32_t channels)
{
    enum mode to = by_channels[channels];
    if (p->mode == to)
        return FEEDLINE_OK;
    if (p->stored) {
        p->plan->channels = channels;
        p->stored = false;
        set_mode(p, to);
        return FEEDLINE_OK;
    }
    int32_t status = check_key(p, to);
    if (status)
        return status;
    if (p->mode != MODE_1 || to != MODE_L) /* these have the same bytes */
        fdl_plan_convert(p->plan, channels,
                         p->mode == MODE_P ? p->palette : NULL);
    set_mode(p, to);
    return FEEDLINE_OK;
}

/* ---- Steps -------------------------------------------------------------- */

/* Without alpha; the file knows no such mode. */
static int32_t convert_to_ycbcr(struct program *p)
{
    bool gray = p->mode & (MODE_1 | MODE_L | MODE_LA);
    if (p->mode == MODE_YCBCR)
        return FEEDLINE_OK;
    int32_t status = convert(p, gray ? 1 : 3);
    if (!status)
        status = leave_file(p);
    if (status)
        return status;
    fdl_plan_ycbcr(p->plan);
    set_mode(p, MODE_YCBCR);
    return FEEDLINE_OK;
}

static int32_t plan_convert(struct program *p,
                            const struct feedline_recorded_step *s)
{
    int32_t to = (int32_t)s->value[0];
    if (to == FDL_RECORDED_YCBCR)
        return convert_to_ycbcr(p);
    if (p->mode == MODE_YCBCR)
        return fdl_fail(FEEDLINE_EINVAL, "it is not from YCbCr");
    return convert(p, to);
}

static int32_t plan_crop(struct program *p,
                         const struct feedline_recorded_step *s)
{
    static const uint8_t black[4];
    const double *v = s->value;
    struct fdl_box box = {(int32_t)v[0], (int32_t)v[1], (int32_t)(v[2] - v[0]),
                          (int32_t)(v[3] - v[1])};
    return fdl_plan_window(p->plan, box, FDL_PAD_CONSTANT, black);
}

static enum fdl_filter filter_of(double number)
{
    static const enum fdl_filter filters[] = {
        FDL_FILTER_NEAREST, FDL_FILTER_LANCZOS, FDL_FILTER_BILINEAR,
        FDL_FILTER_BICUBIC, FDL_FILTER_BOX,     FDL_FILTER_HAMMING};
    return filters[(size_t)number];
}

/* Of a box, which is rounded to float as in Pillow. */
static int32_t resize_part(struct program *p, const double *v,
                           enum fdl_filter filter)
{
    struct fdl_plan *plan = p->plan;
    int32_t width = (int32_t)v[0], height = (int32_t)v[1];
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    float left = (float)v[3], top = (float)v[4];
    float right = (float)v[5], bottom = (float)v[6];
    if (right > (float)w || bottom > (float)h)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the box ends at %g, %g, outside of an image of "
                        "%" PRId32 "x%" PRId32,
                        v[5], v[6], w, h);
    struct fdl_span x = {left, right - left}, y = {top, bottom - top};
    bool whole = left == 0 && top == 0 && x.size == w && y.size == h;
    if (whole)
        fdl_plan_resize(plan, width, height, filter);
    else
        fdl_plan_resize_part(plan, width, height, filter, &x, &y);
    return FEEDLINE_OK;
}

static int32_t plan_resize(struct program *p,
                           const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    enum fdl_filter filter = filter_of(v[2]);
    if (p->mode & MODES_PICKED)
        filter = FDL_FILTER_NEAREST;
    if (s->n > 3)
        return resize_part(p, v, filter);
    fdl_plan_resize(p->plan, (int32_t)v[0], (int32_t)v[1], filter);
    return FEEDLINE_OK;
}

static int32_t plan_tensor_resize(struct program *p,
                                  const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    p->plan->tensor = true;
    fdl_plan_resize(p->plan, (int32_t)v[0], (int32_t)v[1], filter_of(v[2]));
    p->plan->tensor = false;
    return FEEDLINE_OK;
}

/* Whether nothing was done yet but conversions. */
static bool is_whole(const struct program *p)
{
    const struct fdl_geometry *g = &p->plan->geometry;
    const struct fdl_image_info *info = &p->d->info;
    return p->plan->n_steps == 0 && !g->flip && !g->flip_vertical &&
           g->box.width == info->width && g->box.height == info->height &&
           !fdl_geometry_is_resampled(g) && info->orientation == 1;
}

/* One that comes first, as exif_transpose does, turns the decoder's rows. */
static int32_t plan_transpose(struct program *p,
                              const struct feedline_recorded_step *s)
{
    static const int32_t orientations[FDL_TRANSPOSES] = {[FDL_ROTATE_90] = 8,
                                                         [FDL_ROTATE_270] = 6,
                                                         [FDL_TRANSPOSE] = 5,
                                                         [FDL_TRANSVERSE] = 7};
    enum fdl_transpose how = (enum fdl_transpose)s->value[0];
    struct fdl_image_info *info = &p->d->info;
    if (orientations[how] == 0 || !is_whole(p)) {
        fdl_plan_transpose(p->plan, how);
        return FEEDLINE_OK;
    }
    info->orientation = orientations[how];
    p->d->turn = fdl_turn_of(info->orientation);
    fdl_geometry_init(&p->plan->geometry, info->height, info->width);
    return FEEDLINE_OK;
}

/* Values from `first` on: one for each channel, or none. */
static int32_t fill_of(const struct program *p,
                       const struct feedline_recorded_step *s, uint32_t first,
                       uint8_t fill[FDL_CHANNELS_MAX])
{
    uint32_t n = s->n - first, channels = (uint32_t)channels_of(p->mode);
    memset(fill, 0, FDL_CHANNELS_MAX);
    if (n != 0 && n != channels)
        return fdl_fail(FEEDLINE_EINVAL,
                        "fill has %" PRIu32 " numbers, an image of mode %s "
                        "%" PRIu32 " channels",
                        n, name_of(p), channels);
    for (uint32_t c = 0; c < n; c++)
        fill[c] = (uint8_t)s->value[first + c];
    return FEEDLINE_OK;
}

/* torchvision takes off what is negative before it mirrors the rest. */
static void crop_margins(struct fdl_plan *plan, struct fdl_box *box)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    int32_t left = FDL_MAX(box->x, 0), top = FDL_MAX(box->y, 0);
    int32_t right = FDL_MIN(box->x + box->width, width);
    int32_t bottom = FDL_MIN(box->y + box->height, height);
    fdl_plan_crop(plan,
                  (struct fdl_box){left, top, right - left, bottom - top});
    box->x -= left;
    box->y -= top;
}

static int32_t plan_pad(struct program *p,
                        const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    uint8_t fill[FDL_CHANNELS_MAX];
    int32_t width = fdl_plan_width(p->plan), height = fdl_plan_height(p->plan);
    int32_t left = (int32_t)v[0], top = (int32_t)v[1];
    struct fdl_box box = {-left, -top, width + left + (int32_t)v[2],
                          height + top + (int32_t)v[3]};
    bool gone = box.x >= width || box.y >= height || box.x + box.width <= 0 ||
                box.y + box.height <= 0;
    if (box.width <= 0 || box.height <= 0 || gone)
        return fdl_fail(FEEDLINE_EINVAL,
                        "nothing of %" PRId32 "x%" PRId32 " is left", width,
                        height);
    int32_t status = fill_of(p, s, 5, fill);
    if (status)
        return status;
    if (v[4] != FDL_PAD_CONSTANT)
        crop_margins(p->plan, &box);
    return fdl_plan_window(p->plan, box, (enum fdl_padding)v[4], fill);
}

static enum fdl_map_filter map_filter_of(const struct program *p, double number)
{
    if (number == 0 || (p->mode & MODES_PICKED))
        return FDL_MAP_NEAREST;
    return number == 2 ? FDL_MAP_BILINEAR : FDL_MAP_BICUBIC;
}

/* Affine or perspective, by the number of coefficients. */
static int32_t plan_map(struct program *p,
                        const struct feedline_recorded_step *s)
{
    bool affine = s->op == FEEDLINE_STEP_AFFINE;
    uint8_t fill[FDL_CHANNELS_MAX];
    int32_t width = (int32_t)s->value[0], height = (int32_t)s->value[1];
    enum fdl_map_filter filter = map_filter_of(p, s->value[2]);
    int32_t status = fill_of(p, s, affine ? 9 : 11, fill);
    if (status)
        return status;
    if (affine)
        return fdl_plan_affine_to(p->plan, s->value + 3, filter, width, height,
                                  fill);
    fdl_plan_perspective_to(p->plan, s->value + 3, filter, width, height, fill);
    return FEEDLINE_OK;
}

/* ---- Colours ------------------------------------------------------------ */

/* Of both kinds of images. */
static bool of_tensor(uint32_t op)
{
    return op >= FEEDLINE_STEP_TENSOR_RESIZE &&
           op <= FEEDLINE_STEP_TENSOR_AUTOCONTRAST;
}

static int32_t plan_adjust(struct program *p,
                           const struct feedline_recorded_step *s)
{
    static const uint8_t adjusts[] = {
        [FEEDLINE_STEP_BRIGHTNESS] = FDL_ADJUST_BRIGHTNESS,
        [FEEDLINE_STEP_CONTRAST] = FDL_ADJUST_CONTRAST,
        [FEEDLINE_STEP_COLOR] = FDL_ADJUST_SATURATION,
        [FEEDLINE_STEP_HUE] = FDL_ADJUST_HUE,
        [FEEDLINE_STEP_TENSOR_BRIGHTNESS] = FDL_ADJUST_BRIGHTNESS,
        [FEEDLINE_STEP_TENSOR_CONTRAST] = FDL_ADJUST_CONTRAST,
        [FEEDLINE_STEP_TENSOR_SATURATION] = FDL_ADJUST_SATURATION,
        [FEEDLINE_STEP_TENSOR_HUE] = FDL_ADJUST_HUE,
    };
    struct fdl_adjust_step a = {
        .n = 1, .order = {adjusts[s->op]}, .tensor = of_tensor(s->op)};
    a.factor[adjusts[s->op]] = s->value[0];
    fdl_plan_adjust(p->plan, &a);
    return FEEDLINE_OK;
}

static int32_t plan_sharpness(struct program *p,
                              const struct feedline_recorded_step *s)
{
    fdl_plan_sharpness(p->plan, of_tensor(s->op), s->value[0]);
    return FEEDLINE_OK;
}

/* torchvision goes by HSV, which has no alpha, and back to 255. */
static int32_t plan_hue(struct program *p,
                        const struct feedline_recorded_step *s)
{
    if (p->mode & (MODE_1 | MODE_L))
        return FEEDLINE_OK;
    int32_t channels = channels_of(p->mode);
    int32_t status = convert(p, FDL_COLOURS(channels));
    if (!status && p->mode == MODE_RGB)
        status = plan_adjust(p, s);
    return status ? status : convert(p, channels);
}

static int32_t plan_grayscale(struct program *p,
                              const struct feedline_recorded_step *s)
{
    bool three = s->value[0] == 3;
    if (three && p->mode == MODE_RGB) {
        fdl_plan_gray(p->plan, false);
        return FEEDLINE_OK;
    }
    int32_t status = convert(p, 1);
    return status || !three ? status : convert(p, 3);
}

static int32_t plan_tensor_grayscale(struct program *p,
                                     const struct feedline_recorded_step *s)
{
    int32_t status = FEEDLINE_OK;
    if (p->mode == MODE_RGB) {
        fdl_plan_gray(p->plan, true);
        status = leave_file(p);
    }
    /* Of three that are equal, Pillow's luma is the same again. */
    return status ? status : convert(p, (int32_t)s->value[0]);
}

static int32_t plan_point(struct program *p,
                          const struct feedline_recorded_step *s)
{
    static const enum fdl_point points[] = {
        [FEEDLINE_STEP_POSTERIZE] = FDL_POINT_POSTERIZE,
        [FEEDLINE_STEP_SOLARIZE] = FDL_POINT_SOLARIZE,
        [FEEDLINE_STEP_INVERT] = FDL_POINT_INVERT,
        [FEEDLINE_STEP_AUTOCONTRAST] = FDL_POINT_AUTOCONTRAST,
        [FEEDLINE_STEP_EQUALIZE] = FDL_POINT_EQUALIZE,
        [FEEDLINE_STEP_TENSOR_AUTOCONTRAST] = FDL_POINT_AUTOCONTRAST_TENSOR,
    };
    fdl_plan_point(p->plan, points[s->op], s->value[0]);
    return FEEDLINE_OK;
}

static int32_t plan_tables(struct program *p,
                           const struct feedline_recorded_step *s)
{
    fdl_plan_tables(p->plan, s->data);
    return FEEDLINE_OK;
}

static int32_t plan_expect(struct program *p,
                           const struct feedline_recorded_step *s)
{
    int32_t status = leave_file(p);
    if (!status)
        fdl_plan_expect(p->plan, s->data);
    return status;
}

static int32_t plan_channels(struct program *p,
                             const struct feedline_recorded_step *s)
{
    uint8_t from[FDL_CHANNELS_MAX];
    int32_t status = leave_file(p);
    for (uint32_t i = 0; i < s->n && !status; i++) {
        from[i] = (uint8_t)s->value[i];
        if (from[i] >= channels_of(p->mode))
            status =
                fdl_fail(FEEDLINE_EINVAL, "channel %d of an image of mode %s",
                         from[i], name_of(p));
    }
    if (status)
        return status;
    fdl_plan_channels(p->plan, channels_of(p->mode), (int32_t)s->n, from);
    set_mode(p, by_channels[s->n]);
    return FEEDLINE_OK;
}

static int32_t plan_gaussian_blur(struct program *p,
                                  const struct feedline_recorded_step *s)
{
    fdl_plan_blur_box(p->plan, s->value[0], s->value[1]);
    return FEEDLINE_OK;
}

static int32_t plan_tensor_blur(struct program *p,
                                const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    return fdl_plan_blur_gauss(p->plan, (int32_t)v[0], (int32_t)v[1], v[2],
                               v[3]);
}

/* Of OpenCV, to which alpha is a channel. */
static int32_t plan_cv(struct program *p,
                       const struct feedline_recorded_step *s)
{
    int32_t channels = channels_of(p->mode);
    int32_t status = leave_file(p);
    if (!status)
        status = fdl_recorded_plan_cv(p->plan, s, &channels);
    if (!status && channels != channels_of(p->mode))
        set_mode(p, by_channels[channels]);
    return status;
}

/* ---- The last pass ------------------------------------------------------ */

static void erase(struct fdl_plan *plan, const struct feedline_recorded_step *s,
                  uint32_t channels)
{
    const double *v = s->value;
    struct fdl_erase_step e = {
        .box = {(int32_t)v[0], (int32_t)v[1], (int32_t)v[2], (int32_t)v[3]}};
    if (s->n == 4)
        e.elements = s->data;
    for (uint32_t c = 0; c < channels && !e.elements; c++)
        e.value[c] = (float)v[4 + c];
    fdl_plan_erase(plan, &e);
}

static bool of_floats(uint32_t op)
{
    return op >= FEEDLINE_STEP_FLOAT_COLOUR &&
           op <= FEEDLINE_STEP_FLOAT_CHANNELS;
}

static void finish_floats(struct fdl_plan *plan,
                          const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    if (s->op == FEEDLINE_STEP_FLOAT_COLOUR) {
        bool to_hsv = v[0] < 54, bgr = (int32_t)v[0] % 2 == 0;
        fdl_plan_float_hsv(plan, to_hsv, bgr);
    } else if (s->op == FEEDLINE_STEP_FLOAT_VALUES) {
        struct fdl_float_values values = {(enum fdl_float_how)v[0],
                                          (int32_t)v[1], (float)v[2],
                                          s->n > 3 ? (float)v[3] : 0};
        fdl_plan_float_values(plan, &values);
    } else {
        uint8_t from[FDL_CHANNELS_MAX] = {0};
        for (uint32_t c = 0; c < s->n; c++)
            from[c] = (uint8_t)v[c];
        fdl_plan_float_channels(plan, from);
    }
}

static void finish(struct program *p, const struct feedline_recorded_step *s)
{
    struct fdl_plan *plan = p->plan;
    uint32_t channels = (uint32_t)p->image->channels;
    if (of_floats(s->op)) {
        finish_floats(plan, s);
    } else if (s->op == FEEDLINE_STEP_SCALE) {
        plan->rounds = true;
        plan->rounding = s->n > 0 && s->value[0] == 1 ? FDL_ROUNDING_MULTIPLY
                                                      : FDL_ROUNDING_DIVIDE;
    } else if (s->op == FEEDLINE_STEP_LOOKUP) {
        plan->lookup = s->data;
        plan->lookup_bytes = fdl_recorded_element(p->image);
    } else if (s->op == FEEDLINE_STEP_ERASE) {
        erase(plan, s, channels);
    } else {
        plan->norm.on = true;
        for (uint32_t c = 0; c < channels; c++) {
            plan->norm.mean[c] = (float)s->value[c];
            plan->norm.std[c] = (float)s->value[channels + c];
        }
    }
}

/* ---- All of it ---------------------------------------------------------- */

struct pixel_step {
    int32_t (*plan)(struct program *p, const struct feedline_recorded_step *s);
    uint32_t modes; /* that Pillow or torchvision has it for */
};

/* clang-format off */
static const struct pixel_step pixel_steps[] = {
    [FEEDLINE_STEP_CONVERT] = {plan_convert, MODES_MOVED},
    [FEEDLINE_STEP_CROP] = {plan_crop, MODES_MOVED},
    [FEEDLINE_STEP_RESIZE] = {plan_resize, MODES_MOVED},
    [FEEDLINE_STEP_TRANSPOSE] = {plan_transpose, MODES_MOVED},
    [FEEDLINE_STEP_PAD] = {plan_pad, MODES_ALL},
    [FEEDLINE_STEP_AFFINE] = {plan_map, MODES_ALL},
    [FEEDLINE_STEP_PERSPECTIVE] = {plan_map, MODES_ALL},
    [FEEDLINE_STEP_BRIGHTNESS] = {plan_adjust, MODES_COLOUR},
    [FEEDLINE_STEP_CONTRAST] = {plan_adjust, MODES_COLOUR},
    [FEEDLINE_STEP_COLOR] = {plan_adjust, MODES_COLOUR},
    [FEEDLINE_STEP_SHARPNESS] = {plan_sharpness, MODES_COLOUR},
    [FEEDLINE_STEP_HUE] = {plan_hue, MODES_COLOUR | MODE_1},
    [FEEDLINE_STEP_GRAYSCALE] = {plan_grayscale, MODES_ALL},
    [FEEDLINE_STEP_POSTERIZE] = {plan_point, MODES_PLAIN},
    [FEEDLINE_STEP_SOLARIZE] = {plan_point, MODES_PLAIN},
    [FEEDLINE_STEP_INVERT] = {plan_point, MODES_PLAIN | MODE_1},
    [FEEDLINE_STEP_AUTOCONTRAST] = {plan_point, MODES_PLAIN},
    [FEEDLINE_STEP_EQUALIZE] = {plan_point, MODES_PLAIN},
    [FEEDLINE_STEP_GAUSSIAN_BLUR] = {plan_gaussian_blur, MODES_COLOUR},
    [FEEDLINE_STEP_TENSOR_BLUR] = {plan_tensor_blur, MODES_COLOUR},
    [FEEDLINE_STEP_POINT] = {plan_tables, MODES_COLOUR | MODES_PICKED},
    [FEEDLINE_STEP_TENSOR_RESIZE] = {plan_tensor_resize,
                                     MODES_COLOUR | MODE_P},
    [FEEDLINE_STEP_TENSOR_BRIGHTNESS] = {plan_adjust, MODES_PLAIN},
    [FEEDLINE_STEP_TENSOR_CONTRAST] = {plan_adjust, MODES_PLAIN},
    [FEEDLINE_STEP_TENSOR_SATURATION] = {plan_adjust, MODES_PLAIN},
    [FEEDLINE_STEP_TENSOR_HUE] = {plan_adjust, MODES_PLAIN},
    [FEEDLINE_STEP_TENSOR_SHARPNESS] = {plan_sharpness, MODES_PLAIN},
    [FEEDLINE_STEP_TENSOR_GRAYSCALE] = {plan_tensor_grayscale, MODES_PLAIN},
    [FEEDLINE_STEP_TENSOR_AUTOCONTRAST] = {plan_point, MODES_PLAIN},
    [FEEDLINE_STEP_CHANNELS] = {plan_channels, MODES_MOVED},
    [FEEDLINE_STEP_EXPECT] = {plan_expect, MODES_COLOUR | MODES_PICKED},
    [FEEDLINE_STEP_CV_RESIZE] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_COLOUR] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_GAUSSIAN_BLUR] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_BOX_BLUR] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_MEDIAN_BLUR] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_WARP_AFFINE] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_EQUALIZE] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_CLAHE] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_FILTER2D] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_WARP_PERSPECTIVE] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_REMAP] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_SEP_FILTER2D] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_ADD] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_ADD_GRAY] = {plan_cv, MODES_CV},
    [FEEDLINE_STEP_CV_CONTRAST] = {plan_cv, MODES_PLAIN},
    [FEEDLINE_STEP_CV_RECOMPRESS] = {plan_cv, MODES_PLAIN},
};
/* clang-format on */

/* Of a plan, at most. */
static uint32_t steps_of(uint32_t op)
{
    switch (op) {
    case FEEDLINE_STEP_HUE: /* without alpha and back */
        return 3;
    case FEEDLINE_STEP_CONVERT:
    case FEEDLINE_STEP_PAD:
    case FEEDLINE_STEP_GRAYSCALE:
    case FEEDLINE_STEP_TENSOR_GRAYSCALE:
        return 2;
    default:
        return 1;
    }
}

static int32_t check_room(const struct program *p, uint32_t op)
{
    if (p->plan->n_steps + steps_of(op) <= FDL_PLAN_STEPS)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "it and the steps before it are more than %d that are done "
                    "one after the other",
                    FDL_PLAN_STEPS);
}

static int32_t check_way(const struct program *p)
{
    int32_t width = fdl_plan_width(p->plan), height = fdl_plan_height(p->plan);
    uint64_t pixels = (uint64_t)width * (uint64_t)height;
    if (pixels <= p->d->limits.max_pixels)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "an image of %" PRId32 "x%" PRId32
                    " is above the limit of %" PRIu64 " pixels",
                    width, height, p->d->limits.max_pixels);
}

static int32_t plan_step(struct program *p,
                         const struct feedline_recorded_step *s)
{
    int32_t status = check_room(p, s->op);
    if (status)
        return status;
    if (!fdl_recorded_on_pixels(s->op)) {
        finish(p, s);
        return FEEDLINE_OK;
    }
    if (!(pixel_steps[s->op].modes & p->mode))
        return fdl_fail(FEEDLINE_EINVAL, "it is not for images of mode %s",
                        name_of(p));
    status = pixel_steps[s->op].plan(p, s);
    if (!status)
        status = check_way(p);
    if (!status && !only_picks(p->plan))
        status = leave_file(p);
    return status;
}

static int32_t check_channels(const struct program *p)
{
    int32_t channels = channels_of(p->mode);
    if (channels == p->image->channels)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "the steps make %" PRId32
                    " channels of this image, but its output has %" PRId32,
                    channels, p->image->channels);
}

/* Steps [first, end). */
static int32_t plan_steps(struct program *p, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const struct feedline_recorded_step *s = &p->image->steps[i];
        int32_t status = plan_step(p, s);
        if (status)
            return fdl_fail(status, "step %" PRIu32 " (%s): %s", i + 1,
                            fdl_recorded_name(s->op), fdl_last_error());
    }
    return FEEDLINE_OK;
}

/* Behind the steps on pixels, the modes of which are those of the pipeline. */
static int32_t plan_draws(struct program *p)
{
    int32_t status = leave_file(p);
    if (!status)
        status = check_channels(p);
    if (status || !p->image->pipeline)
        return status;
    if (!(p->mode & MODES_COLOUR))
        return fdl_fail(FEEDLINE_EINVAL,
                        "a pipeline is not for images of mode %s, which have "
                        "to be converted first",
                        name_of(p));
    if (p->plan->n_steps > 0 || fdl_geometry_is_resampled(&p->plan->geometry))
        return fdl_fail(FEEDLINE_EINVAL,
                        "before a pipeline an image is only cropped inside of "
                        "its edges, flipped, or turned by the first step");
    return fdl_recorded_draw(p->image, p->plan);
}

int32_t fdl_recorded_plan(struct fdl_decoder *d,
                          const struct feedline_recorded_image *image,
                          struct fdl_plan *plan)
{
    struct program p = {.d = d, .image = image, .plan = plan, .stored = true};
    fdl_plan_init(plan, d->info.width, d->info.height);
    set_mode(&p, mode_of(d->info.mode));
    uint32_t on_pixels = 0;
    while (on_pixels < image->n_steps &&
           fdl_recorded_on_pixels(image->steps[on_pixels].op))
        on_pixels++;
    int32_t status = plan_steps(&p, 0, on_pixels);
    if (!status)
        status = plan_draws(&p);
    return status ? status : plan_steps(&p, on_pixels, image->n_steps);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers are those of torchvision 0.29 (transforms/autoaugment.py, v2 has
 * the same) and of timm 1.0 (data/auto_augment.py).
 */
#include "decode/ops/augment_tables.h"

#include "base/compiler.h"

#include <math.h>
#include <stddef.h>

const char *const fdl_augment_names[FDL_AUGMENTS] = {
    "identity",        "shear_x",         "shear_y",    "translate_x",
    "translate_y",     "rotate",          "brightness", "color",
    "contrast",        "sharpness",       "posterize",  "solarize",
    "autocontrast",    "equalize",        "invert",     "solarize_add",
    "translate_x_rel", "translate_y_rel", "desaturate", "gaussian_blur",
};

/* ---- torchvision -------------------------------------------------------- */

const struct fdl_space_row fdl_space_standard[FDL_SPACE_ALL] = {
    [FDL_AUGMENT_SHEAR_X] = {FDL_EXTENT_SIGNED, 0.3},
    [FDL_AUGMENT_SHEAR_Y] = {FDL_EXTENT_SIGNED, 0.3},
    [FDL_AUGMENT_TRANSLATE_X] = {FDL_EXTENT_WIDTH, 150.0 / 331.0},
    [FDL_AUGMENT_TRANSLATE_Y] = {FDL_EXTENT_HEIGHT, 150.0 / 331.0},
    [FDL_AUGMENT_ROTATE] = {FDL_EXTENT_SIGNED, 30},
    [FDL_AUGMENT_BRIGHTNESS] = {FDL_EXTENT_SIGNED, 0.9},
    [FDL_AUGMENT_COLOR] = {FDL_EXTENT_SIGNED, 0.9},
    [FDL_AUGMENT_CONTRAST] = {FDL_EXTENT_SIGNED, 0.9},
    [FDL_AUGMENT_SHARPNESS] = {FDL_EXTENT_SIGNED, 0.9},
    [FDL_AUGMENT_POSTERIZE] = {FDL_EXTENT_BITS, 4},
    [FDL_AUGMENT_SOLARIZE] = {FDL_EXTENT_THRESHOLD, 255},
};

const struct fdl_space_row fdl_space_wide[FDL_SPACE_ALL] = {
    [FDL_AUGMENT_SHEAR_X] = {FDL_EXTENT_SIGNED, 0.99},
    [FDL_AUGMENT_SHEAR_Y] = {FDL_EXTENT_SIGNED, 0.99},
    [FDL_AUGMENT_TRANSLATE_X] = {FDL_EXTENT_SIGNED, 32},
    [FDL_AUGMENT_TRANSLATE_Y] = {FDL_EXTENT_SIGNED, 32},
    [FDL_AUGMENT_ROTATE] = {FDL_EXTENT_SIGNED, 135},
    [FDL_AUGMENT_BRIGHTNESS] = {FDL_EXTENT_SIGNED, 0.99},
    [FDL_AUGMENT_COLOR] = {FDL_EXTENT_SIGNED, 0.99},
    [FDL_AUGMENT_CONTRAST] = {FDL_EXTENT_SIGNED, 0.99},
    [FDL_AUGMENT_SHARPNESS] = {FDL_EXTENT_SIGNED, 0.99},
    [FDL_AUGMENT_POSTERIZE] = {FDL_EXTENT_BITS, 6},
    [FDL_AUGMENT_SOLARIZE] = {FDL_EXTENT_THRESHOLD, 255},
};

/* torch.linspace on float32, as it is with vectors: in two halves, and each
 * value rounded once. A product of floats is exact in a double. */
static double linspace(double first, double last, int32_t n, int32_t i)
{
    float a = (float)first, b = (float)last;
    float step = (b - a) / (float)(n - 1);
    if (i < n / 2)
        return (double)(float)((double)a + (double)step * i);
    return (double)(float)((double)b - (double)step * (n - 1 - i));
}

double fdl_space_magnitude(const struct fdl_space_row *row, int32_t n,
                           int32_t bin, int32_t width, int32_t height)
{
    switch (row->extent) {
    case FDL_EXTENT_SIGNED:
        return linspace(0, row->most, n, bin);
    case FDL_EXTENT_WIDTH:
        return linspace(0, row->most * width, n, bin);
    case FDL_EXTENT_HEIGHT:
        return linspace(0, row->most * height, n, bin);
    case FDL_EXTENT_BITS:
        return 8 -
               (double)nearbyintf((float)bin / (float)((n - 1) / row->most));
    case FDL_EXTENT_THRESHOLD:
        return linspace(row->most, 0, n, bin);
    default:
        return 0;
    }
}

/* ---- timm --------------------------------------------------------------- */

#define PLAIN(rule, most)                                                      \
  {                                                                            \
    FDL_LEVEL_##rule, FDL_LEVEL_##rule, most                                   \
  }
#define EITHER(rule, most)                                                     \
  {                                                                            \
    FDL_LEVEL_##rule, FDL_LEVEL_##rule##_INCREASING, most                      \
  }

const struct fdl_level_row fdl_level_rows[FDL_AUGMENTS] = {
    [FDL_AUGMENT_SHEAR_X] = PLAIN(SIGNED, 0.3),
    [FDL_AUGMENT_SHEAR_Y] = PLAIN(SIGNED, 0.3),
    [FDL_AUGMENT_ROTATE] = PLAIN(SIGNED, 30),
    [FDL_AUGMENT_BRIGHTNESS] = EITHER(FACTOR, 1.9),
    [FDL_AUGMENT_COLOR] = EITHER(FACTOR, 1.9),
    [FDL_AUGMENT_CONTRAST] = EITHER(FACTOR, 1.9),
    [FDL_AUGMENT_SHARPNESS] = EITHER(FACTOR, 1.9),
    [FDL_AUGMENT_POSTERIZE] = EITHER(BITS, 4),
    [FDL_AUGMENT_SOLARIZE] = EITHER(THRESHOLD, 256),
    [FDL_AUGMENT_SOLARIZE_ADD] = PLAIN(ADDEND, 110),
    [FDL_AUGMENT_TRANSLATE_X_REL] = PLAIN(TRANSLATE, 0),
    [FDL_AUGMENT_TRANSLATE_Y_REL] = PLAIN(TRANSLATE, 0),
    [FDL_AUGMENT_DESATURATE] = PLAIN(GRAY, 1),
    [FDL_AUGMENT_GAUSSIAN_BLUR] = PLAIN(BLUR, 2),
};

static const struct fdl_choice usual[] = {
    {FDL_AUGMENT_AUTOCONTRAST, 1},    {FDL_AUGMENT_EQUALIZE, 1},
    {FDL_AUGMENT_INVERT, 1},          {FDL_AUGMENT_ROTATE, 1},
    {FDL_AUGMENT_POSTERIZE, 1},       {FDL_AUGMENT_SOLARIZE, 1},
    {FDL_AUGMENT_SOLARIZE_ADD, 1},    {FDL_AUGMENT_COLOR, 1},
    {FDL_AUGMENT_CONTRAST, 1},        {FDL_AUGMENT_BRIGHTNESS, 1},
    {FDL_AUGMENT_SHARPNESS, 1},       {FDL_AUGMENT_SHEAR_X, 1},
    {FDL_AUGMENT_SHEAR_Y, 1},         {FDL_AUGMENT_TRANSLATE_X_REL, 1},
    {FDL_AUGMENT_TRANSLATE_Y_REL, 1},
};

static const struct fdl_choice weights[] = {
    {FDL_AUGMENT_ROTATE, 3},          {FDL_AUGMENT_SHEAR_X, 2},
    {FDL_AUGMENT_SHEAR_Y, 2},         {FDL_AUGMENT_TRANSLATE_X_REL, 1},
    {FDL_AUGMENT_TRANSLATE_Y_REL, 1}, {FDL_AUGMENT_COLOR, 0.25},
    {FDL_AUGMENT_SHARPNESS, 0.25},    {FDL_AUGMENT_AUTOCONTRAST, 0.25},
    {FDL_AUGMENT_SOLARIZE, 0.05},     {FDL_AUGMENT_SOLARIZE_ADD, 0.05},
    {FDL_AUGMENT_CONTRAST, 0.05},     {FDL_AUGMENT_BRIGHTNESS, 0.05},
    {FDL_AUGMENT_EQUALIZE, 0.05},     {FDL_AUGMENT_POSTERIZE, 0.05},
    {FDL_AUGMENT_INVERT, 0.05},
};

static const struct fdl_choice three[] = {
    {FDL_AUGMENT_SOLARIZE, 1},
    {FDL_AUGMENT_DESATURATE, 1},
    {FDL_AUGMENT_GAUSSIAN_BLUR, 1},
};

static const struct fdl_choice three_weighted[] = {
    {FDL_AUGMENT_SOLARIZE, 6},      {FDL_AUGMENT_DESATURATE, 6},
    {FDL_AUGMENT_GAUSSIAN_BLUR, 6}, {FDL_AUGMENT_ROTATE, 3},
    {FDL_AUGMENT_SHEAR_X, 2},       {FDL_AUGMENT_SHEAR_Y, 2},
    {FDL_AUGMENT_POSTERIZE, 1},     {FDL_AUGMENT_AUTOCONTRAST, 1},
    {FDL_AUGMENT_COLOR, 1},         {FDL_AUGMENT_SHARPNESS, 1},
    {FDL_AUGMENT_CONTRAST, 1},      {FDL_AUGMENT_BRIGHTNESS, 1},
    {FDL_AUGMENT_EQUALIZE, 1},      {FDL_AUGMENT_INVERT, 1},
};

static const struct fdl_choice augmix[] = {
    {FDL_AUGMENT_AUTOCONTRAST, 1},    {FDL_AUGMENT_COLOR, 1},
    {FDL_AUGMENT_CONTRAST, 1},        {FDL_AUGMENT_BRIGHTNESS, 1},
    {FDL_AUGMENT_SHARPNESS, 1},       {FDL_AUGMENT_EQUALIZE, 1},
    {FDL_AUGMENT_ROTATE, 1},          {FDL_AUGMENT_POSTERIZE, 1},
    {FDL_AUGMENT_SOLARIZE, 1},        {FDL_AUGMENT_SHEAR_X, 1},
    {FDL_AUGMENT_SHEAR_Y, 1},         {FDL_AUGMENT_TRANSLATE_X_REL, 1},
    {FDL_AUGMENT_TRANSLATE_Y_REL, 1},
};

const struct fdl_choice_set fdl_augmix_set = {"augmix", false,
                                              FDL_COUNT_OF(augmix), augmix};

const struct fdl_choice_set fdl_choice_sets[] = {
    {"", false, FDL_COUNT_OF(usual), usual},
    {"weights", true, FDL_COUNT_OF(weights), weights},
    {"3a", false, FDL_COUNT_OF(three), three},
    {"3aw", true, FDL_COUNT_OF(three_weighted), three_weighted},
    {NULL, false, 0, NULL},
};

/* ---- Policies ----------------------------------------------------------- */

#define PART(op, tenths, level)                                                \
  {                                                                            \
    FDL_AUGMENT_##op, tenths, level                                            \
  }

static fdl_policy_pair imagenet[] = {
    {PART(POSTERIZE, 4, 8), PART(ROTATE, 6, 9)},
    {PART(SOLARIZE, 6, 5), PART(AUTOCONTRAST, 6, 0)},
    {PART(EQUALIZE, 8, 0), PART(EQUALIZE, 6, 0)},
    {PART(POSTERIZE, 6, 7), PART(POSTERIZE, 6, 6)},
    {PART(EQUALIZE, 4, 0), PART(SOLARIZE, 2, 4)},
    {PART(EQUALIZE, 4, 0), PART(ROTATE, 8, 8)},
    {PART(SOLARIZE, 6, 3), PART(EQUALIZE, 6, 0)},
    {PART(POSTERIZE, 8, 5), PART(EQUALIZE, 10, 0)},
    {PART(ROTATE, 2, 3), PART(SOLARIZE, 6, 8)},
    {PART(EQUALIZE, 6, 0), PART(POSTERIZE, 4, 6)},
    {PART(ROTATE, 8, 8), PART(COLOR, 4, 0)},
    {PART(ROTATE, 4, 9), PART(EQUALIZE, 6, 0)},
    {PART(EQUALIZE, 0, 0), PART(EQUALIZE, 8, 0)},
    {PART(INVERT, 6, 0), PART(EQUALIZE, 10, 0)},
    {PART(COLOR, 6, 4), PART(CONTRAST, 10, 8)},
    {PART(ROTATE, 8, 8), PART(COLOR, 10, 2)},
    {PART(COLOR, 8, 8), PART(SOLARIZE, 8, 7)},
    {PART(SHARPNESS, 4, 7), PART(INVERT, 6, 0)},
    {PART(SHEAR_X, 6, 5), PART(EQUALIZE, 10, 0)},
    {PART(COLOR, 4, 0), PART(EQUALIZE, 6, 0)},
    {PART(EQUALIZE, 4, 0), PART(SOLARIZE, 2, 4)},
    {PART(SOLARIZE, 6, 5), PART(AUTOCONTRAST, 6, 0)},
    {PART(INVERT, 6, 0), PART(EQUALIZE, 10, 0)},
    {PART(COLOR, 6, 4), PART(CONTRAST, 10, 8)},
    {PART(EQUALIZE, 8, 0), PART(EQUALIZE, 6, 0)},
};

static fdl_policy_pair cifar10[] = {
    {PART(INVERT, 1, 0), PART(CONTRAST, 2, 6)},
    {PART(ROTATE, 7, 2), PART(TRANSLATE_X, 3, 9)},
    {PART(SHARPNESS, 8, 1), PART(SHARPNESS, 9, 3)},
    {PART(SHEAR_Y, 5, 8), PART(TRANSLATE_Y, 7, 9)},
    {PART(AUTOCONTRAST, 5, 0), PART(EQUALIZE, 9, 0)},
    {PART(SHEAR_Y, 2, 7), PART(POSTERIZE, 3, 7)},
    {PART(COLOR, 4, 3), PART(BRIGHTNESS, 6, 7)},
    {PART(SHARPNESS, 3, 9), PART(BRIGHTNESS, 7, 9)},
    {PART(EQUALIZE, 6, 0), PART(EQUALIZE, 5, 0)},
    {PART(CONTRAST, 6, 7), PART(SHARPNESS, 6, 5)},
    {PART(COLOR, 7, 7), PART(TRANSLATE_X, 5, 8)},
    {PART(EQUALIZE, 3, 0), PART(AUTOCONTRAST, 4, 0)},
    {PART(TRANSLATE_Y, 4, 3), PART(SHARPNESS, 2, 6)},
    {PART(BRIGHTNESS, 9, 6), PART(COLOR, 2, 8)},
    {PART(SOLARIZE, 5, 2), PART(INVERT, 0, 0)},
    {PART(EQUALIZE, 2, 0), PART(AUTOCONTRAST, 6, 0)},
    {PART(EQUALIZE, 2, 0), PART(EQUALIZE, 6, 0)},
    {PART(COLOR, 9, 9), PART(EQUALIZE, 6, 0)},
    {PART(AUTOCONTRAST, 8, 0), PART(SOLARIZE, 2, 8)},
    {PART(BRIGHTNESS, 1, 3), PART(COLOR, 7, 0)},
    {PART(SOLARIZE, 4, 5), PART(AUTOCONTRAST, 9, 0)},
    {PART(TRANSLATE_Y, 9, 9), PART(TRANSLATE_Y, 7, 9)},
    {PART(AUTOCONTRAST, 9, 0), PART(SOLARIZE, 8, 3)},
    {PART(EQUALIZE, 8, 0), PART(INVERT, 1, 0)},
    {PART(TRANSLATE_Y, 7, 9), PART(AUTOCONTRAST, 9, 0)},
};

static fdl_policy_pair svhn[] = {
    {PART(SHEAR_X, 9, 4), PART(INVERT, 2, 0)},
    {PART(SHEAR_Y, 9, 8), PART(INVERT, 7, 0)},
    {PART(EQUALIZE, 6, 0), PART(SOLARIZE, 6, 6)},
    {PART(INVERT, 9, 0), PART(EQUALIZE, 6, 0)},
    {PART(EQUALIZE, 6, 0), PART(ROTATE, 9, 3)},
    {PART(SHEAR_X, 9, 4), PART(AUTOCONTRAST, 8, 0)},
    {PART(SHEAR_Y, 9, 8), PART(INVERT, 4, 0)},
    {PART(SHEAR_Y, 9, 5), PART(SOLARIZE, 2, 6)},
    {PART(INVERT, 9, 0), PART(AUTOCONTRAST, 8, 0)},
    {PART(EQUALIZE, 6, 0), PART(ROTATE, 9, 3)},
    {PART(SHEAR_X, 9, 4), PART(SOLARIZE, 3, 3)},
    {PART(SHEAR_Y, 8, 8), PART(INVERT, 7, 0)},
    {PART(EQUALIZE, 9, 0), PART(TRANSLATE_Y, 6, 6)},
    {PART(INVERT, 9, 0), PART(EQUALIZE, 6, 0)},
    {PART(CONTRAST, 3, 3), PART(ROTATE, 8, 4)},
    {PART(INVERT, 8, 0), PART(TRANSLATE_Y, 0, 2)},
    {PART(SHEAR_Y, 7, 6), PART(SOLARIZE, 4, 8)},
    {PART(INVERT, 6, 0), PART(ROTATE, 8, 4)},
    {PART(SHEAR_Y, 3, 7), PART(TRANSLATE_X, 9, 3)},
    {PART(SHEAR_X, 1, 6), PART(INVERT, 6, 0)},
    {PART(SOLARIZE, 7, 2), PART(TRANSLATE_Y, 6, 7)},
    {PART(SHEAR_Y, 8, 4), PART(INVERT, 8, 0)},
    {PART(SHEAR_X, 7, 9), PART(TRANSLATE_Y, 8, 3)},
    {PART(SHEAR_Y, 8, 5), PART(AUTOCONTRAST, 7, 0)},
    {PART(SHEAR_X, 7, 2), PART(INVERT, 1, 0)},
};

static fdl_policy_pair v0[] = {
    {PART(EQUALIZE, 8, 1), PART(SHEAR_Y, 8, 4)},
    {PART(COLOR, 4, 9), PART(EQUALIZE, 6, 3)},
    {PART(COLOR, 4, 1), PART(ROTATE, 6, 8)},
    {PART(SOLARIZE, 8, 3), PART(EQUALIZE, 4, 7)},
    {PART(SOLARIZE, 4, 2), PART(SOLARIZE, 6, 2)},
    {PART(COLOR, 2, 0), PART(EQUALIZE, 8, 8)},
    {PART(EQUALIZE, 4, 8), PART(SOLARIZE_ADD, 8, 3)},
    {PART(SHEAR_X, 2, 9), PART(ROTATE, 6, 8)},
    {PART(COLOR, 6, 1), PART(EQUALIZE, 10, 2)},
    {PART(INVERT, 4, 9), PART(ROTATE, 6, 0)},
    {PART(EQUALIZE, 10, 9), PART(SHEAR_Y, 6, 3)},
    {PART(COLOR, 4, 7), PART(EQUALIZE, 6, 0)},
    {PART(POSTERIZE, 4, 6), PART(AUTOCONTRAST, 4, 7)},
    {PART(SOLARIZE, 6, 8), PART(COLOR, 6, 9)},
    {PART(SOLARIZE, 2, 4), PART(ROTATE, 8, 9)},
    {PART(ROTATE, 10, 7), PART(TRANSLATE_Y_REL, 8, 9)},
    {PART(SHEAR_X, 0, 0), PART(SOLARIZE, 8, 4)},
    {PART(SHEAR_Y, 8, 0), PART(COLOR, 6, 4)},
    {PART(COLOR, 10, 0), PART(ROTATE, 6, 2)},
    {PART(EQUALIZE, 8, 4), PART(EQUALIZE, 0, 8)},
    {PART(EQUALIZE, 10, 4), PART(AUTOCONTRAST, 6, 2)},
    {PART(SHEAR_Y, 4, 7), PART(SOLARIZE_ADD, 6, 7)},
    {PART(POSTERIZE, 8, 2), PART(SOLARIZE, 6, 10)},
    {PART(SOLARIZE, 6, 8), PART(EQUALIZE, 6, 1)},
    {PART(COLOR, 8, 6), PART(ROTATE, 4, 5)},
};

static fdl_policy_pair one_of_three[] = {
    {PART(SOLARIZE, 10, 5), PART(IDENTITY, 0, 0)},
    {PART(DESATURATE, 10, 10), PART(IDENTITY, 0, 0)},
    {PART(GAUSSIAN_BLUR, 10, 10), PART(IDENTITY, 0, 0)},
};

#define POLICY(name, pairs, rule)                                              \
  {                                                                            \
    name, FDL_COUNT_OF(pairs), pairs, FDL_LEVEL_##rule                         \
  }

const struct fdl_policy fdl_policies[3] = {
    POLICY("imagenet", imagenet, NONE),
    POLICY("cifar10", cifar10, NONE),
    POLICY("svhn", svhn, NONE),
};

const struct fdl_policy fdl_timm_policies[] = {
    POLICY("original", imagenet, BITS_ORIGINAL),
    POLICY("originalr", imagenet, BITS_INCREASING),
    POLICY("v0", v0, BITS),
    POLICY("v0r", v0, BITS_INCREASING),
    POLICY("3a", one_of_three, BITS),
    {NULL, 0, NULL, FDL_LEVEL_NONE},
};

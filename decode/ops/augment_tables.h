/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the AutoAugment family draws from: the operations of torchvision and
 * timm, how far each goes, and policies. Data alone; the drawing is in
 * op_auto_augment.c and op_timm_augment.c.
 */
#ifndef FDL_DECODE_AUGMENT_TABLES_H
#define FDL_DECODE_AUGMENT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/* Most operations in a row. */
#define FDL_AUGMENT_OPS_MAX 16

/* The first 15 in the order of torchvision's spaces, so a drawn index is one
 * of these; then what timm has beside them. */
enum fdl_augment {
    FDL_AUGMENT_IDENTITY = 0,
    FDL_AUGMENT_SHEAR_X,
    FDL_AUGMENT_SHEAR_Y,
    FDL_AUGMENT_TRANSLATE_X, /* pixels */
    FDL_AUGMENT_TRANSLATE_Y,
    FDL_AUGMENT_ROTATE,
    FDL_AUGMENT_BRIGHTNESS,
    FDL_AUGMENT_COLOR,
    FDL_AUGMENT_CONTRAST,
    FDL_AUGMENT_SHARPNESS,
    FDL_AUGMENT_POSTERIZE,
    FDL_AUGMENT_SOLARIZE,
    FDL_AUGMENT_AUTOCONTRAST,
    FDL_AUGMENT_EQUALIZE,
    FDL_AUGMENT_INVERT,
    FDL_AUGMENT_SOLARIZE_ADD,
    FDL_AUGMENT_TRANSLATE_X_REL, /* parts of the width */
    FDL_AUGMENT_TRANSLATE_Y_REL,
    FDL_AUGMENT_DESATURATE,
    FDL_AUGMENT_GAUSSIAN_BLUR,
    FDL_AUGMENTS
};

/* As draw_json has them. */
extern const char *const fdl_augment_names[FDL_AUGMENTS];

/* ---- torchvision -------------------------------------------------------- */

/* Operations in RandAugment and TrivialAugmentWide; AutoAugment's policies
 * have the next one, too. */
#define FDL_SPACE_DRAWN (FDL_AUGMENT_EQUALIZE + 1)
#define FDL_SPACE_ALL   (FDL_AUGMENT_INVERT + 1)

enum fdl_extent {
    FDL_EXTENT_NONE = 0, /* no magnitude */
    FDL_EXTENT_SIGNED,   /* 0 to most, either way */
    FDL_EXTENT_WIDTH,    /* the same; most: parts of the width, the height */
    FDL_EXTENT_HEIGHT,
    FDL_EXTENT_BITS,      /* 8 to 8 - most */
    FDL_EXTENT_THRESHOLD, /* most to 0 */
};

struct fdl_space_row {
    enum fdl_extent extent;
    double most; /* at the last bin */
};

extern const struct fdl_space_row fdl_space_standard[FDL_SPACE_ALL];
extern const struct fdl_space_row fdl_space_wide[FDL_SPACE_ALL];

/* The magnitude of a bin, of n, before its sign. */
double fdl_space_magnitude(const struct fdl_space_row *row, int32_t n,
                           int32_t bin, int32_t width, int32_t height);

/* ---- timm --------------------------------------------------------------- */

/* From a level of 0 to 10, and beyond, to the argument. */
enum fdl_level_rule {
    FDL_LEVEL_NONE = 0,          /* no argument */
    FDL_LEVEL_SIGNED,            /* 0 to most, either way */
    FDL_LEVEL_TRANSLATE,         /* the same, most by an option */
    FDL_LEVEL_FACTOR,            /* 0.1 to 1.9 */
    FDL_LEVEL_FACTOR_INCREASING, /* from 1 to 0.1 or to 1.9 */
    FDL_LEVEL_BITS,              /* 0 to most */
    FDL_LEVEL_BITS_INCREASING,   /* most to 0 */
    FDL_LEVEL_BITS_ORIGINAL,     /* most to 8 */
    FDL_LEVEL_THRESHOLD,         /* 0 to most */
    FDL_LEVEL_THRESHOLD_INCREASING,
    FDL_LEVEL_ADDEND,    /* 0 to most */
    FDL_LEVEL_GRAY,      /* 0.5 to most */
    FDL_LEVEL_BLUR,      /* 0.1 to most */
    FDL_LEVEL_BLUR_RAND, /* drawn from 0.1 to most times 0 to 1 */
};

struct fdl_level_row {
    enum fdl_level_rule rule, increasing;
    double most; /* at level 10 */
};

extern const struct fdl_level_row fdl_level_rows[FDL_AUGMENTS];

/* What timm's RandAugment chooses from. */
struct fdl_choice {
    enum fdl_augment op;
    double weight;
};

struct fdl_choice_set {
    const char *name;
    bool weighted; /* chosen by weight, each once */
    uint32_t n;
    const struct fdl_choice *choices;
};

/* The usual one first, up to one without a name. */
extern const struct fdl_choice_set fdl_choice_sets[];
extern const struct fdl_choice_set fdl_augmix_set;

/* ---- Policies ----------------------------------------------------------- */

struct fdl_policy_part {
    uint8_t op;     /* enum fdl_augment */
    uint8_t tenths; /* probability */
    uint8_t level;  /* torchvision's bin of 10, timm's level */
};

typedef const struct fdl_policy_part fdl_policy_pair[2];

struct fdl_policy {
    const char *name;
    uint32_t n;
    fdl_policy_pair *pairs;
    enum fdl_level_rule posterize; /* timm's */
};

/* By torchvision's policy option. */
#define FDL_POLICY_CHOICES "imagenet|cifar10|svhn"
extern const struct fdl_policy fdl_policies[3];

/* By name, up to one without. */
extern const struct fdl_policy fdl_timm_policies[];

#endif

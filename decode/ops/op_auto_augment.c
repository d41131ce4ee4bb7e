/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's TrivialAugmentWide, RandAugment and AutoAugment on Pillow
 * images: one operation of a space, several, or one of a policy's pairs.
 *
 * torchvision's v2 draws the same and computes the thresholds of solarize as
 * 255 times 1 to 0, where v1 has 255 to 0: of 31 bins 11 differ by a level.
 */
#include "base/status.h"
#include "decode/ops/augment.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#define BINS_MAX    256
#define POLICY_BINS 10

/* The first rows of each table. */
enum { ROW_INTERPOLATION, ROW_FILL, ROW_VERSION, ROWS_SHARED };

#define SHARED_ROWS                                                            \
  [ROW_INTERPOLATION] = FDL_OP_MAP_FILTER("nearest"),                          \
  [ROW_FILL] = FDL_OPTION_FILL,                                                \
  [ROW_VERSION] =                                                              \
      FDL_OP_ENUM("version", "v1|v2", "v1",                                    \
                  "version of torchvision's transforms, which sets "           \
                  "solarize's thresholds")

#define BINS_ROW                                                               \
  FDL_OP_INT("num_magnitude_bins", 2, BINS_MAX, "31", "",                      \
             "number of magnitudes")

struct drawing {
    const struct fdl_options *o;
    struct fdl_rng *rng;
    struct fdl_plan *plan;
    const struct fdl_space_row *space;
    int32_t bins;
    uint8_t fill[4];
};

static struct drawing begin(const struct fdl_options *o, struct fdl_rng *rng,
                            struct fdl_plan *plan,
                            const struct fdl_space_row *space)
{
    struct drawing d = {.o = o, .rng = rng, .plan = plan, .space = space};
    fdl_fill_of(o, ROW_FILL, d.fill);
    fdl_note_list(plan, "ops");
    return d;
}

static enum fdl_augment_library library_of(const struct fdl_options *o)
{
    return fdl_option_int(o, ROW_VERSION) ? FDL_TORCHVISION_V2
                                          : FDL_TORCHVISION_V1;
}

static bool is_signed(const struct fdl_space_row *row)
{
    return row->extent == FDL_EXTENT_SIGNED ||
           row->extent == FDL_EXTENT_WIDTH || row->extent == FDL_EXTENT_HEIGHT;
}

/* One operation at a bin, its sign drawn. */
static int32_t add(const struct drawing *d, enum fdl_augment op, int32_t bin)
{
    struct fdl_space_row row = d->space[op];
    enum fdl_augment_library library = library_of(d->o);
    if (row.extent == FDL_EXTENT_THRESHOLD && library == FDL_TORCHVISION_V2)
        row.most = 1;
    struct fdl_augmentation a = {
        .op = op,
        .magnitude =
            fdl_space_magnitude(&row, d->bins, bin, fdl_plan_width(d->plan),
                                fdl_plan_height(d->plan)),
        .filter = (enum fdl_map_filter)fdl_option_int(d->o, ROW_INTERPOLATION),
    };
    if (is_signed(&row) && fdl_rng_below(d->rng, 2))
        a.magnitude = -a.magnitude;
    return fdl_plan_augmentation(d->plan, library, &a, d->fill);
}

/* ---- TrivialAugmentWide ------------------------------------------------- */

enum { ROW_WIDE_BINS = ROWS_SHARED, WIDE_ROWS };

static const struct fdl_option wide_options[WIDE_ROWS] = {
    SHARED_ROWS,
    [ROW_WIDE_BINS] = BINS_ROW,
};

static int32_t plan_wide(const struct fdl_options *o, struct fdl_rng *rng,
                         struct fdl_plan *plan)
{
    struct drawing d = begin(o, rng, plan, fdl_space_wide);
    d.bins = (int32_t)fdl_option_int(o, ROW_WIDE_BINS);
    enum fdl_augment op = (enum fdl_augment)fdl_rng_below(rng, FDL_SPACE_DRAWN);
    int32_t bin = (int32_t)fdl_rng_below(rng, (uint32_t)d.bins);
    int32_t status = add(&d, op, bin);
    fdl_note_list_end(plan);
    return status;
}

const struct fdl_op fdl_op_trivial_augment_wide = {
    .name = "trivial_augment_wide",
    .help = "one of 14 operations, at any magnitude",
    .pixels = true,
    .maps = true,
    .options = wide_options,
    .n_options = WIDE_ROWS,
    .check_channels = fdl_op_refuse_alpha,
    .plan = plan_wide,
};

/* ---- RandAugment -------------------------------------------------------- */

enum { ROW_OPS = ROWS_SHARED, ROW_MAGNITUDE, ROW_BINS, RAND_ROWS };

static const struct fdl_option rand_options[RAND_ROWS] = {
    SHARED_ROWS,
    [ROW_OPS] = FDL_OP_INT("num_ops", 0, FDL_AUGMENT_OPS_MAX, "2", "",
                           "operations applied one after another"),
    [ROW_MAGNITUDE] =
        FDL_OP_INT("magnitude", 0, BINS_MAX - 1, "9", "",
                   "magnitude of every operation, below num_magnitude_bins"),
    [ROW_BINS] = BINS_ROW,
};

static int32_t check_rand(const struct fdl_options *o)
{
    int64_t magnitude = fdl_option_int(o, ROW_MAGNITUDE);
    if (magnitude >= fdl_option_int(o, ROW_BINS))
        return fdl_fail(FEEDLINE_EINVAL,
                        "rand_augment: magnitude is below num_magnitude_bins");
    return FEEDLINE_OK;
}

static uint32_t rand_steps(const struct fdl_options *o)
{
    return (uint32_t)fdl_option_int(o, ROW_OPS);
}

static int32_t plan_rand(const struct fdl_options *o, struct fdl_rng *rng,
                         struct fdl_plan *plan)
{
    struct drawing d = begin(o, rng, plan, fdl_space_standard);
    d.bins = (int32_t)fdl_option_int(o, ROW_BINS);
    int32_t status = FEEDLINE_OK;
    for (int64_t n = fdl_option_int(o, ROW_OPS); n > 0 && !status; n--) {
        uint32_t op = fdl_rng_below(rng, FDL_SPACE_DRAWN);
        status = add(&d, (enum fdl_augment)op,
                     (int32_t)fdl_option_int(o, ROW_MAGNITUDE));
    }
    fdl_note_list_end(plan);
    return status;
}

const struct fdl_op fdl_op_rand_augment = {
    .name = "rand_augment",
    .help = "several of 14 operations, at one magnitude",
    .pixels = true,
    .maps = true,
    .options = rand_options,
    .n_options = RAND_ROWS,
    .check = check_rand,
    .check_channels = fdl_op_refuse_alpha,
    .steps = rand_steps,
    .plan = plan_rand,
};

/* ---- AutoAugment -------------------------------------------------------- */

enum { ROW_POLICY = ROWS_SHARED, AUTO_ROWS };

static const struct fdl_option auto_options[AUTO_ROWS] = {
    SHARED_ROWS,
    [ROW_POLICY] = FDL_OP_ENUM("policy", FDL_POLICY_CHOICES, "imagenet",
                               "data set the policy was learned on, which sets "
                               "the pairs of operations"),
};

static uint32_t auto_steps(const struct fdl_options *o)
{
    (void)o;
    return 2;
}

static int32_t plan_auto(const struct fdl_options *o, struct fdl_rng *rng,
                         struct fdl_plan *plan)
{
    const struct fdl_policy *p = &fdl_policies[fdl_option_int(o, ROW_POLICY)];
    struct drawing d = begin(o, rng, plan, fdl_space_standard);
    const struct fdl_policy_part *pair = p->pairs[fdl_rng_below(rng, p->n)];
    int32_t status = FEEDLINE_OK;
    d.bins = POLICY_BINS;
    for (int i = 0; i < 2 && !status; i++) {
        if (fdl_rng_uniform(rng) < pair[i].tenths / 10.0)
            status = add(&d, (enum fdl_augment)pair[i].op, pair[i].level);
    }
    fdl_note_list_end(plan);
    return status;
}

const struct fdl_op fdl_op_auto_augment = {
    .name = "auto_augment",
    .help = "one of 25 learned pairs of operations",
    .pixels = true,
    .maps = true,
    .options = auto_options,
    .n_options = AUTO_ROWS,
    .check_channels = fdl_op_refuse_alpha,
    .steps = auto_steps,
    .plan = plan_auto,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this engine's batches are mixed, and refusals of what cannot be. */
#include "base/status.h"
#include "decode/pipeline.h"
#include "loader/stream/engine_own.h"

#include <inttypes.h>
#include <stdlib.h>

static int32_t check_format(const struct fdl_engine *e,
                            const struct fdl_output_format *f)
{
    bool whole = f->dtype == FEEDLINE_F32 || f->dtype == FEEDLINE_U8;
    if (f->width == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "mix: images of different sizes (max_sample_bytes) "
                        "cannot be mixed");
    if (e->config.views > 1)
        return fdl_fail(FEEDLINE_EINVAL,
                        "mix: views of a sample cannot be mixed");
    if (e->mix.mixup_alpha > 0 && !whole)
        return fdl_fail(FEEDLINE_EINVAL,
                        "mix: MixUp is for dtype=f32 and u8; use one of these, "
                        "or CutMix alone");
    return FEEDLINE_OK;
}

/* Classes as auto has them, and all labels fit. */
static int32_t check_labels(struct fdl_engine *e)
{
    const feedline_dataset *ds = e->dataset;
    int64_t most = (int64_t)ds->classes.n - 1;
    for (uint64_t i = 0; i < ds->count; i++) {
        int64_t label = fdl_dataset_label(ds, i);
        if (label < 0 || label > INT32_MAX ||
            (e->mix.num_classes > 0 && label >= e->mix.num_classes))
            return fdl_fail(FEEDLINE_EINVAL,
                            "mix: %s has label %" PRId64
                            ", which is not one of num_classes=%" PRIu32,
                            fdl_dataset_name(ds, i), label, e->mix.num_classes);
        most = most > label ? most : label;
    }
    if (e->mix.num_classes == 0)
        e->mix.num_classes = (uint32_t)most + 1;
    return FEEDLINE_OK;
}

int32_t fdl_engine_choose_mix(struct fdl_engine *e,
                              const struct fdl_output_format *delivered)
{
    bool mixes = false;
    if (e->no_pixels)
        return FEEDLINE_OK;
    for (uint32_t v = 0; v < e->config.views && !mixes; v++)
        mixes = fdl_pipeline_mix(fdl_pipeline_chain(e->pipeline, v), &e->mix);
    if (!mixes)
        return FEEDLINE_OK;
    int32_t status = check_format(e, delivered);
    return status < 0 ? status : check_labels(e);
}

int32_t fdl_engine_prepare_mix(struct fdl_engine *e)
{
    struct fdl_ring *r = e->ring;
    int64_t rounding = fdl_option_int(&e->options, FDL_OPT_ROUNDING);
    if (e->mix.num_classes == 0)
        return FEEDLINE_OK;
    r->kind.mix = e->mix;
    r->kind.affine = malloc(sizeof(*r->kind.affine));
    if (!r->kind.affine)
        return fdl_fail_memory(sizeof(*r->kind.affine),
                               "the last pass of a batch");
    return fdl_pipeline_affine(e->pipeline, r->kind.layout.format.channels,
                               (enum fdl_rounding)rounding, r->kind.affine);
}

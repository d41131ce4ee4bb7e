/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/stream/slot_mix.h"

#include "base/status.h"
#include "decode/plan/mix_finish.h"
#include "transfer/image_mix.h"

#include <string.h>

static struct fdl_mix_input *input_of(const feedline_batch *b, uint32_t image)
{
    struct fdl_mix_input *inputs = fdl_slot_column(b, FDL_COLUMN_INPUTS);
    return &inputs[image];
}

static uint8_t *left_of(const feedline_batch *b, uint32_t image)
{
    uint8_t *left = fdl_slot_column(b, FDL_COLUMN_LEFT);
    return left + image * b->layout->left_bytes;
}

static struct fdl_step *steps_of(const feedline_batch *b, uint32_t image)
{
    struct fdl_step *steps = fdl_slot_column(b, FDL_COLUMN_STEPS);
    return steps + (size_t)image * b->layout->late_steps;
}

void fdl_slot_mixes_forget(const feedline_batch *b)
{
    if (b->layout->classes == 0)
        return;
    for (uint32_t i = 0; i < fdl_slot_images(b); i++) {
        atomic_store_explicit(&input_of(b, i)->lacks, 2, memory_order_relaxed);
        input_of(b, i)->n_steps = 0;
    }
}

void fdl_slot_leave(feedline_batch *b, uint32_t place, struct fdl_plan *plan,
                    struct fdl_output_format *format, void **dst)
{
    struct fdl_mix_input *input = input_of(b, place);
    input->n_steps = plan->n_steps - plan->n_pixel_steps;
    fdl_assert(input->n_steps <= b->layout->late_steps);
    if (input->n_steps > 0)
        memcpy(steps_of(b, place), &plan->steps[plan->n_pixel_steps],
               input->n_steps * sizeof(plan->steps[0]));
    plan->n_steps = plan->n_pixel_steps;
    format->dtype = FEEDLINE_U8;
    format->nhwc = false;
    *dst = left_of(b, place);
}

/* Named by the place of the batch's first image in the epoch, over all ranks.
 */
static struct feedline_image_mix draw(const feedline_batch *b, uint32_t image)
{
    const struct fdl_sampler *s = b->kind->sampler;
    const struct fdl_output_format *f = &b->layout->format;
    struct fdl_mix_batch batch = {
        .key = {.seed = s->seed,
                .epoch = b->range.epoch,
                .place = b->range.place,
                .step = s->world},
        .count = fdl_slot_images(b),
        .width = f->width,
        .height = f->height,
    };
    return fdl_mix_draw(&b->kind->mix, &batch, image);
}

static struct fdl_mix_source source_of(const feedline_batch *b, uint32_t image)
{
    return (struct fdl_mix_source){
        .planes = left_of(b, image),
        .steps = steps_of(b, image),
        .n_steps = input_of(b, image)->n_steps,
        .blank = fdl_slot_status(b)[image] < 0,
    };
}

/* The device mixes it. */
static void tell(const feedline_batch *b, uint32_t image, uint32_t other,
                 const struct feedline_image_mix *mix)
{
    static const uint32_t kinds[] = {[FEEDLINE_MIX_NONE] = FDL_FINISH_ALONE,
                                     [FEEDLINE_MIXUP] = FDL_FINISH_SUM,
                                     [FEEDLINE_CUTMIX] = FDL_FINISH_BOX};
    const int32_t *status = fdl_slot_status(b);
    struct fdl_image_mix *told = fdl_slot_column(b, FDL_COLUMN_TOLD);
    told[image] = (struct fdl_image_mix){
        .kind = kinds[mix->kind],
        .other = other,
        .own_share = (float)mix->share,
        .other_share = (float)(1 - mix->share),
        .left = (uint32_t)mix->box[0],
        .top = (uint32_t)mix->box[1],
        .right = (uint32_t)mix->box[2],
        .bottom = (uint32_t)mix->box[3],
        .blank = (status[image] < 0 ? FDL_FINISH_BLANK_OWN : 0) |
                 (status[other] < 0 ? FDL_FINISH_BLANK_OTHER : 0),
    };
}

static void make_image(feedline_batch *b, uint32_t image,
                       const struct feedline_image_mix *mix)
{
    const struct fdl_layout *l = b->layout;
    const struct fdl_mix *m = &b->kind->mix;
    const int64_t *labels = fdl_slot_labels(b);
    uint32_t other =
        mix->kind == FEEDLINE_MIX_NONE ? image : (uint32_t)mix->partner;
    struct feedline_image_mix *mixes = fdl_slot_column(b, FDL_COLUMN_MIXES);
    float *targets = fdl_slot_column(b, FDL_COLUMN_TARGETS);
    mixes[image] = *mix;
    fdl_mix_target(m, mix, labels[image], labels[other],
                   targets + (size_t)image * m->num_classes);
    if (l->left_bytes == 0) {
        tell(b, image, other, mix);
        return;
    }
    struct fdl_mix_source own = source_of(b, image), its = source_of(b, other);
    fdl_mix_finish(mix, &l->format, b->kind->affine, &own, &its,
                   fdl_slot_images_at(b) + image * l->sample_bytes);
}

/* One of the two samples of the image is there. */
static void bring(feedline_batch *b, uint32_t image,
                  const struct feedline_image_mix *mix)
{
    /* acq_rel: the second one sees what the first one left. */
    if (mix->kind == FEEDLINE_MIX_NONE ||
        atomic_fetch_sub_explicit(&input_of(b, image)->lacks, 1,
                                  memory_order_acq_rel) == 1)
        make_image(b, image, mix);
}

void fdl_slot_mix(feedline_batch *b, uint32_t place)
{
    uint32_t second =
        fdl_mix_partner_of(&b->kind->mix, place, fdl_slot_images(b));
    struct feedline_image_mix mix = draw(b, place), other = draw(b, second);
    bring(b, place, &mix);
    if (other.kind != FEEDLINE_MIX_NONE)
        bring(b, second, &other);
}

void fdl_slot_targets(const feedline_batch *b,
                      struct feedline_batch_targets *out)
{
    *out = (struct feedline_batch_targets){
        .classes = b->layout->classes,
        .mixes = fdl_slot_column(b, FDL_COLUMN_MIXES),
    };
    fdl_slot_tensor(b, FEEDLINE_TARGETS, &out->soft);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object with two operations, as a user would write it. */
#include <feedline/custom_op.h>
#include <feedline/feedline.h>

static int32_t invert(const struct feedline_op_call *call)
{
    const struct feedline_image *image = &call->image;
    for (int32_t y = 0; y < image->height; y++) {
        uint8_t *row = image->data + y * image->row_bytes;
        for (int32_t i = 0; i < image->width * image->channels; i++)
            row[i] = (uint8_t)(255 - row[i]);
    }
    return FEEDLINE_OK;
}

/* Two bytes of each image are random numbers. */
static int32_t sign(const struct feedline_op_call *call)
{
    call->image.data[0] = (uint8_t)feedline_rng_u32(call->rng);
    call->image.data[1] = (uint8_t)feedline_rng_below(call->rng, 200);
    return feedline_rng_uniform(call->rng) < 1 ? FEEDLINE_OK : FEEDLINE_EUSER;
}

int32_t feedline_op_register(feedline_pipeline *p);

int32_t feedline_op_register(feedline_pipeline *p)
{
    struct feedline_op_def def = {
        .struct_size = sizeof(def),
        .name = "invert",
        .run = invert,
    };
    int32_t status = feedline_pipeline_register(p, &def);
    if (status < 0)
        return status;
    def.name = "sign";
    def.run = sign;
    return feedline_pipeline_register(p, &def);
}

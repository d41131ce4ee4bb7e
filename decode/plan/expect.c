/* SPDX-License-Identifier: Apache-2.0 */
/* Of most images the first pixel tells. */
#include "decode/plan/expect.h"

#include "base/status.h"

#define VALUES 256

static bool has_one(const struct fdl_image *image, int32_t channel,
                    const uint8_t wanted[VALUES])
{
    const uint8_t *data = fdl_image_row(image, channel, 0);
    for (size_t i = 0; i < image->plane; i++) {
        if (wanted[data[i]] == 1)
            return true;
    }
    return false;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    const uint8_t *wanted;
    fdl_step_values(step, &wanted, sizeof(wanted));
    for (int32_t i = 0; i < c->image.channels; i++) {
        if (has_one(&c->image, i, wanted + (ptrdiff_t)i * VALUES))
            return FEEDLINE_OK;
    }
    return fdl_fail(FEEDLINE_EINVAL,
                    "EXPECT: no byte of the image is one that was expected");
}

static const struct fdl_step_kind expect = {.commutes = FDL_WITH_FLIP,
                                            .run = run};

void fdl_plan_expect(struct fdl_plan *plan, const uint8_t *wanted)
{
    fdl_plan_add(plan, &expect, &wanted, sizeof(wanted));
}

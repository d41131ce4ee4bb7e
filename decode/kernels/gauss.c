/* SPDX-License-Identifier: Apache-2.0 */
/* Blurring in plain C. */
#include "decode/kernels/gauss.h"

#define HALF (1U << 23)

static uint8_t weigh(uint32_t sum, uint32_t beyond,
                     const struct fdl_box_weights *box)
{
    return (uint8_t)((sum * box->whole + beyond * box->part + HALF) >> 24);
}

static void near(const uint8_t *const in[FDL_BOX_LINES], size_t n,
                 const struct fdl_box_weights *box, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t sides = (uint32_t)in[1][i] + in[3][i];
        uint32_t ends = (uint32_t)in[0][i] + in[4][i];
        if (box->radius == 0)
            out[i] = weigh(in[2][i], sides, box);
        else
            out[i] = weigh(in[2][i] + sides, ends, box);
    }
}

void fdl_box_line(const uint8_t *in, size_t n,
                  const struct fdl_box_weights *box, uint8_t *out)
{
    size_t radius = box->radius;
    uint32_t sum = 0;
    for (size_t d = 0; d < 2 * radius; d++)
        sum += (in - radius)[d];
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = in + i;
        sum += at[radius];
        const uint8_t *first = at - radius;
        out[i] = weigh(sum, (uint32_t)first[-1] + at[radius + 1], box);
        sum -= first[0];
    }
}

static void columns(const uint8_t *const *rows, const struct fdl_taps *t,
                    size_t n, float *out)
{
    const uint8_t *const *middle = rows + t->n - 1;
    for (size_t i = 0; i < n; i++) {
        float sum = t->weight[0] * (float)middle[0][i];
        for (int32_t d = 1; d < t->n; d++) {
            int32_t both = middle[-d][i] + middle[d][i];
            float product = t->weight[d] * (float)both;
            sum += product;
        }
        out[i] = sum;
    }
}

/* Half to even: what is left of a float behind 1.5 * 2^23 is whole. */
static uint8_t round_even(float v)
{
    const float whole = 12582912.0F;
    float moved = v + whole;
    return (uint8_t)(int32_t)(moved - whole);
}

static void row(const float *in, const struct fdl_taps *t, size_t n,
                uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const float *at = in + i;
        float sum = t->weight[0] * at[0];
        for (int32_t d = 1; d < t->n; d++) {
            float both = at[-d] + at[d];
            float product = t->weight[d] * both;
            sum += product;
        }
        out[i] = round_even(sum);
    }
}

const struct fdl_gauss_kernels fdl_gauss_c = {
    .near = near,
    .columns = columns,
    .row = row,
};

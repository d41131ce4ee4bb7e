/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's sums in float in plain C, and what has no vectors. */
#define TARGET

#include "decode/kernels/cv_floats_loops.h"

const struct fdl_cv_float_kernels fdl_cv_floats_c = {
    .across = across_loop,
    .down = down_loop,
    .weigh = weigh_loop,
};

void fdl_cv_across_rest(const uint8_t *in, const float *weight, int32_t taps,
                        size_t from, size_t n, float *out)
{
    for (size_t i = from; i < n; i++) {
        float sum = 0;
        for (int32_t t = 0; t < taps; t++) {
            float product = weight[t] * (float)in[i + (size_t)t];
            sum += product;
        }
        out[i] = sum;
    }
}

void fdl_cv_down_rest(const float *const *rows, const float *weight,
                      int32_t taps, size_t from, size_t n, uint8_t *out)
{
    int32_t middle = taps / 2;
    for (size_t i = from; i < n; i++) {
        float sum = weight[middle] * rows[middle][i];
        for (int32_t t = 1; t <= middle; t++) {
            float pair = rows[middle + t][i] + rows[middle - t][i];
            float product = weight[middle + t] * pair;
            sum += product;
        }
        out[i] = (uint8_t)FDL_MAX(FDL_MIN(lrintf(sum), 255), 0);
    }
}

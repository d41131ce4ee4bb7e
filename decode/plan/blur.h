/* SPDX-License-Identifier: Apache-2.0 */
/* Gaussian blurs as steps; alpha is blurred like a colour. */
#ifndef FDL_DECODE_BLUR_H
#define FDL_DECODE_BLUR_H

#include "decode/plan/plan.h"

#include <stdint.h>

/* Largest standard deviation and kernel, pixels. */
#define FDL_BLUR_SIGMA_MAX 1000
#define FDL_BLUR_SIZE_MAX  255

/* Pillow's GaussianBlur: three box blurs along rows, three along columns.
 * Nothing for sigma 0. */
void fdl_plan_blur_box(struct fdl_plan *plan, double sigma_x, double sigma_y);

/* torchvision's gaussian_blur: a kernel of odd sides, edges reflected. EINVAL:
 * the image is too small for that. */
int32_t fdl_plan_blur_gauss(struct fdl_plan *plan, int32_t kernel_width,
                            int32_t kernel_height, double sigma_x,
                            double sigma_y);

#endif

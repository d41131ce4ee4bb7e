/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this folder as a host starts them: one launch for each stage,
 * in this order, with one struct fdl_device_args, by value. */
#ifndef FDL_DECODE_DEVICE_STAGES_H
#define FDL_DECODE_DEVICE_STAGES_H

#include <stdint.h>

struct fdl_device_stage {
    const char *kernel;
    uint32_t pass; /* of struct fdl_device_args */
};

#define FDL_DEVICE_STAGES 6
extern const struct fdl_device_stage fdl_device_stages[FDL_DEVICE_STAGES];

/* The PTX text of all kernels, NUL-terminated; "": built without CUDA. */
extern const char fdl_device_ptx[];

#endif

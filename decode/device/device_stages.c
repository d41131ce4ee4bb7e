/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/device/device_stages.h"

const struct fdl_device_stage fdl_device_stages[FDL_DEVICE_STAGES] = {
    {"fdl_device_coefficients", 0}, {"fdl_device_transform", 0},
    {"fdl_device_colour", 0},       {"fdl_device_resample", 0},
    {"fdl_device_resample", 1},     {"fdl_device_place", 0},
};

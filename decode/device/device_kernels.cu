/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels of this folder: cmake/make_ptx makes device_kernels.ptx of it. */
#include "decode/device/device_coefficients.cu"
#include "decode/device/device_pixels.cu"
#include "decode/device/device_place.cu"

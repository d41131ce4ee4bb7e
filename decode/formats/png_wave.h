/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of PNG undone in so many rows at once, which are of as many bytes
 * at least: see png_filter.h. */
#ifndef FDL_DECODE_PNG_WAVE_H
#define FDL_DECODE_PNG_WAVE_H

#include "decode/formats/png_filter.h"

#define FDL_PNG_WIDE_ROWS 32u

/* For AVX2. */
void fdl_png_wave_wide(const struct fdl_png_rows *rows, size_t y);

#endif

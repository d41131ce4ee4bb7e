/* SPDX-License-Identifier: Apache-2.0 */
/* Single values of a finished sample, for steps that change few of them. */
#ifndef FDL_DECODE_STORE_H
#define FDL_DECODE_STORE_H

#include "decode/decoder.h"

/* value, rounded to the type (halves to even; u8: cut off and clipped), as
 * channel c of pixel (x, y). */
void fdl_output_store(const struct fdl_output_format *format, void *dst,
                      int32_t c, int32_t y, int32_t x, float value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats, rounded to nearest with ties to even, as numpy and torch do:
 * values too large become infinite, values too small for a normal f16
 * subnormal. */
#ifndef FDL_DECODE_HALF_H
#define FDL_DECODE_HALF_H

#include <stdint.h>

uint16_t fdl_f16_of(float x);  /* IEEE 754 binary16 */
uint16_t fdl_bf16_of(float x); /* the upper half of an f32 */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 16 bits, rounded to nearest with ties to even, as numpy and torch
 * do: what is too large becomes infinite, what is too small for a normal f16 a
 * subnormal one. */
#ifndef FDL_DECODE_HALF_H
#define FDL_DECODE_HALF_H

#include <stdint.h>

uint16_t fdl_f16_of(float x);  /* IEEE 754 binary16 */
uint16_t fdl_bf16_of(float x); /* the upper half of an f32 */

#endif

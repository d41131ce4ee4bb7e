/* SPDX-License-Identifier: Apache-2.0 */
/* What png_wave_loops.h asks of a processor, of ARM64's: 16 rows at once, its
 * functions by the names that x86 has for them. */
#ifndef FDL_DECODE_PNG_WAVE_NEON_H
#define FDL_DECODE_PNG_WAVE_NEON_H

#include "base/compiler.h"

#include <arm_neon.h>
#include <stddef.h>

#define TARGET
#define LANES   16u
#define LINE    uint8x16_t
#define VECTOR  LINE
#define V(name) of_##name

#define of_subs_epu8(a, b)     vqsubq_u8(a, b)
#define of_adds_epu8(a, b)     vqaddq_u8(a, b)
#define of_min_epu8(a, b)      vminq_u8(a, b)
#define of_avg_epu8(a, b)      vrhaddq_u8(a, b)
#define of_add_epi8(a, b)      vaddq_u8(a, b)
#define of_sub_epi8(a, b)      vsubq_u8(a, b)
#define of_cmpeq_epi8(a, b)    vceqq_u8(a, b)
#define of_unpacklo_epi8(a, b) vzip1q_u8(a, b)
#define of_unpackhi_epi8(a, b) vzip2q_u8(a, b)
#define of_set1_epi8(x)        vdupq_n_u8(x)

FDL_INLINE VECTOR pair(LINE low, LINE same)
{
    (void)same;
    return low;
}

FDL_INLINE VECTOR load_pair(const uint8_t *p, ptrdiff_t apart)
{
    (void)apart;
    return vld1q_u8(p);
}

FDL_INLINE void store_pair(uint8_t *p, ptrdiff_t apart, VECTOR v)
{
    (void)apart;
    vst1q_u8(p, v);
}

FDL_INLINE VECTOR shifted(VECTOR v, int first)
{
    return vextq_u8(vdupq_n_u8((uint8_t)first), v, 15);
}

FDL_INLINE VECTOR choose(VECTOR mask, VECTOR yes, VECTOR no)
{
    return vbslq_u8(mask, yes, no);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding by integer arithmetic on the bits: adding just under half a unit of
 * the last place that stays, and the one bit more that makes a tie even,
 * carries into the exponent exactly where rounding does.
 */
#include "decode/pixels/half.h"

#include <string.h>

#define SIGN          UINT32_C(0x80000000)
#define INFINITE      UINT32_C(0x7f800000)
#define F16_OVERFLOWS UINT32_C(0x477ff000) /* 65520, halfway to 2^16 */
#define F16_NORMAL    UINT32_C(0x38800000) /* 2^-14 */
#define HALF          UINT32_C(0x3f000000) /* 0.5 */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Drops the lower n bits. */
static uint32_t round_bits(uint32_t bits, unsigned n)
{
    uint32_t odd = bits >> n & 1;
    return (bits + (UINT32_C(1) << (n - 1)) - 1 + odd) >> n;
}

uint16_t fdl_bf16_of(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & ~SIGN) > INFINITE) /* not a number stays one, and quiet */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)round_bits(bits, 16);
}

uint16_t fdl_f16_of(float x)
{
    uint32_t bits = bits_of(x), magnitude = bits & ~SIGN, out;
    if (magnitude > INFINITE) {
        out = 0x7e00;
    } else if (magnitude >= F16_OVERFLOWS) {
        out = 0x7c00;
    } else if (magnitude >= F16_NORMAL) {
        out = round_bits(magnitude - (UINT32_C(112) << 23), 13);
    } else { /* the last place of 0.5 + x is that of a subnormal f16 */
        float y = (x < 0 ? -x : x) + 0.5f;
        out = bits_of(y) - HALF;
    }
    return (uint16_t)((bits & SIGN) >> 16 | out);
}

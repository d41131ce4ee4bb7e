/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pillow goes to hue, saturation and value of eight bits and back, in a mixture
 * of float and double. Of all bytes that can come in, none comes out otherwise
 * if everything is computed in float, as long as each step is rounded by itself
 * and they follow in this order:
 *
 *     forward  the hue lies between two of the six corners of the circle,
 *              (high - middle) / spread behind one or before the other; a sixth
 *              of it, from 0 to 1, times 255, is cut off to a byte
 *     back     6 hue / 255 is the number of a corner and a fraction; from them
 *              and saturation, the lowest and the middle channel
 *
 * So eight pixels fit a register of AVX2, without a table; one of the hue by
 * corner, spread and quotient took 384 KB and 17 ns a pixel. Of the tests,
 * hues_are_as_defined computes in double, as the definition does.
 */
#include "decode/kernels/hue.h"

#include "base/compiler.h"

#include <stdbool.h>

struct order {
    int high, middle, low;
    float corner; /* the nearer one, in sixths of a turn */
    bool before;  /* the middle channel takes the hue back from it */
};

static struct order order_of(int r, int g, int b)
{
    struct order o = {.high = FDL_MAX(r, FDL_MAX(g, b)),
                      .low = FDL_MIN(r, FDL_MIN(g, b))};
    o.middle = r + g + b - o.high - o.low;
    if (r == o.high) {
        o.before = b == o.low;
        o.corner = 0.0F;
    } else if (g == o.high) {
        o.before = r == o.low;
        o.corner = 2.0F;
    } else {
        o.before = g == o.low;
        o.corner = 4.0F;
    }
    return o;
}

static int hue_of(const struct order *o, float spread)
{
    float part = (float)(o->high - o->middle) / spread;
    float h = o->before ? (o->corner + 1.0F) - part : (o->corner - 1.0F) + part;
    h = h / 6.0F;
    if (h < 0.0F)
        h = h + 1.0F;
    return (int)(h * 255.0F);
}

/* value * (1 - share), rounded. */
static uint8_t fade(float value, float share)
{
    float product = value * share;
    return (uint8_t)((value + 0.5F) - product);
}

void fdl_hue_shift(uint8_t *red, uint8_t *green, uint8_t *blue, size_t n,
                   uint8_t shift)
{
    for (size_t i = 0; i < n; i++) {
        struct order o = order_of(red[i], green[i], blue[i]);
        if (o.high == o.low)
            continue;
        float value = (float)o.high, spread = (float)(o.high - o.low);
        int saturation = (int)(spread / value * 255.0F);
        float share = (float)saturation / 255.0F;
        int turns = ((hue_of(&o, spread) + shift) & 255) * 6;
        int corner = turns / 255;
        float fraction = (float)(turns - corner * 255) / 255.0F;
        if (corner % 2 == 0)
            fraction = 1.0F - fraction;
        uint8_t top = (uint8_t)o.high, p = fade(value, share);
        uint8_t m = fade(value, share * fraction);
        const uint8_t turned[7][3] = {{top, m, p}, {m, top, p}, {p, top, m},
                                      {p, m, top}, {m, p, top}, {top, p, m},
                                      {top, m, p}};
        red[i] = turned[corner][0];
        green[i] = turned[corner][1];
        blue[i] = turned[corner][2];
    }
}

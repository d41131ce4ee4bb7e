/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pillow goes to hue, saturation and value of eight bits and back, in a mixture
 * of float and double whose roundings have to be met exactly:
 *
 *     hue         the position between two of the six corners is a quotient of
 *                 differences (k / spread), so a byte of hue is a function of
 *                 (corner, spread, k): a table of 384 KB, of which an image
 *                 touches the small spreads
 *     saturation  spread / value: one float division
 *     back        per hue: sector and fraction, tables of 256; then three
 *                 products in double, rounded half away from zero
 *
 * The forward table is made on first use, once in a process. Computing the hue
 * of each pixel with divisions and fmod, as the definition does, is several
 * times slower.
 */
#include "decode/hue.h"

#include "base/compiler.h"

#include <math.h>
#include <pthread.h>

/* Which channel is the largest, and which of the others the smallest. */
enum corner { R_B, R_G, G_R, G_B, B_G, B_R, CORNERS };

static uint8_t hues[CORNERS][256][256]; /* [corner][spread][k] */
static float parts[256];                /* a saturation of 0 to 1 */
static pthread_once_t made = PTHREAD_ONCE_INIT;

/* high - the channel, over spread: 1 for the smallest, 0 for the largest. */
static uint8_t hue_of(enum corner corner, float k)
{
    float h;
    switch (corner) {
    case R_B: /* b is 1 below, g k below */
        h = 1.0F - k;
        break;
    case R_G:
        h = k - 1.0F;
        break;
    case G_R:
        h = (float)(2.0 + 1.0 - (double)k);
        break;
    case G_B:
        h = (float)(2.0 + (double)k - 1.0);
        break;
    case B_G:
        h = (float)(4.0 + 1.0 - (double)k);
        break;
    default:
        h = (float)(4.0 + (double)k - 1.0);
        break;
    }
    h = (float)fmod((double)h / 6.0 + 1.0, 1.0);
    return (uint8_t)((double)h * 255.0);
}

static void make(void)
{
    for (int s = 0; s < 256; s++)
        parts[s] = (float)((double)(float)s / 255.0);
    for (int corner = 0; corner < CORNERS; corner++) {
        for (int spread = 1; spread < 256; spread++) {
            for (int k = 0; k <= spread; k++)
                hues[corner][spread][k] =
                    hue_of((enum corner)corner, (float)k / (float)spread);
        }
    }
}

/* Back from a hue. */
struct sector {
    float fraction;
    double rest; /* 1 - fraction */
    int number;  /* 0 to 5 */
};

static void make_sectors(struct sector sectors[256], uint8_t shift)
{
    for (int i = 0; i < 256; i++) {
        double h = (double)(float)(uint8_t)(i + shift) * 6.0 / 255.0;
        int whole = (int)floor(h);
        sectors[i].fraction = (float)(h - (double)(float)whole);
        sectors[i].rest = 1.0 - (double)sectors[i].fraction;
        sectors[i].number = whole % 6;
    }
}

/* As round() for every saturation, value and hue there is, and faster. */
static uint8_t rounded(double x)
{
    return (uint8_t)(x + 0.5);
}

static uint8_t old_hue(int r, int g, int b, int high, int low)
{
    int spread = high - low;
    if (r == high)
        return b == low ? hues[R_B][spread][high - g]
                        : hues[R_G][spread][high - b];
    if (g == high)
        return r == low ? hues[G_R][spread][high - b]
                        : hues[G_B][spread][high - r];
    return g == low ? hues[B_G][spread][high - r] : hues[B_R][spread][high - g];
}

void fdl_hue_shift(uint8_t *red, uint8_t *green, uint8_t *blue, size_t n,
                   uint8_t shift)
{
    struct sector sectors[256];
    pthread_once(&made, make);
    make_sectors(sectors, shift);
    for (size_t i = 0; i < n; i++) {
        int r = red[i], g = green[i], b = blue[i];
        int high = FDL_MAX(r, FDL_MAX(g, b)), low = FDL_MIN(r, FDL_MIN(g, b));
        if (high == low)
            continue;
        float share = (float)(high - low) / (float)high;
        int saturation = (int)((double)share * 255.0);
        if (saturation == 0) {
            red[i] = green[i] = blue[i] = (uint8_t)high;
            continue;
        }
        const struct sector *s = &sectors[old_hue(r, g, b, high, low)];
        float fs = parts[saturation];
        double v = high;
        uint8_t top = (uint8_t)high, p = rounded(v * (1.0 - (double)fs));
        uint8_t q = rounded(v * (1.0 - (double)(fs * s->fraction)));
        uint8_t t = rounded(v * (1.0 - (double)fs * s->rest));
        const uint8_t turned[6][3] = {{top, t, p}, {q, top, p}, {p, top, t},
                                      {p, q, top}, {t, p, top}, {top, p, q}};
        red[i] = turned[s->number][0];
        green[i] = turned[s->number][1];
        blue[i] = turned[s->number][2];
    }
}

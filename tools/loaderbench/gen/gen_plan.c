/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of ImageNet's files as tables of quantiles, measured over 400
 * of its images: two families, pictures scaled to 500 pixels and saved at high
 * quality without chroma subsampling, and pictures of any size as cameras and
 * web pages saved them.
 *
 * Three coordinates are drawn per image: kind, size and bits per pixel.
 * Independent draws would let the mean file size of a set of 256 wander by 5 %
 * from seed to seed; a low-discrepancy sequence (multiples of the powers of
 * 1/g, g^4 = g + 1, modulo 1) keeps it within 2 %, and still makes image i from
 * seed and i alone.
 */
#include "tools/loaderbench/gen/gen_photo.h"
#include "tools/loaderbench/gen/random.h"

#include <stddef.h>

#define QUANTILES 17 /* at 0, 1/16, ... 1 */

/* Fractions of 2^32 are written as parts of 10000. */
#define PART(n) ((uint32_t)((UINT64_C(0xffffffff) * (n)) / 10000))

struct kind_table {
    uint32_t share;             /* of all images, cumulated, parts of 2^32 */
    uint32_t share500;          /* of these, with 500 as the longer side   */
    uint32_t bits[QUANTILES];   /* 1/1000 bit per pixel           */
    uint32_t pixels[QUANTILES]; /* where the longer side is free  */
    uint32_t scale;             /* typical quantisation, percent  */
    uint32_t usual_bits;        /* at that scale with detail 256  */
};

static const struct kind_table kinds[PHOTO_KINDS] = {
    [PHOTO_444] = {PART(7650),
                   PART(8800),
                   {1000, 1920, 3010, 3530, 3960, 4440, 4790, 4960, 5370, 5720,
                    6080, 6470, 6810, 7180, 7760, 8960, 12500},
                   {22000, 31000, 39000, 45000, 74000, 83000, 106000, 120000,
                    130000, 164000, 181000, 224000, 288000, 327000, 400000,
                    480000, 768000},
                   8,
                   5400},
    [PHOTO_420] = {PART(9650),
                   PART(1000),
                   {700, 830, 1000, 1070, 1120, 1330, 1510, 1750, 1930, 2090,
                    2150, 2340, 2550, 2730, 3500, 3930, 6800},
                   {9000, 29000, 51000, 79000, 118000, 127000, 139000, 148000,
                    187000, 213000, 239000, 270000, 307000, 375000, 480000,
                    810000, 3000000},
                   40,
                   1900},
    [PHOTO_422] = {PART(9800),
                   PART(2000),
                   {660, 700, 800, 900, 970, 1050, 1200, 1400, 1600, 1950, 2050,
                    2150, 2340, 2600, 3000, 3400, 3800},
                   {240000, 255000, 270000, 275000, 280000, 290000, 300000,
                    309000, 320000, 340000, 360000, 380000, 394000, 450000,
                    520000, 640000, 786000},
                   40,
                   1900},
    [PHOTO_GRAY] = {PART(10000),
                    PART(6200),
                    {1020, 1060, 1100, 1170, 1400, 1600, 1740, 1850, 1900, 2300,
                     2690, 3200, 3700, 4020, 4420, 4900, 5420},
                    {20000, 30000, 40000, 45000, 51000, 52000, 53000, 54000,
                     55000, 80000, 100000, 130000, 160000, 200000, 240000,
                     280000, 327000},
                    16,
                    2900},
};

/* The sides of a picture that was scaled to 500, cumulated; 0: drawn. */
static const struct {
    uint32_t share;
    uint16_t width, height;
} sides500[] = {
    {PART(3350), 500, 375}, {PART(5000), 500, 333}, {PART(5500), 500, 334},
    {PART(5700), 500, 332}, {PART(6500), 375, 500}, {PART(7100), 333, 500},
    {PART(7300), 335, 500}, {PART(7450), 500, 400}, {PART(9250), 500, 0},
    {PART(10000), 0, 500},
};

/* Width to height of the others, in 1/1000. */
static const uint16_t aspects[] = {650,  700,  750,  840,  1000, 1180, 1250,
                                   1333, 1333, 1333, 1333, 1480, 1500, 1600};

/* u is a fraction of 2^32. The last interval is a tail: most of it is near its
 * beginning, its end is rare. */
static uint32_t quantile(const uint32_t table[QUANTILES], uint32_t u)
{
    uint64_t scaled = (uint64_t)u * (QUANTILES - 1);
    uint32_t i = (uint32_t)(scaled >> 32);
    uint64_t t = (scaled & 0xffffffff) >> 16;
    if (i == QUANTILES - 2) {
        t = (t * t) >> 16;
        t = (t * t) >> 16;
    }
    return table[i] + (uint32_t)(((table[i + 1] - table[i]) * t) >> 16);
}

static uint32_t integer_sqrt(uint64_t x)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1) {
        uint64_t t = root | bit;
        if (t * t <= x)
            root = t;
    }
    return (uint32_t)root;
}

static void draw_size500(uint32_t u, struct photo_plan *p)
{
    size_t i = 0;
    while (u > sides500[i].share &&
           i + 1 < sizeof(sides500) / sizeof(*sides500))
        i++;
    uint32_t free_side =
        (uint32_t)random_between(random_at(p->key, 1), 250, 499);
    p->width = sides500[i].width ? sides500[i].width : free_side;
    p->height = sides500[i].height ? sides500[i].height : free_side;
}

static void draw_size(const struct kind_table *k, uint32_t u,
                      struct photo_plan *p)
{
    uint64_t pixels = quantile(k->pixels, u);
    int32_t last = (int32_t)(sizeof(aspects) / sizeof(*aspects)) - 1;
    uint64_t aspect = aspects[random_between(random_at(p->key, 2), 0, last)];
    p->width = integer_sqrt(pixels * aspect / 1000);
    p->height = (uint32_t)(pixels / p->width);
}

void gen_plan(uint64_t seed, uint64_t index, struct photo_plan *out)
{
    struct photo_plan p = {.key = random_at(random_mix(seed), index)};
    /* Fractions of 2^64: 1/g, 1/g^2 and 1/g^3. */
    uint64_t n = index + 1, start = random_mix(seed + 1);
    uint32_t u_kind =
        (uint32_t)((start + n * UINT64_C(0xd1b54a32d192ed03)) >> 32);
    uint32_t u_size =
        (uint32_t)((random_mix(start) + n * UINT64_C(0xabc98388fb8fac03)) >>
                   32);
    uint32_t u_bits =
        (uint32_t)((random_mix(start + 1) + n * UINT64_C(0x8cb92ba72f3d8dd7)) >>
                   32);

    uint32_t kind = 0, below = 0;
    while (u_kind > kinds[kind].share && kind + 1 < PHOTO_KINDS)
        below = kinds[kind++].share;
    const struct kind_table *k = &kinds[kind];
    p.kind = (enum photo_kind)kind;

    /* What is left of u_kind inside its kind is as good as a new number. */
    uint64_t rest =
        ((uint64_t)(u_kind - below) << 32) / ((uint64_t)(k->share - below) + 1);
    if (rest < k->share500)
        draw_size500(u_size, &p);
    else
        draw_size(k, u_size, &p);

    uint64_t bits = quantile(k->bits, u_bits);
    p.target_bytes = bits * p.width * p.height / 8000;
    p.scale = k->scale;
    p.detail = (uint32_t)(256 * bits / k->usual_bits);
    p.optimised_huffman = random_between(random_at(p.key, 3), 0, 99) >= 7;
    *out = p;
}

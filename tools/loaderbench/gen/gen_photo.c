/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture with the statistics that matter to a JPEG decoder. Photographs have
 * about the same contrast in every octave of spatial frequency, less in the
 * finest, sharp edges between regions of different colour, and texture that is
 * strong in some regions and absent in others (a lawn, the sky).
 *
 *   coarse noise -> double the resolution, add noise of half the size -> ...
 *
 * gives the octaves (each pixel is made once, at a cost of 4/3 per plane); a
 * dozen of ellipses and slanted bars give the regions, each with its colour and
 * its strength of texture. Everything is integers in 1/16 of a level.
 */
#include "tools/loaderbench/gen/gen_photo.h"

#include "tools/loaderbench/gen/random.h"

#include <stdlib.h>
#include <string.h>

#define FIXED       4 /* bits after the point */
#define LEVELS      9 /* coarsest noise: cells of 256 pixels */
#define FINE_LEVELS 3 /* these follow the region's texture */
#define REGIONS_MAX 16

struct region {
    int16_t base[3];  /* Y, Cb, Cr, 1/16 level */
    uint16_t texture; /* 256 is plain */
};

/* Contrast per octave, finest first, 1/16 level. */
static const int16_t luma_octaves[LEVELS] = {230, 330, 380, 400, 420,
                                             440, 460, 480, 480};
static const int16_t chroma_octaves[LEVELS] = {40,  75,  100, 120, 130,
                                               140, 150, 160, 160};

static void fill_span(struct photo *p, int64_t y, int64_t x0, int64_t x1,
                      uint8_t region)
{
    if (x0 < 0)
        x0 = 0;
    if (x1 > (int64_t)p->width)
        x1 = p->width;
    if (x0 < x1)
        memset(p->region + (uint64_t)y * p->width + x0, region,
               (size_t)(x1 - x0));
}

static int64_t integer_sqrt(int64_t x)
{
    int64_t root = 0;
    for (int64_t bit = INT64_C(1) << 30; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= x)
            root |= bit;
    return root;
}

/* An ellipse, or a bar that leans. */
static void draw_shape(struct photo *p, uint64_t key, uint8_t region)
{
    int32_t w = (int32_t)p->width, h = (int32_t)p->height;
    int64_t cx = random_between(random_at(key, 0), 0, w);
    int64_t cy = random_between(random_at(key, 1), 0, h);
    int64_t rx = random_between(random_at(key, 2), w / 20 + 1, w / 3 + 1);
    int64_t ry = random_between(random_at(key, 3), h / 20 + 1, h / 3 + 1);
    int64_t slant = random_between(random_at(key, 4), -200, 200);
    int32_t bar = random_between(random_at(key, 5), 0, 2) == 0;
    int64_t y0 = cy - ry < 0 ? 0 : cy - ry;
    int64_t y1 = cy + ry > h ? h : cy + ry;
    for (int64_t y = y0; y < y1; y++) {
        int64_t dy = y - cy;
        int64_t middle = cx + slant * dy / 256;
        int64_t half =
            bar ? rx / 2
                : rx * integer_sqrt((ry * ry - dy * dy) * 256) / (ry * 16);
        fill_span(p, y, middle - half, middle + half, region);
    }
}

static void draw_regions(struct photo *p, const struct photo_plan *plan,
                         struct region regions[REGIONS_MAX])
{
    uint64_t key = random_at(plan->key, 16);
    int32_t n = random_between(key, 6, REGIONS_MAX - 1);
    memset(p->region, 0, (size_t)p->width * p->height);
    for (int32_t i = 0; i <= n; i++) {
        uint64_t own = random_at(key, (uint64_t)i);
        struct region *r = &regions[i];
        r->base[0] = (int16_t)random_between(random_at(own, 10), 700, 3300);
        r->base[1] = (int16_t)random_between(random_at(own, 11), 1600, 2500);
        r->base[2] = (int16_t)random_between(random_at(own, 12), 1600, 2500);
        int32_t texture = random_between(random_at(own, 13), 4, 22);
        r->texture =
            (uint16_t)((uint32_t)(texture * texture) * plan->detail / 256);
        if (i)
            draw_shape(p, own, (uint8_t)i);
    }
}

/* fine[w x h] from coarse[ceil(w/2) x ceil(h/2)], bilinear. */
static void double_up(int16_t *fine, uint32_t w, uint32_t h,
                      const int16_t *coarse, int16_t *row)
{
    uint32_t cw = (w + 1) / 2, ch = (h + 1) / 2;
    for (uint32_t y = 0; y < h; y++) {
        uint32_t cy = y / 2;
        uint32_t beside =
            y % 2 ? (cy + 1 < ch ? cy + 1 : cy) : (cy ? cy - 1 : 0);
        const int16_t *a = coarse + (size_t)cy * cw;
        const int16_t *b = coarse + (size_t)beside * cw;
        for (uint32_t x = 0; x < cw; x++)
            row[x] = (int16_t)((3 * a[x] + b[x] + 2) >> 2);
        int16_t *to = fine + (size_t)y * w;
        for (uint32_t x = 0; x < w; x++) {
            uint32_t cx = x / 2;
            uint32_t next =
                x % 2 ? (cx + 1 < cw ? cx + 1 : cx) : (cx ? cx - 1 : 0);
            to[x] = (int16_t)((3 * row[cx] + row[next] + 2) >> 2);
        }
    }
}

/* Adds noise of +-amplitude at level k; eight pixels per random number. */
static void add_noise(const struct photo *p, int16_t *field, uint32_t w,
                      uint32_t h, uint32_t k, uint64_t key, int32_t amplitude,
                      const struct region *regions)
{
    uint64_t bits = 0, i = 0;
    for (uint32_t y = 0; y < h; y++) {
        const uint8_t *region = p->region + ((size_t)y << k) * p->width;
        for (uint32_t x = 0; x < w; x++, i++) {
            if (i % 8 == 0)
                bits = random_at(key, i / 8);
            int32_t noise = (int8_t)(uint8_t)(bits >> (i % 8 * 8));
            int32_t strength = amplitude;
            if (k < FINE_LEVELS)
                strength =
                    strength * regions[region[(size_t)x << k]].texture / 256;
            field[i] = (int16_t)(field[i] + noise * strength / 128);
        }
    }
}

static void draw_plane(struct photo *p, uint32_t c, uint64_t key,
                       const struct region *regions)
{
    const int16_t *octaves = c ? chroma_octaves : luma_octaves;
    int16_t *coarse = p->field[0], *fine = p->field[1];
    for (uint32_t k = LEVELS; k-- > 0;) {
        uint32_t w = (p->width + (1u << k) - 1) >> k;
        uint32_t h = (p->height + (1u << k) - 1) >> k;
        if (k == LEVELS - 1)
            memset(fine, 0, (size_t)w * h * sizeof(*fine));
        else
            double_up(fine, w, h, coarse, p->row);
        add_noise(p, fine, w, h, k, random_at(key, k), octaves[k], regions);
        int16_t *swap = coarse;
        coarse = fine;
        fine = swap;
    }
    uint64_t n = (uint64_t)p->width * p->height;
    for (uint64_t i = 0; i < n; i++) {
        int32_t v = (regions[p->region[i]].base[c] + coarse[i]) >> FIXED;
        p->plane[c][i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

static int photo_reserve(struct photo *p, uint64_t pixels)
{
    if (pixels <= p->capacity)
        return 0;
    photo_fini(p);
    for (int c = 0; c < 3; c++)
        p->plane[c] = malloc(pixels);
    p->region = malloc(pixels);
    for (int i = 0; i < 2; i++)
        p->field[i] = malloc(pixels * sizeof(int16_t));
    p->row = malloc(pixels * sizeof(int16_t));
    if (!p->plane[0] || !p->plane[1] || !p->plane[2] || !p->region ||
        !p->field[0] || !p->field[1] || !p->row) {
        photo_fini(p);
        return -1;
    }
    p->capacity = pixels;
    return 0;
}

int photo_draw(struct photo *p, const struct photo_plan *plan)
{
    uint64_t pixels = (uint64_t)plan->width * plan->height;
    if (photo_reserve(p, pixels))
        return -1;
    p->width = plan->width;
    p->height = plan->height;
    struct region regions[REGIONS_MAX] = {{{0}, 0}};
    draw_regions(p, plan, regions);
    uint32_t planes = plan->kind == PHOTO_GRAY ? 1 : 3;
    for (uint32_t c = 0; c < planes; c++)
        draw_plane(p, c, random_at(plan->key, 32 + c), regions);
    return 0;
}

void photo_fini(struct photo *p)
{
    for (int c = 0; c < 3; c++)
        free(p->plane[c]);
    free(p->region);
    free(p->field[0]);
    free(p->field[1]);
    free(p->row);
    memset(p, 0, sizeof(*p));
}

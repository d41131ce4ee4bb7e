/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages from coefficients to pixels: inverse transform, upsampling and
 * colour, resampling along one axis and then the other. The arithmetic is that
 * of decode/formats/jpeg_transform.c and decode/kernels/resample.c, one value
 * at a time: of libjpeg-turbo's SIMD code, also where 16 bits overflow, and of
 * Pillow.
 *
 * What a stage reads was written by the one before it, in another launch. A
 * sample that is damaged is left alone; the last stage makes it zeros.
 */
#include "decode/device/device_job.h"
#include "decode/device/device_words.h"

/* Bits of fractions: of constants, and between the passes. */
#define CONST_BITS 13
#define PASS1_BITS 2

/* Cosines and their sums, times 2^13. */
#define F_0_211 1730
#define F_0_298 2446
#define F_0_390 3196
#define F_0_509 4176
#define F_0_541 4433
#define F_0_601 4926
#define F_0_720 5906
#define F_0_765 6270
#define F_0_850 6967
#define F_0_899 7373
#define F_1_061 8697
#define F_1_175 9633
#define F_1_272 10426
#define F_1_451 11893
#define F_1_501 12299
#define F_1_847 15137
#define F_1_961 16069
#define F_2_053 16819
#define F_2_172 17799
#define F_2_562 20995
#define F_3_072 25172
#define F_3_624 29692

#define WEIGHT_BITS 22

struct ALIGNED(8) row_of_eight {
    uint32_t left, right;
};

DEVICE bool is_to_do(const struct fdl_device_job *job)
{
    return READ(&job->kind) != FDL_DEVICE_NONE &&
           READ(&job->status) == FDL_DEVICE_SOUND;
}

/* ---- Numbers ------------------------------------------------------------- */

DEVICE int32_t of_16_bits(uint32_t x)
{
    return (int16_t)(uint16_t)x;
}

DEVICE int32_t clamped(int32_t x, int32_t low, int32_t high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

DEVICE int32_t to_16_bits(int32_t x)
{
    return clamped(x, -32768, 32767);
}

/* Sums wrap around; the shift of the result knows its sign. */
DEVICE uint32_t product(int32_t x, int32_t by)
{
    return (uint32_t)x * (uint32_t)by;
}

DEVICE int32_t descaled(uint32_t x, uint32_t shift)
{
    return (int32_t)x >> shift;
}

/* ---- The transform, along one axis --------------------------------------- */

/* v: of 16 bits. */
DEVICE void eight_of(const int32_t v[8], uint32_t shift, int32_t out[8])
{
    const uint32_t half = 1u << (shift - 1);
    int32_t z_a = of_16_bits((uint32_t)(v[7] + v[3]));
    int32_t z_b = of_16_bits((uint32_t)(v[5] + v[1]));
    uint32_t z3 = product(z_a, F_1_175 - F_1_961) + product(z_b, F_1_175);
    uint32_t z4 = product(z_a, F_1_175) + product(z_b, F_1_175 - F_0_390);
    uint32_t odd3 = product(v[7], F_0_298 - F_0_899) - product(v[1], F_0_899);
    uint32_t odd0 = product(v[1], F_1_501 - F_0_899) - product(v[7], F_0_899);
    uint32_t odd2 = product(v[5], F_2_053 - F_2_562) - product(v[3], F_2_562);
    uint32_t odd1 = product(v[3], F_3_072 - F_2_562) - product(v[5], F_2_562);
    odd3 += z3;
    odd0 += z4;
    odd2 += z4;
    odd1 += z3;
    uint32_t t3 = product(v[2], F_0_541 + F_0_765) + product(v[6], F_0_541);
    uint32_t t2 = product(v[2], F_0_541) + product(v[6], F_0_541 - F_1_847);
    int32_t sum = of_16_bits((uint32_t)(v[0] + v[4]));
    int32_t rest = of_16_bits((uint32_t)(v[0] - v[4]));
    uint32_t t0 = ((uint32_t)sum << CONST_BITS) + half;
    uint32_t t1 = ((uint32_t)rest << CONST_BITS) + half;
    out[0] = descaled(t0 + t3 + odd0, shift);
    out[7] = descaled(t0 + t3 - odd0, shift);
    out[1] = descaled(t1 + t2 + odd1, shift);
    out[6] = descaled(t1 + t2 - odd1, shift);
    out[2] = descaled(t1 - t2 + odd2, shift);
    out[5] = descaled(t1 - t2 - odd2, shift);
    out[3] = descaled(t0 - t3 + odd3, shift);
    out[4] = descaled(t0 - t3 - odd3, shift);
    OPS(80);
}

/* v[4] does not count. */
DEVICE void four_of(const int32_t v[8], uint32_t shift, int32_t out[4])
{
    uint32_t t = ((uint32_t)v[0] << (CONST_BITS + 1)) + (1u << (shift - 1));
    uint32_t even = product(v[2], F_1_847) - product(v[6], F_0_765);
    uint32_t outer = product(v[1], F_2_562) + product(v[3], F_0_899) -
                     product(v[5], F_0_601) - product(v[7], F_0_509);
    uint32_t inner = product(v[1], F_1_061) - product(v[3], F_2_172) +
                     product(v[5], F_1_451) - product(v[7], F_0_211);
    out[0] = descaled(t + even + outer, shift);
    out[1] = descaled(t - even + inner, shift);
    out[2] = descaled(t - even - inner, shift);
    out[3] = descaled(t + even - outer, shift);
    OPS(32);
}

/* first: v[0], which may have 32 bits. */
DEVICE void two_of(int32_t first, const int32_t v[8], uint32_t shift,
                   int32_t out[2])
{
    uint32_t t = ((uint32_t)first << (CONST_BITS + 2)) + (1u << (shift - 1));
    uint32_t odd = product(v[1], F_3_624) - product(v[3], F_1_272) +
                   product(v[5], F_0_850) - product(v[7], F_0_720);
    out[0] = descaled(t + odd, shift);
    out[1] = descaled(t - odd, shift);
    OPS(14);
}

/* ---- A block ------------------------------------------------------------- */

#define LANES  8 /* threads for a block */
#define BLOCKS (FDL_DEVICE_THREADS / LANES)
#define STRIDE 9 /* so that rows are in different banks of memory */

/* A block that is being done, between two steps. */
struct block {
    int32_t values[8 * STRIDE]; /* columns, then halfway */
    uint8_t any[LANES];         /* stored are more of a column than row 0 */
};

/* Where number i of a job's blocks is; false: nowhere. */
struct place {
    const struct fdl_device_plane *plane;
    const int16_t *from;
    uint8_t *to;
    uint32_t side, stride;
    uint8_t zero; /* what is added */
};

DEVICE bool find_block(const struct fdl_device_args *a,
                       const struct fdl_device_job *job, uint32_t i,
                       struct place *at)
{
    if (i >= READ(&job->n_blocks))
        return false;
    uint8_t *scratch = a->scratch + READ(&job->scratch);
    uint32_t plane = READ(&job->n_planes) - 1;
    while (plane > 0 && i < READ(&job->planes[plane].block))
        plane--;
    const struct fdl_device_plane *p = &job->planes[plane];
    uint32_t wide = READ(&p->wide), n = i - READ(&p->block);
    at->plane = p;
    at->from = (const int16_t *)(const void *)scratch + (uint64_t)i * 64;
    at->side = READ(&p->side);
    at->stride = wide * at->side;
    at->to = scratch + READ(&p->samples) +
             (uint64_t)(n / wide * at->side) * at->stride + n % wide * at->side;
    at->zero = plane == 0 ? 128 : 0;
    return true;
}

/* Dequantises column `lane`. */
DEVICE void load_column(const struct place *at, struct block *b, uint32_t lane)
{
    uint32_t any = 0;
    for (uint32_t y = 0; y < 8; y++) {
        uint32_t k = y * 8 + lane;
        int16_t x = READ(at->from + k);
        b->values[y * STRIDE + lane] =
            of_16_bits(product(x, READ(&at->plane->quant[k])));
        if (y > 0 && !(y == 4 && at->side == 4))
            any |= (uint16_t)x;
    }
    b->any[lane] = any != 0;
    OPS(24);
}

/* libjpeg-turbo leaves out the first pass where rows 1 to 7 of a block are
 * zero; that is the same as long as row 0 times 2^PASS1_BITS has 16 bits. */
DEVICE bool is_flat(const struct block *b)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < LANES; i++)
        any |= b->any[i];
    return any == 0;
}

DEVICE void do_column(struct block *b, uint32_t side, uint32_t lane)
{
    int32_t v[8], out[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    bool flat = is_flat(b) && side >= 4;
    UNROLL
    for (uint32_t y = 0; y < 8; y++)
        v[y] = b->values[y * STRIDE + lane];
    int32_t all = of_16_bits((uint32_t)v[0] << PASS1_BITS);
    if (side == 8 && !flat)
        eight_of(v, CONST_BITS - PASS1_BITS, out);
    else if (side == 4 && !flat)
        four_of(v, CONST_BITS - PASS1_BITS + 1, out);
    else if (side == 2)
        two_of(v[0], v, CONST_BITS - PASS1_BITS + 2, out);
    UNROLL
    for (uint32_t y = 0; y < 8; y++)
        b->values[y * STRIDE + lane] = flat        ? all
                                       : side == 2 ? out[y]
                                                   : to_16_bits(out[y]);
}

/* Into 8 bytes, from the lowest on. */
DEVICE uint64_t do_row(const struct block *b, uint32_t side, uint32_t lane,
                       uint8_t zero)
{
    int32_t v[8], out[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    const uint32_t shift = CONST_BITS + PASS1_BITS + 3;
    int32_t first = b->values[lane * STRIDE];
    UNROLL
    for (uint32_t x = 0; x < 8; x++)
        v[x] = to_16_bits(b->values[lane * STRIDE + x]);
    if (side == 8)
        eight_of(v, shift, out);
    else if (side == 4)
        four_of(v, shift + 1, out);
    else
        two_of(first, v, shift + 2, out);
    uint64_t row = 0;
    UNROLL
    for (uint32_t x = 0; x < 8; x++) {
        int32_t sample = clamped(out[x], -128, 127) + zero;
        row |= (uint64_t)(uint8_t)sample << (8 * x);
    }
    OPS(32);
    return row;
}

/* libjpeg has no vectors for one sample: products have 32 bits, and what is
 * left of them is cut to 10 bits before it is limited to a byte. */
DEVICE uint64_t only_sample(const struct place *at)
{
    int32_t quant = (int16_t)READ(&at->plane->quant[0]);
    uint32_t x = product(READ(at->from), quant) + 4;
    int32_t sample = descaled((uint32_t)descaled(x, 3) << 22, 22);
    return (uint8_t)(clamped(sample, -128, 127) + at->zero);
}

/* `side` bytes, which are on as many. */
DEVICE void store_row(const struct place *at, uint32_t y, uint64_t row)
{
    uint8_t *to = at->to + (uint64_t)y * at->stride;
    if (at->side == 8) {
        const struct row_of_eight both = {(uint32_t)row, (uint32_t)(row >> 32)};
        WRITE((struct row_of_eight *)(void *)to, both);
    } else if (at->side == 4) {
        WRITE((uint32_t *)(void *)to, (uint32_t)row);
    } else if (at->side == 2) {
        WRITE((uint16_t *)(void *)to, (uint16_t)row);
    } else {
        WRITE(to, (uint8_t)row);
    }
}

/* BLOCKS of them from number `first` on, LANES threads for each: a column of
 * coefficients, then a row of samples each. */
DEVICE void transform(const struct fdl_device_args *a,
                      const struct fdl_device_job *job, struct block *blocks,
                      uint32_t first)
{
    struct place at;
    EACH_THREAD(t) {
        if (find_block(a, job, first + t / LANES, &at))
            load_column(&at, &blocks[t / LANES], t % LANES);
    }
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        if (find_block(a, job, first + t / LANES, &at))
            do_column(&blocks[t / LANES], at.side, t % LANES);
    }
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        if (find_block(a, job, first + t / LANES, &at) && t % LANES < at.side)
            store_row(&at, t % LANES,
                      at.side == 1 ? only_sample(&at)
                                   : do_row(&blocks[t / LANES], at.side,
                                            t % LANES, at.zero));
    }
    ALL_ARE_HERE;
}

KERNEL fdl_device_transform(struct fdl_device_args args)
{
    SHARED struct block blocks[BLOCKS];
    const struct fdl_device_job *job = &args.jobs[blockIdx.y];
    uint32_t n = is_to_do(job) ? READ(&job->n_blocks) : 0;
    for (uint32_t i = blockIdx.x * BLOCKS; i < n; i += gridDim.x * BLOCKS)
        transform(&args, job, blocks, i);
}

/* ---- Upsampling and colour ----------------------------------------------- */

/* Samples of a component, of which the first one in memory is at (left, top).
 */
struct samples {
    const uint8_t *at;
    int32_t left, top, stride;
    int32_t width, height; /* of the whole component */
};

DEVICE struct samples samples_of(const struct fdl_device_args *a,
                                 const struct fdl_device_job *job, uint32_t i)
{
    const struct fdl_device_plane *p = &job->planes[i];
    uint32_t side = READ(&p->side);
    struct samples s;
    s.at = a->scratch + READ(&job->scratch) + READ(&p->samples);
    s.left = (int32_t)(READ(&job->column) * READ(&p->columns) * side);
    s.top = (int32_t)(READ(&job->row) * READ(&p->rows) * side);
    s.stride = (int32_t)(READ(&p->wide) * side);
    s.width = (int32_t)READ(&p->width);
    s.height = (int32_t)READ(&p->height);
    return s;
}

/* The last one is repeated, and so is the first one. */
DEVICE int32_t sample(const struct samples *s, int32_t x, int32_t y)
{
    x = clamped(x, 0, s->width - 1) - s->left;
    y = clamped(y, 0, s->height - 1) - s->top;
    return READ(s->at + (int64_t)y * s->stride + x);
}

/* Chroma has its zero at 0. */
DEVICE int32_t chroma(const struct samples *s, int32_t x, int32_t y)
{
    return (int8_t)sample(s, x, y);
}

DEVICE int32_t between(const struct samples *s, int32_t x, int32_t near,
                       int32_t far)
{
    return 3 * chroma(s, x, near) + chroma(s, x, far);
}

/* For pixel (x, y), of twice as many columns, rows, or both. */
DEVICE int32_t upsampled(const struct samples *s, int32_t x, int32_t y,
                         bool across, bool down)
{
    int32_t near = down ? y >> 1 : y, at = across ? x >> 1 : x;
    int32_t far = clamped(near + (y & 1 ? 1 : -1), 0, s->height - 1);
    int32_t side = at + (x & 1 ? 1 : -1);
    OPS(16);
    if (across && down)
        return (3 * between(s, at, near, far) + between(s, side, near, far) +
                (x & 1 ? 7 : 8)) >>
               4;
    if (across)
        return (3 * chroma(s, at, y) + chroma(s, side, y) + (x & 1 ? 2 : 1)) >>
               2;
    if (down)
        return (between(s, x, near, far) + (far > near ? 2 : 1)) >> 2;
    return chroma(s, x, y);
}

/* (a * b + 2^14) / 2^15, rounded down. */
DEVICE int32_t rounded_product(int32_t a, int32_t b)
{
    return (((a * b) >> 14) + 1) >> 1;
}

struct colour {
    uint8_t red, green, blue;
};

DEVICE struct colour colour_of(int32_t y, int32_t cb, int32_t cr)
{
    int32_t red = y + cr + rounded_product(cr, 13173);
    int32_t blue = y + cb + cb + rounded_product(cb, -7471);
    int32_t green = y + ((cb * -11277 + cr * -23401 + (1 << 14)) >> 15);
    struct colour c;
    c.red = (uint8_t)clamped(red, 0, 255);
    c.green = (uint8_t)clamped(green, 0, 255);
    c.blue = (uint8_t)clamped(blue, 0, 255);
    OPS(24);
    return c;
}

DEVICE uint8_t gray_of(struct colour c)
{
    return (uint8_t)((c.red * 19595u + c.green * 38470u + c.blue * 7471u +
                      0x8000u) >>
                     16);
}

/* How many times as many samples as those of chroma luma has. */
DEVICE bool is_doubled(const struct fdl_device_job *job, bool down)
{
    const struct fdl_device_plane *luma = &job->planes[0];
    const struct fdl_device_plane *other = &job->planes[1];
    uint32_t a = down ? READ(&luma->rows) : READ(&luma->columns);
    uint32_t b = down ? READ(&other->rows) : READ(&other->columns);
    return a * READ(&luma->side) > b * READ(&other->side);
}

KERNEL fdl_device_colour(struct fdl_device_args args)
{
    const struct fdl_device_job *job = &args.jobs[blockIdx.y];
    EACH_THREAD(t) {
        uint32_t width = READ(&job->width), height = READ(&job->height);
        uint32_t n = is_to_do(job) ? width * height : 0;
        uint32_t channels = READ(&job->channels);
        bool coloured = READ(&job->n_planes) > 1;
        bool across = coloured && is_doubled(job, false);
        bool down = coloured && is_doubled(job, true);
        uint8_t *to = args.scratch + READ(&job->scratch);
        struct samples luma = samples_of(&args, job, 0);
        struct samples cb = samples_of(&args, job, coloured ? 1 : 0);
        struct samples cr = samples_of(&args, job, coloured ? 2 : 0);
        for (uint32_t i = blockIdx.x * FDL_DEVICE_THREADS + t; i < n;
             i += gridDim.x * FDL_DEVICE_THREADS) {
            int32_t x = (int32_t)(READ(&job->x) + i % width);
            int32_t y = (int32_t)(READ(&job->y) + i / width);
            int32_t bright = sample(&luma, x, y);
            if (!coloured) {
                WRITE(to + i, (uint8_t)bright);
                continue;
            }
            struct colour c =
                colour_of(bright, upsampled(&cb, x, y, across, down),
                          upsampled(&cr, x, y, across, down));
            if (channels == 1) {
                WRITE(to + i, gray_of(c));
                continue;
            }
            WRITE(to + (uint64_t)i * 3, c.red);
            WRITE(to + (uint64_t)i * 3 + 1, c.green);
            WRITE(to + (uint64_t)i * 3 + 2, c.blue);
        }
    }
}

/* ---- Resampling ---------------------------------------------------------- */

/* What pass `args.pass` of a job reads, and writes. */
struct resampling {
    const struct fdl_device_pass *pass;
    const uint8_t *from;
    const struct fdl_device_span *spans;
    const int32_t *weights;
    uint32_t n_weights;
    uint8_t *to;
    uint32_t channels, copies; /* of each byte: gray in three channels */
    uint32_t step;             /* from a sample to the next one; bytes */
    uint32_t apart, plane;     /* of `to`: a pixel, a channel from the next */
    bool down;
};

DEVICE struct resampling open_pass(const struct fdl_device_args *a,
                                   const struct fdl_device_job *job)
{
    const struct fdl_device_pass *p = &job->pass[a->pass];
    const uint8_t *payload = a->slab + READ(&job->payload);
    uint8_t *scratch = a->scratch + READ(&job->scratch);
    uint8_t *between = scratch + READ(&job->between);
    struct resampling r;
    r.pass = p;
    r.from = a->pass == 0 ? scratch : between;
    r.to = a->pass == 0 ? between : a->out + READ(&job->out);
    r.spans = (const struct fdl_device_span *)(const void *)(payload +
                                                             READ(&p->spans));
    r.weights = (const int32_t *)(const void *)(payload + READ(&p->weights));
    r.n_weights = READ(&p->n_weights);
    r.channels = READ(&job->channels);
    r.copies = a->pass == 0 ? 1 : READ(&job->out_channels) / r.channels;
    r.down = READ(&p->down) != 0;
    r.step = r.channels * (r.down ? READ(&p->in_width) : 1);
    bool planar = a->pass > 0 && READ(&job->planar) != 0;
    r.apart = planar ? 1 : r.channels * r.copies;
    r.plane = planar ? READ(&p->width) * READ(&p->height) : 1;
    return r;
}

/* The sum is an int32, as in decode/kernels/resample.c. */
DEVICE uint8_t weighted(const struct resampling *r, const uint8_t *from,
                        uint32_t first, uint32_t taps)
{
    uint32_t sum = 1u << (WEIGHT_BITS - 1);
    for (uint32_t i = 0; i < taps; i++) {
        sum += (uint32_t)READ(r->weights + first + i) *
               READ(from + (uint64_t)i * r->step);
        OPS(4);
    }
    return (uint8_t)clamped((int32_t)sum >> WEIGHT_BITS, 0, 255);
}

/* False: its span reaches outside. */
DEVICE bool resample_pixel(const struct resampling *r, uint32_t x, uint32_t y,
                           uint32_t i)
{
    const struct fdl_device_pass *p = r->pass;
    const struct fdl_device_span *span = r->spans + (r->down ? y : x);
    uint32_t start = READ(&span->start), first = READ(&span->first);
    uint32_t end = READ(&span[1].first);
    uint32_t samples = r->down ? READ(&p->in_height) : READ(&p->in_width);
    if (end < first || end > r->n_weights || start > samples ||
        end - first > samples - start)
        return false;
    uint32_t row = r->down ? start : y, column = r->down ? x : start;
    const uint8_t *from =
        r->from + ((uint64_t)row * READ(&p->in_width) + column) * r->channels;
    uint8_t *to = r->to + (uint64_t)i * r->apart;
    for (uint32_t c = 0; c < r->channels; c++) {
        uint8_t value = weighted(r, from + c, first, end - first);
        for (uint32_t k = c; k < c + r->copies; k++)
            WRITE(to + (uint64_t)k * r->plane, value);
    }
    OPS(20);
    return true;
}

/* Of a sample that is not sound. */
DEVICE void clear_pixel(const struct resampling *r, uint32_t i)
{
    uint8_t *to = r->to + (uint64_t)i * r->apart;
    for (uint32_t c = 0; c < r->channels * r->copies; c++)
        WRITE(to + (uint64_t)c * r->plane, (uint8_t)0);
}

KERNEL fdl_device_resample(struct fdl_device_args args)
{
    struct fdl_device_job *job = &args.jobs[blockIdx.y];
    EACH_THREAD(t) {
        if (READ(&job->kind) == FDL_DEVICE_NONE)
            continue; /* its record says nothing else */
        struct resampling r = open_pass(&args, job);
        uint32_t width = READ(&r.pass->width);
        uint32_t n = width * READ(&r.pass->height);
        for (uint32_t i = blockIdx.x * FDL_DEVICE_THREADS + t; i < n;
             i += gridDim.x * FDL_DEVICE_THREADS) {
            bool sound = READ(&job->status) == FDL_DEVICE_SOUND &&
                         resample_pixel(&r, i % width, i / width, i);
            if (!sound) {
                WRITE(&job->status, (uint32_t)FDL_DEVICE_DAMAGED);
                clear_pixel(&r, i);
            }
        }
    }
}

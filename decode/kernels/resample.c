/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of weights and the plain C kernels.
 *
 * The weights follow Pillow's Resample.c step by step, in doubles and in the
 * same order of operations (this file is built without contracted multiply-
 * adds), because a difference in the last bit of a weight can move a pixel.
 * Taps of weight 0 at either end are dropped: they change nothing, and rows
 * that only they touch need not be decoded. Each random crop makes two tables.
 */
#include "decode/kernels/resample.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/kernels/resample_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ONE (1 << FDL_WEIGHT_BITS)

/* ---- Tables ------------------------------------------------------------- */

/* A filter reaches `support` samples to either side, more where it is stretched
 * over several samples for each output. */
struct kernel {
    double support;
    double (*weight)(double x);
};

static double box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double sinc(double x)
{
    x *= M_PI;
    return x == 0.0 ? 1.0 : sin(x) / x;
}

/* A sinc of one period under the Hamming window, the constants of which Pillow
 * has as floats. */
static double hamming(double x)
{
    const double base = (double)0.54f, swing = (double)0.46f;
    x = fabs(x);
    if (x == 0.0)
        return 1.0;
    if (x >= 1.0)
        return 0.0;
    x *= M_PI;
    return sin(x) / x * (base + swing * cos(x));
}

/* Keys' cubic with a = -1/2. */
static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double lanczos(double x)
{
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

/* Nearest has no weights: see fill_nearest. */
static const struct kernel kernels[FDL_FILTERS] = {
    [FDL_FILTER_BILINEAR] = {1.0, triangle},
    [FDL_FILTER_NEAREST] = {0.0, NULL},
    [FDL_FILTER_BOX] = {0.5, box},
    [FDL_FILTER_HAMMING] = {1.0, hamming},
    [FDL_FILTER_BICUBIC] = {2.0, cubic},
    [FDL_FILTER_LANCZOS] = {3.0, lanczos},
};

struct filter {
    double from, scale, support;
    double step;     /* 1 / how far the filter is stretched */
    int32_t room;    /* taps that one output can have */
    int32_t bits;    /* of a weight, behind the point */
    double *scratch; /* [room] */
    double (*weight)(double x);
};

static struct filter make_filter(const struct fdl_axis_key *key)
{
    const struct kernel *k = &kernels[key->filter];
    double span = key->span > 0.0 ? key->span : (double)key->in;
    struct filter f = {
        .from = key->from, .scale = span / key->out, .weight = k->weight};
    double stretch = FDL_MAX(f.scale, 1.0);
    f.support = k->support * stretch;
    f.step = 1.0 / stretch;
    f.room = (int32_t)ceil(f.support) * 2 + 1;
    f.bits = FDL_WEIGHT_BITS;
    return f;
}

/* Memory for the table; the old content is lost. */
static int32_t reserve(struct fdl_axis *axis, struct filter *f)
{
    size_t n = (size_t)axis->key.count, room = (size_t)f->room;
    size_t cells, bytes, scratch = room * sizeof(double);
    size_t stride = (room + FDL_TAP_BLOCK - 1) & ~(size_t)(FDL_TAP_BLOCK - 1);
    if (!fdl_mul_size(n, stride + 2, &cells) ||
        !fdl_mul_size(cells, sizeof(int32_t), &bytes) ||
        !fdl_add_size(bytes, scratch, &bytes))
        return fdl_fail_memory(UINT64_MAX, "resampling weights");
    if (bytes > axis->capacity) {
        free(axis->memory);
        axis->capacity = 0;
        axis->memory = fdl_alloc_aligned(bytes);
        if (!axis->memory)
            return fdl_fail_memory(bytes, "resampling weights");
        axis->capacity = bytes;
    }
    FDL_TSAN_WRITES(axis->memory, bytes);
    f->scratch = axis->memory;
    axis->start = (int32_t *)(f->scratch + room);
    axis->length = axis->start + n;
    axis->weight = axis->length + n;
    axis->stride = (int32_t)stride;
    return FEEDLINE_OK;
}

/* The weights of output i, as they are, to scratch; how many, and the first
 * sample. */
FDL_INLINE int32_t weigh_with(const struct filter *f, int32_t in, int32_t i,
                              int32_t *first, double (*weight)(double x))
{
    double center = f->from + (i + 0.5) * f->scale, sum = 0.0;
    int32_t low = (int32_t)(center - f->support + 0.5);
    int32_t high = (int32_t)(center + f->support + 0.5);
    low = FDL_MAX(low, 0);
    int32_t n = FDL_MIN(high, in) - low;
    for (int32_t x = 0; x < n; x++) {
        f->scratch[x] = weight((x + low - center + 0.5) * f->step);
        sum += f->scratch[x];
    }
    for (int32_t x = 0; x < n; x++)
        f->scratch[x] /= sum;
    *first = low;
    return n;
}

/* Almost every table is of triangles, which take less than a call. */
static int32_t weigh(const struct filter *f, int32_t in, int32_t i,
                     int32_t *first)
{
    if (FDL_LIKELY(f->weight == triangle))
        return weigh_with(f, in, i, first, triangle);
    return weigh_with(f, in, i, first, f->weight);
}

/* torch keeps weights in 16 bits, with as many behind the point as the greatest
 * one leaves: of all outputs, also of those that are not wanted. */
static int32_t tensor_bits(const struct filter *f, const struct fdl_axis_key *k)
{
    double most = 0.0;
    for (int32_t i = 0; i < k->out; i++) {
        int32_t low, n = weigh(f, k->in, i, &low);
        for (int32_t x = 0; x < n; x++)
            most = FDL_MAX(most, f->scratch[x]);
    }
    int32_t bits = 0;
    while (bits < FDL_WEIGHT_BITS &&
           (int32_t)(0.5 + most * (1 << (bits + 1))) < 1 << 15)
        bits++;
    return bits;
}

/* Halves go away from zero. */
static int32_t round_weight(double w, int32_t bits)
{
    int32_t rounded = (int32_t)(w * (1 << bits) + (w < 0.0 ? -0.5 : 0.5));
    return rounded * (1 << (FDL_WEIGHT_BITS - bits));
}

/* Entry `at` of the table: output `i`. */
static void fill_entry(struct fdl_axis *axis, const struct filter *f,
                       int32_t at, int32_t i)
{
    int32_t low, n = weigh(f, axis->key.in, i, &low), from = n, to = 0;
    int32_t *weight = axis->weight + (size_t)at * (size_t)axis->stride;

    for (int32_t x = 0; x < n; x++) {
        weight[x] = round_weight(f->scratch[x], f->bits);
        if (weight[x] != 0) {
            from = FDL_MIN(from, x);
            to = x + 1;
        }
    }
    fdl_assert(from < to);
    n = to - from;
    if (from > 0)
        memmove(weight, weight + from, (size_t)n * sizeof(*weight));
    for (int32_t x = n; x < axis->stride; x++)
        weight[x] = 0;
    axis->start[at] = low + from;
    axis->length[at] = n;
}

/* Output `at` is one sample. Pillow adds up the step from one to the next, so
 * this does too, from the first output on. */
static void fill_nearest(struct fdl_axis *axis, const struct filter *f)
{
    const struct fdl_axis_key *key = &axis->key;
    double place = f->from + f->scale * 0.5;
    float step = (float)key->in / (float)key->out; /* as torch rounds it */
    for (int32_t i = 0; i < key->first; i++)
        place += f->scale;
    for (int32_t i = 0; i < key->count; i++, place += f->scale) {
        int32_t at = key->mirror ? key->count - 1 - i : i;
        int32_t from = (int32_t)place;
        if (key->nearest == FDL_NEAREST_TORCH)
            from = (int32_t)((float)(key->first + i) * step);
        axis->start[at] = FDL_MIN(from, key->in - 1);
        axis->length[at] = 1;
        int32_t *weight = axis->weight + (size_t)at * (size_t)axis->stride;
        memset(weight, 0, (size_t)axis->stride * sizeof(*weight));
        weight[0] = ONE;
    }
}

/* Of as many outputs as samples each is one sample, by any filter. Crops and
 * flips that do not resize have a table of their own for almost every image. */
static bool is_identity(const struct fdl_axis_key *key)
{
    return key->in == key->out && key->from == 0.0 &&
           (key->span == 0.0 || key->span == (double)key->in);
}

static void fill_identity(struct fdl_axis *axis)
{
    const struct fdl_axis_key *key = &axis->key;
    size_t bytes = (size_t)axis->stride * sizeof(*axis->weight);
    memset(axis->weight, 0, (size_t)key->count * bytes);
    for (int32_t at = 0; at < key->count; at++) {
        int32_t i = key->mirror ? key->count - 1 - at : at;
        axis->start[at] = key->first + i;
        axis->length[at] = 1;
        axis->weight[(size_t)at * (size_t)axis->stride] = ONE;
    }
}

/* The usual filter, of few taps. */
static bool fill_triangles(struct fdl_axis *axis, const struct filter *f)
{
#if defined(__x86_64__)
    const struct fdl_triangles t = {f->from, f->scale, f->support, f->step,
                                    f->bits};
    if (f->weight != triangle || axis->key.tensor ||
        f->room > FDL_TRIANGLE_TAPS || fdl_cpu_level() < FDL_CPU_AVX2)
        return false;
    fdl_triangles_fill_avx2(axis, &t);
    return true;
#else
    (void)axis;
    (void)f;
    return false;
#endif
}

/* The whole table, where there is a short way. */
static bool fill_at_once(struct fdl_axis *axis, const struct filter *f)
{
    if (is_identity(&axis->key))
        fill_identity(axis);
    else if (axis->key.filter == FDL_FILTER_NEAREST)
        fill_nearest(axis, f);
    else
        return fill_triangles(axis, f);
    return true;
}

/* Turns the weights of an entry round, for samples in the opposite order. A
 * table made for that order from the start would not do: its weights are
 * rounded elsewhere. */
static void reverse_entry(struct fdl_axis *axis, int32_t at)
{
    int32_t n = axis->length[at];
    int32_t *weight = axis->weight + (size_t)at * (size_t)axis->stride;
    axis->start[at] = axis->key.in - axis->start[at] - n;
    for (int32_t x = 0; x < n / 2; x++) {
        int32_t w = weight[x];
        weight[x] = weight[n - 1 - x];
        weight[n - 1 - x] = w;
    }
}

int32_t fdl_axis_prepare(struct fdl_axis *axis, const struct fdl_axis_key *key)
{
    fdl_assert(key->in > 0 && key->out > 0 && key->first >= 0 &&
               key->count > 0 && key->count <= key->out - key->first);
    const struct fdl_axis_key *k = &axis->key;
    if (k->in == key->in && k->out == key->out && k->first == key->first &&
        k->count == key->count && k->mirror == key->mirror &&
        k->reverse == key->reverse && k->filter == key->filter &&
        k->nearest == key->nearest && k->tensor == key->tensor &&
        k->from == key->from && k->span == key->span)
        return FEEDLINE_OK;

    struct filter f = make_filter(key);
    axis->key = *key;
    axis->packing = NULL;
    int32_t status = reserve(axis, &f);
    if (status) {
        axis->key = (struct fdl_axis_key){0};
        return status;
    }
    int32_t low = INT32_MAX, high = 0;
    axis->taps = 0;
    bool filled = fill_at_once(axis, &f);
    if (!filled && key->tensor)
        f.bits = tensor_bits(&f, key);
    for (int32_t at = 0; at < key->count; at++) {
        int32_t i = key->first + (key->mirror ? key->count - 1 - at : at);
        if (!filled)
            fill_entry(axis, &f, at, i);
        if (key->reverse)
            reverse_entry(axis, at);
        low = FDL_MIN(low, axis->start[at]);
        high = FDL_MAX(high, axis->start[at] + axis->length[at]);
        axis->taps = FDL_MAX(axis->taps, axis->length[at]);
    }
    for (int32_t at = 0; at < key->count; at++)
        axis->start[at] -= low;
    axis->origin = low;
    axis->extent = high - low;
    return FEEDLINE_OK;
}

int32_t fdl_axis_pack(struct fdl_axis *axis, const struct fdl_packing *packing,
                      int32_t channels)
{
    if (!packing->bytes ||
        (axis->packing == packing && axis->packed_channels == channels))
        return FEEDLINE_OK;
    size_t bytes = packing->bytes(axis, channels);
    axis->packing = NULL;
    if (bytes > axis->packed_capacity) {
        free(axis->packed);
        axis->packed_capacity = 0;
        axis->packed = fdl_alloc_aligned(bytes);
        if (!axis->packed)
            return fdl_fail_memory(bytes, "resampling weights");
        axis->packed_capacity = bytes;
    }
    FDL_TSAN_WRITES(axis->packed, bytes);
    axis->packed_form = packing->pack(axis, channels, axis->packed);
    axis->packed_channels = channels;
    axis->packing = packing;
    return FEEDLINE_OK;
}

void fdl_axis_fini(struct fdl_axis *axis)
{
    free(axis->memory);
    free(axis->packed);
    *axis = (struct fdl_axis){0};
}

/* ---- Plain C ------------------------------------------------------------ */

/* A sum is added up modulo 2^32 and is then an int32: the weights of an output
 * add up to almost ONE, and the positive ones alone to less than 2 ONE even for
 * the filters that have negative ones. These reach below 0 and above 255; and
 * the rounding of a great many weights can lift any a little above 255. */
static uint8_t round_sum(uint32_t sum)
{
    int32_t value = (int32_t)sum >> FDL_WEIGHT_BITS;
    return (uint8_t)FDL_MIN(FDL_MAX(value, 0), 255);
}

static void horizontal_c(const struct fdl_axis *axis, const uint8_t *row,
                         int32_t channels, uint8_t *planes, size_t plane)
{
    size_t step = (size_t)channels;
    for (int32_t i = 0; i < axis->key.count; i++) {
        const int32_t *w = axis->weight + (size_t)i * (size_t)axis->stride;
        const uint8_t *from = row + (size_t)axis->start[i] * step;
        for (size_t c = 0; c < step; c++) {
            uint32_t sum = ONE / 2;
            for (int32_t t = 0; t < axis->length[i]; t++)
                sum += (uint32_t)w[t] * from[(size_t)t * step + c];
            planes[c * plane + (size_t)i] = round_sum(sum);
        }
    }
}

static void vertical_c(const struct fdl_axis *axis, int32_t i,
                       const uint8_t *const *rows, uint8_t *out, size_t n)
{
    const int32_t *w = axis->weight + (size_t)i * (size_t)axis->stride;
    for (size_t x = 0; x < n; x++) {
        uint32_t sum = ONE / 2;
        for (int32_t t = 0; t < axis->length[i]; t++)
            sum += (uint32_t)w[t] * rows[t][x];
        out[x] = round_sum(sum);
    }
}

const struct fdl_resample_kernels fdl_resample_c = {
    .horizontal = horizontal_c,
    .vertical = vertical_c,
};

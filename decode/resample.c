/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of weights, the plain C kernels, and the choice between families.
 *
 * The weights follow Pillow's Resample.c step by step, in doubles and in the
 * same order of operations (this file is built without contracted multiply-
 * adds), because a difference in the last bit of a weight can move a pixel.
 * Taps of weight 0 at either end are dropped: they change nothing, and rows
 * that only they touch need not be decoded. A table for 224 outputs takes about
 * 5 us, little enough to make two new ones for each random crop.
 */
#include "decode/resample.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ONE (1 << FDL_WEIGHT_BITS)

/* ---- Tables ------------------------------------------------------------- */

struct filter {
    double scale, support, step; /* step: 1 / how far the filter is stretched */
    int32_t room;                /* taps that one output can have */
    double *scratch;             /* [room] */
};

static struct filter make_filter(const struct fdl_axis_key *key)
{
    struct filter f = {.scale = (double)key->in / key->out};
    double stretch = FDL_MAX(f.scale, 1.0);
    f.support = stretch;
    f.step = 1.0 / stretch;
    f.room = (int32_t)ceil(f.support) * 2 + 1;
    return f;
}

/* Memory for the table; the old content is lost. */
static int32_t reserve(struct fdl_axis *axis, struct filter *f)
{
    size_t n = (size_t)axis->key.count, room = (size_t)f->room;
    size_t cells, bytes, scratch = room * sizeof(double);
    if (!fdl_mul_size(n, room + 2, &cells) ||
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
    f->scratch = axis->memory;
    axis->start = (int32_t *)(f->scratch + room);
    axis->length = axis->start + n;
    axis->weight = axis->length + n;
    axis->stride = f->room;
    return FEEDLINE_OK;
}

static double triangle(double x)
{
    if (x < 0.0)
        x = -x;
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Entry `at` of the table: output `i`. */
static void fill_entry(struct fdl_axis *axis, const struct filter *f,
                       int32_t at, int32_t i)
{
    double center = (i + 0.5) * f->scale, sum = 0.0;
    int32_t low = (int32_t)(center - f->support + 0.5);
    int32_t high = (int32_t)(center + f->support + 0.5);
    low = FDL_MAX(low, 0);
    high = FDL_MIN(high, axis->key.in);
    int32_t n = high - low, from = n, to = 0;
    int32_t *weight = axis->weight + (size_t)at * (size_t)axis->stride;

    for (int32_t x = 0; x < n; x++) {
        f->scratch[x] = triangle((x + low - center + 0.5) * f->step);
        sum += f->scratch[x];
    }
    for (int32_t x = 0; x < n; x++) {
        weight[x] = (int32_t)(0.5 + f->scratch[x] / sum * ONE);
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

int32_t fdl_axis_prepare(struct fdl_axis *axis, const struct fdl_axis_key *key)
{
    fdl_assert(key->in > 0 && key->out > 0 && key->first >= 0 &&
               key->count > 0 && key->count <= key->out - key->first);
    const struct fdl_axis_key *k = &axis->key;
    if (k->in == key->in && k->out == key->out && k->first == key->first &&
        k->count == key->count && k->mirror == key->mirror)
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
    for (int32_t at = 0; at < key->count; at++) {
        int32_t i = key->first + (key->mirror ? key->count - 1 - at : at);
        fill_entry(axis, &f, at, i);
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

size_t fdl_plane_bytes(int32_t width)
{
    return ((size_t)width + FDL_PLANE_ALIGN - 1) &
           ~(size_t)(FDL_PLANE_ALIGN - 1);
}

/* ---- Plain C ------------------------------------------------------------ */

/* Sums stay below 2^31: weights are positive and add up to almost ONE. The
 * rounding of a great many weights can lift a sum a little above 255. */
static uint8_t round_sum(uint32_t sum)
{
    return (uint8_t)FDL_MIN(sum >> FDL_WEIGHT_BITS, 255u);
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

static const struct fdl_resample_kernels kernels_c = {
    .horizontal = horizontal_c,
    .vertical = vertical_c,
};

const struct fdl_resample_kernels *fdl_resample_kernels(
    enum fdl_cpu_level level)
{
    for (int i = (int)level; i > FDL_CPU_C; i--) {
        if (fdl_resample_levels[i])
            return fdl_resample_levels[i];
    }
    return &kernels_c;
}

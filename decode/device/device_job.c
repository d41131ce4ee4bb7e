/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a job: room in its payload, and the last look at it. */
#include "decode/device/device_job.h"

#include "base/compiler.h"

#include <stddef.h>

bool fdl_device_reserve(struct fdl_device_payload *p, uint64_t bytes,
                        uint32_t align, uint32_t *at)
{
    uint64_t begin = ((uint64_t)p->used + align - 1) & ~(uint64_t)(align - 1);
    if (begin > p->capacity || bytes > p->capacity - begin)
        return false;
    *at = (uint32_t)begin;
    p->used = (uint32_t)(begin + bytes);
    return true;
}

/* n things of `size` bytes, from `at` on, in `bytes`, on `align`. */
static bool lies_in(uint64_t at, uint64_t n, uint64_t size, uint64_t bytes,
                    uint64_t align)
{
    return at % align == 0 && at <= bytes && n <= (bytes - at) / size;
}

/* Of plane i: its blocks, and its samples in their MCUs. */
static bool is_plane_sound(const struct fdl_device_job *job, uint32_t i,
                           uint32_t block)
{
    const struct fdl_device_plane *p = &job->planes[i];
    uint32_t side = p->side;
    uint64_t left = (uint64_t)job->column * p->columns * side;
    uint64_t top = (uint64_t)job->row * p->rows * side;
    uint64_t wide = (uint64_t)job->mcus_wide * p->columns * side;
    uint64_t high = (uint64_t)job->mcus_high * p->rows * side;
    return p->columns > 0 && p->columns <= 2 && p->rows > 0 && p->rows <= 2 &&
           (side == 1 || side == 2 || side == 4 || side == 8) &&
           p->wide == job->n_columns * p->columns &&
           p->high == job->rows * p->rows && p->block == block &&
           p->width > left && p->width <= wide && p->height > top &&
           p->height <= high && p->dc < FDL_DEVICE_TABLES / 2 &&
           p->ac < FDL_DEVICE_TABLES && p->ac >= FDL_DEVICE_TABLES / 2 &&
           lies_in(p->samples, (uint64_t)p->wide * p->high, side * side,
                   job->scratch_bytes, FDL_DEVICE_ALIGN);
}

/* Whether the samples of all pixels are decoded, with those of chroma before
 * the first of them and behind the last, where the image has such. */
static bool is_covered(const struct fdl_device_job *job, bool down)
{
    for (uint32_t i = 0; i < job->n_planes; i++) {
        const struct fdl_device_plane *luma = &job->planes[0];
        const struct fdl_device_plane *p = &job->planes[i];
        uint64_t mcu = p->side * (down ? p->rows : p->columns);
        uint64_t whole = luma->side * (down ? luma->rows : luma->columns);
        uint64_t first = down ? job->row : job->column;
        uint64_t n = down ? job->rows : job->n_columns;
        uint64_t from = down ? job->y : job->x;
        uint64_t end = from + (down ? job->height : job->width);
        uint64_t all = down ? p->height : p->width;
        if (whole != mcu && whole != 2 * mcu)
            return false;
        if (whole != mcu) {
            from = from > 0 ? (from - 1) / 2 : 0;
            end = FDL_MIN(end / 2 + 1, all);
        }
        if (from < first * mcu || end > all || end > (first + n) * mcu)
            return false;
    }
    return true;
}

static bool is_pass_sound(const struct fdl_device_job *job,
                          const struct fdl_device_pass *p)
{
    uint32_t outputs = p->down ? p->height : p->width;
    bool kept = p->down ? p->width == p->in_width : p->height == p->in_height;
    return kept && p->width > 0 && p->height > 0 &&
           (uint64_t)p->width * p->height < FDL_DEVICE_MOST &&
           lies_in(p->spans, (uint64_t)outputs + 1,
                   sizeof(struct fdl_device_span), job->payload_bytes, 4) &&
           lies_in(p->weights, p->n_weights, 4, job->payload_bytes, 4);
}

static bool are_passes_sound(const struct fdl_device_job *job)
{
    const struct fdl_device_pass *a = &job->pass[0], *b = &job->pass[1];
    return is_pass_sound(job, a) && is_pass_sound(job, b) &&
           a->in_width == job->width && a->in_height == job->height &&
           b->in_width == a->width && b->in_height == a->height &&
           (job->channels == 1 || job->channels == 3) &&
           (job->out_channels == 1 || job->out_channels == 3) &&
           job->out_channels >= job->channels &&
           lies_in(job->between, (uint64_t)a->width * a->height, job->channels,
                   job->scratch_bytes, 1);
}

/* Pixels take the place of coefficients, which are before all else. */
static bool is_scratch_sound(const struct fdl_device_job *job, uint32_t blocks)
{
    uint64_t pixels = (uint64_t)job->width * job->height * job->channels;
    uint64_t first = FDL_MAX((uint64_t)blocks * 128, pixels);
    for (uint32_t i = 0; i < job->n_planes; i++) {
        if (job->planes[i].samples < first)
            return false;
    }
    return job->between >= pixels && first <= job->scratch_bytes;
}

bool fdl_device_job_is_sound(const struct fdl_device_job *job)
{
    size_t segment = job->kind == FDL_DEVICE_CHAINS
                         ? sizeof(struct fdl_device_chain)
                         : sizeof(struct fdl_device_run);
    uint64_t blocks = 0;
    if (job->payload % FDL_DEVICE_ALIGN || job->scratch % FDL_DEVICE_ALIGN ||
        job->payload_bytes % 4 || job->payload_bytes >= FDL_DEVICE_MOST ||
        job->scratch_bytes >= FDL_DEVICE_MOST || job->n_planes == 0 ||
        job->n_planes == 2 || job->n_planes > FDL_DEVICE_PLANES ||
        job->mcus_wide == 0 || job->mcus_wide > 65536 || job->mcus_high == 0 ||
        job->mcus_high > 65536 || job->n_columns > job->mcus_wide ||
        job->rows > job->mcus_high ||
        job->column > job->mcus_wide - job->n_columns ||
        job->row > job->mcus_high - job->rows ||
        (uint64_t)job->width * job->height >= FDL_DEVICE_MOST)
        return false;
    for (uint32_t i = 0; i < job->n_planes; i++) {
        if (!is_plane_sound(job, i, (uint32_t)blocks))
            return false;
        blocks += (uint64_t)job->planes[i].wide * job->planes[i].high;
    }
    return job->width > 0 && job->height > 0 && blocks == job->n_blocks &&
           blocks * 128 <= job->scratch_bytes &&
           lies_in(job->segments, job->n_segments, segment, job->payload_bytes,
                   4) &&
           (job->kind != FDL_DEVICE_CHAINS ||
            lies_in(job->tables, FDL_DEVICE_TABLES,
                    sizeof(struct fdl_device_table), job->payload_bytes, 1)) &&
           is_covered(job, false) && is_covered(job, true) &&
           are_passes_sound(job) && is_scratch_sound(job, (uint32_t)blocks);
}

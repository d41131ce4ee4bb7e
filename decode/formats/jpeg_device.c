/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FF 00 becomes FF on the way into the payload: the copy is made in any case,
 * FF is one byte in some hundred, and a thread of a device then reads its
 * segment by whole words. Restart markers are found on the same way. A segment
 * that has some becomes several, as after a marker nothing need be known.
 */
#include "decode/formats/jpeg_device.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/status.h"
#include "decode/formats/jpeg_rows.h"

#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

#define MARKER_RST 0xd0
#define MARKER_EOI 0xd9

/* ---- The image ----------------------------------------------------------- */

/* MCUs whose samples the box needs, with those beside it where chroma is
 * interpolated. */
static void find_mcus(const struct jpeg_decompress_struct *c,
                      const struct fdl_box *need, struct fdl_device_job *job)
{
    const jpeg_component_info *luma = &c->comp_info[0];
    const jpeg_component_info *last = luma + c->num_components - 1;
    int32_t wide = FDL_JPEG_SIDE(luma) * luma->h_samp_factor;
    int32_t high = FDL_JPEG_SIDE(luma) * luma->v_samp_factor;
    int32_t x = wide > FDL_JPEG_SIDE(last) * last->h_samp_factor;
    int32_t y = high > FDL_JPEG_SIDE(last) * last->v_samp_factor;
    int32_t left = FDL_MAX(need->x - x, 0), top = FDL_MAX(need->y - y, 0);
    int32_t right =
        FDL_MIN(need->x + need->width + x, (int32_t)c->output_width);
    int32_t bottom =
        FDL_MIN(need->y + need->height + y, (int32_t)c->output_height);
    job->mcus_wide = c->MCUs_per_row;
    job->mcus_high = c->MCU_rows_in_scan;
    job->column = (uint32_t)(left / wide);
    job->row = (uint32_t)(top / high);
    job->n_columns = (uint32_t)((right + wide - 1) / wide) - job->column;
    job->rows = (uint32_t)((bottom + high - 1) / high) - job->row;
    job->x = (uint32_t)need->x;
    job->y = (uint32_t)need->y;
    job->width = (uint32_t)need->width;
    job->height = (uint32_t)need->height;
}

static void describe_plane(const struct jpeg_decompress_struct *c, int i,
                           struct fdl_device_job *job)
{
    const jpeg_component_info *info = &c->comp_info[i];
    struct fdl_device_plane *p = &job->planes[i];
    *p = (struct fdl_device_plane){
        .columns = (uint32_t)info->h_samp_factor,
        .rows = (uint32_t)info->v_samp_factor,
        .side = (uint32_t)FDL_JPEG_SIDE(info),
        .width = info->downsampled_width,
        .height = info->downsampled_height,
        .block = job->n_blocks,
        .ac = FDL_DEVICE_TABLES / 2,
    };
    p->wide = p->columns * job->n_columns;
    p->high = p->rows * job->rows;
    job->n_blocks += p->wide * p->high;
    memcpy(p->quant, info->quant_table->quantval, sizeof(p->quant));
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + FDL_DEVICE_ALIGN - 1) / FDL_DEVICE_ALIGN * FDL_DEVICE_ALIGN;
}

/* Scratch memory, up to the samples. False: it is too much. */
static bool place_samples(struct fdl_device_job *job)
{
    uint64_t pixels = (uint64_t)job->width * job->height * job->n_planes;
    uint64_t at = aligned(FDL_MAX((uint64_t)job->n_blocks * 128, pixels));
    for (uint32_t i = 0; i < job->n_planes; i++) {
        struct fdl_device_plane *p = &job->planes[i];
        if (at >= FDL_DEVICE_MOST)
            return false;
        p->samples = (uint32_t)at;
        at = aligned(at + (uint64_t)p->wide * p->high * p->side * p->side);
    }
    job->scratch_bytes = (uint32_t)FDL_MIN(at, FDL_DEVICE_MOST);
    return at < FDL_DEVICE_MOST;
}

static bool describe(const struct jpeg_decompress_struct *c,
                     const struct fdl_box *need, struct fdl_device_job *job)
{
    uint64_t blocks = (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan *
                      (uint64_t)c->blocks_in_MCU;
    if (blocks * 128 >= FDL_DEVICE_MOST)
        return false;
    *job = (struct fdl_device_job){.n_planes = (uint32_t)c->num_components};
    find_mcus(c, need, job);
    for (int i = 0; i < c->num_components; i++)
        describe_plane(c, i, job);
    return place_samples(job);
}

/* ---- Tables -------------------------------------------------------------- */

/* To a place among two of its kind: n of them are there. */
static bool add_table(const JHUFF_TBL *from, struct fdl_device_table *to,
                      const JHUFF_TBL **known, uint32_t *number)
{
    for (uint32_t i = 0; i < FDL_DEVICE_TABLES / 2; i++) {
        if (known[i] == from) {
            *number = i;
            return true;
        }
        if (known[i])
            continue;
        known[i] = from;
        memcpy(to[i].counts, from->bits + 1, sizeof(to[i].counts));
        memcpy(to[i].symbols, from->huffval, sizeof(to[i].symbols));
        *number = i;
        return true;
    }
    return false;
}

static bool add_tables(const struct jpeg_decompress_struct *c,
                       struct fdl_device_payload *to,
                       struct fdl_device_job *job)
{
    const JHUFF_TBL *known[FDL_DEVICE_TABLES] = {NULL};
    const size_t bytes = FDL_DEVICE_TABLES * sizeof(struct fdl_device_table);
    const uint32_t half = FDL_DEVICE_TABLES / 2;
    if (!fdl_device_reserve(to, bytes, 4, &job->tables))
        return false;
    struct fdl_device_table *tables =
        (struct fdl_device_table *)(void *)(to->data + job->tables);
    memset(tables, 0, bytes);
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        const JHUFF_TBL *dc = c->dc_huff_tbl_ptrs[info->dc_tbl_no];
        const JHUFF_TBL *ac = c->ac_huff_tbl_ptrs[info->ac_tbl_no];
        struct fdl_device_plane *p = &job->planes[i];
        if (!dc || !ac || !add_table(dc, tables, known, &p->dc) ||
            !add_table(ac, tables + half, known + half, &p->ac))
            return false;
        p->ac += half;
    }
    return true;
}

/* ---- Chains -------------------------------------------------------------- */

struct cutter {
    struct fdl_device_payload *to;
    struct fdl_device_job *job;
    struct fdl_device_chain *chains;
    uint32_t room;              /* chains */
    uint32_t interval;          /* of restarts; 0: none */
    const uint8_t *begin, *end; /* of the data */
    size_t (*copy)(uint8_t *to, const uint8_t *from, size_t n);
};

/* Whether a device needs one of MCUs [mcu, end); the last such one. */
static bool last_needed(const struct fdl_device_job *job, uint64_t mcu,
                        uint64_t end, uint64_t *last)
{
    uint64_t wide = job->mcus_wide;
    for (uint64_t row = (end - 1) / wide; row + 1 > mcu / wide; row--) {
        uint64_t first = FDL_MAX(row * wide + job->column, mcu);
        uint64_t behind =
            FDL_MIN(row * wide + job->column + job->n_columns, end);
        bool in_rows = row >= job->row && row < job->row + job->rows;
        *last = behind - 1;
        if (in_rows && first < behind)
            return true;
        if (row == 0)
            break;
    }
    return false;
}

/* Copies the bytes before the first FF of n, or all: how many. There is room
 * for n. */
static size_t copy_run(uint8_t *to, const uint8_t *from, size_t n)
{
    const uint8_t *ff = memchr(from, 0xff, n);
    n = ff ? (size_t)(ff - from) : n;
    memcpy(to, from, n);
    return n;
}

#if defined(__x86_64__)
/* Runs are short: some 250 bytes. */
FDL_TARGET("avx2")
static size_t copy_run_avx2(uint8_t *to, const uint8_t *from, size_t n)
{
    const __m256i ff = _mm256_set1_epi8((char)0xff);
    size_t at = 0;
    for (; n - at >= sizeof(ff); at += sizeof(ff)) {
        __m256i x = _mm256_loadu_si256((const void *)(from + at));
        _mm256_storeu_si256((void *)(to + at), x);
        int found = _mm256_movemask_epi8(_mm256_cmpeq_epi8(x, ff));
        if (found)
            return at + (size_t)__builtin_ctz((unsigned)found);
    }
    return at + copy_run(to + at, from + at, n - at);
}
#endif

/* Bytes from *at on without FF 00, up to a marker or to the byte at `stop`.
 * False: they have no room. */
static bool unstuff(const struct cutter *cut, const uint8_t **at,
                    const uint8_t *stop, uint32_t *begin, uint32_t *bytes)
{
    struct fdl_device_payload *to = cut->to;
    const uint8_t *from = *at;
    if (!fdl_device_reserve(to, 0, 4, begin) ||
        stop - from > (ptrdiff_t)(to->capacity - *begin))
        return false;
    uint8_t *out = to->data + *begin;
    while (from < stop) {
        size_t run = cut->copy(out, from, (size_t)(stop - from));
        from += run;
        out += run;
        if (from == stop || cut->end - from < 2 || from[1] != 0)
            break;
        *out++ = 0xff;
        from += 2;
    }
    *at = from;
    *bytes = (uint32_t)(out - to->data) - *begin;
    return true;
}

/* Bytes that a window reads past the data are zeros, and are there. */
static bool end_bytes(struct fdl_device_payload *to, uint32_t begin,
                      uint32_t bytes)
{
    uint32_t at, padded = (bytes + 3) & ~3u;
    if (!fdl_device_reserve(to, padded, 4, &at))
        return false;
    fdl_assert(at == begin);
    memset(to->data + begin + bytes, 0, padded - bytes);
    return true;
}

/* Where a segment begins, or ends. */
struct mark {
    uint64_t mcu, bit; /* bit: UINT64_MAX, at a marker */
    int32_t dc[FDL_ENTRY_COMPONENTS];
};

/* Bits that a chain may leave: fill up the byte before a marker. What lies
 * between the last MCU of an image and its end is nobody's, as on the CPU. */
#define AT_ENTRY  0
#define AT_MARKER 7
#define AT_END    FDL_DEVICE_CUT

/* A chain of MCUs [from->mcu, end), if some of them are needed. */
static bool add_chain(struct cutter *cut, const struct mark *from, uint64_t end,
                      uint32_t at, uint32_t bytes, uint32_t bits, uint8_t slack)
{
    struct fdl_device_job *job = cut->job;
    uint64_t last;
    if (end <= from->mcu || !last_needed(job, from->mcu, end, &last))
        return true;
    if (job->n_segments == cut->room || !end_bytes(cut->to, at, bytes))
        return false;
    struct fdl_device_chain *c = &cut->chains[job->n_segments++];
    *c = (struct fdl_device_chain){
        .at = at,
        .bits = bits,
        .mcu = (uint32_t)from->mcu,
        .n = (uint32_t)(last + 1 - from->mcu),
        .first = from->bit % 8,
        .slack = last + 1 < end ? FDL_DEVICE_CUT : slack,
    };
    for (int i = 0; i < FDL_DEVICE_PLANES; i++)
        c->dc[i] = (int16_t)from->dc[i];
    return true;
}

/* The first MCU from `mcu` on that has a marker before it. */
static uint64_t next_restart(uint32_t interval, uint64_t mcu)
{
    if (interval == 0)
        return UINT64_MAX;
    return FDL_MAX((mcu + interval - 1) / interval, 1) * interval;
}

/* The chains from one mark to the next. */
static bool add_segment(struct cutter *cut, struct mark from,
                        const struct mark *to)
{
    uint64_t size = (uint64_t)(cut->end - cut->begin);
    bool to_end = to->bit == UINT64_MAX;
    uint64_t stop = to_end ? size : to->bit / 8 + (to->bit % 8 > 0);
    if (from.bit / 8 > stop || stop > size)
        return false;
    const uint8_t *at = cut->begin + from.bit / 8;
    uint64_t restart = next_restart(cut->interval, from.mcu);
    for (;;) {
        uint32_t begin, bytes;
        if (!unstuff(cut, &at, cut->begin + stop, &begin, &bytes))
            return false;
        bool exact = at >= cut->begin + stop;
        if (exact ? to_end : cut->end - at < 2)
            return false;
        uint32_t bits = bytes * 8;
        if (exact && to->bit % 8 > 0)
            bits -= 8 - (uint32_t)(to->bit % 8);
        if (exact || at[1] == MARKER_EOI)
            return restart >= to->mcu && exact != to_end &&
                   add_chain(cut, &from, to->mcu, begin, bytes, bits,
                             exact ? AT_ENTRY : AT_END);
        if ((at[1] & 0xf8) != MARKER_RST || restart >= to->mcu ||
            !add_chain(cut, &from, restart, begin, bytes, bits, AT_MARKER))
            return false;
        at += 2;
        from = (struct mark){.mcu = restart};
        restart += cut->interval;
    }
}

/* Segments of the index: one from each entry to the next. */
struct index {
    const struct fdl_entries *known;
    uint64_t n, most; /* entries that are known, and all that can be */
    uint64_t spacing, mcus;
};

static uint64_t segment_end(const struct index *x, uint64_t i)
{
    return i < x->most ? (i + 1) * x->spacing : x->mcus;
}

/* Where segment i begins. */
static struct mark mark_of(const struct index *x, uint64_t i)
{
    struct mark m = {0};
    if (i > x->most) {
        m.mcu = x->mcus;
        m.bit = UINT64_MAX;
    } else if (i > 0) {
        m.mcu = i * x->spacing;
        m.bit = fdl_entry_unpack(x->known->at[i - 1], m.dc);
    }
    return m;
}

/* Most chains of the segments that are needed; 0: some are not known. */
static uint64_t count_chains(const struct index *x,
                             const struct fdl_device_job *job,
                             uint32_t interval)
{
    uint64_t sum = 0, last;
    for (uint64_t i = 0; i <= x->most; i++) {
        uint64_t begin = i * x->spacing, end = segment_end(x, i);
        if (!last_needed(job, begin, end, &last))
            continue;
        if (i > x->n || (i == x->n && i < x->most))
            return 0;
        sum += 1 + (interval > 0 ? (end - begin) / interval + 1 : 0);
    }
    return sum;
}

static bool add_segments(struct cutter *cut, const struct index *x)
{
    struct fdl_device_job *job = cut->job;
    uint64_t last;
    for (uint64_t i = 0; i <= x->most; i++) {
        if (!last_needed(job, i * x->spacing, segment_end(x, i), &last))
            continue;
        struct mark end = mark_of(x, i + 1);
        if (!add_segment(cut, mark_of(x, i), &end))
            return false;
    }
    return true;
}

bool fdl_jpeg_device_chains(const struct jpeg_decompress_struct *c,
                            const uint8_t *end, uint64_t file_bytes,
                            const struct fdl_entries *known,
                            const struct fdl_box *need,
                            struct fdl_device_payload *to,
                            struct fdl_device_job *job)
{
    struct index x = {
        .known = known,
        .mcus = (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan,
    };
    struct cutter cut = {.to = to,
                         .job = job,
                         .interval = c->restart_interval,
                         .begin = c->src->next_input_byte,
                         .end = end,
                         .copy = copy_run};
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        cut.copy = copy_run_avx2;
#endif
    if (c->unread_marker != 0 || !describe(c, need, job) ||
        !add_tables(c, to, job))
        return false;
    x.spacing = fdl_entries_spacing(x.mcus, file_bytes);
    x.most = (x.mcus - 1) / x.spacing;
    x.n = FDL_MIN(fdl_entries_count(known), x.most);
    uint64_t n = count_chains(&x, job, cut.interval);
    if (n == 0 || n > to->capacity ||
        !fdl_device_reserve(to, n * sizeof(*cut.chains), 4, &job->segments))
        return false;
    cut.room = (uint32_t)n;
    cut.chains = (struct fdl_device_chain *)(void *)(to->data + job->segments);
    if (!add_segments(&cut, &x))
        return false;
    job->kind = FDL_DEVICE_CHAINS;
    return true;
}

/* ---- Packed samples ------------------------------------------------------ */

/* A row of a plane: segments [first, first + n) of it, at `runs`. */
static bool add_runs(const struct fdl_packed_plane *plane,
                     const uint8_t *lengths, const uint8_t *data,
                     struct fdl_device_run *runs, uint32_t n,
                     struct fdl_device_payload *to)
{
    uint32_t first = runs[0].column / FDL_SEGMENT_BLOCKS, at;
    uint64_t skip = fdl_packed_length(lengths, first);
    uint64_t bytes = fdl_packed_length(lengths + 2 * (size_t)first, n);
    if (!fdl_device_reserve(to, bytes, 1, &at))
        return false;
    memcpy(to->data + at, data + skip, bytes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t segment = first + i;
        uint64_t size = fdl_packed_length(lengths + 2 * (size_t)segment, 1);
        runs[i] = (struct fdl_device_run){
            .at = at,
            .bytes = (uint32_t)size,
            .row = runs[0].row,
            .column = segment * FDL_SEGMENT_BLOCKS,
            .plane = runs[0].plane,
            .n = (uint16_t)fdl_packed_blocks(plane, segment),
        };
        at += (uint32_t)size;
    }
    return true;
}

/* The blocks of plane i that are needed: rows from `top` on, and segments. */
struct part {
    uint32_t top, first, n;
};

static struct part part_of(const struct fdl_device_job *job, uint32_t i)
{
    const struct fdl_device_plane *p = &job->planes[i];
    uint32_t left = job->column * p->columns;
    uint32_t first = left / FDL_SEGMENT_BLOCKS;
    uint32_t last = (left + p->wide - 1) / FDL_SEGMENT_BLOCKS;
    return (struct part){job->row * p->rows, first, last + 1 - first};
}

static bool add_plane(const struct fdl_packed_plane *plane, uint32_t i,
                      struct fdl_device_run *runs,
                      struct fdl_device_payload *to,
                      const struct fdl_device_job *job)
{
    struct part part = part_of(job, i);
    uint32_t in_row = fdl_packed_segments(plane);
    uint64_t skipped = (uint64_t)in_row * part.top;
    const uint8_t *lengths = plane->lengths + 2 * skipped;
    const uint8_t *data =
        plane->data + fdl_packed_length(plane->lengths, skipped);
    for (uint32_t y = 0; y < job->planes[i].high; y++, runs += part.n) {
        runs[0] = (struct fdl_device_run){
            .row = part.top + y,
            .column = part.first * FDL_SEGMENT_BLOCKS,
            .plane = (uint16_t)i,
        };
        if (!add_runs(plane, lengths, data, runs, part.n, to))
            return false;
        data += fdl_packed_length(lengths, in_row);
        lengths += 2 * (size_t)in_row;
    }
    return true;
}

bool fdl_jpeg_device_packed(const struct jpeg_decompress_struct *c,
                            const struct fdl_packed *p,
                            const struct fdl_box *need,
                            struct fdl_device_payload *to,
                            struct fdl_device_job *job)
{
    uint64_t n = 0;
    if (!describe(c, need, job))
        return false;
    for (uint32_t i = 0; i < job->n_planes; i++)
        n += (uint64_t)part_of(job, i).n * job->planes[i].high;
    struct fdl_device_run *runs;
    if (n > to->capacity ||
        !fdl_device_reserve(to, n * sizeof(*runs), 4, &job->segments))
        return false;
    runs = (struct fdl_device_run *)(void *)(to->data + job->segments);
    for (uint32_t i = 0; i < job->n_planes; i++) {
        if (!add_plane(&p->planes[i], i, runs, to, job))
            return false;
        runs += (size_t)part_of(job, i).n * job->planes[i].high;
    }
    job->n_segments = (uint32_t)n;
    job->kind = FDL_DEVICE_PACKED;
    return true;
}

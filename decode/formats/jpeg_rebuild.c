/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of one scan is its prefix, its data by its own tables, and its tail.
 * One of several scans is written by libjpeg with the scans it had; what lies
 * between their data comes from the tail. Where that is not the file, what
 * libjpeg wrote has the same coefficients.
 */
#include "decode/formats/jpeg_rebuild.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- Markers ------------------------------------------------------------- */

uint64_t fdl_jpeg_marker(const uint8_t *data, uint64_t size, uint64_t at)
{
    while (size - at >= 2 && data[at] == 0xff && data[at + 1] == 0xff)
        at++;
    return size - at >= 2 && data[at] == 0xff && data[at + 1] != 0 ? at : size;
}

/* A marker without a length: TEM and RSTn, which libjpeg passes over. */
static bool is_alone(int marker)
{
    return marker == 0x01 || (marker & 0xf8) == JPEG_RST0;
}

uint64_t fdl_jpeg_segment_end(const uint8_t *data, uint64_t size, uint64_t at)
{
    if (size - at >= 2 && is_alone(data[at + 1]))
        return at + 2;
    if (size - at < 4)
        return size;
    uint64_t n = 2 + ((uint64_t)data[at + 2] << 8 | data[at + 3]);
    return n >= 4 && n <= size - at ? at + n : size;
}

uint64_t fdl_jpeg_next_scan(const uint8_t *data, uint64_t size, uint64_t at)
{
    for (;;) {
        at = fdl_jpeg_marker(data, size, at);
        if (at == size || data[at + 1] == JPEG_EOI)
            return size;
        if (data[at + 1] == 0xda)
            return at;
        at = fdl_jpeg_segment_end(data, size, at);
    }
}

/* Fill bytes and 0 are data: libjpeg reads them as one byte of 0xff. */
uint64_t fdl_jpeg_scan_end(const uint8_t *data, uint64_t size, uint64_t at)
{
    for (; size - at >= 2; at++) {
        uint64_t from = at;
        if (data[at] != 0xff)
            continue;
        while (size - at >= 2 && data[at + 1] == 0xff)
            at++;
        if (size - at < 2)
            break;
        if (data[at + 1] != 0 && (data[at + 1] & 0xf8) != JPEG_RST0)
            return from;
    }
    return size;
}

/* ---- One scan ------------------------------------------------------------ */

static int32_t fail_tail(void)
{
    return fdl_fail(FEEDLINE_EDECODE, "offset 0: packed JPEG: its tail is "
                                      "damaged");
}

static int32_t rebuild_one(struct fdl_jpeg_parts *p)
{
    const struct fdl_packed *packed = p->packed;
    struct fdl_bytes *out = &p->spliced;
    if (packed->tail_bytes < 1)
        return fail_tail();
    int32_t status = fdl_bytes_add(out, packed->prefix, packed->prefix_bytes);
    if (!status)
        status =
            fdl_jpeg_scan_write(&p->in, p->components, packed->tail[0], out);
    if (!status)
        status = fdl_bytes_add(out, packed->tail + 1, packed->tail_bytes - 1);
    return status;
}

/* ---- Several scans ------------------------------------------------------- */

/* What the tail has of marker segments: each with its length before it. False:
 * there is no more. */
static bool next_run(const struct fdl_packed *p, uint64_t *at,
                     const uint8_t **run, uint64_t *n)
{
    const uint8_t *from = p->tail + *at;
    if (p->tail_bytes - *at < 4)
        return false;
    *n = (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 |
         (uint64_t)from[3] << 24;
    if (*n > p->tail_bytes - *at - 4)
        return false;
    *run = from + 4;
    *at += 4 + *n;
    return true;
}

static int index_of(const struct fdl_jpeg_parts *p, uint8_t id)
{
    for (int i = 0; i < p->in.num_components; i++)
        if (p->in.comp_info[i].component_id == id)
            return i;
    return -1;
}

/* The SOS at the end of a run. */
static bool read_scan(const struct fdl_jpeg_parts *p, const uint8_t *run,
                      uint64_t n, jpeg_scan_info *scan)
{
    bool first = n >= 2 && run[0] == 0xff && run[1] == 0xd8;
    uint64_t at = fdl_jpeg_next_scan(run, n, first ? 2 : 0);
    if (n - at < 10 || run[at + 4] < 1 || run[at + 4] > MAX_COMPS_IN_SCAN ||
        n - at != 8 + 2 * (uint64_t)run[at + 4])
        return false;
    const uint8_t *of = run + at + 5;
    scan->comps_in_scan = run[at + 4];
    for (int i = 0; i < scan->comps_in_scan; i++, of += 2) {
        scan->component_index[i] = index_of(p, of[0]);
        if (scan->component_index[i] < 0)
            return false;
    }
    scan->Ss = of[0];
    scan->Se = of[1];
    scan->Ah = of[2] >> 4;
    scan->Al = of[2] & 15;
    return true;
}

#define SCANS_MAX 1000

static int32_t read_script(struct fdl_jpeg_parts *p, int *n_scans)
{
    const uint8_t *run;
    uint64_t n, at = 0;
    int scans = -1; /* the last run has none */
    while (next_run(p->packed, &at, &run, &n))
        scans++;
    if (at != p->packed->tail_bytes || scans < 1 || scans > SCANS_MAX)
        return fail_tail();
    free(p->script);
    p->script = calloc((size_t)scans, sizeof(*p->script));
    if (!p->script)
        return fdl_fail_memory((size_t)scans * sizeof(*p->script), "scans");
    at = 0;
    for (int i = 0; i < scans; i++) {
        if (!next_run(p->packed, &at, &run, &n) ||
            !read_scan(p, run, n, &p->script[i]))
            return fail_tail();
    }
    *n_scans = scans;
    return FEEDLINE_OK;
}

/* ---- By libjpeg ---------------------------------------------------------- */

static JDIMENSION rounded(uint32_t n, int to)
{
    return (n + (JDIMENSION)to - 1) / (JDIMENSION)to * (JDIMENSION)to;
}

static void request_arrays(struct fdl_jpeg_parts *p)
{
    struct jpeg_compress_struct *c = &p->out;
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        p->arrays[i] = c->mem->request_virt_barray(
            (j_common_ptr)c, JPOOL_IMAGE, TRUE,
            rounded(p->components[i].wide, info->h_samp_factor),
            rounded(p->components[i].high, info->v_samp_factor),
            (JDIMENSION)info->v_samp_factor);
    }
}

static void fill_arrays(struct fdl_jpeg_parts *p)
{
    struct jpeg_compress_struct *c = &p->out;
    for (int i = 0; i < c->num_components; i++) {
        const struct fdl_jpeg_coefficients *of = &p->components[i];
        for (uint32_t y = 0; y < of->high; y++) {
            JBLOCKARRAY row = c->mem->access_virt_barray(
                (j_common_ptr)c, p->arrays[i], y, 1, TRUE);
            memcpy(row[0], of->blocks[(size_t)y * of->wide],
                   of->wide * sizeof(*of->blocks));
        }
    }
}

/* APPn and comments, as they were. */
static void copy_markers(struct fdl_jpeg_parts *p)
{
    const uint8_t *data = p->packed->prefix;
    uint64_t size = p->packed->prefix_bytes, at = 2;
    while ((at = fdl_jpeg_marker(data, size, at)) < size) {
        uint64_t end = fdl_jpeg_segment_end(data, size, at);
        int marker = data[at + 1];
        bool copied = (marker & 0xf0) == JPEG_APP0 || marker == JPEG_COM;
        if (copied && end - at >= 4)
            jpeg_write_marker(&p->out, marker, data + at + 4,
                              (unsigned)(end - at - 4));
        at = end;
    }
}

/* scans: of p->script; 0: one. */
static void write_file(struct fdl_jpeg_parts *p, int scans)
{
    struct jpeg_compress_struct *c = &p->out;
    jpeg_mem_dest(c, &p->written, &p->written_bytes);
    p->writing = true;
    jpeg_copy_critical_parameters(&p->in, c);
    c->write_JFIF_header = FALSE;
    c->write_Adobe_marker = FALSE;
    c->optimize_coding = TRUE;
    c->restart_interval = p->in.restart_interval;
    c->num_scans = scans;
    c->scan_info = scans > 0 ? p->script : NULL;
    request_arrays(p);
    jpeg_write_coefficients(c, p->arrays);
    fill_arrays(p);
    copy_markers(p);
    jpeg_finish_compress(c);
}

/* The data of libjpeg's scans, between the runs of the tail. */
static int32_t splice(struct fdl_jpeg_parts *p)
{
    const uint8_t *data = p->written, *run;
    uint64_t size = p->written_bytes, from = 2, n, at = 0;
    int32_t status = FEEDLINE_OK;
    while (!status && next_run(p->packed, &at, &run, &n)) {
        status = fdl_bytes_add(&p->spliced, run, n);
        from = fdl_jpeg_next_scan(data, size, from);
        if (from == size || status)
            continue;
        from = fdl_jpeg_segment_end(data, size, from);
        uint64_t end = fdl_jpeg_scan_end(data, size, from);
        status = fdl_bytes_add(&p->spliced, data + from, end - from);
        from = end;
    }
    return status;
}

/* ---- Both ---------------------------------------------------------------- */

int32_t fdl_jpeg_rebuild(struct fdl_jpeg_parts *p)
{
    const unsigned flags = p->packed->flags;
    int scans = 0;
    if (!(flags & FDL_PACKED_SCANS)) {
        int32_t status = rebuild_one(p);
        if (status != FEEDLINE_EDECODE)
            return status;
        p->spliced.n = 0; /* its tables lack codes */
    } else {
        int32_t status = read_script(p, &scans);
        if (status)
            return status;
    }
    write_file(p, scans);
    return flags & FDL_PACKED_SCANS && flags & FDL_PACKED_SAME_BYTES
               ? splice(p)
               : FEEDLINE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjpeg reads without a word is packed. A file of one scan keeps its own
 * bytes up to its coefficients as the prefix. Of one of several scans the
 * prefix is that of a file of one scan, which gives the same pixels, and its
 * own markers go to the tail.
 */
#include "decode/formats/jpeg_pack.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/formats/jpeg_blocks.h"
#include "decode/formats/jpeg_rebuild.h"
#include "decode/packed/container.h"

#include <inttypes.h>
#include <jerror.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define SCANS_MAX 100

struct pack {
    struct fdl_jpeg_parts parts;
    struct jpeg_error_mgr err;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    int32_t status;

    const uint8_t *jpeg;
    uint64_t size, max_pixels;
    bool in_there, out_there; /* libjpeg's objects are */
    bool scans;               /* it has several */
    uint64_t scan, end;       /* behind the first SOS, and behind EOI */
    struct fdl_packed packed;
    struct fdl_bytes prefix, tail;
    struct fdl_bytes lengths[FDL_PACKED_PLANES], data[FDL_PACKED_PLANES];
};

/* ---- libjpeg ------------------------------------------------------------- */

static void leave(struct pack *p, int32_t status) FDL_NORETURN;

static void leave(struct pack *p, int32_t status)
{
    p->status = status;
    longjmp(p->escape, 1);
}

static void on_error(j_common_ptr c)
{
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    if (c->err->msg_code == JERR_OUT_OF_MEMORY)
        leave(c->client_data, fdl_fail(FEEDLINE_ENOMEM, "JPEG: %s", text));
    leave(c->client_data,
          fdl_fail(FEEDLINE_EDECODE, "offset 0: cannot be packed: %s", text));
}

static void on_message(j_common_ptr c, int level)
{
    if (level < 0)
        on_error(c);
}

static int32_t refuse(const char *why)
{
    return fdl_fail(FEEDLINE_EDECODE, "offset 0: cannot be packed: %s", why);
}

static void on_progress(j_common_ptr c)
{
    struct pack *p = c->client_data;
    if (c->is_decompressor && p->parts.in.input_scan_number > SCANS_MAX)
        leave(p, refuse("more than 100 scans"));
}

static int32_t guarded(struct pack *p, int32_t (*step)(struct pack *p))
{
    if (setjmp(p->escape) == 0)
        return step(p);
    struct jpeg_compress_struct *c = &p->parts.out;
    if (p->parts.writing) /* else its buffer is lost */
        c->dest->term_destination(c);
    p->parts.writing = false;
    return p->status;
}

static void close_objects(struct pack *p)
{
    if (p->in_there)
        jpeg_destroy_decompress(&p->parts.in);
    if (p->out_there)
        jpeg_destroy_compress(&p->parts.out);
    p->in_there = p->out_there = false;
}

static void open_input(struct pack *p, const uint8_t *data, uint64_t size)
{
    struct jpeg_decompress_struct *c = &p->parts.in;
    close_objects(p);
    c->err = jpeg_std_error(&p->err);
    p->err.error_exit = on_error;
    p->err.emit_message = on_message;
    c->client_data = p;
    p->in_there = true; /* destroying one that was not made is fine */
    c->mem = NULL;
    jpeg_create_decompress(c);
    p->progress.progress_monitor = on_progress;
    c->progress = &p->progress;
    jpeg_mem_src(c, data, size);
}

static int32_t read_header(struct pack *p)
{
    struct jpeg_decompress_struct *c = &p->parts.in;
    jpeg_read_header(c, TRUE);
    if (c->arith_code)
        return refuse("arithmetic-coded JPEG");
    if (c->data_precision != 8)
        return refuse("not of 8 bits");
    if (fdl_jpeg_is_lossless(c))
        return refuse("lossless JPEG");
    if (c->num_components != 1 && c->num_components != 3 &&
        c->num_components != 4)
        return refuse("not of 1, 3 or 4 components");
    if ((uint64_t)c->image_width * c->image_height > p->max_pixels)
        return fdl_fail(FEEDLINE_ERANGE,
                        "offset 0: JPEG of %" PRIu32 "x%" PRIu32
                        " pixels exceeds max_pixels=%" PRIu64,
                        (uint32_t)c->image_width, (uint32_t)c->image_height,
                        p->max_pixels);
    return FEEDLINE_OK;
}

/* ---- Coefficients of a JPEG ---------------------------------------------- */

/* One scan of all components, as libjpeg has to find it in the prefix. */
static int32_t check_kind(const struct pack *p)
{
    const struct jpeg_decompress_struct *c = &p->parts.in;
    int blocks = 0;
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        blocks += info->h_samp_factor * info->v_samp_factor;
        if (!p->scans && c->cur_comp_info[i] != info)
            return refuse("components in an unusual order");
    }
    if (c->num_components > 1 && blocks > D_MAX_BLOCKS_IN_MCU)
        return refuse("its scans cannot be made one");
    return FEEDLINE_OK;
}

static uint32_t rounded(JDIMENSION n, int to)
{
    return (n + (uint32_t)to - 1) / (uint32_t)to * (uint32_t)to;
}

/* Blocks that only fill up MCUs are among them: they are in the file. */
static void measure(const struct jpeg_decompress_struct *c,
                    struct fdl_packed *to)
{
    bool one = c->num_components == 1;
    to->n_planes = (unsigned)c->num_components;
    for (unsigned i = 0; i < to->n_planes; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        to->planes[i].blocks_wide =
            rounded(info->width_in_blocks, one ? 1 : info->h_samp_factor);
        to->planes[i].blocks_high =
            rounded(info->height_in_blocks, one ? 1 : info->v_samp_factor);
    }
}

static int32_t make_components(struct pack *p)
{
    for (unsigned i = 0; i < p->packed.n_planes; i++) {
        const struct fdl_packed_plane *plane = &p->packed.planes[i];
        struct fdl_jpeg_coefficients *to = &p->parts.components[i];
        to->wide = plane->blocks_wide;
        to->high = plane->blocks_high;
        size_t n = (size_t)to->wide * to->high;
        to->blocks = malloc((n + !n) * sizeof(*to->blocks));
        if (!to->blocks)
            return fdl_fail_memory(n * sizeof(*to->blocks), "coefficients");
    }
    return FEEDLINE_OK;
}

static int32_t copy_coefficients(struct pack *p, jvirt_barray_ptr *arrays)
{
    struct jpeg_decompress_struct *c = &p->parts.in;
    int32_t status = make_components(p);
    for (unsigned i = 0; i < p->packed.n_planes && !status; i++) {
        struct fdl_jpeg_coefficients *to = &p->parts.components[i];
        for (uint32_t y = 0; y < to->high; y++) {
            JBLOCKARRAY row = c->mem->access_virt_barray(
                (j_common_ptr)c, arrays[i], y, 1, FALSE);
            memcpy(to->blocks[(size_t)y * to->wide], row[0],
                   to->wide * sizeof(*to->blocks));
        }
    }
    return status;
}

static int32_t read_jpeg(struct pack *p)
{
    struct jpeg_decompress_struct *c = &p->parts.in;
    open_input(p, p->jpeg, p->size);
    int32_t status = read_header(p);
    p->scan = p->size - c->src->bytes_in_buffer;
    p->scans = jpeg_has_multiple_scans(c);
    if (!status)
        status = check_kind(p);
    if (status)
        return status;
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(c);
    p->end = p->size - c->src->bytes_in_buffer;
    if (fdl_jpeg_lacks_scans(c))
        return refuse("scans are missing");
    measure(c, &p->packed);
    return copy_coefficients(p, arrays);
}

/* ---- Into segments ------------------------------------------------------- */

static int32_t write_row(struct pack *p, unsigned plane, uint32_t y)
{
    const struct fdl_packed_plane *of = &p->packed.planes[plane];
    const struct fdl_jpeg_coefficients *from = &p->parts.components[plane];
    uint8_t bytes[FDL_SEGMENT_BYTES];
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < fdl_packed_segments(of) && !status; i++) {
        size_t at = (size_t)y * from->wide + (size_t)i * FDL_SEGMENT_BLOCKS;
        size_t n =
            fdl_segment_write((const int16_t(*)[DCTSIZE2])from->blocks + at,
                              fdl_packed_blocks(of, i), bytes);
        uint8_t length[2] = {(uint8_t)n, (uint8_t)(n >> 8)};
        status = fdl_bytes_add(&p->lengths[plane], length, sizeof(length));
        if (!status)
            status = fdl_bytes_add(&p->data[plane], bytes, n);
    }
    return status;
}

static int32_t write_planes(struct pack *p)
{
    int32_t status = FEEDLINE_OK;
    for (unsigned i = 0; i < p->packed.n_planes && !status; i++) {
        struct fdl_packed_plane *to = &p->packed.planes[i];
        for (uint32_t y = 0; y < to->blocks_high && !status; y++)
            status = write_row(p, i, y);
        if (!status && p->data[i].n > UINT32_MAX)
            status = refuse("it is too large");
        to->bytes = (uint32_t)p->data[i].n;
        to->lengths = p->lengths[i].data;
        to->data = p->data[i].data;
    }
    return status;
}

/* From segments; hostile ones, too. */
static int32_t read_planes(struct pack *p, const uint8_t *end)
{
    struct fdl_segment *s = malloc(sizeof(*s));
    bool sound = s != NULL;
    for (unsigned i = 0; i < p->packed.n_planes; i++) {
        const struct fdl_packed_plane *of = &p->packed.planes[i];
        int16_t(*to)[DCTSIZE2] = p->parts.components[i].blocks;
        const uint8_t *length = of->lengths, *data = of->data;
        uint64_t n = (uint64_t)fdl_packed_segments(of) * of->blocks_high;
        for (uint64_t k = 0; k < n && sound; k++, length += 2) {
            size_t size = (size_t)fdl_packed_length(length, 1);
            unsigned blocks =
                fdl_packed_blocks(of, (uint32_t)(k % fdl_packed_segments(of)));
            sound =
                fdl_segment_open(s, data, size, (size_t)(end - data), blocks);
            for (unsigned b = 0; b < blocks && sound; b++, to++)
                fdl_segment_block(s, b, *to, 8);
            data += size;
        }
    }
    bool memory = s != NULL;
    free(s);
    if (!memory)
        return fdl_fail_memory(sizeof(*s), "coefficients");
    return sound ? FEEDLINE_OK
                 : fdl_fail(FEEDLINE_EDECODE,
                            "offset 0: packed JPEG: its coefficients are "
                            "damaged");
}

/* ---- Prefix and tail ----------------------------------------------------- */

/* The headers without their Huffman tables, which belong to the first scan
 * alone, as those of a file of one scan. */
static int32_t write_headers(struct pack *p)
{
    uint64_t at = 2;
    int32_t status = fdl_bytes_add(&p->prefix, p->jpeg, 2);
    while (!status) {
        at = fdl_jpeg_marker(p->jpeg, p->scan, at);
        uint64_t end = fdl_jpeg_segment_end(p->jpeg, p->scan, at);
        if (at == p->scan || p->jpeg[at + 1] == 0xda)
            break;
        bool frame = p->jpeg[at + 1] >= 0xc0 && p->jpeg[at + 1] <= 0xc2;
        if (p->jpeg[at + 1] != 0xc4)
            status = fdl_bytes_add(&p->prefix, p->jpeg + at, end - at);
        if (frame && !status)
            p->prefix.data[p->prefix.n - (end - at) + 1] = 0xc1;
        at = end;
    }
    return status;
}

static int32_t write_one_scan(struct pack *p)
{
    const struct jpeg_decompress_struct *c = &p->parts.in;
    unsigned n = (unsigned)c->num_components;
    uint8_t sos[16] = {0xff, 0xda, 0, (uint8_t)(6 + 2 * n), (uint8_t)n};
    for (unsigned i = 0; i < n; i++) {
        sos[5 + 2 * i] = (uint8_t)c->comp_info[i].component_id;
        sos[6 + 2 * i] = i > 0 ? 0x11 : 0;
    }
    sos[6 + 2 * n] = DCTSIZE2 - 1;
    return fdl_bytes_add(&p->prefix, sos, 8 + 2 * (uint64_t)n);
}

static int32_t add_run(struct pack *p, uint64_t from, uint64_t to)
{
    uint64_t n = to - from;
    uint8_t length[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                         (uint8_t)(n >> 24)};
    int32_t status = fdl_bytes_add(&p->tail, length, sizeof(length));
    return status ? status : fdl_bytes_add(&p->tail, p->jpeg + from, n);
}

static bool has_tables(const uint8_t *data, uint64_t size)
{
    for (uint64_t at = 0; (at = fdl_jpeg_marker(data, size, at)) < size;
         at = fdl_jpeg_segment_end(data, size, at))
        if (data[at + 1] == 0xdb)
            return true;
    return false;
}

/* All but the data of scans. */
static int32_t write_runs(struct pack *p)
{
    const uint8_t *data = p->jpeg;
    uint64_t from = 0, at = p->scan;
    int32_t status = FEEDLINE_OK;
    while (!status && at < p->size) {
        if (from > 0 && has_tables(data + from, at - from))
            return refuse("quantisation tables between scans");
        status = add_run(p, from, at);
        from = fdl_jpeg_scan_end(data, p->end, at);
        at = fdl_jpeg_next_scan(data, p->end, from);
        at = at < p->end ? fdl_jpeg_segment_end(data, p->end, at) : p->size;
    }
    return status ? status : add_run(p, from, p->size);
}

static int32_t make_parts(struct pack *p)
{
    int32_t status;
    if (p->scans) {
        status = write_headers(p);
        if (!status)
            status = write_one_scan(p);
        if (!status)
            status = write_runs(p);
        p->packed.flags |= FDL_PACKED_SCANS;
    } else {
        const uint8_t ones = 1;
        status = fdl_bytes_add(&p->prefix, p->jpeg, p->scan);
        if (!status)
            status = fdl_bytes_add(&p->tail, &ones, 1);
    }
    if (!status && (p->prefix.n > UINT32_MAX || p->size > UINT32_MAX))
        status = refuse("it is too large");
    p->packed.prefix = p->prefix.data;
    p->packed.prefix_bytes = (uint32_t)p->prefix.n;
    p->packed.tail = p->tail.data;
    p->packed.tail_bytes = (uint32_t)p->tail.n;
    return status;
}

/* ---- Rebuilding ---------------------------------------------------------- */

static int32_t rebuild(struct pack *p)
{
    struct jpeg_compress_struct *c = &p->parts.out;
    open_input(p, p->packed.prefix, p->packed.prefix_bytes);
    int32_t status = read_header(p);
    if (status)
        return status;
    c->err = &p->err;
    c->client_data = p;
    p->out_there = true;
    c->mem = NULL;
    jpeg_create_compress(c);
    p->parts.packed = &p->packed;
    p->parts.spliced.n = 0;
    p->parts.writing = false;
    free(p->parts.written);
    p->parts.written = NULL;
    p->parts.written_bytes = 0;
    return fdl_jpeg_rebuild(&p->parts);
}

/* Whether the data of the one scan comes out as it was; what follows it is the
 * rest of the tail. */
static int32_t try_fill(struct pack *p, uint8_t fill)
{
    struct fdl_bytes *made = &p->parts.spliced;
    p->tail.data[0] = fill;
    int32_t status = guarded(p, rebuild);
    if (status)
        return status;
    uint64_t rest = p->end - 2; /* of a file that libjpeg has no doubt of */
    bool same = made->n > 0 && made->n <= p->size &&
                memcmp(made->data, p->jpeg, made->n) == 0;
    if (same) {
        p->packed.flags |= FDL_PACKED_SAME_BYTES;
        rest = made->n;
    } else if (fill > 0) {
        return try_fill(p, 0);
    } else {
        p->tail.data[0] = 1;
    }
    status = fdl_bytes_add(&p->tail, p->jpeg + rest, p->size - rest);
    p->packed.tail = p->tail.data;
    p->packed.tail_bytes = (uint32_t)p->tail.n;
    return status;
}

/* Whether the file comes back to the byte. */
static int32_t try_rebuild(struct pack *p)
{
    if (!p->scans)
        return try_fill(p, 1);
    p->packed.flags |= FDL_PACKED_SAME_BYTES;
    int32_t status = guarded(p, rebuild);
    const struct fdl_bytes *made = &p->parts.spliced;
    if (status || made->n != p->size ||
        memcmp(made->data, p->jpeg, p->size) != 0)
        p->packed.flags &= ~(unsigned)FDL_PACKED_SAME_BYTES;
    return status;
}

/* ---- The two ------------------------------------------------------------- */

static struct pack *create(const uint8_t *data, uint64_t size,
                           uint64_t max_pixels)
{
    struct pack *p = calloc(1, sizeof(*p));
    if (!p) {
        fdl_fail_memory(sizeof(*p), "a packed JPEG");
        return NULL;
    }
    p->jpeg = data;
    p->size = size;
    p->max_pixels = max_pixels;
    return p;
}

static void destroy(struct pack *p)
{
    close_objects(p);
    for (unsigned i = 0; i < FDL_PACKED_PLANES; i++) {
        free(p->parts.components[i].blocks);
        free(p->lengths[i].data);
        free(p->data[i].data);
    }
    free(p->parts.script);
    free(p->parts.written);
    free(p->parts.spliced.data);
    free(p->prefix.data);
    free(p->tail.data);
    free(p);
}

int32_t fdl_jpeg_pack(const uint8_t *jpeg, uint64_t size, uint64_t max_pixels,
                      uint8_t **out, uint64_t *bytes)
{
    struct pack *p = create(jpeg, size, max_pixels);
    if (!p)
        return FEEDLINE_ENOMEM;
    int32_t status = size < 4 ? refuse("it is empty") : guarded(p, read_jpeg);
    if (!status)
        status = write_planes(p);
    if (!status)
        status = make_parts(p);
    if (!status)
        status = try_rebuild(p);
    if (!status)
        status = fdl_packed_write(&p->packed, out, bytes);
    destroy(p);
    return status;
}

/* Before memory is taken for it. */
static int32_t check_prefix(struct pack *p)
{
    const struct fdl_packed *is = &p->packed;
    struct fdl_packed image = {0};
    open_input(p, is->prefix, is->prefix_bytes);
    int32_t status = read_header(p);
    if (status)
        return status;
    measure(&p->parts.in, &image);
    bool same = is->n_planes == image.n_planes;
    for (unsigned i = 0; i < image.n_planes && same; i++)
        same = is->planes[i].blocks_wide == image.planes[i].blocks_wide &&
               is->planes[i].blocks_high == image.planes[i].blocks_high;
    return same ? FEEDLINE_OK
                : fdl_fail(FEEDLINE_EDECODE,
                           "offset 0: packed JPEG: its headers do not "
                           "describe its coefficients");
}

int32_t fdl_jpeg_unpack(const uint8_t *packed, uint64_t size,
                        uint64_t max_pixels, uint8_t **out, uint64_t *bytes,
                        bool *same)
{
    struct pack *p = create(packed, size, max_pixels);
    if (!p)
        return FEEDLINE_ENOMEM;
    int32_t status = fdl_packed_open(packed, size, &p->packed);
    if (!status)
        status = fdl_packed_verify(&p->packed, packed);
    if (!status)
        status = guarded(p, check_prefix);
    if (!status)
        status = make_components(p);
    if (!status)
        status = read_planes(p, packed + size);
    if (!status)
        status = guarded(p, rebuild);
    if (!status) {
        struct fdl_bytes *made = &p->parts.spliced;
        bool spliced = made->n > 0;
        *same = p->packed.flags & FDL_PACKED_SAME_BYTES;
        *out = spliced ? made->data : p->parts.written;
        *bytes = spliced ? made->n : p->parts.written_bytes;
        if (spliced)
            made->data = NULL;
        else
            p->parts.written = NULL;
    }
    destroy(p);
    return status;
}

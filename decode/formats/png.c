/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG, with the pixels of Pillow's convert(): alpha and tRNS
 * that are not requested are dropped, not blended; 16 bits become the upper 8,
 * except in gray, where they are clipped at 255; an index past the palette is
 * black; gamma and colour profiles are ignored.
 *
 * Errors follow Pillow too: checksums count up to the pixel data, and from
 * there on only that of deflate does, if it is in one piece with the last row:
 * libpng is given the pieces in which Pillow reads. A chunk behind the pixels
 * is an error only if the file ends in it. Data that end properly with a row
 * before the last one are accepted, with zeros for what is missing; and the
 * header is the one that Pillow sees (take_header).
 *
 * libpng reads the headers. A file in which all is in order is then
 * decompressed at once, and its filters are undone here (png_whole.h). Of any
 * other one, and of 16 bits, interlaced or very large ones, rows come from
 * libpng, one by one. Those above the needed part are decoded and dropped, as
 * deflate cannot skip; those below as well, since whether a file is damaged
 * must not depend on the crop. An interlaced image has its rows only at the
 * end, so it is decoded whole first.
 *
 * libpng cannot reuse its state for another image; it is recreated for each, in
 * memory that is kept (arena.h).
 *
 * Errors leave libpng by longjmp, and enter it in one place, guarded().
 * Everything that outlives a step is in struct fdl_png, so nothing leaks.
 */
#include "base/compiler.h"
#include "base/crc32.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/formats/arena.h"
#include "decode/formats/format.h"
#include "decode/formats/limits.h"
#include "decode/formats/png_chunks.h"
#include "decode/formats/png_orientation.h"
#include "decode/formats/png_whole.h"

#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define PALETTE_SIZE 256
#define PASSES       7

/* That Pillow reads at once, but not beyond the chunk. */
#define PIECE_BYTES        65536
#define CHUNK_HEADER_BYTES 8

/* Signature and header chunk, and places in that. */
#define START_BYTES  33
#define SIZE_AT      8
#define NAME_AT      12
#define COMPRESSION  26
#define INTERLACING  28
#define CHECKSUM_AT  29
#define HEADER_BYTES 13

/* Bytes that one byte of deflate makes at most: 258 of two bits. */
#define MOST_OF_A_BYTE 1032

/* Rows between two readings of the clock. */
#define ROWS_PER_CHECK 256

/* What libpng gives for a pixel. */
enum raw_form {
    RAW_READY, /* gray or RGB, with alpha or not, as it is wanted */
    RAW_KEYED, /* gray or RGB, in which one colour means alpha 0 */
    RAW_INDEX, /* into the palette */
    RAW_GRAY16 /* most significant byte first */
};

struct fdl_png {
    struct fdl_decode_limits limits;
    const struct fdl_deadline *deadline;
    struct fdl_arena arena; /* all that an image takes */
    struct fdl_png_whole whole;

    /* Of one image. */
    uint8_t *row; /* one from libpng that is not READY */
    png_structp png;
    png_infop info;
    jmp_buf escape;
    int32_t status; /* of the error that escaped */
    bool no_memory;
    bool is_whole;  /* rows are those of `whole`, not libpng's */
    bool in_pixels; /* the end of the file may be accepted here */
    bool cut;       /* the file ended before its last row */
    bool ended;     /* its data did, with a row, in order: that is accepted */
    bool damaged;   /* or behind it, and that is accepted */
    struct fdl_encoded bytes;
    uint64_t position;
    uint64_t
        cut_chunk; /* where the one begins that the file ends in; 0: none */
    uint64_t row_chunk; /* and the last one that had rows, or a place in it */
    uint8_t start[START_BYTES]; /* as libpng is to see it */
    uint64_t start_ends; /* behind it in the file; 0: libpng sees the file */
    uint32_t pixel_bits; /* in the file */
    struct {
        uint64_t bytes; /* of deflate's */
        uint64_t position, row_chunk;
    } rows; /* after the last one that came from libpng */
    uint32_t width, height;
    int32_t channels;
    enum raw_form form;
    size_t raw_bytes; /* of a row as libpng gives it */
    bool alpha;       /* is wanted, and there is some */
    struct fdl_palette palette;
    bool has_key;          /* there is a tRNS */
    uint8_t key[3];        /* its colour, which has alpha 0 */
    uint8_t *image;        /* interlaced: all rows as libpng gives them */
    uint32_t pass, passes; /* of an interlaced image; passes is 1 otherwise */
    uint32_t next;         /* row, of the pass or the image */
    uint32_t bottom;       /* behind the last row that is needed */
    uint32_t given;        /* next row that goes out */
};

/* ---- What libpng calls -------------------------------------------------- */

static void escape(struct fdl_png *p, int32_t status) FDL_NORETURN;

static void escape(struct fdl_png *p, int32_t status)
{
    p->status = status;
    longjmp(p->escape, 1);
}

static void on_error(png_structp png, png_const_charp text) FDL_NORETURN;

static void on_error(png_structp png, png_const_charp text)
{
    struct fdl_png *p = png_get_error_ptr(png);
    if (p->no_memory)
        escape(p, fdl_fail(FEEDLINE_ENOMEM, "PNG: out of memory: %s", text));
    escape(p, fdl_fail(FEEDLINE_EDECODE, "offset %" PRIu64 ": PNG: %s",
                       p->position, text));
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t n)
{
    struct fdl_png *p = png_get_mem_ptr(png);
    void *memory = fdl_arena_take(&p->arena, n);
    if (!memory)
        p->no_memory = true;
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    (void)png;
    (void)memory; /* goes with the image */
}

/* Of a row in an interlaced image that the next passes change no more. */
static uint32_t complete_rows(const struct fdl_png *p)
{
    if (p->passes == 1)
        return p->next;
    if (p->pass == PASSES - 1) /* even rows are done, odd ones come */
        return (p->height + 1) / 2 + p->next / 2;
    return 0;
}

/* After the last row libpng reads to the end of the pixel data; errors there do
 * not concern the rows, which are complete. */
static bool is_behind_rows(const struct fdl_png *p)
{
    if (!p->in_pixels || p->status == FEEDLINE_ENOMEM)
        return false;
    if (p->passes > 1)
        return png_get_current_pass_number(p->png) >= PASSES;
    return png_get_current_row_number(p->png) >= p->height;
}

/* libpng takes a piece whole or not at all, and there may be rows in that which
 * the file ends in. So a chunk that is cut is said to be as long as it is. */
static void see_header(struct fdl_png *p, png_bytep header, uint64_t at)
{
    if (!is_behind_rows(p))
        p->row_chunk = at;
    if (at != p->cut_chunk || memcmp(header + 4, "IDAT", 4) != 0)
        return;
    png_save_uint_32(header,
                     (uint32_t)(p->bytes.size - at - CHUNK_HEADER_BYTES));
}

static void on_read(png_structp png, png_bytep out, size_t n)
{
    struct fdl_png *p = png_get_io_ptr(png);
    if (p->start_ends > 0 && p->position < START_BYTES) {
        fdl_assert(n <= START_BYTES - p->position);
        memcpy(out, p->start + p->position, n);
        p->position += n;
        if (p->position == START_BYTES)
            p->position = p->start_ends;
        return;
    }
    if (n > p->bytes.size - p->position) {
        uint32_t rows = p->in_pixels ? complete_rows(p) : 0;
        p->position = p->bytes.size;
        p->cut = true;
        escape(p, fdl_limits_judge_cut(&p->limits, p->bytes.size, rows,
                                       p->height));
    }
    memcpy(out, p->bytes.data + p->position, n);
    if (n == CHUNK_HEADER_BYTES)
        see_header(p, out, p->position);
    p->position += n;
}

/* ---- Steps inside libpng ------------------------------------------------ */

struct job {
    uint8_t *rows;
    size_t stride;
    uint32_t n, done;
    uint32_t top; /* first row that is needed */
};

/* Whether the error is that the data ended, with the last row that came. Pillow
 * is content with that if the piece that had the end of this row had the end of
 * the data too. */
static bool is_end_of_data(struct fdl_png *p)
{
    uint64_t end;
    return p->in_pixels && p->status == FEEDLINE_EDECODE && !p->cut &&
           fdl_png_whole_ends(&p->whole, &p->arena, p->bytes.data,
                              p->bytes.size, p->rows.bytes, &end) &&
           end <= p->rows.position;
}

/* Runs one step; an error inside libpng comes back as its status. The end of
 * the file or the data, where it is accepted, comes back as OK with `cut` set.
 */
static int32_t guarded(struct fdl_png *p,
                       int32_t (*step)(struct fdl_png *p, struct job *job),
                       struct job *job)
{
    if (setjmp(p->escape) == 0)
        return step(p, job);
    if (!is_behind_rows(p) && is_end_of_data(p)) {
        p->cut = p->ended = true;
        p->row_chunk = p->rows.row_chunk;
        fdl_clear_error();
        return FEEDLINE_OK;
    }
    return p->status;
}

/* The next row of the pass or the image, and what it took of the data. */
static void read_row(struct fdl_png *p, uint8_t *to)
{
    png_read_row(p->png, to, NULL);
    uint32_t columns = p->width;
    int pass = (int)p->pass;
    if (p->passes > 1)
        columns = PNG_ROW_IN_INTERLACE_PASS(p->next, pass)
                      ? (uint32_t)PNG_PASS_COLS((int)p->width, pass)
                      : 0;
    if (columns == 0)
        return;
    p->rows.bytes += 1 + ((uint64_t)columns * p->pixel_bits + 7) / 8;
    p->rows.position = p->position;
    p->rows.row_chunk = p->row_chunk;
}

/* Without entries for all indices, those left out are black. */
static void read_palette(struct fdl_png *p)
{
    png_colorp colours = NULL;
    int n = 0;
    for (int i = 0; i < PALETTE_SIZE; i++)
        memcpy(p->palette.colour[i], (uint8_t[]){0, 0, 0, 255}, 4);
    png_get_PLTE(p->png, p->info, &colours, &n);
    for (int i = 0; i < n && i < PALETTE_SIZE; i++) {
        p->palette.colour[i][0] = colours[i].red;
        p->palette.colour[i][1] = colours[i].green;
        p->palette.colour[i][2] = colours[i].blue;
    }
}

/* Of a colour Pillow compares the lower eight bits, as they are in the chunk,
 * with pixels of eight bits, whatever the depth of the file; but of one bit,
 * where white is 255. */
static void read_transparency(struct fdl_png *p)
{
    png_bytep alpha = NULL;
    png_color_16p colour = NULL;
    int n = 0;
    p->has_key = png_get_tRNS(p->png, p->info, &alpha, &n, &colour) != 0;
    if (!p->has_key)
        return;
    if (p->form == RAW_INDEX) {
        for (int i = 0; alpha && i < n && i < PALETTE_SIZE; i++)
            p->palette.colour[i][3] = alpha[i];
    } else if (colour && png_get_bit_depth(p->png, p->info) == 1) {
        p->key[0] = colour->gray ? 255 : 0;
    } else if (colour) {
        p->key[0] = (uint8_t)(p->channels == 1 ? colour->gray : colour->red);
        p->key[1] = (uint8_t)colour->green;
        p->key[2] = (uint8_t)colour->blue;
    }
}

/* As numpy sees Pillow's modes 1, L and P. */
static int32_t choose_mask(struct fdl_png *p, int colour, int depth)
{
    bool index = colour == PNG_COLOR_TYPE_PALETTE;
    if (depth == 16 || !(index || colour == PNG_COLOR_TYPE_GRAY))
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset %" PRIu64 ": PNG: a mask is gray or has a "
                        "palette, and at most 8 bits; this is of type %d, with "
                        "%d bits",
                        p->position, colour, depth);
    p->channels = 1;
    p->form = RAW_READY;
    if (index || depth == 1)
        png_set_packing(p->png);
    else
        png_set_expand_gray_1_2_4_to_8(p->png);
    return FEEDLINE_OK;
}

static void choose_transforms(struct fdl_png *p, int colour, int depth)
{
    p->channels = colour & PNG_COLOR_MASK_COLOR ? 3 : 1;
    p->form = RAW_READY;
    if (colour == PNG_COLOR_TYPE_PALETTE) {
        p->form = RAW_INDEX;
        png_set_packing(p->png);
        read_palette(p);
    } else if (colour == PNG_COLOR_TYPE_GRAY && depth == 16) {
        p->form = RAW_GRAY16;
    } else if (colour == PNG_COLOR_TYPE_GRAY) {
        png_set_expand_gray_1_2_4_to_8(p->png);
    }
    if (depth == 16 && p->form == RAW_READY)
        png_set_strip_16(p->png);
    read_transparency(p);
}

/* Whether so many rows can be in the file, however well they are compressed. */
static bool has_room(const struct fdl_png *p, double rows)
{
    double bytes = (double)p->pixel_bits * p->width * rows / 8;
    return bytes <= (double)MOST_OF_A_BYTE * (double)p->bytes.size;
}

/* EDECODE before there is memory for what cannot be there: one row, or of an
 * interlaced image all that are wanted. */
static int32_t check_room(const struct fdl_png *p)
{
    double rows = 1;
    if (p->passes > 1)
        rows = p->limits.accept_truncated > 0
                   ? p->limits.accept_truncated * p->height
                   : p->height;
    if (has_room(p, rows))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset %" PRIu64 ": PNG: image file is truncated: %" PRIu32
                    "x%" PRIu32 " pixels are not in %" PRIu64 " bytes",
                    p->position, p->width, p->height, p->bytes.size);
}

/* Pillow asks for no method of compression, takes any interlacing for the one
 * that there is, and leaves what is behind the 13 bytes of the header. */
static void take_header(struct fdl_png *p)
{
    struct fdl_png_walk walk = {.data = p->bytes.data, .size = p->bytes.size};
    struct fdl_png_chunk c;
    p->start_ends = 0;
    if (!fdl_png_next(&walk, &c) || !fdl_png_is(&c, "IHDR") ||
        c.size < HEADER_BYTES || !fdl_png_has_sum(&walk, &c))
        return;
    memcpy(p->start, p->bytes.data, CHECKSUM_AT);
    png_save_uint_32(p->start + SIZE_AT, HEADER_BYTES);
    p->start[COMPRESSION] = 0;
    p->start[INTERLACING] = p->start[INTERLACING] != 0;
    png_save_uint_32(p->start + CHECKSUM_AT,
                     fdl_crc32(0, p->start + NAME_AT, CHECKSUM_AT - NAME_AT));
    p->start_ends = walk.at;
}

static int32_t header_step(struct fdl_png *p, struct job *job)
{
    (void)job;
    p->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, on_error,
                                      on_warning, p, on_malloc, on_free);
    if (p->png)
        p->info = png_create_info_struct(p->png);
    if (!p->info)
        return fdl_fail(FEEDLINE_ENOMEM, "out of memory: the PNG decoder");
    png_set_read_fn(p->png, p, on_read);
    png_set_compression_buffer_size(p->png, PIECE_BYTES);
    png_set_user_limits(p->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_benign_errors(p->png, 1);
    png_set_crc_action(p->png, PNG_CRC_DEFAULT, PNG_CRC_ERROR_QUIT);
    /* What is not for pixels is not looked at, but for its checksum. */
    png_set_keep_unknown_chunks(p->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(p->png, p->info);
    png_set_crc_action(p->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);

    int depth, colour, interlace;
    png_get_IHDR(p->png, p->info, &p->width, &p->height, &depth, &colour,
                 &interlace, NULL, NULL);
    p->passes = interlace == PNG_INTERLACE_ADAM7 ? PASSES : 1;
    p->pixel_bits = (uint32_t)depth * png_get_channels(p->png, p->info);
    int32_t status = FEEDLINE_OK;
    if (p->limits.masks)
        status = choose_mask(p, colour, depth);
    else
        choose_transforms(p, colour, depth);
    if (!status)
        status = fdl_limits_check_size(&p->limits, p->position, "PNG", p->width,
                                       p->height);
    return status ? status : check_room(p);
}

static bool has_channel(const struct fdl_png *p)
{
    return (png_get_color_type(p->png, p->info) & PNG_COLOR_MASK_ALPHA) != 0;
}

/* Bytes of one pixel as libpng gives it. */
static size_t raw_pixel(const struct fdl_png *p)
{
    switch (p->form) {
    case RAW_READY:
        return (size_t)p->channels + p->alpha;
    case RAW_KEYED:
        return (size_t)p->channels;
    case RAW_GRAY16:
        return 2;
    default:
        return 1;
    }
}

static int32_t start_step(struct fdl_png *p, struct job *job)
{
    (void)job;
    if (p->passes > 1)
        png_set_interlace_handling(p->png);
    if (has_channel(p) && !p->alpha)
        png_set_strip_alpha(p->png);
    png_read_update_info(p->png, p->info);
    p->raw_bytes = png_get_rowbytes(p->png, p->info);
    fdl_assert(p->raw_bytes == p->width * raw_pixel(p));
    p->in_pixels = true;
    return FEEDLINE_OK;
}

/* What libpng would make of the file's samples. */
static struct fdl_png_form form_of(const struct fdl_png *p)
{
    struct fdl_png_form form = {.width = p->width,
                                .height = p->height,
                                .bits = png_get_bit_depth(p->png, p->info),
                                .channels = png_get_channels(p->png, p->info),
                                .scale = 1};
    bool gray = p->form != RAW_INDEX &&
                png_get_color_type(p->png, p->info) == PNG_COLOR_TYPE_GRAY;
    form.wanted = form.channels - (has_channel(p) && !p->alpha);
    if (gray && form.bits < 8 && !(p->limits.masks && form.bits == 1))
        form.scale = (uint8_t)(255 / ((1u << form.bits) - 1));
    return form;
}

/* Whether the file is in order, so that libpng need not read it. */
static bool open_whole(struct fdl_png *p)
{
    if (p->passes > 1 || p->cut_chunk > 0 ||
        png_get_bit_depth(p->png, p->info) > 8 || !has_room(p, p->height))
        return false;
    struct fdl_png_form form = form_of(p);
    p->is_whole =
        fdl_png_whole_open(&p->whole, &p->arena, &form, p->bytes.data,
                           p->bytes.size, p->position - CHUNK_HEADER_BYTES);
    p->raw_bytes = p->width * raw_pixel(p);
    return p->is_whole;
}

static int32_t check_time(const struct fdl_png *p, uint32_t row)
{
    if (row % ROWS_PER_CHECK != 0)
        return FEEDLINE_OK;
    return fdl_deadline_check(p->deadline, 0);
}

static int32_t skip_step(struct fdl_png *p, struct job *job)
{
    for (; p->next < job->top; p->next++) {
        int32_t status = check_time(p, p->next);
        if (status)
            return status;
        read_row(p, NULL);
    }
    return FEEDLINE_OK;
}

/* All passes of an interlaced image. */
static int32_t passes_step(struct fdl_png *p, struct job *job)
{
    (void)job;
    for (; p->pass < PASSES; p->pass++, p->next = 0) {
        for (; p->next < p->height; p->next++) {
            int32_t status = check_time(p, p->next);
            if (status)
                return status;
            read_row(p, p->image + p->next * p->raw_bytes);
        }
    }
    return FEEDLINE_OK;
}

static void convert_keyed(const struct fdl_png *p, const uint8_t *raw,
                          uint8_t *to)
{
    size_t n = (size_t)p->channels;
    for (size_t x = 0; x < p->width; x++, raw += n, to += n + 1) {
        memcpy(to, raw, n);
        to[n] = memcmp(raw, p->key, n) == 0 ? 0 : 255;
    }
}

static void convert_gray16(const struct fdl_png *p, const uint8_t *raw,
                           uint8_t *to)
{
    for (size_t x = 0; x < p->width; x++) {
        uint8_t gray = raw[2 * x] ? 255 : raw[2 * x + 1];
        *to++ = gray;
        if (p->alpha)
            *to++ = gray == p->key[0] ? 0 : 255;
    }
}

/* From one row as libpng gives it to pixels; the two may be the same. */
static void convert(const struct fdl_png *p, const uint8_t *raw, uint8_t *to)
{
    size_t width = p->width, pixel = p->alpha ? 4 : 3;
    switch (p->form) {
    case RAW_READY:
        if (raw != to)
            memcpy(to, raw, p->raw_bytes);
        break;
    case RAW_INDEX:
        for (size_t x = 0; x < width; x++)
            memcpy(to + pixel * x, p->palette.colour[raw[x]], pixel);
        break;
    case RAW_KEYED:
        convert_keyed(p, raw, to);
        break;
    case RAW_GRAY16:
        convert_gray16(p, raw, to);
        break;
    }
}

static uint8_t *raw_row(const struct fdl_png *p, const struct job *job)
{
    if (p->form != RAW_READY)
        return p->row;
    return job->rows + job->done * job->stride;
}

static void take_raw_row(struct fdl_png *p, struct job *job)
{
    convert(p, raw_row(p, job), job->rows + job->done * job->stride);
    job->done++;
    p->next++;
}

static int32_t rows_step(struct fdl_png *p, struct job *job)
{
    while (job->done < job->n) {
        if (p->is_whole)
            fdl_png_whole_row(&p->whole, p->next, raw_row(p, job));
        else
            read_row(p, raw_row(p, job));
        take_raw_row(p, job);
    }
    return FEEDLINE_OK;
}

/* ---- The row source ----------------------------------------------------- */

static void end_image(void *self)
{
    struct fdl_png *p = self;
    png_destroy_read_struct(&p->png, &p->info, NULL);
    fdl_arena_reset(&p->arena);
    p->image = p->row = NULL;
    p->in_pixels = p->no_memory = p->cut = p->damaged = p->alpha = false;
    p->is_whole = p->ended = false;
    p->rows.bytes = 0;
    p->pass = p->next = p->given = 0;
    p->row_chunk = 0;
    p->width = p->height = 0;
}

static int32_t create(const struct fdl_decode_limits *limits,
                      const struct fdl_deadline *deadline, void **out)
{
    struct fdl_png *p = calloc(1, sizeof(*p));
    if (!p)
        return fdl_fail_memory(sizeof(*p), "the PNG decoder");
    p->limits = *limits;
    p->deadline = deadline;
    *out = p;
    return FEEDLINE_OK;
}

static void destroy(void *self)
{
    struct fdl_png *p = self;
    if (!p)
        return;
    end_image(p);
    fdl_png_whole_fini(&p->whole);
    fdl_arena_fini(&p->arena);
    free(p);
}

/* A tRNS changes none of them. */
static const char *mode_of(const struct fdl_png *p)
{
    int depth = png_get_bit_depth(p->png, p->info);
    switch (png_get_color_type(p->png, p->info)) {
    case PNG_COLOR_TYPE_PALETTE:
        return "P";
    case PNG_COLOR_TYPE_GRAY:
        return depth == 16 ? "I;16" : depth == 1 ? "1" : "L";
    case PNG_COLOR_TYPE_GRAY_ALPHA:
        return depth == 16 ? "RGBA" : "LA";
    case PNG_COLOR_TYPE_RGB:
        return "RGB";
    default:
        return "RGBA";
    }
}

static int32_t open_image(void *self, const struct fdl_encoded *bytes,
                          struct fdl_image_info *info)
{
    struct fdl_png *p = self;
    struct job job = {0};
    end_image(p);
    p->bytes = *bytes;
    p->position = 0;
    p->cut_chunk = fdl_png_cut_chunk(bytes->data, bytes->size);
    take_header(p);
    int32_t status = guarded(p, header_step, &job);
    if (!status && p->cut)
        status = fdl_fail(FEEDLINE_EDECODE,
                          "offset %" PRIu64 ": image file is truncated in its "
                          "header",
                          p->bytes.size);
    if (status) {
        end_image(p);
        return status;
    }
    *info = (struct fdl_image_info){.mode = mode_of(p),
                                    .width = (int32_t)p->width,
                                    .height = (int32_t)p->height,
                                    .channels = p->channels,
                                    .orientation = 1,
                                    .keyed = p->has_key};
    if (p->limits.apply_exif)
        status =
            fdl_png_orientation(bytes->data, bytes->size, &info->orientation);
    return status;
}

static uint64_t memory(const void *self)
{
    const struct fdl_png *p = self;
    return sizeof(*p) + p->arena.size;
}

static int32_t take_row_buffer(struct fdl_png *p)
{
    if (p->form == RAW_READY)
        return FEEDLINE_OK;
    p->row = fdl_arena_take(&p->arena, p->raw_bytes);
    return p->row ? FEEDLINE_OK : fdl_fail_memory(p->raw_bytes, "a PNG row");
}

/* Zeros are what a file that is cut leaves. */
static int32_t decode_interlaced(struct fdl_png *p, struct job *job)
{
    size_t bytes;
    if (!fdl_mul_size(p->raw_bytes, p->height, &bytes))
        return fdl_fail_memory(UINT64_MAX, "an interlaced PNG");
    p->image = fdl_arena_take(&p->arena, bytes);
    if (!p->image)
        return fdl_fail_memory(bytes, "an interlaced PNG");
    memset(p->image, 0, bytes);
    int32_t status = guarded(p, passes_step, job);
    if (is_behind_rows(p)) {
        p->cut = false;
        return FEEDLINE_OK;
    }
    return status;
}

static bool keep_alpha(void *self, int32_t channels)
{
    struct fdl_png *p = self;
    (void)channels;
    p->alpha = has_channel(p) || p->has_key;
    if (p->alpha && !has_channel(p) && p->form == RAW_READY)
        p->form = RAW_KEYED;
    return p->alpha;
}

static const struct fdl_palette *give_indices(void *self)
{
    struct fdl_png *p = self;
    if (p->form != RAW_INDEX)
        return NULL;
    p->form = RAW_READY;
    p->channels = 1;
    return &p->palette;
}

/* The rows are delivered: whether the others are there, and whether Pillow,
 * which reads on to IEND, gets there. */
static int32_t check_rest(struct fdl_png *p)
{
    struct job rest = {.top = p->height};
    int32_t status = FEEDLINE_OK;
    if (p->is_whole)
        return FEEDLINE_OK;
    if (!p->cut && p->passes == 1)
        status = guarded(p, skip_step, &rest);
    if (is_behind_rows(p)) {
        status = FEEDLINE_OK;
        p->cut = false;
    }
    bool by_cut = p->cut && !p->ended;
    if (status || by_cut || p->cut_chunk <= p->row_chunk)
        return status;
    p->damaged = true;
    return fdl_limits_judge_cut(&p->limits, p->bytes.size, p->height,
                                p->height);
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_png *p = self;
    struct job job = {.top = (uint32_t)need->y};
    bool whole = open_whole(p);
    int32_t status = fdl_deadline_check(p->deadline, 0);
    if (!status && !whole)
        status = guarded(p, start_step, &job);
    if (!status)
        status = take_row_buffer(p);
    if (whole)
        p->next = job.top;
    else if (!status && p->passes > 1)
        status = decode_interlaced(p, &job);
    else if (!status)
        status = guarded(p, skip_step, &job);
    if (status)
        return status;
    p->given = (uint32_t)need->y;
    p->bottom = (uint32_t)(need->y + need->height);
    *have = (struct fdl_box){0, need->y, (int32_t)p->width, need->height};
    return FEEDLINE_OK;
}

/* Of an interlaced image. */
static void copy_rows(const struct fdl_png *p, struct job *job)
{
    for (; job->done < job->n; job->done++)
        convert(p, p->image + (p->given + job->done) * p->raw_bytes,
                job->rows + job->done * job->stride);
}

static int32_t decode_rows(struct fdl_png *p, struct job *job)
{
    if (!p->cut) {
        int32_t status = guarded(p, rows_step, job);
        if (job->done < job->n && is_behind_rows(p)) {
            take_raw_row(p, job);
            p->cut = false;
        } else if (status) {
            return status;
        }
    }
    while (job->done < job->n) {
        memset(raw_row(p, job), 0, p->raw_bytes);
        take_raw_row(p, job);
    }
    return FEEDLINE_OK;
}

static int32_t read_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_png *p = self;
    struct job job = {.rows = rows, .stride = stride, .n = (uint32_t)n};
    int32_t status = FEEDLINE_OK;
    if (p->image)
        copy_rows(p, &job);
    else
        status = decode_rows(p, &job);
    p->given += job.n;
    if (!status && p->given == p->bottom)
        status = check_rest(p);
    return status;
}

static bool is_truncated(const void *self)
{
    const struct fdl_png *p = self;
    return p->cut || p->damaged;
}

static bool is_doubtful(const void *self)
{
    const struct fdl_png *p = self;
    return !fdl_png_is_sound(p->bytes.data, p->bytes.size);
}

static bool matches(const uint8_t *data, uint64_t size)
{
    return size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

const struct fdl_format fdl_format_png = {
    .name = "PNG",
    .endings = {{".png", true}},
    .matches = matches,
    .create = create,
    .destroy = destroy,
    .memory = memory,
    .open = open_image,
    .alpha = keep_alpha,
    .indices = give_indices,
    .begin = begin,
    .read = read_rows,
    .truncated = is_truncated,
    .doubtful = is_doubtful,
    .abort = end_image,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a JPEG, beside libjpeg-turbo used as its manual
 * says. What it decodes without a warning decodes here; what it refuses is
 * refused; and where both decode, the pixels are the same.
 */
#include "decode/decoder.h"
#include "fuzz.h"
#include "shape.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

#define MAX_PIXELS 65536u
#define MAX_SCANS  20

static const struct fuzz_shape *find_shape(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return &fuzz_shape_jpeg;
}

const struct fuzz_input_shape fuzz_input_shape = {0, find_shape};

/* ---- libjpeg ------------------------------------------------------------- */

enum verdict {
    REFUSED,
    TOO_LARGE,
    WARNED, /* decoded: something was wrong, or is another matter here */
    SOUND
};

struct reference {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    jmp_buf escape;
    bool ended; /* it asked for more than there is */
    uint8_t *pixels;
};

static void on_error(j_common_ptr c) FDL_NORETURN;
static void on_error(j_common_ptr c)
{
    struct reference *r = c->client_data;
    longjmp(r->escape, 1);
}

static void on_message(j_common_ptr c)
{
    (void)c;
}

static void on_source(j_decompress_ptr c)
{
    (void)c;
}

/* libjpeg's own would make an end marker. */
static boolean on_end(j_decompress_ptr c)
{
    struct reference *r = c->client_data;
    r->ended = true;
    longjmp(r->escape, 1);
}

static void on_skip(j_decompress_ptr c, long n)
{
    if (n > 0 && (size_t)n > c->src->bytes_in_buffer)
        on_end(c);
    if (n > 0) {
        c->src->next_input_byte += n;
        c->src->bytes_in_buffer -= (size_t)n;
    }
}

static enum verdict read_all(struct reference *r)
{
    struct jpeg_decompress_struct *c = &r->c;
    (void)jpeg_read_header(c, TRUE);
    if ((uint64_t)c->image_width * c->image_height > MAX_PIXELS)
        return TOO_LARGE;
    c->out_color_space = JCS_RGB;
    jpeg_start_decompress(c);
    if (c->input_scan_number > MAX_SCANS)
        return TOO_LARGE;
    size_t row = 3 * (size_t)c->output_width;
    r->pixels = calloc(c->output_height, row);
    fuzz_check(r->pixels);
    while (c->output_scanline < c->output_height) {
        JSAMPROW to = r->pixels + c->output_scanline * row;
        (void)jpeg_read_scanlines(c, &to, 1);
    }
    jpeg_finish_decompress(c);
    return c->err->num_warnings > 0 ? WARNED : SOUND;
}

static enum verdict run_reference(struct reference *r, const uint8_t *data,
                                  size_t size)
{
    volatile enum verdict is = REFUSED;
    r->c.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error;
    r->errors.output_message = on_message;
    r->c.client_data = r;
    if (setjmp(r->escape) == 0) {
        jpeg_create_decompress(&r->c);
        r->source = (struct jpeg_source_mgr){
            .next_input_byte = data,
            .bytes_in_buffer = size,
            .init_source = on_source,
            .fill_input_buffer = on_end,
            .skip_input_data = on_skip,
            .resync_to_restart = jpeg_resync_to_restart,
            .term_source = on_source,
        };
        r->c.src = &r->source;
        is = read_all(r);
    }
    jpeg_destroy_decompress(&r->c);
    return is;
}

/* ---- Here ---------------------------------------------------------------- */

/* Whether pixels are libjpeg's where coefficients overflow, which ours do as on
 * x86-64 everywhere (docs/pixels.md). */
#if defined(__aarch64__)
static const bool same_overflow = false;
#else
static const bool same_overflow = true;
#endif

/* CMYK, which libjpeg does not make RGB of, is refused by the reference. */
static void compare(const struct reference *r, enum verdict is, bool exact,
                    const uint8_t *pixels, size_t bytes)
{
    fuzz_check(is != SOUND || pixels);
    fuzz_check(is != TOO_LARGE || !pixels);
    if (is >= WARNED && pixels) {
        fuzz_check(bytes ==
                   3 * (size_t)r->c.output_width * (size_t)r->c.output_height);
        fuzz_check(!exact || memcmp(pixels, r->pixels, bytes) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || memcmp(data, "\xff\xd8\xff", 3) != 0)
        return 0;
    struct reference r = {0};
    enum verdict is = run_reference(&r, data, size);
    for (int plain = 0; plain < 2; plain++) {
        const struct fdl_decode_limits limits = {.max_pixels = MAX_PIXELS,
                                                 .max_scans = MAX_SCANS,
                                                 .libjpeg_huffman = plain};
        size_t bytes = 0;
        uint8_t *pixels = fuzz_decode(&limits, data, size, NULL, &bytes);
        compare(&r, is, plain || same_overflow, pixels, bytes);
        free(pixels);
    }
    free(r.pixels);
    return 0;
}

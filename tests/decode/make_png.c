/* SPDX-License-Identifier: Apache-2.0 */
/* The picture is noise in every bit, so that no mistake goes unnoticed. */
#include "make_png.h"

#include "make_jpeg.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

struct file {
    uint8_t *data;
    size_t size;
};

static void on_write(png_structp png, png_bytep data, size_t n)
{
    struct file *f = png_get_io_ptr(png);
    f->data = realloc(f->data, f->size + n);
    if (!f->data)
        abort();
    memcpy(f->data + f->size, data, n);
    f->size += n;
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void on_error(png_structp png, png_const_charp text)
{
    (void)png;
    fprintf(stderr, "make_png: %s\n", text);
    abort();
}

static void write_rows(png_structp png, png_infop info,
                       const struct make_png *m)
{
    size_t n = png_get_rowbytes(png, info);
    uint8_t **rows = calloc(m->height, sizeof(*rows));
    uint8_t *pixels = malloc(n * m->height);
    uint64_t state = m->seed;
    if (!rows || !pixels)
        abort();
    for (size_t i = 0; i < n * m->height; i++)
        pixels[i] = (uint8_t)make_random(&state);
    for (uint32_t y = 0; y < m->height; y++)
        rows[y] = pixels + y * n;
    png_write_image(png, rows);
    free(rows);
    free(pixels);
}

uint8_t *make_png(const struct make_png *m, size_t *size)
{
    struct file f = {0};
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, NULL);
    png_infop info = png_create_info_struct(png);
    if (!info)
        abort();
    png_set_write_fn(png, &f, on_write, on_flush);
    png_set_IHDR(png, info, m->width, m->height, m->depth, m->colour,
                 m->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    if (m->colour == PNG_COLOR_TYPE_PALETTE) {
        png_color palette[256];
        for (int i = 0; i < 256; i++)
            palette[i] = (png_color){(png_byte)(255 - i), (png_byte)(7 * i),
                                     (png_byte)(i ^ 0x55)};
        png_set_PLTE(png, info, palette, 1 << m->depth);
    }
    if (m->exif) {
        uint8_t *copy = malloc(m->exif_bytes);
        if (!copy)
            abort();
        memcpy(copy, m->exif, m->exif_bytes);
        png_set_eXIf_1(png, info, m->exif_bytes, copy);
        free(copy);
    }
    png_write_info(png, info);
    write_rows(png, info, m);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    *size = f.size;
    return f.data;
}

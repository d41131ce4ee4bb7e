/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the files of --bench come from: named ones, those in named folders, and
 * generated photos of 12 megapixels as a camera writes them: 4000x3000, 4:2:0,
 * quality 90 and 95 in turn, of the pictures that loaderbench gen draws.
 */
#include "bench/loaderbench/gen/gen_photo.h"
#include "checkdec.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

uint8_t *read_file(const char *path, uint64_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *data = must_alloc((size_t)(n > 0 ? n : 0));
    *size = n > 0 ? fread(data, 1, (size_t)n, f) : 0;
    fclose(f);
    return data;
}

static void add_path(struct paths *p, const char *path)
{
    if (p->n % 256 == 0) {
        p->path = realloc(p->path, ((size_t)p->n + 256) * sizeof(*p->path));
        if (!p->path)
            abort();
    }
    p->path[p->n] = must_alloc(strlen(path) + 1);
    strcpy(p->path[p->n++], path);
}

static bool is_jpeg_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg"));
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

void find_files(char **names, struct paths *p)
{
    FTS *walk = fts_open(names, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *e; walk && (e = fts_read(walk));) {
        if (e->fts_info == FTS_F &&
            (e->fts_level == FTS_ROOTLEVEL || is_jpeg_name(e->fts_name)))
            add_path(p, e->fts_path);
        else if (e->fts_info == FTS_NS)
            printf("%s is left out: %s\n", e->fts_path, strerror(e->fts_errno));
    }
    if (walk)
        fts_close(walk);
}

/* ---- Generated ---------------------------------------------------------- */

static void write_photo(const struct photo *p, int quality, FILE *out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    uint8_t *row = must_alloc((size_t)p->width * 3);
    c.err = jpeg_std_error(&err);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, out);
    c.image_width = p->width;
    c.image_height = p->height;
    c.input_components = 3;
    c.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, quality, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        size_t at = (size_t)c.next_scanline * p->width;
        for (size_t x = 0; x < (size_t)p->width * 3; x++)
            row[x] = p->plane[x % 3][at + x / 3];
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
}

/* Strength of the texture: at quality 90 the files take about the bytes per
 * pixel that those of cameras do. */
#define PHOTO_DETAIL 128

bool make_photos(int n, uint64_t seed, struct paths *p)
{
    struct photo photo = {0};
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        struct photo_plan plan = {.kind = PHOTO_420,
                                  .width = 4000,
                                  .height = 3000,
                                  .detail = PHOTO_DETAIL,
                                  .key = seed * 1000 + (uint64_t)i / 2};
        char path[] = "/tmp/checkdec-XXXXXX";
        int fd = mkstemp(path);
        FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
        good = f && (i % 2 || !photo_draw(&photo, &plan));
        if (good)
            write_photo(&photo, i % 2 ? 95 : 90, f);
        if (f) {
            good = fclose(f) == 0 && good;
            add_path(p, path);
        }
    }
    photo_fini(&photo);
    return good;
}

void drop_photos(struct paths *p, int n)
{
    for (int i = 0; i < p->n; i++) {
        if (i < n)
            unlink(p->path[i]);
        free(p->path[i]);
    }
    free(p->path);
}

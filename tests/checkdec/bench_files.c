/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How near the decoder is to what its work must cost. The parts of that work
 * are timed alone, each at its best, on the same images and crops:
 *
 *     read       the bytes of the file, from the page cache
 *     rows       entropy decoding, transform, upsampling and colour of the
 *                crop, the rows thrown away: by a plain libjpeg loop and by
 *                our own source; the shorter one counts
 *     resample   both passes, from rows that stay in the cache, tables made
 *     last pass  from one row that stays in the cache
 *
 * Their sum is the floor: what a decoder would take that loses nothing between
 * its parts, makes its tables for nothing and never waits for memory. The whole
 * decoder, which includes reading the file, is timed beside them.
 *
 * Times are of the processor, not of the clock on the wall: nothing waits, and
 * what other programs take does not count. All of it is measured for one file,
 * then for the next, and so on for several rounds: a machine that slows down
 * slows everything down alike. The medians of each file are added up.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "checkdec.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/resample.h"
#include "tests/decode/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

#define SIDE        224
#define ROUNDS_MAX  99
#define STRIP_BYTES 131072 /* as the decoder's */
#define ROW_SHIFT   8      /* the same: rows stay in the cache */

enum part {
    READ,
    ROWS_LIBJPEG,
    ROWS_OURS,
    RESAMPLE,
    LAST_PASS,
    EXACT,
    FAST,
    PARTS
};

struct file {
    const char *path;
    uint64_t size;
    struct fdl_plan plan;
    bool shrunk; /* by fast */
    int64_t ns[PARTS][ROUNDS_MAX];
};

struct bench {
    struct file *files;
    size_t n;
    int round;
    struct fdl_decoder *exact, *fast;
    void *jpeg;
    struct jpeg_decompress_struct libjpeg;
    struct jpeg_error_mgr err;
    struct fdl_axis horizontal, vertical;
    struct fdl_affine affine;
    uint8_t *bytes; /* of the file in turn */
    uint8_t *row, *strip, *ring, *line;
    const uint8_t **taps;
    float *out;
};

static const struct fdl_output_format format = {SIDE, SIDE, 3, FEEDLINE_F32,
                                                false};

/* ---- Parts -------------------------------------------------------------- */

static struct fdl_encoded encoded(const struct bench *b, const struct file *f)
{
    return (struct fdl_encoded){
        .data = b->bytes,
        .size = f->size,
        .readable = f->size + FDL_ENCODED_PADDING,
    };
}

static bool read_bytes(struct bench *b, struct file *f)
{
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = pread(fd, b->bytes, f->size, 0);
    close(fd);
    memset(b->bytes + f->size, 0, FDL_ENCODED_PADDING);
    return n == (ssize_t)f->size;
}

/* What a program would write that calls libjpeg for the same rows: one object,
 * crop, skip, read, abort. */
static bool rows_libjpeg(struct bench *b, struct file *f)
{
    struct jpeg_decompress_struct *c = &b->libjpeg;
    const struct fdl_box *box = &f->plan.geometry.box;
    jpeg_mem_src(c, b->bytes, f->size);
    jpeg_read_header(c, TRUE);
    c->out_color_space = JCS_RGB;
    jpeg_start_decompress(c);
    JDIMENSION x = (JDIMENSION)box->x, width = (JDIMENSION)box->width;
    jpeg_crop_scanline(c, &x, &width);
    jpeg_skip_scanlines(c, (JDIMENSION)box->y);
    uint8_t *row = b->row + ROW_SHIFT;
    for (int32_t y = 0; y < box->height; y++)
        jpeg_read_scanlines(c, &row, 1);
    jpeg_abort_decompress(c);
    return true;
}

static bool rows_ours(struct bench *b, struct file *f)
{
    struct fdl_encoded bytes = encoded(b, f);
    struct fdl_image_info info;
    struct fdl_box have;
    bool good =
        !fdl_format_jpeg.open(b->jpeg, &bytes, &info) &&
        !fdl_format_jpeg.begin(b->jpeg, &f->plan.geometry.box, &have) &&
        !fdl_format_jpeg.read(b->jpeg, b->row + ROW_SHIFT, 0, have.height);
    fdl_format_jpeg.abort(b->jpeg);
    return good;
}

/* Not timed: tables of the crop, and room for rows. */
static bool prepare_resample(struct bench *b, const struct file *f)
{
    const struct fdl_geometry *g = &f->plan.geometry;
    const struct fdl_resample_kernels *k =
        fdl_kernels[fdl_cpu_level()].resample;
    struct fdl_axis_key x = {.in = g->box.width,
                             .out = g->resize_width,
                             .first = g->window.x,
                             .count = g->window.width,
                             .mirror = g->flip,
                             .filter = g->filter};
    struct fdl_axis_key y = {.in = g->box.height,
                             .out = g->resize_height,
                             .first = g->window.y,
                             .count = g->window.height,
                             .filter = g->filter};
    return !fdl_axis_prepare(&b->horizontal, &x) &&
           !fdl_axis_pack(&b->horizontal, &k->horizontal_packing, 3) &&
           !fdl_axis_prepare(&b->vertical, &y) &&
           !fdl_axis_pack(&b->vertical, &k->vertical_packing, 3);
}

/* Which rows lie in which place is not what is measured: as many as are needed
 * at once take turns. */
static bool resample(struct bench *b, struct file *f)
{
    (void)f;
    const struct fdl_resample_kernels *k =
        fdl_kernels[fdl_cpu_level()].resample;
    const struct fdl_axis *h = &b->horizontal, *v = &b->vertical;
    size_t stride = ((size_t)h->extent * 3 + 63) / 64 * 64;
    size_t plane = fdl_plane_bytes(SIDE);
    int32_t strip_rows = (int32_t)FDL_MAX(STRIP_BYTES / stride, 1);
    int32_t ring_rows = v->taps;
    for (int32_t row = 0, next = 0; row < v->extent; row++) {
        k->horizontal(h, b->strip + (size_t)(row % strip_rows) * stride, 3,
                      b->ring + (size_t)(row % ring_rows) * 3 * plane, plane);
        for (;
             next < v->key.count && v->start[next] + v->length[next] <= row + 1;
             next++) {
            for (int32_t t = 0; t < v->length[next]; t++) {
                int32_t place = (v->start[next] + t) % ring_rows;
                b->taps[t] = b->ring + (size_t)place * 3 * plane;
            }
            k->vertical(v, next, b->taps, b->line, 3 * plane);
        }
    }
    return true;
}

static bool last_pass(struct bench *b, struct file *f)
{
    (void)f;
    size_t plane = fdl_plane_bytes(SIDE);
    const uint8_t *planes[3] = {b->line, b->line + plane, b->line + 2 * plane};
    fdl_finish_fn finish =
        fdl_finish_choose(fdl_kernels[fdl_cpu_level()].finish, &format);
    for (int32_t y = 0; y < SIDE; y++)
        finish(planes, &b->affine, &format, y, b->out);
    return true;
}

static bool whole(struct bench *b, struct file *f, struct fdl_decoder *d,
                  struct fdl_render_cost *cost)
{
    if (!read_bytes(b, f))
        return false;
    struct fdl_encoded bytes = encoded(b, f);
    struct fdl_image_info info;
    return !fdl_decoder_open(d, &bytes, &info) &&
           !fdl_decoder_render(d, &f->plan, &format, b->out, cost);
}

/* ---- Rounds ------------------------------------------------------------- */

/* Of this thread on a processor: nothing here waits, and what other programs
 * take does not count. */
static int64_t busy_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool time_part(struct bench *b, struct file *f, enum part part,
                      bool (*run)(struct bench *b, struct file *f))
{
    int64_t start = busy_ns();
    bool good = run(b, f);
    f->ns[part][b->round] = busy_ns() - start;
    return good;
}

static bool time_whole(struct bench *b, struct file *f, enum part part,
                       struct fdl_decoder *d, uint64_t *pixels)
{
    struct fdl_render_cost cost = {0};
    int64_t start = busy_ns();
    bool good = whole(b, f, d, &cost);
    f->ns[part][b->round] = busy_ns() - start;
    *pixels = cost.pixels;
    return good;
}

static bool time_file(struct bench *b, struct file *f)
{
    uint64_t pixels, fewer;
    bool good = time_part(b, f, READ, read_bytes) &&
                time_part(b, f, ROWS_LIBJPEG, rows_libjpeg) &&
                time_part(b, f, ROWS_OURS, rows_ours) &&
                prepare_resample(b, f) && resample(b, f) && /* warm */
                time_part(b, f, RESAMPLE, resample) &&
                time_part(b, f, LAST_PASS, last_pass) &&
                time_whole(b, f, EXACT, b->exact, &pixels) &&
                time_whole(b, f, FAST, b->fast, &fewer);
    if (!good)
        printf("%s: %s\n", f->path, fdl_last_error());
    f->shrunk = good && fewer < pixels;
    return good;
}

/* ---- Results ------------------------------------------------------------ */

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_times(struct bench *b, int rounds)
{
    for (size_t i = 0; i < b->n; i++) {
        for (int p = 0; p < PARTS; p++)
            qsort(b->files[i].ns[p], (size_t)rounds, sizeof(int64_t),
                  compare_ns);
    }
}

/* Sum over the files of the shorter of two parts, which may be the same. */
static double sum_of(const struct bench *b, int rounds, enum part p,
                     enum part other)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++)
        sum += (double)FDL_MIN(b->files[i].ns[p][rounds / 2],
                               b->files[i].ns[other][rounds / 2]);
    return sum;
}

static void print_line(const struct bench *b, const char *name, double ns)
{
    double us = ns / 1e3 / (double)b->n;
    printf("%-28s %9.1f us/image %8.1f images/s\n", name, us, 1e6 / us);
}

static void print_part(const struct bench *b, int rounds, const char *name,
                       enum part p)
{
    print_line(b, name, sum_of(b, rounds, p, p));
}

static void print_results(struct bench *b, int rounds)
{
    size_t shrunk = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->n; i++) {
        shrunk += b->files[i].shrunk;
        bytes += b->files[i].size;
    }
    sort_times(b, rounds);
    double exact = sum_of(b, rounds, EXACT, EXACT);
    double fast = sum_of(b, rounds, FAST, FAST);
    double floors = sum_of(b, rounds, READ, READ) +
                    sum_of(b, rounds, ROWS_LIBJPEG, ROWS_OURS) +
                    sum_of(b, rounds, RESAMPLE, RESAMPLE) +
                    sum_of(b, rounds, LAST_PASS, LAST_PASS);
    printf("%zu files of %.0f KB, random_resized_crop to %d, f32, one thread, "
           "medians of "
           "%d interleaved rounds\n",
           b->n, (double)bytes / 1e3 / (double)b->n, SIDE, rounds);
    print_part(b, rounds, "read", READ);
    print_part(b, rounds, "rows, libjpeg alone", ROWS_LIBJPEG);
    print_part(b, rounds, "rows, our source alone", ROWS_OURS);
    print_part(b, rounds, "resample", RESAMPLE);
    print_part(b, rounds, "last pass", LAST_PASS);
    print_line(b, "sum of the floors", floors);
    print_part(b, rounds, "decoder, exact", EXACT);
    print_part(b, rounds, "decoder, fast", FAST);
    printf("floors / exact: %.1f %%\n", 100 * floors / exact);
    printf("exact / fast: %.2f; %zu images are decoded smaller\n", exact / fast,
           shrunk);
}

/* ---- Files -------------------------------------------------------------- */

/* Keeps those that are JPEGs, gray or in three colours, each with a drawn crop;
 * makes room for the largest. */
static bool load(struct bench *b, char **paths, int n, uint64_t seed)
{
    struct fdl_pipeline *p;
    uint64_t most = 0;
    if (fdl_pipeline_create("train", &p))
        return false;
    b->files = must_alloc((size_t)n * sizeof(*b->files));
    for (int i = 0; i < n; i++) {
        struct file *f = &b->files[b->n];
        struct fdl_image_info info;
        uint64_t size;
        uint8_t *data = read_file(paths[i], &size);
        struct fdl_encoded bytes = file_of(data, size);
        if (!data) {
            printf("%s is left out: %s\n", paths[i], strerror(errno));
        } else if (fdl_decoder_open(b->exact, &bytes, &info) ||
                   first_plan(p, seed, 0, (uint64_t)i, info.width, info.height,
                              &f->plan)) {
            printf("%s is left out: %s\n", paths[i], fdl_last_error());
        } else if (info.format != &fdl_format_jpeg || info.channels == 4) {
            printf("%s is left out: neither gray nor RGB\n", paths[i]);
        } else {
            f->path = paths[i];
            f->size = size;
            most = FDL_MAX(most, size);
            b->n++;
        }
        free(data);
    }
    fdl_decoder_abort(b->exact);
    fdl_pipeline_destroy(p);
    b->bytes = must_alloc((size_t)most + FDL_ENCODED_PADDING);
    return b->n > 0;
}

static bool setup(struct bench *b, struct fdl_deadline *deadline)
{
    struct fdl_decode_limits limits = {.max_pixels = 100u << 20,
                                       .max_scans = 100};
    b->libjpeg.err = jpeg_std_error(&b->err);
    jpeg_create_decompress(&b->libjpeg);
    b->row = must_alloc(1 << 20);
    b->strip = must_alloc(1 << 20);
    b->ring = must_alloc(64u << 20);
    b->line = must_alloc(4096);
    b->taps = must_alloc(65536 * sizeof(*b->taps));
    b->out = must_alloc(fdl_output_bytes(&format));
    memset(b->strip, 99, 1 << 20);
    memset(b->line, 99, 4096);
    if (fdl_decoder_create(&limits, &b->exact) ||
        fdl_format_jpeg.create(&limits, deadline, &b->jpeg))
        return false;
    limits.fast = true;
    return !fdl_decoder_create(&limits, &b->fast);
}

static void fini(struct bench *b)
{
    fdl_decoder_destroy(b->exact);
    fdl_decoder_destroy(b->fast);
    fdl_format_jpeg.destroy(b->jpeg);
    jpeg_destroy_decompress(&b->libjpeg);
    fdl_axis_fini(&b->horizontal);
    fdl_axis_fini(&b->vertical);
    free(b->files);
    free(b->bytes);
    free(b->row);
    free(b->strip);
    free(b->ring);
    free(b->line);
    free(b->taps);
    free(b->out);
}

bool bench_files(char **paths, int n, uint64_t seed, int rounds)
{
    struct bench b = {0};
    struct fdl_deadline deadline = {0};
    rounds = FDL_MAX(1, FDL_MIN(rounds, ROUNDS_MAX));
    bool good = setup(&b, &deadline) && load(&b, paths, n, seed);
    if (good)
        fdl_affine_init(&b.affine, &b.files[0].plan.norm, FDL_ROUNDING_ONCE);
    for (; good && b.round < rounds; b.round++) {
        for (size_t i = 0; good && i < b.n; i++)
            good = time_file(&b, &b.files[i]);
    }
    if (good)
        print_results(&b, rounds);
    fini(&b);
    return good;
}

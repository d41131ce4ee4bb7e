/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels and decoder cost. Times are the least of several runs, since
 * whatever else a machine does only ever adds.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "checkdec.h"
#include "decode/decoder.h"
#include "decode/finish.h"
#include "decode/resample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

#define SIDE 224
#define RUNS 40

/* ---- Kernels ------------------------------------------------------------ */

struct work {
    enum fdl_cpu_level level;
    struct fdl_axis axis;
    struct fdl_axis_key key;
    struct fdl_affine affine;
    struct fdl_output_format format;
    uint8_t *rows; /* input: SIDE rows */
    size_t stride;
    uint8_t *out;
};

static int64_t fastest(void (*run)(struct work *w), struct work *w)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        int64_t start = fdl_now_ns();
        run(w);
        best = FDL_MIN(best, fdl_now_ns() - start);
    }
    return best;
}

static void make_table(struct work *w, const struct fdl_packing *packing)
{
    fdl_axis_fini(&w->axis);
    if (fdl_axis_prepare(&w->axis, &w->key) ||
        fdl_axis_pack(&w->axis, packing, 3))
        abort();
}

static void run_table(struct work *w)
{
    w->axis.key.in = 0; /* forget it, keep the memory */
    if (fdl_axis_prepare(&w->axis, &w->key) ||
        fdl_axis_pack(&w->axis,
                      &fdl_resample_kernels(w->level)->horizontal_packing, 3))
        abort();
}

static void run_horizontal(struct work *w)
{
    for (size_t y = 0; y < SIDE; y++)
        fdl_resample_kernels(w->level)->horizontal(
            &w->axis, w->rows + y * w->stride, 3, w->out, 256);
}

static void run_vertical(struct work *w)
{
    const uint8_t *rows[16];
    for (int32_t y = 0; y < SIDE; y++) {
        for (int32_t t = 0; t < w->axis.length[y]; t++)
            rows[t] = w->rows + (size_t)(w->axis.start[y] + t) % 4 * w->stride;
        fdl_resample_kernels(w->level)->vertical(&w->axis, y, rows, w->out,
                                                 768);
    }
}

static void run_finish(struct work *w)
{
    const uint8_t *planes[3] = {w->rows, w->rows + 256, w->rows + 512};
    fdl_finish_fn finish =
        fdl_finish_choose(fdl_finish_kernels(w->level), &w->format);
    for (int32_t y = 0; y < SIDE; y++)
        finish(planes, &w->affine, &w->format, y, w->out);
}

static void bench_level(enum fdl_cpu_level level)
{
    static const int32_t inputs[] = {150, 224, 310, 450, 900};
    static const struct {
        const char *name;
        int32_t dtype;
    } dtypes[] = {{"u8", FEEDLINE_U8},
                  {"f16", FEEDLINE_F16},
                  {"bf16", FEEDLINE_BF16},
                  {"f32", FEEDLINE_F32}};
    struct work w = {.level = level, .stride = 4096};
    struct fdl_plan plan = {.normalize = true,
                            .mean = {0.5f, 0.5f, 0.5f},
                            .std = {0.2f, 0.2f, 0.2f}};
    fdl_affine_init(&w.affine, &plan);
    w.rows = must_alloc(w.stride * SIDE);
    w.out = must_alloc(SIDE * SIDE * 3 * sizeof(float));
    memset(w.rows, 99, w.stride * SIDE);
    memset(w.out, 0, SIDE * SIDE * 3 * sizeof(float));
    for (size_t i = 0; i < FDL_COUNT_OF(inputs); i++) {
        w.key =
            (struct fdl_axis_key){.in = inputs[i], .out = SIDE, .count = SIDE};
        const struct fdl_resample_kernels *k = fdl_resample_kernels(level);
        make_table(&w, &k->horizontal_packing);
        int64_t table = fastest(run_table, &w);
        int64_t horizontal = fastest(run_horizontal, &w);
        make_table(&w, &k->vertical_packing);
        int64_t vertical = fastest(run_vertical, &w);
        printf("%-8s %4" PRId32 " -> 224  %8.1f %12.1f %12.1f\n",
               fdl_cpu_level_name(level), inputs[i], (double)table / 1e3,
               (double)horizontal / 1e3, (double)vertical / 1e3);
    }
    for (int i = 0; i < 8; i++) {
        w.format = (struct fdl_output_format){SIDE, SIDE, 3,
                                              dtypes[i / 2].dtype, i & 1};
        printf("%-8s finish %-4s %s %8.1f\n", fdl_cpu_level_name(level),
               dtypes[i / 2].name, i & 1 ? "NHWC" : "NCHW",
               (double)fastest(run_finish, &w) / 1e3);
    }
    fdl_axis_fini(&w.axis);
    free(w.rows);
    free(w.out);
}

void bench_kernels(void)
{
    printf("us for 224 rows of 224 pixels, 3 channels\n"
           "level      in    out     table   horizontal     vertical\n");
    for (int level = FDL_CPU_C; level <= (int)fdl_cpu_level(); level++)
        bench_level((enum fdl_cpu_level)level);
}

/* ---- Files -------------------------------------------------------------- */

/* Of the decoder; times are the least so far. */
struct timing {
    int64_t total_ns, decode_ns, augment_ns;
    uint64_t pixels;
};

enum { EXACT, FAST, QUALITIES };

struct file {
    struct fdl_encoded bytes;
    struct fdl_plan plan;
    int64_t plain_ns;
    struct timing ours[QUALITIES];
};

struct set {
    struct file *files;
    size_t n;
};

static uint8_t *read_file(const char *path, uint64_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *data = calloc(1, (size_t)(n > 0 ? n : 0) + FDL_ENCODED_PADDING);
    if (data && n > 0)
        *size = fread(data, 1, (size_t)n, f);
    fclose(f);
    return data;
}

/* What a program would write that calls libjpeg for the same rows: one object,
 * crop, skip, read, abort; no padding, no resampling. */
static void decode_plain(struct jpeg_decompress_struct *c, const struct file *f,
                         uint8_t *row)
{
    const struct fdl_box *box = &f->plan.geometry.box;
    jpeg_mem_src(c, f->bytes.data, f->bytes.size);
    jpeg_read_header(c, TRUE);
    c->out_color_space = JCS_RGB;
    jpeg_start_decompress(c);
    JDIMENSION x = (JDIMENSION)box->x, width = (JDIMENSION)box->width;
    jpeg_crop_scanline(c, &x, &width);
    jpeg_skip_scanlines(c, (JDIMENSION)box->y);
    for (int32_t y = 0; y < box->height; y++)
        jpeg_read_scanlines(c, &row, 1);
    jpeg_abort_decompress(c);
}

static void time_plain(struct set *s, uint8_t *row)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr err;
    c.err = jpeg_std_error(&err);
    jpeg_create_decompress(&c);
    for (size_t i = 0; i < s->n; i++) {
        int64_t start = fdl_now_ns();
        decode_plain(&c, &s->files[i], row);
        int64_t ns = fdl_now_ns() - start;
        s->files[i].plain_ns = FDL_MIN(s->files[i].plain_ns, ns);
    }
    jpeg_destroy_decompress(&c);
}

static bool time_ours(struct set *s, struct fdl_decoder *d, int quality,
                      float *out)
{
    struct fdl_output_format format = {SIDE, SIDE, 3, FEEDLINE_F32, false};
    for (size_t i = 0; i < s->n; i++) {
        struct file *f = &s->files[i];
        struct fdl_image_info info;
        struct fdl_render_cost cost;
        int64_t start = fdl_now_ns();
        if (fdl_decoder_open(d, &f->bytes, &info) ||
            fdl_decoder_render(d, &f->plan, &format, out, &cost)) {
            printf("%s\n", fdl_last_error());
            return false;
        }
        int64_t ns = fdl_now_ns() - start;
        struct timing *t = &f->ours[quality];
        t->total_ns = FDL_MIN(t->total_ns, ns);
        t->decode_ns = FDL_MIN(t->decode_ns, cost.decode_ns);
        t->augment_ns = FDL_MIN(t->augment_ns, cost.augment_ns);
        t->pixels = cost.pixels;
    }
    return true;
}

/* Files that are JPEGs, each with a drawn crop. */
static bool load(char **paths, int n, uint64_t seed, struct fdl_decoder *d,
                 struct set *s)
{
    struct fdl_pipeline *p;
    if (fdl_pipeline_create("train", &p))
        return false;
    s->files = must_alloc((size_t)n * sizeof(*s->files));
    for (int i = 0; i < n; i++) {
        struct file f = {.plain_ns = INT64_MAX};
        for (int q = 0; q < QUALITIES; q++)
            f.ours[q] = (struct timing){INT64_MAX, INT64_MAX, INT64_MAX, 0};
        struct fdl_image_info info;
        uint64_t size = 0;
        f.bytes.data = read_file(paths[i], &size);
        f.bytes.size = size;
        f.bytes.readable = size + FDL_ENCODED_PADDING;
        if (!f.bytes.data || fdl_decoder_open(d, &f.bytes, &info) ||
            fdl_pipeline_plan(p, seed, 0, (uint64_t)i, info.width, info.height,
                              &f.plan) ||
            info.channels == 4) {
            printf("%s is left out: %s\n", paths[i], fdl_last_error());
            continue;
        }
        s->files[s->n++] = f;
    }
    fdl_decoder_abort(d);
    fdl_pipeline_destroy(p);
    return s->n > 0;
}

static void print_line(const char *name, int64_t ns, size_t n)
{
    printf("%-26s %8.1f us/image %8.1f images/s\n", name,
           (double)ns / 1e3 / (double)n, (double)n * 1e9 / (double)ns);
}

static void print_ours(const struct set *s, int quality, const char *name)
{
    struct timing sum = {0};
    size_t shrunk = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct timing *t = &s->files[i].ours[quality];
        sum.total_ns += t->total_ns;
        sum.decode_ns += t->decode_ns;
        sum.augment_ns += t->augment_ns;
        sum.pixels += t->pixels;
        shrunk += t->pixels < s->files[i].ours[EXACT].pixels;
    }
    print_line(name, sum.total_ns, s->n);
    print_line("  of that in libjpeg", sum.decode_ns, s->n);
    print_line("  resample and finish", sum.augment_ns, s->n);
    printf("  %.2f ns per output pixel, %.0f pixels decoded per image",
           (double)sum.total_ns / (double)s->n / (SIDE * SIDE),
           (double)sum.pixels / (double)s->n);
    if (quality == FAST)
        printf(", %zu images smaller", shrunk);
    printf("\n");
}

static void print_set(const struct set *s, int repeat)
{
    int64_t plain_ns = 0;
    for (size_t i = 0; i < s->n; i++)
        plain_ns += s->files[i].plain_ns;
    printf("%zu files, one thread, each file's least time of %d passes\n", s->n,
           repeat);
    print_line("libjpeg alone, same crops", plain_ns, s->n);
    print_ours(s, EXACT, "decoder, f32 NCHW");
    print_ours(s, FAST, "the same, fast");
}

bool bench_files(char **paths, int n, uint64_t seed, int repeat)
{
    struct fdl_decode_limits limits = {.max_pixels = 100u << 20,
                                       .max_scans = 100};
    struct fdl_decoder *d[QUALITIES];
    struct set s = {0};
    for (int q = 0; q < QUALITIES; q++) {
        limits.fast = q == FAST;
        if (fdl_decoder_create(&limits, &d[q]))
            return false;
    }
    if (!load(paths, n, seed, d[EXACT], &s))
        return false;
    float *out = must_alloc(SIDE * SIDE * 3 * sizeof(float));
    uint8_t *row = must_alloc(1 << 20);
    bool good = true;
    for (int i = 0; good && i < repeat; i++) {
        time_plain(&s, row);
        good = time_ours(&s, d[EXACT], EXACT, out) &&
               time_ours(&s, d[FAST], FAST, out);
    }
    if (good)
        print_set(&s, repeat);
    for (size_t i = 0; i < s.n; i++)
        free((void *)(uintptr_t)s.files[i].bytes.data);
    free(s.files);
    free(out);
    free(row);
    for (int q = 0; q < QUALITIES; q++)
        fdl_decoder_destroy(d[q]);
    return good;
}

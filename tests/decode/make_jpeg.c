/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture is waves and noise: smooth enough to compress, uneven enough that
 * a pixel from the wrong place does not go unnoticed.
 */
#include "make_jpeg.h"

#include "base/compiler.h"
#include "decode/decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

const struct make_sampling make_samplings[MAKE_SAMPLINGS] = {
    {"4:4:4", 1, 1}, {"4:2:2", 2, 1}, {"4:2:0", 2, 2}, {"4:4:0", 1, 2},
    {"4:1:1", 4, 1}, {"4:1:0", 4, 2}, {"2x4", 2, 4},   {"1x4", 1, 4},
};

/* SplitMix64. */
uint64_t make_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int32_t make_within(uint64_t *state, int32_t low, int32_t high)
{
    uint64_t span = (uint64_t)((int64_t)high - low + 1);
    return low + (int32_t)(make_random(state) % span);
}

struct make_jpeg make_any(uint64_t *state, int32_t width, int32_t height)
{
    const struct make_sampling *s =
        &make_samplings[make_within(state, 0, MAKE_SAMPLINGS - 1)];
    int32_t components = make_within(state, 0, 7) ? 3 : 1;
    if (make_within(state, 0, 9) == 0 && s->h * s->v <= 4)
        components = 4; /* with larger ones an MCU has too many blocks */
    return (struct make_jpeg){
        .width = make_within(state, 1, width),
        .height = make_within(state, 1, height),
        .components = components,
        .h = s->h,
        .v = s->v,
        .quality = make_within(state, 1, 100),
        .restart = make_within(state, 0, 2) ? 0 : make_within(state, 1, 30),
        .optimize = make_within(state, 0, 1),
        .seed = make_random(state),
    };
}

struct make_jpeg make_any_coding(uint64_t *state, int32_t width, int32_t height)
{
    struct make_jpeg m = make_any(state, width, height);
    int32_t coding = make_within(state, 0, 4);
    m.progressive = coding < 2;
    m.separate = coding == 2;
    m.scans = coding == 0 ? make_random(state) : 0;
    m.lacking = make_within(state, 0, 9) == 0;
    return m;
}

static void paint_row(uint8_t *row, int32_t width, int32_t components,
                      int32_t y, uint64_t *state)
{
    for (int32_t x = 0; x < width; x++) {
        for (int32_t c = 0; c < components; c++) {
            double wave = sin(x / (4.0 + 3 * c)) + cos(y / (6.0 - c));
            double noise = (double)(make_random(state) >> 58);
            double value = 110 + 40 * wave + noise;
            *row++ = (uint8_t)(int)FDL_MIN(FDL_MAX(value, 0.0), 255.0);
        }
    }
}

/* One component per scan. */
static void set_separate_scans(struct jpeg_compress_struct *c,
                               jpeg_scan_info scans[4])
{
    for (int i = 0; i < c->num_components; i++)
        scans[i] = (jpeg_scan_info){
            .comps_in_scan = 1, .component_index = {i}, .Se = DCTSIZE2 - 1};
    c->scan_info = scans;
    c->num_scans = c->num_components;
}

/* ---- Scans of progressive files ------------------------------------------ */

#define MOST_SCANS 80

struct script {
    uint64_t state;
    int n;
    jpeg_scan_info scans[MOST_SCANS];
    int left[MAX_COMPONENTS][DCTSIZE2]; /* bits of each; -1: all of them */
};

static void add_scan(struct script *s, int component, int n, int from, int to,
                     int low)
{
    jpeg_scan_info *scan = &s->scans[s->n++];
    *scan = (jpeg_scan_info){.comps_in_scan = n, .Ss = from, .Se = to};
    scan->Al = low;
    scan->Ah = FDL_MAX(s->left[component][from], 0);
    for (int i = 0; i < n; i++) {
        scan->component_index[i] = component + i;
        for (int k = from; k <= to; k++)
            s->left[component + i][k] = low;
    }
}

/* The first coefficients of all components, or of one after the other. */
static void add_first(struct script *s, int components)
{
    int low = make_within(&s->state, 0, 2);
    bool together = make_within(&s->state, 0, 2) > 0;
    for (int i = 0; i < components; i += together ? components : 1)
        add_scan(s, i, together ? components : 1, 0, 0, low);
}

/* Some more of what is not complete. False: all is. */
static bool add_more(struct script *s, int components)
{
    int of = make_within(&s->state, 0, components - 1), tried = 0, from = 0;
    for (; tried < components * DCTSIZE2 && s->left[of][from] == 0; tried++) {
        of = from < DCTSIZE2 - 1 ? of : (of + 1) % components;
        from = (from + 1) % DCTSIZE2;
    }
    int left = s->left[of][from], to = from;
    if (left == 0)
        return false;
    int most = from > 0 ? make_within(&s->state, from, DCTSIZE2 - 1) : 0;
    if (make_within(&s->state, 0, 1) || s->n > 20)
        most = from > 0 ? DCTSIZE2 - 1 : 0;
    while (to < most && s->left[of][to + 1] == left)
        to++;
    int low = left > 0 ? left - 1 : make_within(&s->state, 0, 3);
    add_scan(s, of, 1, from, to, s->n > 40 && left < 0 ? 0 : low);
    return true;
}

static void set_scans(struct jpeg_compress_struct *c, const struct make_jpeg *m,
                      struct script *s)
{
    int components = c->num_components, n = 0;
    s->state = m->scans;
    s->n = 0;
    for (int i = 0; i < components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            s->left[i][k] = -1;
    add_first(s, components);
    n = s->n;
    while (s->n < MOST_SCANS && add_more(s, components))
        ;
    if (m->lacking)
        s->n = make_within(&s->state, n, s->n - 1);
    c->scan_info = s->scans;
    c->num_scans = s->n;
}

/* ---- Lossless files ------------------------------------------------------ */

#if LIBJPEG_TURBO_VERSION_NUMBER >= 3000000
bool make_has_lossless(void)
{
    return true;
}

static void set_lossless(struct jpeg_compress_struct *c, int predictor)
{
    jpeg_enable_lossless(c, predictor, 0);
    jpeg_set_colorspace(c, c->in_color_space);
}
#else
bool make_has_lossless(void)
{
    return false;
}

static void set_lossless(struct jpeg_compress_struct *c, int predictor)
{
    (void)c;
    (void)predictor;
    abort();
}
#endif

static void set_up(struct jpeg_compress_struct *c, const struct make_jpeg *m,
                   jpeg_scan_info scans[4], struct script *script)
{
    c->image_width = (JDIMENSION)m->width;
    c->image_height = (JDIMENSION)m->height;
    c->input_components = m->components;
    c->in_color_space = m->components == 1   ? JCS_GRAYSCALE
                        : m->components == 3 ? JCS_RGB
                                             : JCS_CMYK;
    jpeg_set_defaults(c);
    if (m->components == 4)
        jpeg_set_colorspace(c, JCS_YCCK);
    jpeg_set_quality(c, m->quality ? m->quality : 90, TRUE);
    c->comp_info[0].h_samp_factor = m->h ? m->h : 1;
    c->comp_info[0].v_samp_factor = m->v ? m->v : 1;
    for (int i = 1; i < c->num_components; i++)
        c->comp_info[i].h_samp_factor = c->comp_info[i].v_samp_factor = 1;
    if (m->components == 4) { /* black at full size, as Adobe does */
        c->comp_info[3].h_samp_factor = c->comp_info[0].h_samp_factor;
        c->comp_info[3].v_samp_factor = c->comp_info[0].v_samp_factor;
    }
    c->restart_interval = (unsigned)m->restart;
    c->optimize_coding = m->optimize;
    c->arith_code = m->arithmetic;
    if (m->progressive && m->scans)
        set_scans(c, m, script);
    else if (m->progressive)
        jpeg_simple_progression(c);
    else if (m->separate)
        set_separate_scans(c, scans);
    if (m->lossless)
        set_lossless(c, m->lossless);
}

uint8_t *make_jpeg(const struct make_jpeg *m, size_t *size)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    jpeg_scan_info scans[4];
    struct script script;
    unsigned char *written = NULL;
    unsigned long length = 0;
    uint64_t state = m->seed;

    c.err = jpeg_std_error(&err);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &written, &length);
    set_up(&c, m, scans, &script);
    jpeg_start_compress(&c, TRUE);
    uint8_t *row = malloc((size_t)m->width * (size_t)m->components);
    if (!row)
        abort();
    for (int32_t y = 0; y < m->height; y++) {
        JSAMPROW rows[1] = {row};
        paint_row(row, m->width, m->components, y, &state);
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);

    uint8_t *file = calloc(1, length + FDL_ENCODED_PADDING);
    if (!file)
        abort();
    memcpy(file, written, length);
    free(written);
    *size = length;
    return file;
}

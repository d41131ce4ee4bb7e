/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a pipeline as text, planned for an image of any size, and run on
 * one that is small.
 *
 *     4 bytes    width and height of the image, less one
 *     1 byte     seed and sample
 *     the rest   one operation per line: name, blank, arguments
 *
 * What a plan says is trusted by the decoder, so it must lie within the image
 * whatever the arguments were; what fdl_pipeline_output_size promised before
 * the first image is what each image comes to; and every level of instructions
 * gives the same pixels.
 */
#include "base/cpu.h"
#include "base/status.h"
#include "fuzz.h"
#include "tests/decode/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 4096 /* pixels of an image that is rendered */

/* An image, and the plan for it. */
struct subject {
    int32_t width, height;
    uint8_t seed;
    int32_t status;
    struct fdl_plan plan;
};

static char *json_of(const struct fdl_pipeline *p)
{
    struct fdl_json j;
    uint64_t needed;
    fdl_json_init(&j, NULL, 0);
    fdl_pipeline_json(p, NULL, &j);
    fuzz_check(fdl_json_finish(&j, &needed) == FEEDLINE_OK);
    char *text = malloc(needed);
    fuzz_check(text);
    fdl_json_init(&j, text, needed);
    fdl_pipeline_json(p, NULL, &j);
    fuzz_check(fdl_json_finish(&j, &needed) == FEEDLINE_OK);
    return text;
}

/* An operation that is refused leaves no trace. */
static void add_line(struct fdl_pipeline *p, char *line)
{
    char *args = strchr(line, ' ');
    if (args)
        *args++ = '\0';
    char *before = json_of(p);
    int32_t status = fdl_pipeline_add(p, line, args);
    if (status != FEEDLINE_OK) {
        fuzz_check_error(status);
        char *after = json_of(p);
        fuzz_check(strcmp(before, after) == 0);
        free(after);
    }
    free(before);
}

static void check_inside(const struct fdl_box *box, int32_t width,
                         int32_t height)
{
    fuzz_check(box->x >= 0 && box->width > 0 && box->width <= width - box->x);
    fuzz_check(box->y >= 0 && box->height > 0 &&
               box->height <= height - box->y);
}

/* The plan, and objects in its sample: boxes stay finite. */
static int32_t draw(const struct fdl_pipeline *p, struct subject *s)
{
    float boxes[12] = {0}, points[6] = {0};
    uint32_t source[3] = {0, 1, 2};
    struct fdl_objects objects = {3, 1, boxes, points, source};
    struct fdl_draw_key key = {.seed = s->seed,
                               .epoch = 1,
                               .sample = s->seed,
                               .channels = 3,
                               .view = FDL_EVERY_VIEW,
                               .objects = &objects};
    boxes[2] = boxes[6] = (float)s->width;
    boxes[3] = boxes[7] = (float)s->height / 2;
    boxes[4] = (float)s->seed;
    int32_t status = fdl_pipeline_draw(p, &key, s->width, s->height, &s->plan);
    fuzz_check(objects.n <= 3);
    for (uint32_t i = 0; i < 4 * objects.n; i++)
        fuzz_check(isfinite(boxes[i]));
    return status;
}

static void make_plan(const struct fdl_pipeline *p, struct subject *s)
{
    int32_t width, height;
    int32_t promised =
        fdl_pipeline_output_size(p, s->width, s->height, &width, &height);
    if (promised != FEEDLINE_OK)
        fuzz_check_error(promised);
    s->status = draw(p, s);
    if (s->status != FEEDLINE_OK) {
        fuzz_check_error(s->status);
        return;
    }
    const struct fdl_geometry *g = &s->plan.geometry;
    check_inside(&g->box, s->width, s->height);
    check_inside(&g->window, g->resize_width, g->resize_height);
    if (promised == FEEDLINE_OK)
        fuzz_check(fdl_plan_width(&s->plan) == width &&
                   fdl_plan_height(&s->plan) == height);
}

/* The plan at one level of instructions, on noise; the pixels, for free(). */
static uint8_t *render(const struct subject *s, enum fdl_cpu_level level,
                       uint64_t *bytes)
{
    static const struct fdl_decode_limits limits = {.max_pixels = SMALL};
    struct fdl_decoder *d;
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    uint64_t n = 3u * (uint64_t)s->width * (uint64_t)s->height;
    uint8_t *raw = malloc(n);
    fuzz_check(raw);
    fill_noise(raw, n);
    struct fdl_encoded image = raw_of(raw, s->width, s->height, 3);
    struct fdl_output_format format = {
        .width = fdl_plan_width(&s->plan),
        .height = fdl_plan_height(&s->plan),
        .channels = s->seed & 1 ? 1 : 3,
        .dtype = s->seed & 2 || s->plan.norm.on ? FEEDLINE_F32 : FEEDLINE_U8,
        .nhwc = s->seed & 4,
    };
    *bytes = s->plan.n_views * fdl_output_bytes(&format);
    uint8_t *pixels = malloc(*bytes);
    fuzz_check(pixels);
    fdl_cpu_set_level(level);
    fuzz_check(fdl_decoder_create(&limits, &d) == FEEDLINE_OK);
    fuzz_check(fdl_decoder_open(d, &image, &info) == FEEDLINE_OK);
    fuzz_check(fdl_decoder_render(d, &s->plan, &format, pixels, &cost) ==
               FEEDLINE_OK);
    fdl_decoder_destroy(d);
    free(raw);
    return pixels;
}

static bool is_small(int32_t width, int32_t height)
{
    return (int64_t)width * height <= SMALL;
}

static void check_render(const struct subject *s)
{
    const struct fdl_geometry *g = &s->plan.geometry;
    uint64_t bytes, expected_bytes;
    if (!is_small(s->width, s->height) ||
        !is_small(g->window.width, g->window.height) ||
        !is_small(fdl_plan_width(&s->plan), fdl_plan_height(&s->plan)))
        return;
    uint8_t *expected = render(s, FDL_CPU_C, &expected_bytes);
    for (int level = FDL_CPU_C + 1; level < FDL_CPU_LEVELS; level++) {
        uint8_t *pixels = render(s, (enum fdl_cpu_level)level, &bytes);
        fuzz_check(memcmp(pixels, expected, bytes) == 0);
        free(pixels);
    }
    free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fdl_pipeline *p;
    struct subject s = {.width = 1 + (int32_t)fuzz_word(&in)};
    s.height = 1 + (int32_t)fuzz_word(&in);
    s.seed = fuzz_byte(&in);
    char *text = fuzz_text(&in, FUZZ_REST);
    char *rest = NULL;
    fuzz_check(fdl_pipeline_create("none", &p) == FEEDLINE_OK);
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        add_line(p, line);
    make_plan(p, &s);
    if (s.status == FEEDLINE_OK)
        check_render(&s);
    fdl_pipeline_destroy(p);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders images on request, for tests in other languages. A request is a line
 *
 *     x y width height  resize_width resize_height
 *     window_x window_y window_width window_height  flips filter
 *     channels dtype nhwc normalize  path
 *
 * where width 0 stands for the whole image without resampling, and flips is 1
 * for left to right and 2 for top to bottom, behind the resampling; 4 and 8 are
 * the same in front of it. The answer is an int32 status, an
 * int32 width and height, a uint64 length, and that many bytes: pixels, or the
 * error line.
 *
 *     render [columns_first [apply_exif [accept_truncated [fast]]]]
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct fdl_geometry geometry;
    struct fdl_output_format format;
    bool normalize;
    char path[4096];
};

struct answer {
    int32_t status, width, height;
    uint64_t size;
    void *data;
};

/* Mirrors the image before it is resampled. The window is that of the result,
 * and the box is given as it lies in the stored image. */
static void flip_first(struct fdl_geometry *g, bool x, bool y)
{
    struct fdl_box *w = &g->window;
    g->resize_mirrored = x;
    g->resize_mirrored_vertical = y;
    if (x)
        w->x = g->resize_width - w->x - w->width;
    if (y)
        w->y = g->resize_height - w->y - w->height;
    g->flip = g->flip != x;
    g->flip_vertical = g->flip_vertical != y;
}

static bool parse(const char *line, struct request *q)
{
    struct fdl_geometry *g = &q->geometry;
    int flips, filter, nhwc, normalize, at = 0;
    int n =
        sscanf(line,
               "%" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32
               " %" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32 " %" SCNd32
               " %d %d %" SCNd32 " %" SCNd32 " %d %d %n",
               &g->box.x, &g->box.y, &g->box.width, &g->box.height,
               &g->resize_width, &g->resize_height, &g->window.x, &g->window.y,
               &g->window.width, &g->window.height, &flips, &filter,
               &q->format.channels, &q->format.dtype, &nhwc, &normalize, &at);
    if (n != 16)
        return false;
    g->flip = (flips & 1) != 0;
    g->flip_vertical = (flips & 2) != 0;
    flip_first(g, (flips & 4) != 0, (flips & 8) != 0);
    g->filter = (enum fdl_filter)filter;
    q->format.nhwc = nhwc != 0;
    q->normalize = normalize != 0;
    snprintf(q->path, sizeof(q->path), "%s", line + at);
    q->path[strcspn(q->path, "\n")] = '\0';
    return true;
}

/* The file and zeros behind it. */
static uint8_t *read_file(const char *path, uint64_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    uint8_t *data = NULL;
    if (fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        rewind(f);
        data = n >= 0 ? calloc(1, (size_t)n + FDL_ENCODED_PADDING) : NULL;
        if (data)
            *size = fread(data, 1, (size_t)n, f);
    }
    fclose(f);
    return data;
}

static int32_t render(struct fdl_decoder *d, struct request *q,
                      const struct fdl_encoded *bytes, struct answer *a)
{
    struct fdl_image_info info;
    int32_t status = fdl_decoder_open(d, bytes, &info);
    if (status)
        return status;
    if (q->geometry.box.width == 0) {
        bool flip = q->geometry.flip, vertical = q->geometry.flip_vertical;
        fdl_geometry_init(&q->geometry, info.width, info.height);
        q->geometry.flip = flip;
        q->geometry.flip_vertical = vertical;
    }
    struct fdl_plan plan = {
        .geometry = q->geometry,
        .norm = {.on = q->normalize,
                 .mean = {0.485f, 0.456f, 0.406f},
                 .std = {0.229f, 0.224f, 0.225f, 1}},
    };
    a->width = q->format.width = q->geometry.window.width;
    a->height = q->format.height = q->geometry.window.height;
    a->size = fdl_output_bytes(&q->format);
    a->data = malloc(a->size);
    if (!a->data)
        abort();
    struct fdl_render_cost cost;
    return fdl_decoder_render(d, &plan, &q->format, a->data, &cost);
}

static void respond(const struct answer *a)
{
    fwrite(&a->status, sizeof(a->status), 1, stdout);
    fwrite(&a->width, sizeof(a->width), 1, stdout);
    fwrite(&a->height, sizeof(a->height), 1, stdout);
    fwrite(&a->size, sizeof(a->size), 1, stdout);
    fwrite(a->data, 1, a->size, stdout);
    fflush(stdout);
}

static void handle(struct fdl_decoder *d, struct request *q)
{
    struct answer a = {0};
    uint64_t size = 0;
    uint8_t *data = read_file(q->path, &size);
    if (data) {
        struct fdl_encoded bytes = {
            .data = data, .size = size, .readable = size + FDL_ENCODED_PADDING};
        a.status = render(d, q, &bytes, &a);
    } else {
        a.status = fdl_fail(FEEDLINE_EIO, "%s: cannot be read", q->path);
    }
    if (a.status) {
        char text[FDL_ERROR_BYTES];
        snprintf(text, sizeof(text), "%s", fdl_last_error());
        free(a.data);
        a = (struct answer){
            .status = a.status, .data = strdup(text), .size = strlen(text)};
    }
    respond(&a);
    free(a.data);
    free(data);
}

int main(int argc, char **argv)
{
    struct fdl_decode_limits limits = {
        .max_pixels = 100u << 20,
        .max_scans = 500,
        .columns_first = argc > 1 && atoi(argv[1]) != 0,
        .apply_exif = argc > 2 && atoi(argv[2]) != 0,
        .accept_truncated = argc > 3 ? atof(argv[3]) : 0,
        .fast = argc > 4 && atoi(argv[4]) != 0,
    };
    struct fdl_decoder *d;
    if (fdl_decoder_create(&limits, &d) != FEEDLINE_OK)
        return 1;
    char line[8192];
    while (fgets(line, sizeof(line), stdin)) {
        struct request q = {0};
        if (!parse(line, &q)) {
            fprintf(stderr, "render: not understood: %s", line);
            return 2;
        }
        handle(d, &q);
    }
    fdl_decoder_destroy(d);
    return 0;
}

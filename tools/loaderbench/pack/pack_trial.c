/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What packing costs and gains, on some samples from all over the source: they
 * are made as they will be stored, and both are read as a training does, scaled
 * and cropped to its size, by one worker.
 */
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/tool.h"

#include <feedline/order.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct samples {
    uint64_t *index; /* of those that could be made */
    void **data;
    uint64_t *sizes;
    uint64_t n;
    const uint64_t *order;
    struct pack *pack;
};

static int keep(void *to, uint64_t place, struct pack_made *made,
                const char *why)
{
    struct samples *s = to;
    struct pack_trial *t = &s->pack->trial;
    if (why) {
        t->failed++;
        return TOOL_DONE;
    }
    s->index[s->n] = s->order[place];
    s->sizes[s->n] = made->bytes;
    s->data[s->n++] = made->data;
    t->bytes_before += (double)s->pack->bytes[s->order[place]];
    t->bytes_after += (double)made->bytes;
    made->data = NULL;
    return TOOL_DONE;
}

/* ---- Reading as a training does ------------------------------------------ */

static int32_t training_pipeline(const struct pack *p, feedline_pipeline **out)
{
    char resize[48], crop[48];
    uint64_t size = p->options->training_size;
    snprintf(resize, sizeof(resize), "size=%" PRIu64, (size * 8 + 6) / 7);
    snprintf(crop, sizeof(crop), "size=%" PRIu64, size);
    int32_t status = feedline_pipeline_create(NULL, out);
    if (status >= 0)
        status = feedline_pipeline_add(*out, "resize", resize);
    if (status >= 0)
        status = feedline_pipeline_add(*out, "center_crop", crop);
    return status;
}

static int32_t read_all(feedline_loader *l, const uint64_t *order, uint64_t n,
                        uint8_t *pixels)
{
    int32_t status = feedline_loader_begin(l, 0, 0, 0);
    for (uint64_t at = 0; status >= 0 && at < n;) {
        uint32_t count = n - at < 16 ? (uint32_t)(n - at) : 16;
        feedline_batch *batch = NULL;
        struct feedline_batch_info info = {.struct_size = sizeof(info)};
        status = feedline_loader_append(l, order + at, NULL, count);
        if (status >= 0)
            status = feedline_loader_next(l, -1, &batch);
        if (status >= 0 && batch)
            status = feedline_batch_get_info(batch, &info);
        if (status >= 0 && batch) {
            uint64_t bytes = (uint64_t)info.images.stride[0];
            memcpy(pixels + at * bytes, info.images.data, count * bytes);
            at += count;
        }
        feedline_batch_release(batch);
        if (tool_interrupted())
            break;
    }
    return status;
}

/* On a core: what the machine does besides does not count. */
static double decode_us(const feedline_loader *l, uint64_t n)
{
    struct feedline_worker_stats w = {.struct_size = sizeof(w)};
    return feedline_loader_get_worker_stats(l, &w) >= 0
               ? (double)w.cpu_ns * 1e-3 / (double)n
               : (double)NAN;
}

static int read_as_training(const struct pack *p, feedline_dataset *data,
                            const uint64_t *order, uint64_t n, uint8_t *pixels,
                            double *us)
{
    feedline_pipeline *pipeline = NULL;
    feedline_loader *l = NULL;
    int64_t workers = 0;
    int32_t status = training_pipeline(p, &pipeline);
    feedline_config_get_int(p->config, "workers", &workers);
    if (status >= 0)
        status = feedline_config_set_int(p->config, "workers", 1);
    if (status >= 0)
        status = feedline_loader_create(p->config, data, pipeline, &l);
    if (status >= 0)
        status = read_all(l, order, n, pixels);
    if (status >= 0)
        *us = decode_us(l, n);
    int rc = status < 0 ? tool_run_failed(status) : TOOL_DONE;
    feedline_loader_destroy(l);
    feedline_pipeline_destroy(pipeline);
    feedline_config_set_int(p->config, "workers", workers);
    return rc;
}

/* ---- Comparing ----------------------------------------------------------- */

static double psnr_of(double squares, double n)
{
    return squares > 0 ? 10 * log10(255.0 * 255.0 * n / squares)
                       : (double)INFINITY;
}

/* n images of `bytes` each. */
static void compare_pixels(const uint8_t *a, const uint8_t *b, uint64_t n,
                           uint64_t bytes, struct pack_trial *t)
{
    double sum = 0, squares = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t of_sum = 0, of_squares = 0;
        for (uint64_t k = 0; k < bytes; k++) {
            int d = a[i * bytes + k] - b[i * bytes + k];
            of_sum += (uint64_t)abs(d);
            of_squares += (uint64_t)(d * d);
        }
        sum += (double)of_sum;
        squares += (double)of_squares;
        worst = fmax(worst, (double)of_squares);
    }
    t->difference = sum / ((double)n * (double)bytes);
    t->psnr = psnr_of(squares, (double)n * (double)bytes);
    t->worst_psnr = psnr_of(worst, (double)bytes);
}

static int compare(struct pack *p, const struct samples *s)
{
    uint64_t side = p->options->training_size, bytes = 3 * side * side;
    uint8_t *before = malloc(s->n * bytes), *after = malloc(s->n * bytes);
    uint64_t *in_turn = malloc(s->n * sizeof(*in_turn));
    feedline_dataset *packed = NULL;
    struct pack_trial *t = &p->trial;
    int rc = before && after && in_turn ? TOOL_DONE : tool_no_memory();
    for (uint64_t i = 0; rc == TOOL_DONE && i < s->n; i++)
        in_turn[i] = i;
    if (rc == TOOL_DONE) {
        int32_t status = feedline_dataset_open_memory(
            (const void *const *)s->data, s->sizes, NULL, s->n, &packed);
        rc = status < 0 ? tool_setup_failed(status) : TOOL_DONE;
    }
    if (rc == TOOL_DONE)
        rc = read_as_training(p, p->data, s->index, s->n, before,
                              &t->decode_us_before);
    if (rc == TOOL_DONE)
        rc = read_as_training(p, packed, in_turn, s->n, after,
                              &t->decode_us_after);
    if (rc == TOOL_DONE && tool_interrupted())
        rc = TOOL_INTERRUPTED;
    if (rc == TOOL_DONE)
        compare_pixels(before, after, s->n, bytes, t);
    feedline_dataset_close(packed);
    free(in_turn);
    free(before);
    free(after);
    return rc;
}

/* ---- The trial ----------------------------------------------------------- */

static int try_samples(struct pack *p, struct samples *s, uint64_t *order,
                       uint64_t n)
{
    struct pack_trial *t = &p->trial;
    double start = tool_seconds();
    for (uint64_t i = 0; i < n; i++)
        order[i] = (uint64_t)((double)i * (double)p->n / (double)n);
    s->order = order;
    int rc = pack_make_images(p, order, n, keep, s);
    t->seconds = tool_seconds() - start;
    t->samples = s->n;
    s->pack->packed = s->pack->stayed = 0; /* of the trial */
    if (rc == TOOL_DONE && s->n == 0) {
        tool_say("%s: none of " TOOL_COUNT " can be used", p->uri,
                 TOOL_COUNT_OF(n, "sample"));
        rc = TOOL_DATA;
    }
    if (rc == TOOL_DONE)
        p->ratio = t->bytes_after / fmax(t->bytes_before, 1);
    return rc == TOOL_DONE ? compare(p, s) : rc;
}

int pack_try(struct pack *p)
{
    uint64_t n = p->options->sample < p->n ? p->options->sample : p->n;
    struct samples s = {.pack = p,
                        .index = calloc(n, sizeof(*s.index)),
                        .data = calloc(n, sizeof(*s.data)),
                        .sizes = calloc(n, sizeof(*s.sizes))};
    uint64_t *order = calloc(n, sizeof(*order));
    int rc = s.index && s.data && s.sizes && order
                 ? try_samples(p, &s, order, n)
                 : tool_no_memory();
    for (uint64_t i = 0; i < s.n; i++)
        free(s.data[i]);
    free(s.index);
    free(s.data);
    free(s.sizes);
    free(order);
    return rc;
}

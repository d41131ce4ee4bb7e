/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out programs on request, for tests in other languages. A request is a
 * struct request, the path, and for each step a struct feedline_recorded_step
 * whose data is a length, with as many bytes behind it. The answer is an int32
 * status, a uint64 length, and that many bytes: elements, or the error line.
 *
 *     render_recorded [columns_first [fast]]
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/recorded_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    uint32_t path_bytes, n_steps;
    int32_t dtype, nhwc, channels, height, width;
    uint32_t element_bytes;
    uint64_t out_bytes;
};

struct program {
    char path[4096];
    struct feedline_recorded_step steps[FEEDLINE_RECORDED_STEPS_MAX];
    uint64_t *data[FEEDLINE_RECORDED_STEPS_MAX];
};

static bool get(void *to, size_t bytes)
{
    return fread(to, 1, bytes, stdin) == bytes;
}

static bool read_request(struct request *q, struct program *p)
{
    if (!get(q, sizeof(*q)))
        return false;
    if (q->path_bytes >= sizeof(p->path) || !get(p->path, q->path_bytes) ||
        q->n_steps > FEEDLINE_RECORDED_STEPS_MAX)
        exit(2);
    p->path[q->path_bytes] = '\0';
    for (uint32_t i = 0; i < q->n_steps; i++) {
        if (!get(&p->steps[i], sizeof(p->steps[i])))
            exit(2);
        size_t bytes = (size_t)(uintptr_t)p->steps[i].data;
        free(p->data[i]);
        p->data[i] = malloc(bytes + 1);
        if (!p->data[i] || !get(p->data[i], bytes))
            exit(2);
        p->steps[i].data = bytes > 0 ? p->data[i] : NULL;
    }
    return true;
}

/* The file and zeros behind it. */
static uint8_t *read_file(const char *path, uint64_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        exit(2);
    *size = (uint64_t)ftell(f);
    rewind(f);
    uint8_t *data = calloc(1, *size + FDL_ENCODED_PADDING);
    if (!data || fread(data, 1, *size, f) != *size)
        exit(2);
    fclose(f);
    return data;
}

static void respond(int32_t status, const void *data, uint64_t size)
{
    fwrite(&status, sizeof(status), 1, stdout);
    fwrite(&size, sizeof(size), 1, stdout);
    fwrite(data, 1, size, stdout);
    fflush(stdout);
}

static void handle(struct fdl_decoder *d, const struct request *q,
                   const struct program *p)
{
    uint64_t size;
    uint8_t *file = read_file(p->path, &size);
    struct fdl_encoded bytes = {
        .data = file, .size = size, .readable = size + FDL_ENCODED_PADDING};
    struct feedline_recorded_image image = {
        .struct_size = sizeof(image),
        .n_steps = q->n_steps,
        .steps = p->steps,
        .out = malloc(q->out_bytes + 1),
        .out_bytes = q->out_bytes,
        .dtype = q->dtype,
        .nhwc = q->nhwc,
        .channels = q->channels,
        .height = q->height,
        .width = q->width,
        .element_bytes = q->element_bytes,
    };
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    int32_t status = fdl_recorded_render(d, &bytes, &image, &info, &cost);
    if (status)
        respond(status, fdl_last_error(), strlen(fdl_last_error()));
    else
        respond(status, image.out, image.out_bytes);
    free(image.out);
    free(file);
}

int main(int argc, char **argv)
{
    struct fdl_decode_limits limits = {
        .max_pixels = 100u << 20,
        .max_scans = 500,
        .columns_first = argc > 1 && atoi(argv[1]) != 0,
        .fast = argc > 2 && atoi(argv[2]) != 0,
    };
    static struct program program;
    struct request request;
    struct fdl_decoder *d;
    if (fdl_decoder_create(&limits, &d) != FEEDLINE_OK)
        return 1;
    while (read_request(&request, &program))
        handle(d, &request, &program);
    for (size_t i = 0; i < FDL_COUNT_OF(program.data); i++)
        free(program.data[i]);
    fdl_decoder_destroy(d);
    return 0;
}

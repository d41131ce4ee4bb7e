/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs for a device, and what the index knows of a file, in a cmocka test. One
 * .c file includes it.
 */
#ifndef FDL_TESTS_DECODE_DEVICE_KERNEL_RIG_H
#define FDL_TESTS_DECODE_DEVICE_KERNEL_RIG_H

#include "decode/formats/jpeg_entries.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_transform.h"
#include "decode/make_job.h"
#include "tests/decode/device/run_kernels.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

/* ---- The index of one file ----------------------------------------------- */

static struct fdl_entries *device_known;
static struct fdl_entry_notes device_notes;

/* What is noted of a file by decoding a part of it; width 0: as wide as it is.
 * whole: for a device, which is to have the rest of it, too. */
static inline void device_learn_part(struct fdl_decoder *d,
                                     const struct fdl_encoded *bytes,
                                     struct fdl_box box, bool whole)
{
    const size_t room =
        sizeof(*device_known) + FDL_ENTRIES_MOST * sizeof(uint64_t);
    struct fdl_encoded noted = *bytes;
    struct fdl_image_info info;
    free(device_known);
    device_known = calloc(1, room);
    assert_non_null(device_known);
    noted.notes = &device_notes;
    fdl_entry_notes_begin(&device_notes, NULL, true);
    device_notes.whole = whole;
    if (fdl_decoder_open(d, &noted, &info))
        return;
    struct fdl_plan plan;
    fdl_plan_init(&plan, info.width, info.height);
    if (box.width == 0)
        box.width = info.width;
    fdl_plan_crop(&plan, box);
    struct fdl_output_format f = {box.width, box.height, 3, FEEDLINE_U8, true};
    uint8_t *out = rig_alloc(fdl_output_bytes(&f));
    struct fdl_render_cost cost;
    int32_t status = fdl_decoder_render(d, &plan, &f, out, &cost);
    free(out);
    if (status || !device_notes.valid)
        return;
    device_known->hash = device_notes.hash;
    device_known->n = device_notes.n;
    memcpy(device_known->at, device_notes.at,
           device_notes.n * sizeof(device_notes.at[0]));
}

/* By decoding rows [top, bottom). */
static inline void device_learn(struct fdl_decoder *d,
                                const struct fdl_encoded *bytes, int32_t top,
                                int32_t bottom)
{
    const struct fdl_box rows = {.y = top, .height = bottom - top};
    device_learn_part(d, bytes, rows, false);
}

/* The file with what is known of it. */
static inline struct fdl_encoded device_noted(const struct fdl_encoded *bytes)
{
    struct fdl_encoded noted = *bytes;
    fdl_entry_notes_begin(&device_notes, device_known, false);
    noted.notes = &device_notes;
    return noted;
}

/* ---- Jobs -------------------------------------------------------------- */

#define CAPACITY (4u << 20)

/* Whether this build, on this processor, has what makes a file one for a
 * device. */
static inline bool can_decode(void)
{
    return fdl_jpeg_transform() && fdl_jpeg_entropy_memory() > 0;
}

static inline uint8_t *payload_memory(void)
{
    static uint8_t *memory;
    if (!memory)
        memory = device_alloc(CAPACITY);
    return memory;
}

/* Like the recipe "train", but of any size: a crop with sides of at most
 * `side`, resize, flip. */
static inline struct fdl_plan draw_plan(uint64_t *seed, int32_t width,
                                        int32_t height, int32_t side,
                                        struct fdl_output_format *f)
{
    struct fdl_plan plan;
    struct fdl_box box = {.width = make_within(seed, 1, FDL_MIN(width, side)),
                          .height =
                              make_within(seed, 1, FDL_MIN(height, side))};
    box.x = make_within(seed, 0, width - box.width);
    box.y = make_within(seed, 0, height - box.height);
    int32_t most = make_within(seed, 0, 2) ? 80 : 8;
    int32_t to_width = make_within(seed, 1, most);
    int32_t to_height = make_within(seed, 1, most);
    fdl_plan_init(&plan, width, height);
    fdl_plan_crop(&plan, box);
    if (make_within(seed, 0, 3) > 0)
        fdl_plan_resize(&plan, to_width, to_height,
                        make_within(seed, 0, 3) ? FDL_FILTER_BILINEAR
                                                : FDL_FILTER_BICUBIC);
    if (make_within(seed, 0, 1))
        fdl_plan_flip(&plan);
    if (make_within(seed, 0, 7) == 0)
        fdl_plan_flip_vertical(&plan);
    *f = (struct fdl_output_format){
        fdl_plan_width(&plan), fdl_plan_height(&plan),
        make_within(seed, 0, 5) ? 3 : 1, FEEDLINE_U8, make_within(seed, 0, 2)};
    return plan;
}

/* The job of a plan, whose payload is in payload_memory(). */
static inline struct fdl_device_job make_job(struct fdl_decoder *d,
                                             const struct fdl_encoded *bytes,
                                             const struct fdl_plan *plan,
                                             const struct fdl_output_format *f)
{
    struct fdl_device_payload to = {.data = payload_memory(),
                                    .capacity = CAPACITY};
    struct fdl_image_info info;
    struct fdl_device_job job = {0};
    if (fdl_decoder_open(d, bytes, &info) ||
        fdl_decoder_make_job(d, plan, f, &to, &job))
        fail_msg("%s", fdl_last_error());
    return job;
}

static inline struct fdl_decoder *create(bool fast, bool columns_first)
{
    return rig_decoder((struct fdl_decode_limits){
        .max_pixels = 1u << 24, .fast = fast, .columns_first = columns_first});
}

static inline struct make_jpeg draw_file(uint64_t *seed, int32_t side)
{
    struct make_jpeg m = make_any(seed, side, side);
    if (make_within(seed, 0, 3) == 0)
        m.h = m.v = 1;
    return m;
}

/* All of it but its first row, or its only one. */
static inline void learn_all(struct fdl_decoder *d,
                             const struct fdl_encoded *bytes,
                             const struct make_jpeg *m)
{
    device_learn(d, bytes, m->height > 1, m->height);
}

static inline uint64_t differing(const uint8_t *a, const uint8_t *b, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] != b[i];
    return sum;
}

/* ---- Real files ---------------------------------------------------------- */

static inline uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = rig_alloc(*size);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

#endif

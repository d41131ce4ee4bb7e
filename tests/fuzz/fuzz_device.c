/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a JPEG for a device, by its kernels as C.
 *
 *     16 bytes   a crop and its size, what is damaged, how many entries
 *     entries    8 bytes each; they need not be those of the JPEG
 *     the rest   the JPEG
 *
 * It is decoded there with these entries, with those that the CPU noted of it,
 * and packed; and each of these with damage to what the kernels get. They stay
 * in their memory. With entries that are right, and packed, the pixels are
 * those of the CPU, if it has some.
 */
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/formats/jpeg_entries.h"
#include "decode/formats/jpeg_pack.h"
#include "decode/make_job.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AS_C_FAIL(...) (fprintf(stderr, __VA_ARGS__), abort())
#include "tests/decode/device/run_kernels.h"

#define MAX_PIXELS 65536u
#define SIDE       64         /* of what comes, at most */
#define ROOM       (1u << 19) /* of a payload */

struct head {
    uint16_t x, y, width, height;
    uint8_t to_width, to_height;
    uint8_t flags; /* of enum */
    uint8_t n;     /* entries */
    uint16_t at;   /* in the payload; a word at `at` is changed */
    uint16_t change;
};
enum {
    BICUBIC = 1,
    FLIP = 2,
    FLIP_VERTICAL = 4,
    GRAY = 8,
    KEEP_SIZE = 16,
    PLANAR = 32
};

static struct fdl_decoder *decoder(void)
{
    static struct fdl_decoder *d;
    struct fdl_decode_limits limits = {.max_pixels = MAX_PIXELS,
                                       .max_scans = 8};
    if (!d)
        fuzz_check(fdl_decoder_create(&limits, &d) == FEEDLINE_OK);
    return d;
}

static struct fdl_plan plan_of(const struct fdl_image_info *info,
                               const struct head *h,
                               struct fdl_output_format *f)
{
    struct fdl_plan plan;
    struct fdl_box box = {.x = h->x % info->width, .y = h->y % info->height};
    box.width = 1 + h->width % (info->width - box.x);
    box.height = 1 + h->height % (info->height - box.y);
    fdl_plan_init(&plan, info->width, info->height);
    fdl_plan_crop(&plan, box);
    if (!(h->flags & KEEP_SIZE))
        fdl_plan_resize(&plan, h->to_width % SIDE + 1, h->to_height % SIDE + 1,
                        h->flags & BICUBIC ? FDL_FILTER_BICUBIC
                                           : FDL_FILTER_BILINEAR);
    if (h->flags & FLIP)
        fdl_plan_flip(&plan);
    if (h->flags & FLIP_VERTICAL)
        fdl_plan_flip_vertical(&plan);
    *f = (struct fdl_output_format){
        fdl_plan_width(&plan), fdl_plan_height(&plan), h->flags & GRAY ? 1 : 3,
        FEEDLINE_U8, !(h->flags & PLANAR)};
    return plan;
}

/* What the kernels make of a job. */
static bool run(const struct fdl_device_job *job, const uint8_t *payload,
                struct device_batch *b)
{
    device_add(b, job, payload);
    device_decode(b, 2);
    return b->jobs[0].status == FDL_DEVICE_SOUND;
}

static void run_damaged(const struct fdl_device_job *job, uint8_t *payload,
                        const struct head *h)
{
    struct device_batch b = {0};
    uint16_t word;
    uint32_t at = h->at % (job->payload_bytes / 2) * 2;
    memcpy(&word, payload + at, 2);
    word ^= h->change;
    memcpy(payload + at, &word, 2);
    (void)run(job, payload, &b);
    device_free(&b);
}

/* What the CPU has pixels of, the device has. */
static void check_pixels(const struct fdl_encoded *bytes,
                         const struct fdl_plan *plan,
                         const struct fdl_output_format *f,
                         const struct device_batch *b, bool sound)
{
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    uint8_t *expected = malloc(fdl_output_bytes(f));
    fuzz_check(expected);
    fuzz_check(fdl_decoder_open(decoder(), bytes, &info) == FEEDLINE_OK);
    if (fdl_decoder_render(decoder(), plan, f, expected, &cost) == FEEDLINE_OK)
        fuzz_check(sound && memcmp(b->out, expected, fdl_output_bytes(f)) == 0);
    free(expected);
}

static void decode(const struct fdl_encoded *bytes, const struct head *h,
                   bool exact)
{
    static uint8_t payload[ROOM] FDL_ALIGNED(16);
    struct fdl_device_payload to = {.data = payload, .capacity = ROOM};
    struct fdl_image_info info;
    struct fdl_output_format f;
    struct fdl_device_job job = {0};
    struct device_batch b = {0};
    if (fdl_decoder_open(decoder(), bytes, &info))
        return;
    struct fdl_plan plan = plan_of(&info, h, &f);
    if (fdl_decoder_make_job(decoder(), &plan, &f, &to, &job) ||
        job.kind == FDL_DEVICE_NONE)
        return;
    bool sound = run(&job, payload, &b);
    if (exact)
        check_pixels(bytes, &plan, &f, &b, sound);
    device_free(&b);
    run_damaged(&job, payload, h);
}

/* Decodes all of it on the CPU. */
static void learn(const struct fdl_encoded *bytes, struct fdl_entries *known)
{
    static struct fdl_entry_notes notes;
    struct fdl_encoded noted = *bytes;
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct fdl_plan plan;
    noted.notes = &notes;
    fdl_entry_notes_begin(&notes, NULL, true);
    if (fdl_decoder_open(decoder(), &noted, &info))
        return;
    fdl_plan_init(&plan, info.width, info.height);
    struct fdl_output_format f = {info.width, info.height, 3, FEEDLINE_U8,
                                  true};
    uint8_t *out = malloc(fdl_output_bytes(&f));
    fuzz_check(out);
    known->n = 0;
    known->hash = 0;
    if (fdl_decoder_render(decoder(), &plan, &f, out, &cost) == FEEDLINE_OK &&
        notes.valid) {
        known->hash = notes.hash;
        known->n = notes.n;
        memcpy(known->at, notes.at, notes.n * sizeof(notes.at[0]));
    }
    free(out);
}

static void decode_packed(const struct fdl_encoded *jpeg, const struct head *h)
{
    uint8_t *packed;
    uint64_t n;
    if (fdl_jpeg_pack(jpeg->data, jpeg->size, MAX_PIXELS, &packed, &n))
        return;
    struct fdl_encoded bytes = {.data = packed, .size = n, .readable = n};
    decode(&bytes, h, true);
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fdl_entry_notes notes;
    struct head h;
    if (size < sizeof(h))
        return 0;
    memcpy(&h, data, sizeof(h));
    if ((size - sizeof(h)) / 8 < h.n)
        return 0;
    const uint8_t *file = data + sizeof(h) + 8u * h.n;
    struct fdl_encoded bytes = {.data = file,
                                .size = size - (size_t)(file - data)};
    bytes.readable = bytes.size;
    struct fdl_entries *known =
        calloc(1, sizeof(*known) + FDL_ENTRIES_MOST * sizeof(known->at[0]));
    fuzz_check(known);
    decode_packed(&bytes, &h);
    bytes.notes = &notes;
    known->hash = fdl_entries_hash(bytes.data, bytes.size);
    known->n = h.n;
    memcpy(known->at, data + sizeof(h), 8u * h.n);
    fdl_entry_notes_begin(&notes, known, false);
    decode(&bytes, &h, false);
    learn(&bytes, known);
    fdl_entry_notes_begin(&notes, known, false);
    decode(&bytes, &h, true);
    free(known);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a JPEG with places to enter it at that need not be its own. What
 * comes is undefined then, but no byte outside the file is read; and what a
 * decode without them noted gives the same pixels as none.
 */
#include "decode/decoder.h"
#include "decode/formats/jpeg_entries.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64, SIDE = 16, BYTES = SIDE * SIDE * 3 };

static struct fdl_decoder *decoder(void)
{
    static struct fdl_decoder *d;
    struct fdl_decode_limits limits = {.max_pixels = 1 << 18, .max_scans = 8};
    if (!d)
        fuzz_check(fdl_decoder_create(&limits, &d) == FEEDLINE_OK);
    return d;
}

/* A crop that begins at (x, y) / 256 of the image. */
static int32_t decode(const struct fdl_encoded *bytes, const uint8_t *at,
                      uint8_t *out)
{
    struct fdl_decoder *d = decoder();
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct fdl_plan plan;
    int32_t status = fdl_decoder_open(d, bytes, &info);
    if (status)
        return status;
    struct fdl_box box = {info.width * at[0] / 256, info.height * at[1] / 256,
                          SIDE, SIDE};
    box.width = FDL_MIN(SIDE, info.width - box.x);
    box.height = FDL_MIN(SIDE, info.height - box.y);
    fdl_plan_init(&plan, info.width, info.height);
    fdl_plan_crop(&plan, box);
    struct fdl_output_format f = {box.width, box.height, 3, FEEDLINE_U8, true};
    return fdl_decoder_render(d, &plan, &f, out, &cost);
}

/* data: x, y, how many entries, these, the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fdl_entry_notes notes;
    uint8_t pixels[2][BYTES] = {{0}};
    size_t n = size < 3 ? 0 : data[2] % MOST;
    if (size < 3 + 8 * n)
        return 0;
    struct fdl_encoded bytes = {.data = data + 3 + 8 * n,
                                .size = size - 3 - 8 * n};
    bytes.readable = bytes.size;
    struct fdl_entries *known =
        calloc(1, sizeof(*known) + FDL_ENTRIES_MOST * sizeof(known->at[0]));
    fuzz_check(known);
    int32_t status = decode(&bytes, data, pixels[0]);
    bytes.notes = &notes;
    for (int i = 0; i < 2; i++) { /* learns, and uses that */
        fdl_entry_notes_begin(&notes, known, true);
        fuzz_check(decode(&bytes, data, pixels[1]) == status);
        fuzz_check(memcmp(pixels[0], pixels[1], BYTES) == 0 || status);
        fuzz_check(notes.first + notes.n <= FDL_ENTRIES_MOST);
        if (!notes.valid || i > 0)
            continue;
        known->hash = notes.hash;
        known->n = notes.n;
        memcpy(known->at, notes.at, notes.n * sizeof(notes.at[0]));
    }
    known->hash = fdl_entries_hash(bytes.data, bytes.size);
    known->n = (uint32_t)n;
    memcpy(known->at, data + 3, 8 * n);
    fdl_entry_notes_begin(&notes, known, true);
    (void)decode(&bytes, data, pixels[1]);
    free(known);
    return 0;
}

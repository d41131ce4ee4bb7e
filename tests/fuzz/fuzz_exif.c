/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the orientation in EXIF data, in XMP data and in the chunks of a
 * PNG file, and the boxes it turns.
 *
 *     12 bytes   size of the stored image, and a box of the upright one
 *     the rest   the data
 */
#include "base/status.h"
#include "decode/formats/exif.h"
#include "decode/formats/png_chunks.h"
#include "decode/formats/png_orientation.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t prefix[6] = "Exif\0";

static int32_t find(const uint8_t *data, size_t size)
{
    int32_t found = 1;
    fdl_exif_find(data, size, &found);
    return found;
}

/* The tag means the same with the prefix and without. */
static int32_t orientation_of(const struct fuzz_input *in)
{
    size_t size = sizeof(prefix) + in->size;
    uint8_t *copy = malloc(size);
    fuzz_check(copy);
    memcpy(copy, prefix, sizeof(prefix));
    if (in->size > 0)
        memcpy(copy + sizeof(prefix), in->data, in->size);
    int32_t orientation = find(copy, size);
    fuzz_check(orientation >= 1 && orientation <= 8);
    bool prefixed = in->size >= sizeof(prefix) &&
                    memcmp(in->data, prefix, sizeof(prefix)) == 0;
    fuzz_check(prefixed || find(in->data, in->size) == orientation);
    free(copy);
    return orientation;
}

static void check_others(const struct fuzz_input *in)
{
    int32_t found = fdl_xmp_orientation(in->data, in->size);
    fuzz_check(found >= 1 && found <= 8);
    fuzz_check(fdl_png_orientation(in->data, in->size, &found) == FEEDLINE_OK);
    fuzz_check(found >= 1 && found <= 8);
    fuzz_check(fdl_png_cut_chunk(in->data, in->size) <= in->size);
}

/* A box stays inside the image and keeps its sides. */
static void check_box(int32_t orientation, struct fuzz_input *in)
{
    struct fdl_turn turn = fdl_turn_of(orientation);
    int32_t stored_width = 1 + (int32_t)fuzz_word(in);
    int32_t stored_height = 1 + (int32_t)fuzz_word(in);
    int32_t width = turn.transposed ? stored_height : stored_width;
    int32_t height = turn.transposed ? stored_width : stored_height;
    struct fdl_box b = {.x = (int32_t)fuzz_word(in) % width};
    b.y = (int32_t)fuzz_word(in) % height;
    b.width = 1 + (int32_t)fuzz_word(in) % (width - b.x);
    b.height = 1 + (int32_t)fuzz_word(in) % (height - b.y);

    struct fdl_box stored =
        fdl_turn_box(&turn, &b, stored_width, stored_height);
    fuzz_check(stored.x >= 0 && stored.width <= stored_width - stored.x);
    fuzz_check(stored.y >= 0 && stored.height <= stored_height - stored.y);
    fuzz_check(stored.width == (turn.transposed ? b.height : b.width));
    fuzz_check(stored.height == (turn.transposed ? b.width : b.height));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD_BYTES = 12 };
    if (size < HEAD_BYTES)
        return 0;
    struct fuzz_input head = {data, HEAD_BYTES};
    struct fuzz_input exif = {data + HEAD_BYTES, size - HEAD_BYTES};
    check_others(&exif);
    check_box(orientation_of(&exif), &head);
    return 0;
}

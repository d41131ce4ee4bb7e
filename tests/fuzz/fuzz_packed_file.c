/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a packed sample (docs/packed.md).
 *
 *     8 bytes    a crop
 *     the rest   the sample
 *
 * It is refused, or decoded to the same pixels whoever makes them; and unpacked
 * or not.
 */
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/formats/jpeg_pack.h"
#include "decode/packed/container.h"
#include "fuzz.h"
#include "shape.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 8
#define MAX_PIXELS 65536u

static const struct fuzz_shape *find_shape(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return &fuzz_shape_packed;
}

const struct fuzz_input_shape fuzz_input_shape = {HEAD_BYTES, find_shape};

/* A part of it; NULL: refused. */
static uint8_t *decode(const uint8_t *data, size_t size, struct fuzz_input crop,
                       bool plain, size_t *bytes)
{
    const struct fdl_decode_limits limits = {
        .max_pixels = MAX_PIXELS, .max_scans = 200, .libjpeg_huffman = plain};
    return fuzz_decode(&limits, data, size, &crop, bytes);
}

static void run(const uint8_t *data, uint64_t size, struct fuzz_input crop)
{
    size_t n = 0, m = 0;
    uint64_t bytes;
    bool same;
    uint8_t *back;
    uint8_t *a = decode(data, size, crop, false, &n);
    uint8_t *b = decode(data, size, crop, true, &m);
    fuzz_check(!a || !b || (n == m && memcmp(a, b, n) == 0));
    free(a);
    free(b);
    if (fdl_jpeg_unpack(data, size, MAX_PIXELS, &back, &bytes, &same) ==
        FEEDLINE_OK)
        free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= HEAD_BYTES)
        return 0;
    struct fuzz_input crop = {data, HEAD_BYTES};
    data += HEAD_BYTES;
    size -= HEAD_BYTES;
    if (fdl_packed_matches(data, size))
        run(data, size, crop);
    return 0;
}

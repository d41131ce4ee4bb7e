/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a packed sample (docs/packed.md), as they are and
 * with all the checksums of what they say they are made right, which no change
 * would get past otherwise.
 *
 *     8 bytes    a crop
 *     the rest   the sample
 *
 * It is refused, or decoded to the same pixels whoever makes them; and unpacked
 * or not.
 */
#include "base/crc32.h"
#include "base/status.h"
#include "decode/decoder.h"
#include "decode/formats/jpeg_pack.h"
#include "decode/packed/container.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 8
#define MAX_PIXELS 65536u

/* ---- Checksums ----------------------------------------------------------- */

/* Where they and what they are of stand in a sample. */
enum {
    PLANES = 10,
    PREFIX = 12,
    TAIL = 16,
    TAIL_CRC = 20,
    CRC = 24,
    FIXED = 28
};
enum { PLANE_BYTES = 12, PLANE_DATA = 4, PLANE_CRC = 8 };

static uint64_t word(const uint8_t *p, unsigned bytes)
{
    uint64_t x = 0;
    while (bytes-- > 0)
        x = x << 8 | p[bytes];
    return x;
}

static void put_crc(uint8_t *to, uint32_t crc)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(crc >> 8 * i);
}

static uint64_t lengths_bytes(const uint8_t *plane)
{
    uint64_t segments =
        (word(plane, 2) + FDL_SEGMENT_BLOCKS - 1) / FDL_SEGMENT_BLOCKS;
    return 2 * segments * word(plane + 2, 2);
}

/* Of a sample whose parts do not fit it, nothing. */
static void mend(uint8_t *data, uint64_t size)
{
    uint64_t n = size > FIXED ? data[PLANES] : 0;
    uint64_t header = FIXED + n * PLANE_BYTES, at;
    if (n == 0 || n > FDL_PACKED_PLANES || header > size)
        return;
    header += word(data + PREFIX, 4);
    for (uint64_t i = 0; i < n; i++)
        header += lengths_bytes(data + FIXED + i * PLANE_BYTES);
    at = header;
    for (uint64_t i = 0; i < n && at <= size; i++) {
        uint8_t *plane = data + FIXED + i * PLANE_BYTES;
        uint64_t bytes = FDL_MIN(word(plane + PLANE_DATA, 4), size - at);
        put_crc(plane + PLANE_CRC, fdl_crc32c(0, data + at, bytes));
        at += bytes;
    }
    if (at > size)
        return;
    uint64_t tail = FDL_MIN(word(data + TAIL, 4), size - at);
    put_crc(data + TAIL_CRC, fdl_crc32c(0, data + at, tail));
    put_crc(data + CRC,
            fdl_crc32c(fdl_crc32c(0, data, CRC), data + FIXED, header - FIXED));
}

/* ---- Decoding ------------------------------------------------------------ */

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
    uint8_t *copy = malloc(size);
    fuzz_check(copy);
    memcpy(copy, data, size);
    mend(copy, size);
    if (fdl_packed_matches(data, size)) {
        run(data, size, crop);
        if (memcmp(copy, data, size) != 0)
            run(copy, size, crop);
    }
    free(copy);
    return 0;
}

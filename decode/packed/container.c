/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments have lengths, not offsets: two bytes each, which cannot disagree
 * with each other, and adding those up that a crop leaves out costs less than
 * reading one block.
 */
#include "decode/packed/container.h"

#include "base/checksum.h"
#include "base/compiler.h"
#include "base/crc32.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No text begins so, and a transfer that changes ends of lines shows. */
static const uint8_t magic[8] = {0xf1, 'f', 'd', 'l', 'p', '\r', '\n', 0x1a};

/* Where the fields are. */
enum {
    AT_VERSION = 8,
    AT_FLAGS = 9,
    AT_PLANES = 10,
    AT_ZERO = 11,
    AT_PREFIX = 12,
    AT_TAIL = 16,
    AT_TAIL_CRC = 20,
    AT_CRC = 24, /* of all before the coefficients, but itself */
    HEAD_BYTES = 28,
    PLANE_BYTES = 12,
    LENGTH_BYTES = 2
};

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static void put16(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
}

static void put32(uint8_t *p, uint32_t x)
{
    put16(p, x);
    put16(p + 2, x >> 16);
}

uint32_t fdl_packed_segments(const struct fdl_packed_plane *p)
{
    return (p->blocks_wide + FDL_SEGMENT_BLOCKS - 1) / FDL_SEGMENT_BLOCKS;
}

unsigned fdl_packed_blocks(const struct fdl_packed_plane *p, uint32_t i)
{
    return FDL_MIN(p->blocks_wide - i * FDL_SEGMENT_BLOCKS,
                   (uint32_t)FDL_SEGMENT_BLOCKS);
}

static uint64_t all_segments(const struct fdl_packed_plane *p)
{
    return (uint64_t)fdl_packed_segments(p) * p->blocks_high;
}

uint64_t fdl_packed_length(const uint8_t *lengths, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += get16(lengths + LENGTH_BYTES * i);
    return sum;
}

bool fdl_packed_matches(const uint8_t *data, uint64_t size)
{
    return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

/* ---- Reading ------------------------------------------------------------- */

static int32_t fail(uint64_t offset, const char *why)
{
    return fdl_fail(FEEDLINE_EDECODE, "offset %" PRIu64 ": packed JPEG: %s",
                    offset, why);
}

static int32_t read_head(const uint8_t *data, uint64_t size,
                         struct fdl_packed *p)
{
    if (size < HEAD_BYTES)
        return fail(size, "it ends in its header");
    if (data[AT_VERSION] != FDL_PACKED_VERSION)
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset %d: packed JPEG of version %u; %d is decoded",
                        AT_VERSION, data[AT_VERSION], FDL_PACKED_VERSION);
    p->flags = data[AT_FLAGS];
    p->n_planes = data[AT_PLANES];
    if (p->flags > FDL_PACKED_FLAGS || p->n_planes == 0 ||
        p->n_planes > FDL_PACKED_PLANES || data[AT_ZERO] != 0)
        return fail(AT_FLAGS, "its header is damaged");
    p->prefix_bytes = get32(data + AT_PREFIX);
    p->tail_bytes = get32(data + AT_TAIL);
    p->tail_crc = get32(data + AT_TAIL_CRC);
    return FEEDLINE_OK;
}

/* Of the parts that lie one behind the other, where the next one begins. Sums
 * stay far below 64 bits. */
static int32_t read_planes(const uint8_t *data, uint64_t size,
                           struct fdl_packed *p, uint64_t *header)
{
    uint64_t at = HEAD_BYTES + (uint64_t)p->n_planes * PLANE_BYTES;
    if (at > size)
        return fail(size, "it ends in its header");
    p->prefix = data + at;
    at += p->prefix_bytes;
    for (unsigned i = 0; i < p->n_planes; i++) {
        const uint8_t *from = data + HEAD_BYTES + (size_t)i * PLANE_BYTES;
        struct fdl_packed_plane *plane = &p->planes[i];
        *plane = (struct fdl_packed_plane){
            .blocks_wide = get16(from),
            .blocks_high = get16(from + 2),
            .bytes = get32(from + 4),
            .crc = get32(from + 8),
        };
        uint64_t bytes = all_segments(plane) * LENGTH_BYTES;
        if (at > size || bytes > size - at)
            return fail(size, "it ends in its header");
        plane->lengths = data + at;
        at += bytes;
    }
    *header = at;
    return FEEDLINE_OK;
}

static int32_t find_parts(const uint8_t *data, uint64_t size, uint64_t at,
                          struct fdl_packed *p)
{
    uint64_t end = at + p->tail_bytes;
    for (unsigned i = 0; i < p->n_planes; i++) {
        struct fdl_packed_plane *plane = &p->planes[i];
        if (fdl_packed_length(plane->lengths, all_segments(plane)) !=
            plane->bytes)
            return fail(HEAD_BYTES, "the lengths of its segments do not add "
                                    "up");
        end += plane->bytes;
    }
    if (end > size)
        return fail(size, "image file is truncated");
    if (end < size)
        return fail(end, "there are bytes after its end");
    for (unsigned i = 0; i < p->n_planes; i++) {
        p->planes[i].data = data + at;
        at += p->planes[i].bytes;
    }
    p->tail = data + at;
    return FEEDLINE_OK;
}

int32_t fdl_packed_open(const uint8_t *data, uint64_t size,
                        struct fdl_packed *out)
{
    struct fdl_packed p = {0};
    uint64_t header = 0;
    int32_t status = read_head(data, size, &p);
    if (!status)
        status = read_planes(data, size, &p, &header);
    if (status)
        return status;
    uint32_t crc = fdl_crc32c(0, data, AT_CRC);
    crc = fdl_crc32c(crc, data + HEAD_BYTES, header - HEAD_BYTES);
    if (crc != get32(data + AT_CRC))
        return fail(AT_CRC, "its header is damaged");
    status = find_parts(data, size, header, &p);
    if (!status)
        *out = p;
    return status;
}

struct part {
    const uint8_t *data;
    uint32_t bytes, crc;
};

/* The first part that is damaged; bytes are NULL: none is. */
static struct part find_damage(const struct fdl_packed *p)
{
    struct part tail = {p->tail, p->tail_bytes, p->tail_crc};
    for (unsigned i = 0; i < p->n_planes; i++) {
        const struct fdl_packed_plane *plane = &p->planes[i];
        struct part part = {plane->data, plane->bytes, plane->crc};
        if (fdl_crc32c(0, part.data, part.bytes) != part.crc)
            return part;
    }
    if (fdl_crc32c(0, tail.data, tail.bytes) != tail.crc)
        return tail;
    return (struct part){0};
}

bool fdl_packed_is_whole(const struct fdl_packed *p)
{
    return !find_damage(p).data;
}

int32_t fdl_packed_verify(const struct fdl_packed *p, const uint8_t *data)
{
    struct part bad = find_damage(p);
    struct fdl_sum sum = {FDL_SUM_CRC32C, bad.crc};
    if (!bad.data)
        return FEEDLINE_OK;
    return fdl_sum_check(&sum, bad.data, bad.bytes, (uint64_t)(bad.data - data),
                         "the packed JPEG", FDL_SUM_QUARANTINE);
}

/* ---- Writing ------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to + bytes;
}

static void put_head(uint8_t *to, const struct fdl_packed *p)
{
    memset(to, 0, HEAD_BYTES);
    memcpy(to, magic, sizeof(magic));
    to[AT_VERSION] = FDL_PACKED_VERSION;
    to[AT_FLAGS] = (uint8_t)p->flags;
    to[AT_PLANES] = (uint8_t)p->n_planes;
    put32(to + AT_PREFIX, p->prefix_bytes);
    put32(to + AT_TAIL, p->tail_bytes);
    put32(to + AT_TAIL_CRC, fdl_crc32c(0, p->tail, p->tail_bytes));
    for (unsigned i = 0; i < p->n_planes; i++) {
        const struct fdl_packed_plane *plane = &p->planes[i];
        uint8_t *row = to + HEAD_BYTES + (size_t)i * PLANE_BYTES;
        put16(row, plane->blocks_wide);
        put16(row + 2, plane->blocks_high);
        put32(row + 4, plane->bytes);
        put32(row + 8, fdl_crc32c(0, plane->data, plane->bytes));
    }
}

int32_t fdl_packed_write(const struct fdl_packed *p, uint8_t **out,
                         uint64_t *bytes)
{
    uint64_t head = HEAD_BYTES + (uint64_t)p->n_planes * PLANE_BYTES;
    uint64_t size = head + p->prefix_bytes + p->tail_bytes;
    for (unsigned i = 0; i < p->n_planes; i++)
        size += all_segments(&p->planes[i]) * LENGTH_BYTES + p->planes[i].bytes;
    uint8_t *data = malloc(size);
    if (!data)
        return fdl_fail_memory(size, "a packed JPEG");
    put_head(data, p);
    uint8_t *to = put(data + head, p->prefix, p->prefix_bytes);
    for (unsigned i = 0; i < p->n_planes; i++)
        to = put(to, p->planes[i].lengths,
                 all_segments(&p->planes[i]) * LENGTH_BYTES);
    uint32_t crc = fdl_crc32c(0, data, AT_CRC);
    crc = fdl_crc32c(crc, data + HEAD_BYTES, (size_t)(to - data) - HEAD_BYTES);
    put32(data + AT_CRC, crc);
    for (unsigned i = 0; i < p->n_planes; i++)
        to = put(to, p->planes[i].data, p->planes[i].bytes);
    put(to, p->tail, p->tail_bytes);
    *out = data;
    *bytes = size;
    return FEEDLINE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of packed samples (docs/packed.md); see shape.h. Its parts: the
 * head; an entry for each component; the prefix; the lengths of all segments;
 * the segments of each component; the tail.
 */
#include "base/crc32.h"
#include "tests/fuzz/shape.h"

#include <string.h>

enum {
    PLANES = 10,
    PREFIX = 12,
    TAIL = 16,
    TAIL_CRC = 20,
    CRC = 24,
    HEAD = 28,
    ENTRY = 12,
    ENTRY_BYTES = 4, /* and their CRC behind that */
    PLANES_MOST = 4,
    SEGMENT_BLOCKS = 32
};

static size_t lengths_of(const struct fuzz_part *file, size_t entry)
{
    size_t wide = (size_t)fuzz_le(file, entry, 2);
    size_t high = (size_t)fuzz_le(file, entry + 2, 2);
    return (wide + SEGMENT_BLOCKS - 1) / SEGMENT_BLOCKS * high * 2;
}

/* The next n bytes, or as many as there are. */
static void take(struct fuzz_parts *parts, struct fuzz_part *rest, size_t n)
{
    n = n < rest->size ? n : rest->size;
    fuzz_add(parts, rest->data, n);
    *rest = fuzz_rest(rest, n);
}

static bool split_packed(const uint8_t *data, size_t size,
                         struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    struct fuzz_part rest = file;
    size_t n = (size_t)fuzz_le(&file, PLANES, 1), lengths = 0;
    if (n == 0 || n > PLANES_MOST || size < HEAD + n * ENTRY)
        return false;
    take(parts, &rest, HEAD);
    for (size_t i = 0; i < n; i++) {
        lengths += lengths_of(&file, HEAD + i * ENTRY);
        take(parts, &rest, ENTRY);
    }
    take(parts, &rest, (size_t)fuzz_le(&file, PREFIX, 4));
    take(parts, &rest, lengths);
    for (size_t i = 0; i < n; i++)
        take(parts, &rest,
             (size_t)fuzz_le(&file, HEAD + i * ENTRY + ENTRY_BYTES, 4));
    take(parts, &rest, rest.size);
    return true;
}

static uint32_t crc_of(const struct fuzz_part *p)
{
    return fdl_crc32c(0, p->data, p->size);
}

static void put_at(struct fuzz_out *out, size_t at, uint64_t x)
{
    struct fuzz_out there = {.data = out->data + at, .room = 4};
    if (at + 4 <= out->n)
        fuzz_put_le(&there, x, 4);
}

/* Of another number of parts nothing is made right. */
static void join_packed(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    size_t n = parts->n < 4 ? 0 : (parts->n - 4) / 2, first = 0;
    for (size_t i = 0; i < parts->n; i++) {
        if (i == n + 3) /* the segments of the first component */
            first = out->n;
        fuzz_put(out, parts->at[i].data, parts->at[i].size);
    }
    if (n == 0 || parts->n != 2 * n + 4 || parts->at[0].size != HEAD ||
        out->full)
        return;
    const struct fuzz_part *tail = &parts->at[parts->n - 1];
    put_at(out, PREFIX, parts->at[1 + n].size);
    put_at(out, TAIL, tail->size);
    put_at(out, TAIL_CRC, crc_of(tail));
    for (size_t i = 0; i < n; i++) {
        const struct fuzz_part *segments = &parts->at[3 + n + i];
        put_at(out, HEAD + i * ENTRY + ENTRY_BYTES, segments->size);
        put_at(out, HEAD + i * ENTRY + ENTRY_BYTES + 4, crc_of(segments));
    }
    if (first >= HEAD)
        put_at(out, CRC,
               fdl_crc32c(fdl_crc32c(0, out->data, CRC), out->data + HEAD,
                          first - HEAD));
}

const struct fuzz_shape fuzz_shape_packed = {
    .roles = true, .split = split_packed, .join = join_packed};

/* SPDX-License-Identifier: Apache-2.0 */
/* What the shapes share; see shape.h. */
#include "tests/fuzz/shape.h"

#include <string.h>

bool fuzz_add(struct fuzz_parts *parts, const uint8_t *data, size_t size)
{
    if (parts->n == FUZZ_PARTS)
        return false;
    parts->at[parts->n++] = (struct fuzz_part){data, size};
    return true;
}

void fuzz_put(struct fuzz_out *out, const void *data, size_t n)
{
    if (n > out->room - out->n) {
        out->full = true;
        return;
    }
    if (n > 0)
        memcpy(out->data + out->n, data, n);
    out->n += n;
}

void fuzz_put_zeros(struct fuzz_out *out, size_t n)
{
    static const uint8_t zeros[1024];
    for (; n > sizeof(zeros); n -= sizeof(zeros))
        fuzz_put(out, zeros, sizeof(zeros));
    fuzz_put(out, zeros, n);
}

void fuzz_put_le(struct fuzz_out *out, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fuzz_put(out, &(uint8_t){(uint8_t)(x >> 8 * i)}, 1);
}

void fuzz_put_be(struct fuzz_out *out, uint64_t x, int bytes)
{
    while (bytes-- > 0)
        fuzz_put(out, &(uint8_t){(uint8_t)(x >> 8 * bytes)}, 1);
}

static uint64_t byte_at(const struct fuzz_part *part, size_t at)
{
    return at < part->size ? part->data[at] : 0;
}

uint64_t fuzz_le(const struct fuzz_part *part, size_t at, int bytes)
{
    uint64_t x = 0;
    while (bytes-- > 0)
        x = x << 8 | byte_at(part, at + (size_t)bytes);
    return x;
}

uint64_t fuzz_be(const struct fuzz_part *part, size_t at, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x = x << 8 | byte_at(part, at + (size_t)i);
    return x;
}

struct fuzz_part fuzz_rest(const struct fuzz_part *part, size_t at)
{
    if (at >= part->size)
        return (struct fuzz_part){part->data, 0};
    return (struct fuzz_part){part->data + at, part->size - at};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutation of inputs that have a shape (shape.h): mostly of one part, or of the
 * order of parts, and then everything around them is made right again. One in
 * four is as the engine would do it without, so damage to lengths and sums is
 * tried too. The bytes of a zlib stream are changed where they are unpacked.
 *
 * The engine's own mutator does the work on bytes, with its words and what it
 * saw compared. Engines without one have their own ways, and need none of this.
 */
#include "tests/fuzz/mutate.h"

#include <string.h>
#include <zlib.h>

#define FILE_MOST   (1u << 20)
#define GROWTH_MOST 64 /* of a part, at once */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
    __attribute__((weak));

static size_t mutate_bytes(uint8_t *data, size_t size, size_t most)
{
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
}

/* Of no great quality; the engine keeps what was good. */
static size_t pick(unsigned *seed, size_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return n > 0 ? (*seed >> 8) % n : 0;
}

/* ---- What is done to parts ----------------------------------------------- */

/* false: it is no stream, or too long. */
static bool mutate_stream(struct fuzz_part *p, size_t from, uint8_t *room)
{
    static uint8_t plain[FILE_MOST];
    uLongf n = sizeof(plain) - GROWTH_MOST, packed = FILE_MOST - from;
    if (uncompress(plain, &n, p->data + from, p->size - from) != Z_OK)
        return false;
    n = mutate_bytes(plain, n, n + GROWTH_MOST);
    memcpy(room, p->data, from);
    if (compress2(room + from, &packed, plain, n, 1) != Z_OK)
        return false;
    *p = (struct fuzz_part){room, from + packed};
    return true;
}

static void mutate_part(const struct fuzz_shape *shape, struct fuzz_part *p,
                        unsigned *seed)
{
    static uint8_t room[FILE_MOST];
    size_t from = shape->packed_from ? shape->packed_from(p) : 0;
    if (p->size > sizeof(room) - GROWTH_MOST)
        return;
    if (from > 0 && pick(seed, 4) > 0 && mutate_stream(p, from, room))
        return;
    if (p->size > 0)
        memcpy(room, p->data, p->size);
    size_t n = mutate_bytes(room, p->size, p->size + GROWTH_MOST);
    *p = (struct fuzz_part){room, n};
}

static void remove_part(struct fuzz_parts *parts, size_t at)
{
    parts->n--;
    memmove(parts->at + at, parts->at + at + 1,
            (parts->n - at) * sizeof(parts->at[0]));
}

static void insert_part(struct fuzz_parts *parts, size_t at,
                        struct fuzz_part part)
{
    if (parts->n == FUZZ_PARTS)
        return;
    memmove(parts->at + at + 1, parts->at + at,
            (parts->n - at) * sizeof(parts->at[0]));
    parts->at[at] = part;
    parts->n++;
}

static void change(const struct fuzz_shape *shape, struct fuzz_parts *parts,
                   unsigned *seed)
{
    size_t at = pick(seed, parts->n);
    struct fuzz_part part = parts->at[at];
    switch (shape->roles ? 7 : pick(seed, 8)) {
    case 0:
        if (parts->n > 1)
            remove_part(parts, at);
        break;
    case 1:
        insert_part(parts, pick(seed, parts->n + 1), part);
        break;
    case 2:
        remove_part(parts, at);
        insert_part(parts, pick(seed, parts->n + 1), part);
        break;
    default:
        mutate_part(shape, &parts->at[at], seed);
        break;
    }
}

/* ---- Files --------------------------------------------------------------- */

/* Behind the head, which stays; 0: it does not fit. */
static size_t put_file(const struct fuzz_shape *shape,
                       const struct fuzz_parts *parts, uint8_t *data,
                       size_t most)
{
    static uint8_t file[FILE_MOST];
    size_t head = fuzz_input_shape.head;
    struct fuzz_out out = {.data = file,
                           .room = most - head < FILE_MOST ? most - head
                                                           : FILE_MOST};
    shape->join(parts, &out);
    if (out.full || out.n == 0)
        return 0;
    memcpy(data + head, file, out.n);
    return head + out.n;
}

static const struct fuzz_shape *split(const uint8_t *data, size_t size,
                                      struct fuzz_parts *parts)
{
    size_t head = fuzz_input_shape.head;
    parts->n = 0;
    if (size <= head)
        return NULL;
    const struct fuzz_shape *shape = fuzz_input_shape.find(data, size);
    return shape && shape->split(data + head, size - head, parts) ? shape
                                                                  : NULL;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    struct fuzz_parts parts;
    const struct fuzz_shape *shape = NULL;
    size_t head = fuzz_input_shape.head, n = 0;
    if (pick(&seed, 4) > 0)
        shape = split(data, size, &parts);
    if (shape && head > 0 && pick(&seed, 6) == 0) {
        (void)mutate_bytes(data, head, head);
        return size;
    }
    if (shape) {
        change(shape, &parts, &seed);
        n = put_file(shape, &parts, data, most);
    }
    return n > 0 ? n : mutate_bytes(data, size, most);
}

/* One with a part of another, beside its own or in place of it. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned seed)
{
    struct fuzz_parts parts, others;
    const struct fuzz_shape *shape = split(data, size, &parts);
    if (!shape || split(other, other_size, &others) != shape ||
        most <= fuzz_input_shape.head)
        return 0;
    size_t at = pick(&seed, parts.n), from = pick(&seed, others.n);
    if (shape->roles && parts.n != others.n)
        return 0;
    if (shape->roles || pick(&seed, 2) == 0)
        remove_part(&parts, at);
    insert_part(&parts, at, others.at[shape->roles ? at : from]);
    memcpy(out, data, fuzz_input_shape.head);
    return put_file(shape, &parts, out, most);
}

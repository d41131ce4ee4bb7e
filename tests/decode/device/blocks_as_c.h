/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device without one: the words of decode/device/device_words.h in C.
 * Including this and then a .cu file of that folder gives its kernels as
 * functions that do what one block of a grid does, step by step; in each step
 * threads come in order, or from the last one to the first.
 *
 * What a kernel reads and writes outside of a block must lie, as a whole and on
 * its own size, in a piece of memory that was allowed: otherwise the test fails
 * there and then. Bytes and operations are counted, by stage.
 */
#ifndef FDL_TESTS_DECODE_DEVICE_BLOCKS_AS_C_H
#define FDL_TESTS_DECODE_DEVICE_BLOCKS_AS_C_H

#include "base/compiler.h"
#include "decode/device/device_job.h"

/* What an access outside does, like printf. */
#ifndef AS_C_FAIL
#  include "test.h"
#  define AS_C_FAIL fail_msg
#endif

#include <stdbool.h>
#include <stdint.h>

#define DEVICE     static inline
#define TABLE      static const
#define KERNEL     static void
#define SHARED     static
#define ALIGNED(n) FDL_ALIGNED(n)
#define UNROLL
#define EACH_THREAD(t)                                                         \
  for (uint32_t t##_th = 0, t; as_c_next(t##_th, &t); t##_th++)
#define ALL_ARE_HERE ((void)0)
#define READ(p)      (*(__typeof__(p))as_c_read((p), sizeof(*(p))))
#define WRITE(p, x)  (*(__typeof__(p))as_c_write((p), sizeof(*(p))) = (x))
#define OPS(n)       (as_c.counts->operations += (n))
#define ONES(x)      ((uint32_t)__builtin_popcountll(x))
#define FIRST(x)     ((uint32_t)__builtin_ctzll(x))

static struct {
    uint32_t x, y;
} blockIdx, gridDim;

struct as_c_piece {
    uintptr_t begin, end;
    bool writable;
};

/* Bytes of a record are the same for all threads of a block: not counted. A
 * warp takes as long as the slowest of its threads: what such ones do are
 * warp_operations, and `longest` the most that one does in a step. */
struct as_c_counts {
    uint64_t read, written, operations, warp_operations, longest;
};
#define AS_C_WARP 32

enum { AS_C_PAYLOAD, AS_C_SCRATCH, AS_C_RECORD, AS_C_STATUS, AS_C_OUT };
#define AS_C_PIECES 5
static struct {
    struct as_c_piece pieces[AS_C_PIECES];
    bool backwards; /* threads come in this order */
    struct as_c_counts *counts;
    uint64_t before, slowest; /* operations; of threads in this warp */
} as_c;

/* What the thread before did, and its warp if it was the last one. */
static inline void as_c_end_thread(uint32_t i)
{
    struct as_c_counts *c = as_c.counts;
    as_c.slowest = FDL_MAX(as_c.slowest, c->operations - as_c.before);
    if (i % AS_C_WARP > 0)
        return;
    c->warp_operations += as_c.slowest;
    c->longest = FDL_MAX(c->longest, as_c.slowest);
    as_c.slowest = 0;
}

/* The i-th thread of a step, *t; false behind the last one. */
static inline bool as_c_next(uint32_t i, uint32_t *t)
{
    if (i > 0)
        as_c_end_thread(i);
    as_c.before = as_c.counts->operations;
    *t = as_c.backwards ? FDL_DEVICE_THREADS - 1 - i : i;
    return i < FDL_DEVICE_THREADS;
}

/* Whether it is counted. Structs of several words are on their size, as one
 * access to them has to be. */
static inline bool as_c_check(uintptr_t at, size_t size, bool writes)
{
    for (int i = 0; i < AS_C_PIECES; i++) {
        const struct as_c_piece *piece = &as_c.pieces[i];
        if (at >= piece->begin && at < piece->end && size <= piece->end - at &&
            at % (size & (0 - size)) == 0 && (piece->writable || !writes))
            return i != AS_C_RECORD && i != AS_C_STATUS;
    }
    AS_C_FAIL("%zu bytes at %p: not of this job, or not on their size", size,
              (void *)at);
    return false;
}

static inline void *as_c_read(const volatile void *p, size_t size)
{
    if (as_c_check((uintptr_t)p, size, false))
        as_c.counts->read += size;
    return (void *)(uintptr_t)p;
}

static inline void *as_c_write(volatile void *p, size_t size)
{
    if (as_c_check((uintptr_t)p, size, true))
        as_c.counts->written += size;
    return (void *)(uintptr_t)p;
}

static inline void as_c_allow(int i, const void *at, size_t bytes,
                              bool writable)
{
    uintptr_t begin = (uintptr_t)at;
    as_c.pieces[i] = (struct as_c_piece){begin, begin + bytes, writable};
}

#endif

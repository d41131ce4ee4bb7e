/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/formats/jpeg_skip.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/jpeg_bits.h"

#include <string.h>

#define COMPONENTS 4  /* of a scan, at most */
#define VALUES     63 /* behind a block's first */

/* From this sum on a block is done, or has to be looked at. */
#define PAST FDL_SKIP(VALUES, 0)

/* Looks that a window has bits for. */
#define LOOKS (56 / FDL_SKIP_BITS)

static struct fdl_bits bits_at(const uint8_t *data, uint64_t bit)
{
    struct fdl_bits w = {.next = data + bit / 8};
    fdl_bits_fill(&w);
    w.bits <<= bit % 8;
    w.count -= (int)(bit % 8);
    return w;
}

static uint64_t place_of(const uint8_t *data, const struct fdl_bits *w)
{
    return (uint64_t)(w->next - data) * 8 - (uint64_t)w->count;
}

/* The first value of a block, which `dc` is added up in. */
FDL_INLINE bool skip_first(const struct fdl_jpeg_skip_block *b,
                           struct fdl_bits *w, int32_t *dc)
{
    fdl_bits_fill(w);
    uint16_t entry = fdl_bits_symbol(b->dc, w);
    *dc += fdl_bits_value(w->bits, entry);
    fdl_bits_drop(w, entry);
    return entry != 0 && *dc == (int16_t)*dc;
}

/* Whether a block is done that has led to this sum, which is past its last
 * value or at it. */
FDL_INLINE bool is_done(uint32_t sum)
{
    uint32_t k = FDL_SKIP_ADVANCE(sum);
    return k == VALUES || k - FDL_SKIP_END < VALUES;
}

/* One symbol in place of several, which have no skip or lead past the last
 * value: the block may end before. False: there is none. */
static bool skip_one(const struct fdl_huffman *t, struct fdl_bits *w,
                     uint32_t *sum)
{
    fdl_bits_fill(w);
    uint16_t entry = fdl_bits_symbol(t, w);
    *sum += fdl_skip_of(entry) & ~FDL_SKIP_LENGTHS;
    fdl_bits_drop(w, entry);
    return entry != 0;
}

/* The others: a sum of skips, which are lengths since the window was filled,
 * and a place. */
FDL_INLINE bool skip_others(const struct fdl_jpeg_skip_block *b,
                            struct fdl_bits *w)
{
    const uint16_t *skips = b->skips->at;
    for (uint32_t sum = 0;;) {
        uint32_t skip = 0;
        fdl_bits_fill(w);
#pragma GCC unroll 3
        for (int i = 0; i < LOOKS; i++) {
            skip = skips[w->bits >> (64 - FDL_LOOK_BITS)];
            sum += skip;
            if (sum >= PAST)
                break;
            w->bits <<= FDL_SKIP_LENGTH(skip);
        }
        bool past = sum >= PAST, done = past && is_done(sum);
        if (FDL_LIKELY(done))
            w->bits <<= FDL_SKIP_LENGTH(skip);
        else if (past)
            sum -= skip;
        w->count -= (int)(sum & FDL_SKIP_LENGTHS);
        if (done)
            return true;
        sum &= ~FDL_SKIP_LENGTHS;
        if (past && !skip_one(b->ac, w, &sum))
            return false;
        if (sum >= PAST)
            return is_done(sum);
    }
}

FDL_INLINE uint64_t skip(struct fdl_jpeg_skip *s, uint64_t n, uint64_t limit)
{
    struct fdl_bits w = bits_at(s->data, s->bit);
    int32_t dc[COMPONENTS];
    uint64_t done = 0;
    memcpy(dc, s->last_dc, sizeof(dc));
    for (; done < n && s->bit <= limit; done++) {
        for (uint32_t i = 0; i < s->n_blocks; i++) {
            const struct fdl_jpeg_skip_block *b = &s->blocks[i];
            if (!skip_first(b, &w, &dc[b->component]) || !skip_others(b, &w))
                return done;
        }
        s->bit = place_of(s->data, &w);
        memcpy(s->last_dc, dc, sizeof(dc));
    }
    return done;
}

static uint64_t skip_any(struct fdl_jpeg_skip *s, uint64_t n, uint64_t limit)
{
    return skip(s, n, limit);
}

#if defined(__x86_64__)
/* Shifts by a variable without the detour via the flags. */
FDL_TARGET("bmi,bmi2")
static uint64_t skip_bmi2(struct fdl_jpeg_skip *s, uint64_t n, uint64_t limit)
{
    return skip(s, n, limit);
}
#endif

uint64_t fdl_jpeg_skip(struct fdl_jpeg_skip *s, uint64_t n, uint64_t limit)
{
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        return skip_bmi2(s, n, limit);
#endif
    return skip_any(s, n, limit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10. A block is a pure function of counter and key, so there is no
 * state to seed, skip or share: two threads that name the same stream get the
 * same numbers, and naming another one costs nothing.
 *
 *     counter[0]  block number (16 bits) | place << 16
 *     counter[1]  sample, low half
 *     counter[2]  sample, high half; the copy is in its upper 16 bits
 *     counter[3]  epoch, low half
 *
 * The block number wraps inside its 16 bits: a stream that is drawn from for
 * too long repeats itself, and never runs into the stream of another place.
 */
#include "base/philox.h"

#include "base/compiler.h"
#include "base/status.h"

#include <math.h>

/* Multipliers and key increments of the paper, table 2 and section 4.3. */
#define MULTIPLIER_0 0xd2511f53u
#define MULTIPLIER_1 0xcd9e8d57u
#define WEYL_0       0x9e3779b9u
#define WEYL_1       0xbb67ae85u
#define ROUNDS       10

#define BLOCK_WORDS 4
#define BLOCK_MASK  0xffffu

#define PI 3.14159265358979323846

void fdl_philox4x32(const uint32_t counter[4], const uint32_t key[2],
                    uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1];
    uint32_t c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void fdl_rng_init(struct fdl_rng *rng, uint64_t seed, uint64_t epoch,
                  uint64_t sample, uint32_t place)
{
    fdl_assert(place <= 0xffffu);
    rng->key[0] = (uint32_t)seed;
    rng->key[1] = (uint32_t)(seed >> 32);
    rng->counter[0] = place << 16;
    rng->counter[1] = (uint32_t)sample;
    rng->counter[2] = (uint32_t)(sample >> 32);
    rng->counter[3] = (uint32_t)epoch;
    rng->used = BLOCK_WORDS; /* the first draw makes the first block */
}

uint64_t fdl_rng_copy(uint64_t sample, uint32_t copy)
{
    fdl_assert(sample < FDL_SAMPLES_MAX && copy < FDL_COPY_NUMBERS);
    return (uint64_t)copy << 48 | sample;
}

uint32_t fdl_rng_u32(struct fdl_rng *rng)
{
    if (rng->used == BLOCK_WORDS) {
        fdl_philox4x32(rng->counter, rng->key, rng->block);
        uint32_t first = rng->counter[0];
        rng->counter[0] = (first & ~BLOCK_MASK) | ((first + 1) & BLOCK_MASK);
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

void fdl_rng_skip(struct fdl_rng *rng, uint64_t n)
{
    uint64_t left = FDL_MIN(n, BLOCK_WORDS - rng->used);
    rng->used += (uint32_t)left;
    n -= left;
    uint32_t first = rng->counter[0], blocks = (uint32_t)(n / BLOCK_WORDS);
    rng->counter[0] = (first & ~BLOCK_MASK) | ((first + blocks) & BLOCK_MASK);
    for (n %= BLOCK_WORDS; n > 0; n--)
        fdl_rng_u32(rng);
}

struct fdl_rng fdl_rng_branch(struct fdl_rng *rng)
{
    struct fdl_rng branch = *rng;
    branch.key[0] ^= fdl_rng_u32(rng);
    branch.key[1] ^= fdl_rng_u32(rng);
    branch.used = BLOCK_WORDS;
    return branch;
}

double fdl_rng_uniform(struct fdl_rng *rng)
{
    uint64_t high = fdl_rng_u32(rng);
    uint64_t low = fdl_rng_u32(rng);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

uint32_t fdl_rng_below(struct fdl_rng *rng, uint32_t n)
{
    uint64_t product = (uint64_t)fdl_rng_u32(rng) * n;

    /* The low half says where in its 2^32 / n wide interval the draw fell. Only
     * the first 2^32 mod n places are one too many, so the division that finds
     * that number is rarely needed. */
    if ((uint32_t)product < n) {
        uint32_t surplus = (0u - n) % n;
        while ((uint32_t)product < surplus)
            product = (uint64_t)fdl_rng_u32(rng) * n;
    }
    return (uint32_t)(product >> 32);
}

/* Box and Muller. */
void fdl_rng_normal(struct fdl_rng *rng, double out[2])
{
    double radius = sqrt(-2.0 * log(1.0 - fdl_rng_uniform(rng)));
    double angle = 2.0 * PI * fdl_rng_uniform(rng);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

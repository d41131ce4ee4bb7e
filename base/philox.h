/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * A stream is named by (seed, epoch, sample, place) and by nothing else, so a
 * sample gets the same numbers from any thread, in any order, after any
 * restart. key = seed; counter = { block | place << 16, sample low, sample
 * high, epoch }: a stream has 65536 blocks of four 32-bit numbers, and then
 * repeats.
 *
 * A sample that comes several times in an epoch is named by its copy, too: copy
 * 0 by the number of the sample, copy c by c << 48 | sample, which no sample
 * has, as there are at most 2^48 of them.
 */
#ifndef FDL_BASE_PHILOX_H
#define FDL_BASE_PHILOX_H

#include <stdint.h>

/* One block of the function itself, as in the published test vectors. */
void fdl_philox4x32(const uint32_t counter[4], const uint32_t key[2],
                    uint32_t out[4]);

struct fdl_rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4];
    uint32_t used; /* of block */
};

/* `place` keeps draws of one sample apart: operations of a pipeline use their
 * position in it; mixing (whose "sample" is a place in the epoch), replacement
 * and the sampler use the values below. */
#define FDL_PLACE_MIX     0xfffdu
#define FDL_PLACE_REPLACE 0xfffeu
#define FDL_PLACE_PERMUTE 0xffffu

#define FDL_SAMPLES_MAX ((uint64_t)1 << 48)
#define FDL_COPIES_MAX  64 /* that one option makes of a sample */

/* Copies that can be named at all. */
#define FDL_COPY_NUMBERS (UINT32_C(1) << 16)

/* `sample` of fdl_rng_init for a copy of a sample. */
uint64_t fdl_rng_copy(uint64_t sample, uint32_t copy);

void fdl_rng_init(struct fdl_rng *rng, uint64_t seed, uint64_t epoch,
                  uint64_t sample, uint32_t place);
uint32_t fdl_rng_u32(struct fdl_rng *rng);

/* As `n` draws of that. */
void fdl_rng_skip(struct fdl_rng *rng, uint64_t n);

/* A stream of its own for what is drawn later, named by numbers of this one. */
struct fdl_rng fdl_rng_branch(struct fdl_rng *rng);

/* [0, 1), 53 bits. */
double fdl_rng_uniform(struct fdl_rng *rng);

/* [0, n) without bias (Lemire 2019, multiply and reject); 0 if n is 0. */
uint32_t fdl_rng_below(struct fdl_rng *rng, uint32_t n);

/* Two independent values of the standard normal distribution. */
void fdl_rng_normal(struct fdl_rng *rng, double out[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of checkdec share. */
#ifndef FDL_TESTS_CHECKDEC_H
#define FDL_TESTS_CHECKDEC_H

#include "base/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every kernel of `level` against plain C. Prints the first difference. */
bool check_kernels(enum fdl_cpu_level level, uint64_t seed, int rounds);

/* The same for colour. */
bool check_blend(enum fdl_cpu_level level, uint64_t seed, int rounds);

/* The same for affine and perspective maps. */
bool check_map(enum fdl_cpu_level level, uint64_t seed, int rounds);

/* The same for blurs. */
bool check_gauss(enum fdl_cpu_level level, uint64_t seed, int rounds);

/* Parts of images decoded alone against the same parts of the whole. */
bool check_regions(uint64_t seed, int rounds);

/* The same at 1/2, 1/4 and 1/8 of their size. */
bool check_shrinking(uint64_t seed, int rounds);

/* Times each kernel of each level; no judgement. */
void bench_kernels(void);

/* Times the whole decoder and each part of its work alone on JPEG files. */
bool bench_files(char **paths, int n, uint64_t seed, int rounds);

struct paths {
    char **path;
    int n;
};

/* Of each name: the file itself, or the JPEG files in the folder. */
void find_files(char **names, struct paths *p);

/* Adds n photos of 12 megapixels in temporary files. */
bool make_photos(int n, uint64_t seed, struct paths *p);

/* Removes the first n, which were made, and frees the names. */
void drop_photos(struct paths *p, int n);

/* NULL and errno, or what free() takes. */
uint8_t *read_file(const char *path, uint64_t *size);

/* [low, high]. */
int32_t pick(uint64_t *state, int32_t low, int32_t high);
void *must_alloc(size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory was taken at most, whoever took it: address space, so that
 * what is taken and never touched counts as well. For tests that a file which
 * claims much and has little is refused before there is memory for it. Each
 * case is a process of its own, so the peak is that case's.
 */
#ifndef FDL_TESTS_PEAK_MEMORY_H
#define FDL_TESTS_PEAK_MEMORY_H

#include "tests/test.h"

#include <malloc.h>

static uint64_t peak_before;

static inline uint64_t peak_bytes(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmPeak: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    if (kib == 0)
        test_skip("the system does not say how much memory was taken");
    return (uint64_t)kib * 1024;
}

/* A sanitizer takes terabytes. Threads share one heap, as each would get 64 MiB
 * of addresses otherwise. */
static inline void peak_begin(void)
{
    if (TEST_SANITIZED)
        test_skip("a sanitizer takes memory of its own");
    mallopt(M_ARENA_MAX, 1);
    peak_before = peak_bytes();
}

#define assert_peak_below(most)                                                \
  assert_in_range(peak_bytes() - peak_before, 0, (uint64_t)(most))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage that is slow on demand. The program is linked with --wrap=pread; what
 * the loader's reader threads read is real, and comes late:
 *
 *   latency   each read sleeps so long, any number of them at once
 *   rate      one server, first come first served: a read sleeps until those
 *             before it and its own bytes have passed
 *   hiccup    every n-th read sleeps so long more
 *
 * Reads of other threads, of /proc above all, pass untouched.
 */
#ifndef FDL_TESTS_SLOW_READS_H
#define FDL_TESTS_SLOW_READS_H

#include <stdint.h>

struct slow_reads {
    int64_t latency_ns;
    int64_t bytes_per_second; /* 0: no limit */
    int64_t hiccup_ns;
    uint32_t hiccup_every; /* reads; 0: none */
};

/* Any thread, at any time; a read that is asleep stays so. Reads are counted
 * anew. */
void slow_reads_set(const struct slow_reads *how);

/* Time that reads have really slept, by clock reads around each sleep. */
int64_t slow_reads_slept_ns(void);

#endif

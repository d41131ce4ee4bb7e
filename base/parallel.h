/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function on many items at once, for lists of files. It mostly waits for
 * small reads, so there are more threads than cores.
 */
#ifndef FDL_BASE_PARALLEL_H
#define FDL_BASE_PARALLEL_H

#include <stdint.h>

/* Calls each(arg, i) for every i < n, on this thread and as many others as
 * there is work for; fewer if the system has no more. name: of the threads.
 * After an error no more are begun; the status and error line are those of the
 * lowest i that has one. ENOMEM. */
int32_t fdl_parallel(const char *name, uint64_t n,
                     int32_t (*each)(void *arg, uint64_t i), void *arg);

/* The same on up to `threads` threads, 64 at most, whatever the cores: for work
 * that waits for other machines. */
int32_t fdl_parallel_waits(const char *name, uint32_t threads, uint64_t n,
                           int32_t (*each)(void *arg, uint64_t i), void *arg);

#endif

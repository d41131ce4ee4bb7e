/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of CPUs, and their text form in /proc, /sys and options: "0-3,8,10-11".
 */
#ifndef FDL_BASE_CPU_SET_H
#define FDL_BASE_CPU_SET_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's own limit is 8192 (MAXSMP); CPUs beyond ours are not counted. */
#define FDL_CPU_SET_MAX 16384

struct fdl_cpu_set {
    uint64_t word[FDL_CPU_SET_MAX / 64];
};

/* false, and *set untouched, if the list is empty or garbled. */
bool fdl_cpu_set_parse(struct fdl_cpu_set *set, const char *text);

/* The list, cut to the capacity after a whole number. */
void fdl_cpu_set_print(const struct fdl_cpu_set *set, char *text,
                       uint64_t capacity);

uint32_t fdl_cpu_set_count(const struct fdl_cpu_set *set);
bool fdl_cpu_set_has(const struct fdl_cpu_set *set, uint32_t cpu);

/* `into` becomes the intersection. */
void fdl_cpu_set_intersect(struct fdl_cpu_set *into,
                           const struct fdl_cpu_set *other);

/* Where a thread may run now; 0: the calling one. false, and *set untouched, if
 * it cannot be asked. */
bool fdl_cpu_set_of_thread(int32_t tid, struct fdl_cpu_set *set);

/* The calling thread runs there from now on. 0, or an errno: EINVAL where none
 * of these may be used. */
int fdl_cpu_set_bind(const struct fdl_cpu_set *set);

#endif

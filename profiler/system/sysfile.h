/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small text files of /proc and /sys, below a root folder ("" for the real
 * one), and the lists of CPUs in them.
 */
#ifndef FDL_PROFILER_SYSFILE_H
#define FDL_PROFILER_SYSFILE_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's own limit is 8192 (MAXSMP); CPUs beyond ours are not counted. */
#define FDL_CPU_SET_MAX 16384

struct fdl_cpu_set {
    uint64_t word[FDL_CPU_SET_MAX / 64];
};

/* The whole of root/path as a string for free(); NULL if it cannot be read. */
char *fdl_sysfile_read(const char *root, const char *path);

/* The text after `key` and a colon, on the first line that starts with it: in
 * "MemTotal:  12 kB", "12 kB". Surrounding blanks are removed. false, and
 * *value untouched, if there is none; longer values are cut. */
bool fdl_sysfile_field(const char *text, const char *key, char *value,
                       uint64_t capacity);

/* A decimal number at *p, after blanks, followed by a blank, a newline or a
 * slash: in a text that was cut, the last number may be cut itself. Numbers
 * beyond 64 bits become UINT64_MAX. false, and nothing touched, for anything
 * else. */
bool fdl_sysfile_number(const char **p, uint64_t *value);

/* The number on the line that starts with `key` and a blank, as in "nr_periods
 * 12". */
bool fdl_sysfile_count(const char *text, const char *key, uint64_t *value);

/* For files that are read repeatedly: opens root/path, -1 on failure; reads it
 * from the start, cut to the capacity, which includes the NUL. */
int fdl_sysfile_open(const char *root, const char *path);
bool fdl_sysfile_again(int fd, char *text, uint64_t capacity);

/* "0-3,8,10-11". false, and *set untouched, if it is empty or garbled. */
bool fdl_cpu_set_parse(struct fdl_cpu_set *set, const char *text);
uint32_t fdl_cpu_set_count(const struct fdl_cpu_set *set);

/* `into` becomes the intersection. */
void fdl_cpu_set_intersect(struct fdl_cpu_set *into,
                           const struct fdl_cpu_set *other);

#endif

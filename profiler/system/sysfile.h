/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small text files in which the kernel tells about itself, below a root
 * folder ("" for the real one), and the lists of CPUs they contain.
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

/* What follows `key` and its colon, on the first line that starts with it: in
 * "MemTotal:  12 kB", "12 kB". Blanks around it are cut. false, and *value
 * untouched, if there is none; longer values are cut. */
bool fdl_sysfile_field(const char *text, const char *key, char *value,
                       uint64_t capacity);

/* A decimal number at *p, behind blanks, with a blank, a newline or a slash
 * behind it: the last one of a text that was cut may be cut itself. Numbers
 * beyond 64 bits are held at UINT64_MAX. false, and nothing touched, for
 * anything else. */
bool fdl_sysfile_number(const char **p, uint64_t *value);

/* The number on the line that starts with `key` and a blank, as in "nr_periods
 * 12". */
bool fdl_sysfile_count(const char *text, const char *key, uint64_t *value);

/* For files that are read again and again: opens root/path, -1 if it cannot;
 * reads it from its beginning, cut to the capacity, which NUL is part of. */
int fdl_sysfile_open(const char *root, const char *path);
bool fdl_sysfile_again(int fd, char *text, uint64_t capacity);

/* "0-3,8,10-11". false, and *set untouched, if it is empty or garbled. */
bool fdl_cpu_set_parse(struct fdl_cpu_set *set, const char *text);
uint32_t fdl_cpu_set_count(const struct fdl_cpu_set *set);

/* `into` keeps what both have. */
void fdl_cpu_set_intersect(struct fdl_cpu_set *into,
                           const struct fdl_cpu_set *other);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small text files of /proc and /sys, below a root folder ("" for the real
 * one). Sets of CPUs come from lists in such files rather than from
 * sched_getaffinity, since tests can write a file.
 */
#ifndef FDL_PROFILER_SYSFILE_H
#define FDL_PROFILER_SYSFILE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif

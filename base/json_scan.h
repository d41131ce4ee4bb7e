/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one reader of JSON: tokens, and a walk through objects and lists. Which
 * values are allowed where is up to the callers: saved states, profiles.
 */
#ifndef FDL_BASE_JSON_SCAN_H
#define FDL_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_json_scan {
    const char *text; /* NUL-terminated */
    const char *at;   /* what comes next */
    const char *what; /* before each complaint: "not a saved state: ", "" */
    bool has_nul;     /* in a string so far; it was read as '?' */
    uint32_t depth;   /* objects and lists that may still be entered */
};

/* EINVAL: "<what>at <offset>: <why>". */
int32_t fdl_json_scan_fail(const struct fdl_json_scan *s, const char *why);

/* The next character after white space; '\0' at the end. */
char fdl_json_scan_peek(struct fdl_json_scan *s);

/* Skips it if it comes next, immediately. */
bool fdl_json_scan_word(struct fdl_json_scan *s, const char *word);

/* A string as UTF-8, cut after capacity - 1 bytes and NUL-terminated; half of a
 * character beyond 16 bits becomes '?'. EINVAL says what was wrong. */
int32_t fdl_json_scan_string(struct fdl_json_scan *s, char *out,
                             size_t capacity);

/* Steps over a number, -1.5e+10: its shape only. */
int32_t fdl_json_scan_number(struct fdl_json_scan *s);

/* Reads one value. key: its name, cut after FDL_JSON_KEY_BYTES - 1 bytes; NULL
 * in a list. */
#define FDL_JSON_KEY_BYTES 64u
typedef int32_t fdl_json_each(struct fdl_json_scan *s, const char *key,
                              void *user);

/* Goes through the object or the list that comes next. EINVAL, also where it is
 * nested too deeply; or what `each` returned. */
int32_t fdl_json_scan_each(struct fdl_json_scan *s, fdl_json_each *each,
                           void *user);

/* Goes through the object that a file is. Complaints begin with its path.
 * ENOENT, EIO, ENOMEM; EINVAL, also where it is nested too deeply; or what
 * `each` returned. */
int32_t fdl_json_scan_file(const char *path, uint32_t depth,
                           fdl_json_each *each, void *user);

/* Skips any value. */
int32_t fdl_json_scan_skip(struct fdl_json_scan *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of profiles: strict JSON, of which it keeps strings, numbers,
 * true, false and null, named by their path:
 *
 *     {"host": {"cores": 2}}    ->    "host.cores" number "2"
 *
 * Lists have no names and are not kept. Invalid JSON is an error with its
 * position: a profile may come from anywhere.
 */
#ifndef FDL_LOADER_PROFILE_PARSE_H
#define FDL_LOADER_PROFILE_PARSE_H

#include <stdint.h>

#define FDL_PROFILE_VALUES      64u  /* kept; more are an error */
#define FDL_PROFILE_NAME_BYTES  64u  /* with its path */
#define FDL_PROFILE_VALUE_BYTES 256u /* longer ones are cut */

enum fdl_profile_kind {
    FDL_PROFILE_STRING = 0,
    FDL_PROFILE_NUMBER,
    FDL_PROFILE_WORD /* true, false, null */
};

struct fdl_profile_value {
    char name[FDL_PROFILE_NAME_BYTES];
    char text[FDL_PROFILE_VALUE_BYTES]; /* a number as written */
    enum fdl_profile_kind kind;
};

struct fdl_profile_values {
    struct fdl_profile_value all[FDL_PROFILE_VALUES];
    uint32_t n;
};

/* EINVAL "at 17: ..."; out is then unfinished. */
int32_t fdl_profile_parse(const char *text, struct fdl_profile_values *out);

/* NULL: there is none. */
const struct fdl_profile_value *fdl_profile_find(
    const struct fdl_profile_values *v, const char *name);

#endif

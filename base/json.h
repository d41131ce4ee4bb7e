/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON writer into the caller's buffer that works like snprintf: it counts
 * the size of the whole text and writes what fits. It takes care of commas and
 * quoting; the order of calls is the caller's. Doubles have at most 17 digits
 * and always read back equal; NaN and infinities become null.
 */
#ifndef FDL_BASE_JSON_H
#define FDL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct fdl_json {
    char *buf;
    uint64_t capacity;
    uint64_t length; /* of the whole text, without NUL */
    uint32_t depth;
    bool comma; /* the next value needs one */
};

void fdl_json_init(struct fdl_json *j, char *buf, uint64_t capacity);

/* key NULL inside an array or for the outermost value. */
void fdl_json_begin_object(struct fdl_json *j, const char *key);
void fdl_json_end_object(struct fdl_json *j);
void fdl_json_begin_array(struct fdl_json *j, const char *key);
void fdl_json_end_array(struct fdl_json *j);
void fdl_json_string(struct fdl_json *j, const char *key, const char *value);
void fdl_json_int(struct fdl_json *j, const char *key, int64_t value);
void fdl_json_double(struct fdl_json *j, const char *key, double value);
void fdl_json_bool(struct fdl_json *j, const char *key, bool value);
void fdl_json_null(struct fdl_json *j, const char *key);

/* A value that is JSON already, as this writer made it. */
void fdl_json_raw(struct fdl_json *j, const char *key, const char *text);

/* NUL-terminates; *needed = length + 1. ERANGE (with the error line) if it did
 * not fit and capacity was not 0; EINVAL: needed is NULL. */
int32_t fdl_json_finish(struct fdl_json *j, uint64_t *needed);

#endif

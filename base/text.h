/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows as it is written. Running out of memory is remembered and
 * asked about once, at the end. One thread at a time.
 */
#ifndef FDL_BASE_TEXT_H
#define FDL_BASE_TEXT_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory is an empty text. */
struct fdl_text {
    char *data; /* NUL-terminated once something was added */
    uint64_t length, capacity;
    bool failed; /* memory ended: the text lacks something */
};

/* Bytes for at least `room` more and a NUL. false: no memory. */
FDL_NODISCARD bool fdl_text_reserve(struct fdl_text *t, uint64_t room);
void fdl_text_add(struct fdl_text *t, const char *fmt, ...) FDL_PRINTF(2, 3);

/* As fdl_format_double, the same in every locale. */
void fdl_text_add_double(struct fdl_text *t, double value);

/* Empty again; the memory stays. */
void fdl_text_clear(struct fdl_text *t);
void fdl_text_free(struct fdl_text *t);

/* All of it at once, as *_json() give theirs; ENOMEM if it failed;
 * EINVAL: needed is NULL. */
int32_t fdl_text_copy_out(const struct fdl_text *t, char *buf,
                          uint64_t capacity, uint64_t *needed);

#endif

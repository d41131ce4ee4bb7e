/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files decoded by another process: one more source of rows of a decoder, for
 * images of every format. What the process makes of a file, and whether it
 * survives it, is an error of that file; for the next one there is another.
 */
#ifndef FDL_DECODE_ISOLATE_SOURCE_H
#define FDL_DECODE_ISOLATE_SOURCE_H

#include "decode/formats/format.h"

#include <stdint.h>

struct fdl_isolated;

/* With its process, which is ready. ENOENT: the program is not installed;
 * ENOSYS: this kernel cannot hold a process in; ENOMEM, EIO. */
int32_t fdl_isolated_create(const struct fdl_decode_limits *limits,
                            struct fdl_isolated **out);

/* Its process has ended then. NULL is fine. */
void fdl_isolated_destroy(struct fdl_isolated *c);

/* Held between images, by both. */
uint64_t fdl_isolated_memory(const struct fdl_isolated *c);

/* The source; self: a struct fdl_isolated. Beyond errors of the formats, open
 * has those of fdl_isolated_create, and every call EDECODE where the process
 * ended, ERANGE where it took too long. */
extern const struct fdl_format fdl_isolated_source;

#endif

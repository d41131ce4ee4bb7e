/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, and what errno says of a path in words. Any thread. */
#ifndef FDL_BASE_FILE_H
#define FDL_BASE_FILE_H

#include <stdint.h>

/* All of it, followed by a NUL. ENOENT, EIO, ENOMEM; *out for free(). */
int32_t fdl_file_load(const char *path, char **out, uint64_t *bytes);

/* The status for errno on a path: ENOENT if it is missing, else EIO. */
int32_t fdl_fail_path(const char *path, int error);

#endif

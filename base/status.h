/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the thread-local error line.
 *
 * An error is described once, where the facts are:
 *
 *     return fdl_fail(FEEDLINE_EIO, "%s: read at %" PRIu64 ": %s", path, off,
 *                     strerror(err));
 *
 * and callers pass the code on unchanged. The line needs no memory of the heap,
 * so running out of memory can be reported too. Longer lines are cut at
 * FDL_ERROR_BYTES - 1. Every public entry point that can fail calls
 * fdl_clear_error() first.
 */
#ifndef FDL_BASE_STATUS_H
#define FDL_BASE_STATUS_H

#include "base/compiler.h"

#include <feedline/feedline.h>

#include <stdarg.h>
#include <stddef.h>

#define FDL_ERROR_BYTES 1024

/* Writes the line of this thread and returns `status`. Keeps errno. The line
 * that is replaced may be an argument of the one that replaces it. */
int32_t fdl_fail(int32_t status, const char *fmt, ...) FDL_PRINTF(2, 3);

/* FEEDLINE_ENOMEM: "out of memory: N bytes for WHAT". */
int32_t fdl_fail_memory(uint64_t bytes, const char *what);

/* The line of this thread, "" if none; valid until the next fdl_fail. */
const char *fdl_last_error(void);
void fdl_clear_error(void);

/* "EINVAL" and "invalid argument"; "UNKNOWN" and "unknown status" for a number
 * that is none. Static. */
const char *fdl_status_name(int32_t status);
const char *fdl_status_text(int32_t status);

/* vsnprintf for text that people read: always one line (control characters
 * become '?'), never cut inside a UTF-8 character. Returns the length. Keeps
 * errno. capacity > 0. */
size_t fdl_format_line(char *buf, size_t capacity, const char *fmt,
                       va_list args) FDL_PRINTF(3, 0);

/* Our own mistakes, never the caller's: prints nothing, aborts. Compiled out
 * with NDEBUG. */
#ifdef NDEBUG
#  define fdl_assert(cond) ((void)sizeof(cond))
#else
void fdl_assert_failed(void) FDL_NORETURN;
#  define fdl_assert(cond)                                                     \
    do {                                                                       \
      if (FDL_UNLIKELY(!(cond)))                                               \
        fdl_assert_failed();                                                   \
    } while (0)
#endif

#endif

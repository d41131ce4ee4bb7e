/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: a ring of lines that the program polls. The library itself prints
 * nothing. Any thread; a line costs a lock, so the hot path writes none.
 */
#ifndef FDL_BASE_LOG_H
#define FDL_BASE_LOG_H

#include "base/compiler.h"

#include <stdint.h>

#define FDL_LOG_LINES      256
#define FDL_LOG_LINE_BYTES 512

enum fdl_log_level {
    FDL_LOG_OFF = 0,
    FDL_LOG_ERROR,
    FDL_LOG_WARNING,
    FDL_LOG_INFO,
    FDL_LOG_DEBUG
};

/* Lines start with "error: ", "warning: ", "info: " or "debug: ". */
void fdl_log(enum fdl_log_level level, const char *fmt, ...) FDL_PRINTF(2, 3);
int32_t fdl_log_set_level(int32_t level);
int32_t fdl_log_read(char *buf, uint64_t capacity, uint64_t *needed);

#endif

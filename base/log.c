/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log ring. When it is full the oldest line goes: what happened last is
 * what one wants to know. The reader is told once how many it missed, before
 * the first line that is left.
 *
 *     oldest            oldest + n_lines
 *       |                     |
 *     [ 3 | 4 | 5 | ... | 9 | . | . ]   lost = 2 (lines 1 and 2)
 *
 * fork() takes the lock, so that a child never inherits it half way through a
 * line of another thread.
 */
#include "base/log.h"

#include "base/lock.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = {
    [FDL_LOG_ERROR] = "error: ",
    [FDL_LOG_WARNING] = "warning: ",
    [FDL_LOG_INFO] = "info: ",
    [FDL_LOG_DEBUG] = "debug: ",
};

static struct {
    struct fdl_lock lock; /* guards all that follows */
    char lines[FDL_LOG_LINES][FDL_LOG_LINE_BYTES];
    uint32_t oldest;
    uint32_t n_lines;
    uint64_t lost;
} ring = {.lock = FDL_LOCK_INIT(FDL_RANK_LOG)};

static _Atomic int32_t max_level = FDL_LOG_WARNING; /* relaxed: a filter */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock_ring(void)
{
    fdl_lock(&ring.lock);
}

static void unlock_ring(void)
{
    fdl_unlock(&ring.lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_ring, unlock_ring, unlock_ring);
}

static void append_locked(const char *line, size_t length)
{
    if (ring.n_lines == FDL_LOG_LINES) {
        ring.oldest = (ring.oldest + 1) % FDL_LOG_LINES;
        ring.n_lines--;
        ring.lost++;
    }
    uint32_t place = (ring.oldest + ring.n_lines) % FDL_LOG_LINES;
    memcpy(ring.lines[place], line, length + 1);
    ring.n_lines++;
}

void fdl_log(enum fdl_log_level level, const char *fmt, ...)
{
    if (level <= FDL_LOG_OFF || level > FDL_LOG_DEBUG ||
        (int32_t)level > atomic_load_explicit(&max_level, memory_order_relaxed))
        return;

    int saved = errno;
    char line[FDL_LOG_LINE_BYTES];
    size_t prefix = strlen(prefixes[level]);
    memcpy(line, prefixes[level], prefix);
    va_list args;
    va_start(args, fmt);
    size_t length = prefix + fdl_format_line(line + prefix,
                                             sizeof(line) - prefix, fmt, args);
    va_end(args);

    pthread_once(&fork_once, watch_forks);
    lock_ring();
    append_locked(line, length);
    unlock_ring();
    errno = saved;
}

int32_t fdl_log_set_level(int32_t level)
{
    if (level < FDL_LOG_OFF || level > FDL_LOG_DEBUG)
        return fdl_fail(FEEDLINE_ERANGE,
                        "log level %" PRId32 " is out of range: 0 (off) to 4 "
                        "(debug)",
                        level);
    atomic_store_explicit(&max_level, level, memory_order_relaxed);
    return FEEDLINE_OK;
}

/* The next line, not taken yet; NULL if there is none. */
static const char *peek_locked(char lost_line[FDL_LOG_LINE_BYTES])
{
    if (ring.lost > 0) {
        snprintf(lost_line, FDL_LOG_LINE_BYTES,
                 "warning: %" PRIu64 " log lines lost", ring.lost);
        return lost_line;
    }
    return ring.n_lines > 0 ? ring.lines[ring.oldest] : NULL;
}

static void take_locked(void)
{
    if (ring.lost > 0) {
        ring.lost = 0;
        return;
    }
    ring.oldest = (ring.oldest + 1) % FDL_LOG_LINES;
    ring.n_lines--;
}

int32_t fdl_log_read(char *buf, uint64_t capacity, uint64_t *needed)
{
    char lost_line[FDL_LOG_LINE_BYTES];
    uint64_t bytes = 0;
    int32_t status = FEEDLINE_OK;

    pthread_once(&fork_once, watch_forks);
    lock_ring();
    const char *line = peek_locked(lost_line);
    if (!line) {
        status = FEEDLINE_END;
        goto out;
    }
    bytes = strlen(line) + 1;
    if (capacity >= bytes) {
        memcpy(buf, line, bytes);
        take_locked();
    } else if (capacity > 0) {
        status = fdl_fail(FEEDLINE_ERANGE,
                          "the log line takes %" PRIu64 " bytes, the buffer "
                          "has %" PRIu64,
                          bytes, capacity);
    }
out:
    unlock_ring();
    if (needed)
        *needed = bytes;
    return status;
}

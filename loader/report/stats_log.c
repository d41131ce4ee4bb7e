/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of statistics; see stats_log.h.
 *
 * The file is opened for each line: it may be rotated away, or its disk be
 * unmounted for a while. O_APPEND and one write keep lines whole. Where a disk
 * is full a write may still end half way; the line is then cut off again, if
 * nobody has appended meanwhile, and else ended, so that the next one is not
 * spoiled. Nor is it by one that was killed while it wrote: a file that ends in
 * half a line gets an end of it first.
 */
#include "loader/report/stats_log.h"

#include "base/clock.h"
#include "base/shield.h"
#include "base/status.h"
#include "loader/report/stats_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double unix_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What may stand in JSON as it is. */
static void host_name(char *out, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (gethostname(out, size) != 0)
        out[0] = '\0';
    out[size - 1] = '\0';
    for (char *c = out + strspn(out, plain); *c; c += strspn(c, plain))
        *c = '_';
}

/* The members before those of the statistics object, whose brace goes. */
static void add_head(const struct fdl_sources *from, struct fdl_text *text)
{
    char host[65];
    host_name(host, sizeof(host));
    fdl_text_add(text, "{\"time_unix\":");
    fdl_text_add_double(text, unix_seconds());
    fdl_text_add(text, ",\"uptime_seconds\":");
    fdl_text_add_double(text, (double)(fdl_now_ns() - from->started_ns) / 1e9);
    fdl_text_add(text,
                 ",\"pid\":%ld,\"rank\":%" PRIu32 ",\"world\":%" PRIu32
                 ",\"host\":\"%s\",",
                 (long)getpid(), from->rank, from->world, host);
}

/* Numbers may take more digits the second time, so it may need a third. */
static int32_t add_stats(const struct fdl_sources *from, struct fdl_text *text)
{
    uint64_t needed = 16384;
    for (;;) {
        struct fdl_json j;
        if (!fdl_text_reserve(text, needed))
            return fdl_fail_memory(needed, "a line of stats_log");
        uint64_t room = text->capacity - text->length;
        fdl_json_init(&j, text->data + text->length, room);
        fdl_stats_json(from, &j);
        int32_t status = fdl_json_finish(&j, &needed);
        if (status == FEEDLINE_ERANGE)
            continue;
        if (status < 0)
            return status;
        /* "{a}" behind "{head," becomes "{head,a}". */
        char *object = text->data + text->length;
        memmove(object, object + 1, needed - 1);
        text->length += needed - 2;
        return FEEDLINE_OK;
    }
}

/* Whether the file ends in half a line. */
static bool is_torn(const char *path)
{
    struct stat st;
    char last = '\n';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        pread(fd, &last, 1, st.st_size - 1) != 1)
        last = '\n';
    close(fd);
    return last != '\n';
}

static int32_t write_line(int fd, const char *path, const struct fdl_text *text)
{
    ssize_t got;
    do
        got = write(fd, text->data, text->length);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)text->length)
        return FEEDLINE_OK;
    int error = got < 0 ? errno : ENOSPC;
    off_t end = lseek(fd, 0, SEEK_CUR);
    struct stat st;
    if (got > 0 && fstat(fd, &st) == 0 && st.st_size == end &&
        ftruncate(fd, end - got) == 0)
        got = 0;
    if (got > 0 && write(fd, "\n", 1) != 1)
        error = ENOSPC;
    return fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(error));
}

int32_t fdl_stats_log_append(const struct fdl_sources *from, const char *path,
                             struct fdl_text *text)
{
    fdl_text_clear(text);
    if (is_torn(path))
        fdl_text_add(text, "\n");
    add_head(from, text);
    int32_t status = add_stats(from, text);
    if (status < 0)
        return status;
    fdl_text_add(text, "\n");
    if (text->failed)
        return fdl_fail_memory(text->capacity, "a line of stats_log");
    /* Not blocking: a FIFO that nobody reads must not hold up the monitor. */
    int fd = open(
        path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        0644);
    if (fd < 0)
        return fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(errno));
    struct fdl_shield shield;
    fdl_shield_raise(&shield);
    status = write_line(fd, path, text);
    fdl_shield_lower(&shield);
    if (close(fd) < 0 && status >= 0)
        status = fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(errno));
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status names and the error line of each thread.
 *
 * The line is formatted on the stack first and then copied: that way a caller
 * can put its own words around the line that is there, as in
 *
 *     return fdl_fail(status, "%s:%u: %s", path, line, fdl_last_error());
 */
#include "base/status.h"

#include "base/compiler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char error_line[FDL_ERROR_BYTES];

/* Length of buf[0..length) without a UTF-8 character whose end is missing. */
static size_t whole_characters(const char *buf, size_t length)
{
    size_t start = length;
    size_t tail = 0; /* continuation bytes at the end */
    while (start > 0 && tail < 3 &&
           ((unsigned char)buf[start - 1] & 0xc0) == 0x80) {
        start--;
        tail++;
    }
    if (start == 0)
        return length;
    unsigned char lead = (unsigned char)buf[start - 1];
    size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    return tail < wanted ? start - 1 : length;
}

size_t fdl_format_line(char *buf, size_t capacity, const char *fmt,
                       va_list args)
{
    int saved = errno;
    int wanted = vsnprintf(buf, capacity, fmt, args);
    size_t length = wanted < 0 ? 0 : (size_t)wanted;
    if (length >= capacity)
        length = whole_characters(buf, capacity - 1);
    buf[length] = '\0';

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)buf[i];
        if (c < 0x20 || c == 0x7f)
            buf[i] = '?';
    }
    errno = saved;
    return length;
}

int32_t fdl_fail(int32_t status, const char *fmt, ...)
{
    char line[FDL_ERROR_BYTES];
    va_list args;
    va_start(args, fmt);
    size_t length = fdl_format_line(line, sizeof(line), fmt, args);
    va_end(args);
    memcpy(error_line, line, length + 1);
    return status;
}

int32_t fdl_fail_memory(uint64_t bytes, const char *what)
{
    return fdl_fail(FEEDLINE_ENOMEM, "out of memory: %" PRIu64 " bytes for %s",
                    bytes, what);
}

const char *fdl_last_error(void)
{
    return error_line;
}

FDL_HOT void fdl_clear_error(void)
{
    error_line[0] = '\0';
}

const char *fdl_status_name(int32_t status)
{
    switch (status) {
#define NAME_CASE(name, value, text)                                           \
  case value:                                                                  \
    return #name;
        FEEDLINE_STATUS_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "UNKNOWN";
}

const char *fdl_status_text(int32_t status)
{
    switch (status) {
#define TEXT_CASE(name, value, text)                                           \
  case value:                                                                  \
    return text;
        FEEDLINE_STATUS_MAP(TEXT_CASE)
#undef TEXT_CASE
    }
    return "unknown status";
}

#ifndef NDEBUG
void fdl_assert_failed(void)
{
    abort();
}
#endif

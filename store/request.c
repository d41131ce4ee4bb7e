/* SPDX-License-Identifier: Apache-2.0 */
#include "store/request.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int32_t fdl_request_header(struct fdl_request *r, const char *name,
                           const char *value)
{
    struct fdl_text line = {0};
    uint32_t n = 0;
    while (r->headers[n])
        n++;
    fdl_assert(n < FDL_REQUEST_HEADERS);
    if (strpbrk(value, "\r\n"))
        return fdl_fail(FEEDLINE_EINVAL, "the header %s has a line's end in it",
                        name);
    fdl_text_add(&line, "%s: %s", name, value);
    if (line.failed) {
        fdl_text_free(&line);
        return fdl_fail_memory(strlen(value), "a header");
    }
    r->headers[n] = line.data;
    return FEEDLINE_OK;
}

void fdl_wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void fdl_request_free(struct fdl_request *r)
{
    fdl_wipe(r->url);
    fdl_wipe(r->body);
    for (uint32_t n = 0; r->headers[n]; n++)
        fdl_wipe(r->headers[n]);
    *r = (struct fdl_request){0};
}

bool fdl_answer_header(const struct fdl_answer *a, const char *name, char *out,
                       size_t capacity)
{
    size_t n = strlen(name);
    bool found = false;
    out[0] = '\0';
    const char *line = a->headers.length ? a->headers.data : "";
    while (*line) {
        size_t length = strcspn(line, "\r\n");
        if (length > n && line[n] == ':' && strncasecmp(line, name, n) == 0) {
            const char *value = line + n + 1;
            const char *end = line + length;
            value += strspn(value, " \t");
            while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
            size_t bytes = end > value ? (size_t)(end - value) : 0;
            bytes = FDL_MIN(bytes, capacity - 1);
            memcpy(out, value, bytes);
            out[bytes] = '\0';
            found = true;
        }
        line += length;
        line += strspn(line, "\r\n");
    }
    return found;
}

void fdl_answer_free(struct fdl_answer *a)
{
    if (a->body.data) /* it may be the answer of who gives credentials */
        explicit_bzero(a->body.data, a->body.capacity);
    fdl_text_free(&a->headers);
    fdl_text_free(&a->body);
    a->status = 0;
}

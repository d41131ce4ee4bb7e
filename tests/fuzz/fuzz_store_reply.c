/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a server answers to a GET, as header lines.
 *
 *     1 byte     how it was asked for
 *     4 bytes    offset and length, 16 bits each
 *     the rest   lines, each ended by a line feed
 *
 * An answer that is good has no more bytes than were asked for; any other says
 * in one line why it is not. That follows from its last status line alone.
 */
#include "base/status.h"
#include "fuzz.h"
#include "store/dates.h"
#include "store/reply.h"
#include "store/request.h"

#include <string.h>

static void check(const struct fdl_reply *a, const struct fdl_asked *asked)
{
    char why[200] = "";
    uint64_t bytes = UINT64_MAX;
    int32_t status = FEEDLINE_OK;
    enum fdl_reply_is is =
        fdl_reply_check(a, asked, &bytes, &status, why, sizeof(why));
    fuzz_check(is <= FDL_REPLY_BAD);
    if (is == FDL_REPLY_GOOD) {
        fuzz_check(bytes <= INT64_MAX);
        fuzz_check(asked->length < 0 || bytes <= (uint64_t)asked->length);
        fuzz_check(asked->length < 0 || asked->up_to ||
                   bytes == (uint64_t)asked->length);
        return;
    }
    fuzz_check(status < 0 && why[0] != '\0');
    fuzz_check(strlen(why) < sizeof(why) && !strchr(why, '\n'));
}

/* As it stands in the answer of a store, which keeps all of its lines. */
static void check_header(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"date", "x-ms-error-code", "link"};
    char value[64];
    struct fdl_answer a = {.status = 200};
    if (n == 0 || !fdl_text_reserve(&a.headers, n))
        return;
    memcpy(a.headers.data, data, n);
    a.headers.data[n] = '\0';
    a.headers.length = n;
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++) {
        bool there = fdl_answer_header(&a, names[i], value, sizeof(value));
        fuzz_check(strlen(value) < sizeof(value));
        fuzz_check(there || value[0] == '\0');
    }
    fdl_answer_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t how = fuzz_byte(&in);
    struct fdl_asked asked = {
        .offset = fuzz_word(&in), .ranged = how & 1, .up_to = how & 2};
    asked.length = how & 4 ? -1 : (int64_t)fuzz_word(&in);
    asked.up_to &= asked.length >= 0;
    struct fdl_reply a = {0};
    fdl_reply_line(&a, "HTTP/1.1 200 OK\r\n", 17);
    check_header(in.data, in.size);
    while (in.size > 0) {
        const uint8_t *end = memchr(in.data, '\n', in.size);
        size_t n = end ? (size_t)(end - in.data) + 1 : in.size;
        fdl_reply_line(&a, (const char *)in.data, n);
        fuzz_check(strnlen(a.tag, sizeof(a.tag)) < sizeof(a.tag));
        in.data += n;
        in.size -= n;
    }
    check(&a, &asked);
    return 0;
}

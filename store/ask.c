/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ask.h"

#include "base/status.h"
#include "store/object_list.h"

#include <inttypes.h>

#define ANSWER_BYTES_MAX (UINT64_C(256) << 10)

int32_t fdl_ask_begin(struct fdl_request *r, const char *method, char *url,
                      uint32_t timeout_ms)
{
    *r = (struct fdl_request){
        .method = method, .url = url, .timeout_ms = timeout_ms};
    return url ? FEEDLINE_OK : fdl_fail_memory(0, "an address");
}

int32_t fdl_ask(const struct fdl_store_options *o, const struct fdl_request *r,
                const char *what, struct fdl_answer *out)
{
    *out = (struct fdl_answer){0};
    if (!o->fetch)
        return fdl_fail(FEEDLINE_ENOSYS, "%s: there is nothing to ask it with",
                        what);
    int32_t status = o->fetch(o->user, r, ANSWER_BYTES_MAX, out);
    if (status < 0) {
        fdl_answer_free(out);
        return fdl_fail(status, "%s: no answer", what);
    }
    if (out->status >= 200 && out->status < 300)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EIO, "%s: refused with status %" PRId32, what,
                    out->status);
}

int32_t fdl_ask_json(const struct fdl_store_options *o, struct fdl_request *r,
                     const char *what, struct fdl_field *fields, uint32_t n)
{
    struct fdl_answer answer;
    int32_t status = fdl_ask(o, r, what, &answer);
    if (status == FEEDLINE_OK)
        status = fdl_fields_json(&answer.body, what, fields, n);
    fdl_answer_free(&answer);
    fdl_request_free(r);
    return status;
}

int32_t fdl_ask_token(const struct fdl_store_options *o, int64_t now,
                      struct fdl_request *r, const char *what,
                      struct fdl_credentials *out)
{
    struct fdl_field f[] = {{.name = "access_token"}, {.name = "expires_in"}};
    uint64_t seconds = 0;
    int32_t status = fdl_ask_json(o, r, what, f, FDL_COUNT_OF(f));
    if (status < 0)
        return status;
    if (!f[0].text || !*f[0].text) {
        status = fdl_fail(FEEDLINE_EIO, "%s: gave no token", what);
    } else {
        *out = (struct fdl_credentials){.token = f[0].text};
        f[0].text = NULL;
    }
    if (status == FEEDLINE_OK && f[1].text &&
        fdl_object_number(f[1].text, &seconds) && seconds < UINT32_MAX)
        out->expires = now + (int64_t)seconds;
    fdl_fields_free(f, FDL_COUNT_OF(f));
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/s3_request.h"

#include "base/status.h"
#include "store/dates.h"
#include "store/sigv4.h"

#include <string.h>

#define SIGNED_MAX 6

static void sign_header(struct fdl_sigv4 *s,
                        struct fdl_pair headers[SIGNED_MAX], const char *name,
                        const char *value)
{
    if (value)
        headers[s->n_headers++] = (struct fdl_pair){name, value};
}

static int32_t add_signature(const struct fdl_sigv4 *s, const char *date,
                             const char *token, struct fdl_request *out)
{
    struct fdl_text authorization = {0};
    int32_t status = fdl_sigv4_authorization(s, &authorization);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(out, "x-amz-date", date);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(out, "x-amz-content-sha256", s->payload);
    if (status == FEEDLINE_OK && token)
        status = fdl_request_header(out, "x-amz-security-token", token);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(out, "Authorization", authorization.data);
    fdl_text_free(&authorization);
    return status;
}

static int32_t sign(const struct fdl_s3_call *c, const char *path,
                    const char *query, struct fdl_request *out)
{
    char date[FDL_DATE_BASIC];
    struct fdl_pair headers[SIGNED_MAX];
    struct fdl_sigv4 s = {.id = c->credentials->id,
                          .secret = c->credentials->secret,
                          .region = c->region,
                          .service = "s3",
                          .time = c->now,
                          .method = out->method,
                          .path = path,
                          .query = query,
                          .headers = headers,
                          .payload = c->bucket->tls ? FDL_PAYLOAD_UNSIGNED
                                                    : FDL_PAYLOAD_NONE};
    fdl_date_basic(c->now, date);
    sign_header(&s, headers, "host", c->bucket->host);
    sign_header(&s, headers, "if-match", c->tag);
    sign_header(&s, headers, "range", c->range);
    sign_header(&s, headers, "x-amz-content-sha256", s.payload);
    sign_header(&s, headers, "x-amz-date", date);
    sign_header(&s, headers, "x-amz-security-token", c->credentials->token);
    return add_signature(&s, date, c->credentials->token, out);
}

int32_t fdl_s3_request(const struct fdl_s3_call *c, struct fdl_request *out)
{
    struct fdl_request r = {.method = "GET"};
    struct fdl_text path = {0}, query = {0};
    int32_t status = FEEDLINE_OK;
    fdl_endpoint_add_path(c->bucket, c->key, &path);
    fdl_text_add(&query, "%s", "");
    fdl_percent_query(&query, c->query, c->n_query);
    if (!path.failed && !query.failed)
        r.url = fdl_endpoint_url(c->bucket, path.data, query.data);
    if (!r.url)
        status = fdl_fail_memory(path.length, "an address");
    if (status == FEEDLINE_OK && c->credentials->id)
        status = sign(c, path.data, query.data, &r);
    fdl_text_free(&path);
    fdl_text_free(&query);
    if (status == FEEDLINE_OK)
        *out = r;
    else
        fdl_request_free(&r);
    return status;
}

int32_t fdl_s3_list_request(const struct fdl_s3_call *c,
                            const struct fdl_pages *p, const char *next,
                            struct fdl_request *out)
{
    struct fdl_pair query[5] = {{"encoding-type", "url"},
                                {"list-type", "2"},
                                {"prefix", p->where->key}};
    struct fdl_s3_call list = *c;
    list.key = "";
    list.query = query;
    list.n_query = 3;
    if (p->folder)
        query[list.n_query++] = (struct fdl_pair){"delimiter", "/"};
    if (*next)
        query[list.n_query++] = (struct fdl_pair){"continuation-token", next};
    return fdl_s3_request(&list, out);
}

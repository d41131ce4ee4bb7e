/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gs://BUCKET/KEY: Google's store. With an HMAC key it speaks as S3 does; with
 * a token, or with nothing, objects come by the XML interface and lists by the
 * JSON one. STORAGE_EMULATOR_HOST or the option names another server.
 */
#include "base/status.h"
#include "store/environment.h"
#include "store/percent.h"
#include "store/remote.h"
#include "store/s3_request.h"
#include "store/store.h"

#include <string.h>

#define SERVER   "https://storage.googleapis.com"
#define FIELDS   "items(name,size,md5Hash),prefixes,nextPageToken"
#define PER_PAGE "1000"

static int32_t set_up(struct fdl_remote *r)
{
    const char *from = "the endpoint";
    const char *url = r->options.endpoint;
    struct fdl_text whole = {0};
    r->options.anonymous |= fdl_store_env_true("GOOGLE_SKIP_SIGNATURE");
    if (!url)
        url = fdl_store_env(from = "STORAGE_EMULATOR_HOST");
    if (url && !strstr(url, "://")) { /* HOST:PORT, as Google's tools want it */
        fdl_text_add(&whole, "http://%s", url);
        url = whole.failed ? "" : whole.data;
    }
    int32_t status = fdl_endpoint_parse(url ? url : SERVER, from, &r->endpoint);
    fdl_text_free(&whole);
    return status;
}

static int32_t gs_open(const char *location, const struct fdl_store_options *o,
                       struct fdl_store **out)
{
    return fdl_remote_open(&fdl_store_gs, sizeof(struct fdl_remote), location,
                           o, fdl_google_credentials, set_up, out);
}

/* ---- Requests ------------------------------------------------------------ */

static int32_t prepare(struct fdl_remote *s, const struct fdl_location *l,
                       struct fdl_credentials *c, struct fdl_endpoint *bucket,
                       struct fdl_s3_call *call)
{
    *c = (struct fdl_credentials){0};
    int32_t status =
        fdl_endpoint_of_bucket(&s->endpoint, l->bucket, false, bucket);
    if (status == FEEDLINE_OK)
        status = fdl_keeper_take(&s->keeper, c);
    *call = (struct fdl_s3_call){.bucket = bucket,
                                 .key = l->key,
                                 .region = "auto",
                                 .now = fdl_keeper_now(&s->keeper),
                                 .credentials = c};
    return status;
}

static int32_t gs_sign(struct fdl_store *store, const char *location,
                       const char *range, const char *tag,
                       struct fdl_request *out)
{
    struct fdl_location l;
    struct fdl_credentials c;
    struct fdl_endpoint bucket;
    struct fdl_s3_call call;
    int32_t status = fdl_remote_object(store, location, &l);
    if (status == FEEDLINE_OK)
        status = prepare((struct fdl_remote *)store, &l, &c, &bucket, &call);
    if (status < 0)
        return status;
    call.range = range;
    call.tag = tag;
    status = fdl_s3_request(&call, out);
    if (status == FEEDLINE_OK && !c.id) {
        status = fdl_credentials_bearer(&c, out);
        if (status < 0)
            fdl_request_free(out);
    }
    fdl_credentials_free(&c);
    return status;
}

/* ---- Lists --------------------------------------------------------------- */

static int32_t json_page(const struct fdl_pages *p,
                         const struct fdl_credentials *c, const char *next,
                         struct fdl_request *out)
{
    const struct fdl_remote *s = (const struct fdl_remote *)p->store;
    struct fdl_pair pairs[5] = {{"fields", FIELDS},
                                {"maxResults", PER_PAGE},
                                {"prefix", p->where->key}};
    uint32_t n = 3;
    struct fdl_text path = {0}, query = {0};
    struct fdl_request r = {.method = "GET"};
    if (p->folder)
        pairs[n++] = (struct fdl_pair){"delimiter", "/"};
    if (*next)
        pairs[n++] = (struct fdl_pair){"pageToken", next};
    fdl_text_add(&path, "%s/storage/v1/b/", s->endpoint.path);
    fdl_percent_add(&path, p->where->bucket, "");
    fdl_text_add(&path, "/o");
    fdl_percent_query(&query, pairs, n);
    if (!path.failed && !query.failed)
        r.url = fdl_endpoint_url(&s->endpoint, path.data, query.data);
    int32_t status = r.url ? fdl_credentials_bearer(c, &r)
                           : fdl_fail_memory(path.length, "an address");
    fdl_text_free(&path);
    fdl_text_free(&query);
    if (status == FEEDLINE_OK)
        *out = r;
    else
        fdl_request_free(&r);
    return status;
}

static int32_t make_page(const struct fdl_pages *p, const char *next,
                         struct fdl_request *out)
{
    struct fdl_remote *s = (struct fdl_remote *)p->store;
    struct fdl_credentials c;
    struct fdl_endpoint bucket;
    struct fdl_s3_call call;
    int32_t status = prepare(s, p->where, &c, &bucket, &call);
    if (status < 0)
        return status;
    status = c.id ? fdl_s3_list_request(&call, p, next, out)
                  : json_page(p, &c, next, out);
    fdl_credentials_free(&c);
    return status;
}

/* XML begins with '<', whichever of the two was asked. */
static int32_t read_page(struct fdl_object_list *l,
                         const struct fdl_answer *answer)
{
    const char *body = answer->body.length ? answer->body.data : "";
    bool is_xml = body[strspn(body, " \t\r\n\xef\xbb\xbf")] == '<';
    return is_xml ? fdl_page_s3(l, answer) : fdl_page_google(l, answer);
}

static int32_t gs_list(struct fdl_store *store, const char *location,
                       fdl_object_each *each, fdl_folder_each *folder,
                       void *user)
{
    const struct fdl_pages pages = {.make = make_page,
                                    .read = read_page,
                                    .each = each,
                                    .folder = folder,
                                    .user = user};
    return fdl_remote_list(store, location, &pages);
}

const struct fdl_store_ops fdl_store_gs = {.scheme = "gs",
                                           .open = gs_open,
                                           .close = fdl_remote_close,
                                           .sign = gs_sign,
                                           .refused = fdl_remote_refused,
                                           .list = gs_list};

/* SPDX-License-Identifier: Apache-2.0 */
/* az://CONTAINER/BLOB: Azure's blob service, of the account that the
 * environment names (azure_account.h). */
#include "base/status.h"
#include "store/azure_account.h"
#include "store/azure_key.h"
#include "store/dates.h"
#include "store/environment.h"
#include "store/remote.h"
#include "store/store.h"

#include <string.h>

#define VERSION  "2021-12-02"
#define PER_PAGE "5000"

struct az {
    struct fdl_remote r;
    char account[FDL_BUCKET_BYTES];
};

static int32_t set_up(struct fdl_remote *r)
{
    struct az *s = (struct az *)r;
    r->options.anonymous |= fdl_store_env_true("AZURE_SKIP_SIGNATURE");
    return fdl_azure_account(r->options.endpoint, s->account, &r->endpoint);
}

static int32_t az_open(const char *location, const struct fdl_store_options *o,
                       struct fdl_store **out)
{
    return fdl_remote_open(&fdl_store_az, sizeof(struct az), location, o,
                           fdl_azure_credentials, set_up, out);
}

/* ---- Requests ------------------------------------------------------------ */

struct call {
    struct az *s;
    const char *path; /* as it is sent */
    const struct fdl_pair *query;
    uint32_t n_query;
    const char *range, *tag;
    const struct fdl_credentials *credentials;
};

static int32_t add_key(const struct call *c, const char *date,
                       struct fdl_request *r)
{
    const struct fdl_azure_key key = {.account = c->s->account,
                                      .key = c->credentials->secret,
                                      .path = c->path,
                                      .query = c->query,
                                      .n_query = c->n_query,
                                      .date = date,
                                      .version = VERSION,
                                      .range = c->range,
                                      .match = c->tag};
    struct fdl_text value = {0};
    int32_t status = fdl_azure_authorization(&key, &value);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(r, "Authorization", value.data);
    fdl_text_free(&value);
    return status;
}

static int32_t add_headers(const struct call *c, struct fdl_request *r)
{
    char date[FDL_DATE_HTTP];
    fdl_date_http(fdl_keeper_now(&c->s->r.keeper), date);
    int32_t status = fdl_request_header(r, "x-ms-version", VERSION);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(r, "x-ms-date", date);
    if (status == FEEDLINE_OK && c->credentials->secret)
        status = add_key(c, date, r);
    else if (status == FEEDLINE_OK)
        status = fdl_credentials_bearer(c->credentials, r);
    return status;
}

static int32_t finish(const struct call *c, struct fdl_request *out)
{
    struct fdl_request r = {.method = "GET"};
    struct fdl_text query = {0};
    const char *sas = c->credentials->query;
    fdl_text_add(&query, "%s", "");
    fdl_percent_query(&query, c->query, c->n_query);
    if (sas)
        fdl_text_add(&query, "%s%s", query.length ? "&" : "", sas);
    if (!query.failed)
        r.url = fdl_endpoint_url(&c->s->r.endpoint, c->path, query.data);
    fdl_wipe(query.data);
    int32_t status =
        r.url ? add_headers(c, &r) : fdl_fail_memory(0, "an address");
    if (status == FEEDLINE_OK)
        *out = r;
    else
        fdl_request_free(&r);
    return status;
}

/* key: "" for the container. */
static int32_t make(struct call *c, const char *container, const char *key,
                    struct fdl_request *out)
{
    struct fdl_credentials credentials = {0};
    struct fdl_endpoint e;
    struct fdl_text path = {0};
    int32_t status =
        fdl_endpoint_of_bucket(&c->s->r.endpoint, container, false, &e);
    if (status == FEEDLINE_OK)
        status = fdl_keeper_take(&c->s->r.keeper, &credentials);
    if (status == FEEDLINE_OK) {
        fdl_endpoint_add_path(&e, key, &path);
        c->path = path.data;
        c->credentials = &credentials;
        status =
            path.failed ? fdl_fail_memory(0, "an address") : finish(c, out);
    }
    fdl_text_free(&path);
    fdl_credentials_free(&credentials);
    return status;
}

static int32_t az_sign(struct fdl_store *store, const char *location,
                       const char *range, const char *tag,
                       struct fdl_request *out)
{
    struct call c = {.s = (struct az *)store, .range = range, .tag = tag};
    struct fdl_location l;
    int32_t status = fdl_remote_object(store, location, &l);
    if (status < 0)
        return status;
    return make(&c, l.bucket, l.key, out);
}

/* ---- Lists --------------------------------------------------------------- */

static int32_t make_page(const struct fdl_pages *p, const char *next,
                         struct fdl_request *out)
{
    struct fdl_pair query[6] = {{"comp", "list"},
                                {"maxresults", PER_PAGE},
                                {"prefix", p->where->key},
                                {"restype", "container"}};
    struct call c = {.s = (struct az *)p->store, .query = query, .n_query = 4};
    if (p->folder)
        query[c.n_query++] = (struct fdl_pair){"delimiter", "/"};
    if (*next)
        query[c.n_query++] = (struct fdl_pair){"marker", next};
    return make(&c, p->where->bucket, "", out);
}

static int32_t az_list(struct fdl_store *store, const char *location,
                       fdl_object_each *each, fdl_folder_each *folder,
                       void *user)
{
    const struct fdl_pages pages = {.make = make_page,
                                    .read = fdl_page_azure,
                                    .each = each,
                                    .folder = folder,
                                    .user = user};
    return fdl_remote_list(store, location, &pages);
}

const struct fdl_store_ops fdl_store_az = {.scheme = "az",
                                           .open = az_open,
                                           .close = fdl_remote_close,
                                           .sign = az_sign,
                                           .refused = fdl_remote_refused,
                                           .list = az_list};

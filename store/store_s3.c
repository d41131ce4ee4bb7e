/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3://BUCKET/KEY: Amazon's S3, and with an endpoint of its own whatever speaks
 * as it does: Ceph, MinIO, R2.
 *
 * The endpoint is an option, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the
 * profile's endpoint_url; the bucket is then in the path. At Amazon it is in
 * the host's name, unless it has dots, for which there are no certificates. The
 * region is an option, AWS_REGION, AWS_DEFAULT_REGION, the profile's, and in
 * the end what the server says.
 */
#include "base/status.h"
#include "store/aws_profile.h"
#include "store/environment.h"
#include "store/refusal.h"
#include "store/remote.h"
#include "store/s3_request.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define REGION_BYTES 64

struct s3 {
    struct fdl_remote r;
    bool own_endpoint;         /* not Amazon's */
    char region[REGION_BYTES]; /* guarded by the keeper's lock */
};

static bool region_is_good(const char *region)
{
    size_t n = strlen(region);
    return n > 0 && n < REGION_BYTES &&
           strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* ---- What it is made from ------------------------------------------------ */

static int32_t set_endpoint(struct s3 *s, const struct fdl_aws_profile *p)
{
    const char *from = "the endpoint";
    const char *url = s->r.options.endpoint;
    bool ignored = fdl_store_env_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    if (!url && !ignored)
        url = fdl_store_env(from = "AWS_ENDPOINT_URL_S3");
    if (!url && !ignored)
        url = fdl_store_env(from = "AWS_ENDPOINT_URL");
    if (!url && !ignored) {
        from = "endpoint_url of AWS's profile";
        url = p->values[FDL_AWS_ENDPOINT];
    }
    s->own_endpoint = url != NULL;
    return url ? fdl_endpoint_parse(url, from, &s->r.endpoint) : FEEDLINE_OK;
}

static int32_t set_region(struct s3 *s, const struct fdl_aws_profile *p)
{
    const char *region = s->r.options.region;
    if (!region)
        region = fdl_store_env("AWS_REGION");
    if (!region)
        region = fdl_store_env("AWS_DEFAULT_REGION");
    if (!region)
        region = p->values[FDL_AWS_REGION];
    if (!region)
        region = "us-east-1";
    if (!region_is_good(region))
        return fdl_fail(FEEDLINE_EINVAL, "%s is no region of S3", region);
    strcpy(s->region, region);
    return FEEDLINE_OK;
}

static int32_t set_up(struct fdl_remote *r)
{
    struct s3 *s = (struct s3 *)r;
    struct fdl_aws_profile p;
    int32_t status = fdl_aws_profile_read(&r->options, &p);
    if (status == FEEDLINE_ENOENT && !r->options.profile) {
        p = (struct fdl_aws_profile){0}; /* the chain will say so */
        status = FEEDLINE_OK;
    }
    if (status < 0)
        return status;
    status = set_endpoint(s, &p);
    if (status == FEEDLINE_OK)
        status = set_region(s, &p);
    r->options.anonymous |= fdl_store_env_true("AWS_NO_SIGN_REQUEST") ||
                            fdl_store_env_true("AWS_SKIP_SIGNATURE");
    fdl_aws_profile_free(&p);
    return status;
}

static int32_t s3_open(const char *location, const struct fdl_store_options *o,
                       struct fdl_store **out)
{
    return fdl_remote_open(&fdl_store_s3, sizeof(struct s3), location, o,
                           fdl_aws_credentials, set_up, out);
}

/* ---- Requests ------------------------------------------------------------ */

/* What a request to a bucket is made from; its memory. */
struct prepared {
    struct fdl_credentials credentials;
    struct fdl_endpoint bucket;
    char region[REGION_BYTES];
    struct fdl_s3_call call;
};

static int32_t set_bucket(const struct s3 *s, const char *bucket,
                          struct prepared *p)
{
    struct fdl_endpoint e = s->r.endpoint;
    if (!s->own_endpoint) {
        const char *china = strncmp(p->region, "cn-", 3) == 0 ? ".cn" : "";
        e = (struct fdl_endpoint){.tls = true};
        snprintf(e.host, sizeof(e.host), "s3.%s.amazonaws.com%s", p->region,
                 china);
    }
    bool in_host = !s->own_endpoint && fdl_bucket_is_label(bucket);
    return fdl_endpoint_of_bucket(&e, bucket, in_host, &p->bucket);
}

static int32_t prepare(struct s3 *s, const struct fdl_location *l,
                       struct prepared *p)
{
    fdl_lock(&s->r.keeper.lock);
    strcpy(p->region, s->region);
    fdl_unlock(&s->r.keeper.lock);
    p->credentials = (struct fdl_credentials){0};
    int32_t status = set_bucket(s, l->bucket, p);
    if (status == FEEDLINE_OK)
        status = fdl_keeper_take(&s->r.keeper, &p->credentials);
    p->call = (struct fdl_s3_call){.bucket = &p->bucket,
                                   .key = l->key,
                                   .region = p->region,
                                   .now = fdl_keeper_now(&s->r.keeper),
                                   .credentials = &p->credentials};
    return status;
}

static int32_t s3_sign(struct fdl_store *store, const char *location,
                       const char *range, const char *tag,
                       struct fdl_request *out)
{
    struct fdl_location l;
    struct prepared p;
    int32_t status = fdl_remote_object(store, location, &l);
    if (status == FEEDLINE_OK)
        status = prepare((struct s3 *)store, &l, &p);
    if (status < 0)
        return status;
    p.call.range = range;
    p.call.tag = tag;
    status = fdl_s3_request(&p.call, out);
    fdl_credentials_free(&p.credentials);
    return status;
}

/* ---- Answers ------------------------------------------------------------- */

/* A bucket of another region: it says which one, to all requests that are under
 * way by then. */
static bool moves(struct s3 *s, const struct fdl_refused *r)
{
    if (!region_is_good(r->region))
        return false;
    fdl_lock(&s->r.keeper.lock);
    if (strcmp(s->region, r->region) != 0) {
        strcpy(s->region, r->region);
        fdl_keeper_note_change(&s->r.keeper);
    }
    bool moved = fdl_keeper_has_just_changed(&s->r.keeper);
    fdl_unlock(&s->r.keeper.lock);
    return moved;
}

static enum fdl_refusal s3_refused(struct fdl_store *store,
                                   const char *location, const char *range,
                                   const struct fdl_answer *answer,
                                   int32_t *status)
{
    struct s3 *s = (struct s3 *)store;
    struct fdl_refused r;
    int32_t http = answer->status;
    fdl_refused_read(answer, &s->r.keeper, &r);
    bool moved = (http == 301 || http == 307 || http == 400 || http == 403) &&
                 moves(s, &r);
    enum fdl_refusal what =
        fdl_refused_judge(&r, answer, &s->r.keeper, location, range, status);
    return moved ? FDL_REFUSED_AGAIN : what;
}

/* ---- Lists --------------------------------------------------------------- */

static int32_t make_page(const struct fdl_pages *p, const char *next,
                         struct fdl_request *out)
{
    struct prepared made;
    int32_t status = prepare((struct s3 *)p->store, p->where, &made);
    if (status < 0)
        return status;
    status = fdl_s3_list_request(&made.call, p, next, out);
    fdl_credentials_free(&made.credentials);
    return status;
}

static int32_t s3_list(struct fdl_store *store, const char *location,
                       fdl_object_each *each, fdl_folder_each *folder,
                       void *user)
{
    const struct fdl_pages pages = {.make = make_page,
                                    .read = fdl_page_s3,
                                    .each = each,
                                    .folder = folder,
                                    .user = user};
    return fdl_remote_list(store, location, &pages);
}

const struct fdl_store_ops fdl_store_s3 = {.scheme = "s3",
                                           .open = s3_open,
                                           .close = fdl_remote_close,
                                           .sign = s3_sign,
                                           .refused = s3_refused,
                                           .list = s3_list};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf://datasets/OWNER/NAME[@REVISION]/PATH: a file of a data set on the Hugging
 * Face hub, or on the server that HF_ENDPOINT names. The hub answers with the
 * address of another host, to which the token does not go.
 */
#include "base/memory.h"
#include "base/status.h"
#include "store/environment.h"
#include "store/percent.h"
#include "store/remote.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define SERVER "https://huggingface.co"

/* ---- Its token ----------------------------------------------------------- */

static int32_t token_path(char **out)
{
    struct fdl_text path = {0};
    const char *file = fdl_store_env("HF_TOKEN_PATH");
    const char *home = fdl_store_env("HF_HOME");
    const char *cache = fdl_store_env("XDG_CACHE_HOME");
    if (file)
        fdl_text_add(&path, "%s", file);
    else if (home)
        fdl_text_add(&path, "%s/token", home);
    else if (cache)
        fdl_text_add(&path, "%s/huggingface/token", cache);
    else
        return fdl_store_home(".cache/huggingface/token", out);
    *out = path.data;
    return path.data ? FEEDLINE_OK : fdl_fail_memory(0, "a path");
}

/* Most data sets are for everybody, so it may be missing. */
int32_t fdl_hub_credentials(const struct fdl_store_options *o, int64_t now,
                            struct fdl_credentials *out)
{
    const char *token = fdl_store_env("HF_TOKEN");
    (void)o;
    (void)now;
    if (!token)
        token = fdl_store_env("HUGGING_FACE_HUB_TOKEN");
    if (token) {
        out->token = fdl_strdup(token);
        return out->token ? FEEDLINE_OK
                          : fdl_fail_memory(strlen(token), "a token");
    }
    if (fdl_store_env_true("HF_HUB_DISABLE_IMPLICIT_TOKEN"))
        return FEEDLINE_OK;
    char *path = NULL;
    int32_t status = token_path(&path);
    if (status == FEEDLINE_OK)
        status = fdl_store_token_file(path, "the hub's token", &out->token);
    free(path);
    return status == FEEDLINE_ENOENT ? FEEDLINE_OK : status;
}

/* ---- The store ----------------------------------------------------------- */

static int32_t set_up(struct fdl_remote *r)
{
    const char *from = "the endpoint";
    const char *url = r->options.endpoint;
    if (!url)
        url = fdl_store_env(from = "HF_ENDPOINT");
    return fdl_endpoint_parse(url ? url : SERVER, from, &r->endpoint);
}

static int32_t hf_open(const char *location, const struct fdl_store_options *o,
                       struct fdl_store **out)
{
    return fdl_remote_open(&fdl_store_hf, sizeof(struct fdl_remote), location,
                           o, fdl_hub_credentials, set_up, out);
}

/* With the token. Takes a url of the heap. */
static int32_t request(struct fdl_store *store, char *url,
                       struct fdl_request *out)
{
    struct fdl_remote *s = (struct fdl_remote *)store;
    struct fdl_request r = {.method = "GET", .url = url, .follow = true};
    struct fdl_credentials c = {0};
    int32_t status = url ? fdl_keeper_take(&s->keeper, &c)
                         : fdl_fail_memory(0, "an address");
    if (status == FEEDLINE_OK)
        status = fdl_credentials_bearer(&c, &r);
    fdl_credentials_free(&c);
    if (status == FEEDLINE_OK)
        *out = r;
    else
        fdl_request_free(&r);
    return status;
}

/* /FIRST/OWNER/NAME/SECOND/REVISION/PATH; a revision's slashes are encoded. */
static char *address(const struct fdl_remote *s, const struct fdl_location *l,
                     const char *first, const char *second, const char *query)
{
    struct fdl_text path = {0};
    char *url = NULL;
    fdl_text_add(&path, "%s/%s/", s->endpoint.path, first);
    fdl_percent_add(&path, l->bucket, "/");
    fdl_text_add(&path, "/%s/", second);
    fdl_percent_add(&path, l->revision, "");
    if (*l->key)
        fdl_text_add(&path, "/");
    fdl_percent_add(&path, l->key, "/");
    if (!path.failed)
        url = fdl_endpoint_url(&s->endpoint, path.data, query);
    fdl_text_free(&path);
    return url;
}

static int32_t hf_sign(struct fdl_store *store, const char *location,
                       const char *range, const char *tag,
                       struct fdl_request *out)
{
    const struct fdl_remote *s = (const struct fdl_remote *)store;
    struct fdl_location l;
    int32_t status = fdl_remote_object(store, location, &l);
    (void)range;
    (void)tag;
    if (status < 0)
        return status;
    return request(store, address(s, &l, "datasets", "resolve", ""), out);
}

/* ---- Lists --------------------------------------------------------------- */

/* The server names the next page; the token goes to no other. */
static bool is_own(const struct fdl_remote *s, const char *url)
{
    struct fdl_text begin = {0};
    fdl_text_add(&begin, "%s://%s/", s->endpoint.tls ? "https" : "http",
                 s->endpoint.host);
    bool own = !begin.failed && strncmp(url, begin.data, begin.length) == 0 &&
               !strpbrk(url, " \r\n\t");
    fdl_text_free(&begin);
    return own;
}

/* The folder that a prefix is in, which is what the hub lists. */
static void folder_of(struct fdl_location *l, char **memory)
{
    const char *slash = strrchr(l->key, '/');
    *memory = fdl_strdup(l->key);
    if (*memory)
        (*memory)[slash ? slash - l->key : 0] = '\0';
    l->key = *memory ? *memory : "";
}

static int32_t make_page(const struct fdl_pages *p, const char *next,
                         struct fdl_request *out)
{
    const struct fdl_remote *s = (const struct fdl_remote *)p->store;
    struct fdl_location l = *p->where;
    char *folder;
    if (*next && !is_own(s, next))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: the server's list goes on at another host",
                        p->location);
    if (*next)
        return request(p->store, fdl_strdup(next), out);
    folder_of(&l, &folder);
    int32_t status = folder
                         ? request(p->store,
                                   address(s, &l, "api/datasets", "tree",
                                           p->folder ? "" : "recursive=true"),
                                   out)
                         : fdl_fail_memory(0, "an address");
    free(folder);
    return status;
}

static int32_t hf_list(struct fdl_store *store, const char *location,
                       fdl_object_each *each, fdl_folder_each *folder,
                       void *user)
{
    const struct fdl_pages pages = {.make = make_page,
                                    .read = fdl_page_hub,
                                    .each = each,
                                    .folder = folder,
                                    .user = user};
    return fdl_remote_list(store, location, &pages);
}

const struct fdl_store_ops fdl_store_hf = {.scheme = "hf",
                                           .open = hf_open,
                                           .close = fdl_remote_close,
                                           .sign = hf_sign,
                                           .refused = fdl_remote_refused,
                                           .list = hf_list};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http:// and https://: the location is the URL. A user and a password in it
 * are refused: they would be part of every sample's name.
 */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t open_any(const struct fdl_store_ops *ops, const char *location,
                        struct fdl_store **out)
{
    const char *host = strstr(location, "://") + 3;
    size_t bytes = strcspn(host, "/?#");
    const char *at = memchr(host, '@', bytes);
    if (at)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s://...%.*s: a URL with a user or a password is not "
                        "taken; a signed URL is",
                        ops->scheme, (int)(host + bytes - at), at);
    if (bytes == 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s:// without a host", ops->scheme);
    struct fdl_store *store = calloc(1, sizeof(*store));
    if (!store)
        return fdl_fail_memory(sizeof(*store), "a store");
    store->ops = ops;
    *out = store;
    return FEEDLINE_OK;
}

static int32_t open_http(const char *location,
                         const struct fdl_store_options *o,
                         struct fdl_store **out)
{
    (void)o;
    return open_any(&fdl_store_http, location, out);
}

static int32_t open_https(const char *location,
                          const struct fdl_store_options *o,
                          struct fdl_store **out)
{
    (void)o;
    return open_any(&fdl_store_https, location, out);
}

static void close_any(struct fdl_store *store)
{
    free(store);
}

/* What a URL may not hold and names do. What is escaped already stays. */
static bool must_escape(unsigned char c)
{
    return c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c);
}

static int32_t sign(struct fdl_store *store, const char *location,
                    const char *range, const char *tag, struct fdl_request *out)
{
    (void)store;
    (void)range;
    (void)tag;
    size_t n = strcspn(location, "#"), bytes = 3 * n + 1, at = 0;
    char *url = malloc(bytes);
    if (!url)
        return fdl_fail_memory(bytes, "a URL");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)location[i];
        if (must_escape(c))
            at += (size_t)snprintf(url + at, bytes - at, "%%%02X", c);
        else
            url[at++] = (char)c;
    }
    url[at] = '\0';
    out->method = "GET";
    out->url = url;
    out->follow = true;
    return FEEDLINE_OK;
}

const struct fdl_store_ops fdl_store_http = {
    .scheme = "http",
    .open = open_http,
    .close = close_any,
    .sign = sign,
};

const struct fdl_store_ops fdl_store_https = {
    .scheme = "https",
    .open = open_https,
    .close = close_any,
    .sign = sign,
};

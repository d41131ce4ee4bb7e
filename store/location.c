/* SPDX-License-Identifier: Apache-2.0 */
#include "store/location.h"

#include "base/status.h"
#include "store/percent.h"

#include <stdio.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define SMALL   "abcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

static int32_t fail(const char *text, const char *why)
{
    return fdl_fail(FEEDLINE_EINVAL, "%s: %s", text, why);
}

/* Copies n bytes, all of `allowed`, at least one; false if they are not so. */
static bool take(char out[FDL_BUCKET_BYTES], const char *text, size_t n,
                 const char *allowed)
{
    if (n == 0 || n >= FDL_BUCKET_BYTES || strspn(text, allowed) < n)
        return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

/* "." and ".." in a path are another path to some servers. */
static bool leads_away(const char *name)
{
    return strstr(name, "..") || strcmp(name, ".") == 0 ||
           strncmp(name, "./", 2) == 0 || strstr(name, "/./");
}

/* ---- hf:// --------------------------------------------------------------- */

/* Revisions with slashes are those that the hub itself makes: refs/pr/1,
 * refs/convert/parquet. */
static size_t revision_length(const char *text)
{
    size_t n = strcspn(text, "/");
    if (strncmp(text, "refs/", 5) == 0) {
        n = 5 + strcspn(text + 5, "/");
        if (text[n] == '/')
            n += 1 + strcspn(text + n + 1, "/");
    }
    return n;
}

static int32_t parse_hub(const char *text, const char *at,
                         struct fdl_location *out)
{
    static const char allowed[] = LETTERS DIGITS "-_.";
    if (strncmp(at, "datasets/", 9) != 0)
        return fail(text, "data sets of the hub are named "
                          "hf://datasets/OWNER/NAME/PATH");
    at += 9;
    size_t owner = strspn(at, allowed);
    size_t name = at[owner] == '/' ? strspn(at + owner + 1, allowed) : 0;
    if (owner == 0 || name == 0 ||
        !take(out->bucket, at, owner + 1 + name, LETTERS DIGITS "-_./"))
        return fail(text, "names no OWNER/NAME after datasets/");
    if (leads_away(out->bucket))
        return fail(text, "no name of a data set");
    at += owner + 1 + name;
    strcpy(out->revision, "main");
    if (*at == '@') {
        size_t n = revision_length(at + 1);
        if (!take(out->revision, at + 1, n, LETTERS DIGITS "-_./") ||
            leads_away(out->revision))
            return fail(text, "no revision of a data set after '@'");
        at += 1 + n;
    }
    if (*at && *at != '/')
        return fail(text, "no path after the name of the data set");
    out->key = *at ? at + 1 : at;
    return FEEDLINE_OK;
}

/* ---- Buckets ------------------------------------------------------------- */

int32_t fdl_location_parse(const char *text, const char *scheme,
                           struct fdl_location *out)
{
    size_t n = strlen(scheme);
    struct fdl_location l = {0};
    if (strncmp(text, scheme, n) != 0 || strncmp(text + n, "://", 3) != 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s: does not begin with %s://", text,
                        scheme);
    const char *at = text + n + 3;
    if (strcmp(scheme, "hf") == 0) {
        int32_t status = parse_hub(text, at, &l);
        if (status == FEEDLINE_OK)
            *out = l;
        return status;
    }
    size_t bucket = strcspn(at, "/");
    if (!take(l.bucket, at, bucket, LETTERS DIGITS "-_.$"))
        return fail(text, "no name of a bucket, which has letters, digits and "
                          "\"-_.\"");
    if (leads_away(l.bucket))
        return fail(text, "no name of a bucket");
    l.key = at[bucket] ? at + bucket + 1 : at + bucket;
    *out = l;
    return FEEDLINE_OK;
}

bool fdl_bucket_is_label(const char *bucket)
{
    size_t n = strlen(bucket);
    return n >= 3 && n <= 63 && strspn(bucket, SMALL DIGITS "-") == n &&
           bucket[0] != '-' && bucket[n - 1] != '-';
}

/* ---- Endpoints ----------------------------------------------------------- */

/* The port that the scheme has anyway is not part of the header Host. */
static size_t without_usual_port(const char *host, size_t n, bool tls)
{
    const char *usual = tls ? ":443" : ":80";
    size_t length = strlen(usual);
    bool has = n > length && memcmp(host + n - length, usual, length) == 0;
    return has ? n - length : n;
}

int32_t fdl_endpoint_parse(const char *text, const char *from,
                           struct fdl_endpoint *out)
{
    struct fdl_endpoint e = {.tls = strncmp(text, "https://", 8) == 0};
    if (!e.tls && strncmp(text, "http://", 7) != 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: does not begin with https:// or http://", from);
    const char *host = text + (e.tls ? 8 : 7);
    size_t n = strcspn(host, "/?#");
    if (memchr(host, '@', n))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: a user and a password in an address are not "
                        "taken",
                        from);
    if (!take(e.host, host, without_usual_port(host, n, e.tls),
              LETTERS DIGITS "-_.:[]"))
        return fdl_fail(FEEDLINE_EINVAL, "%s: names no host", from);
    const char *path = host + n;
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    if (length > 0 && !take(e.path, path, length, LETTERS DIGITS "-_.~%/"))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: more than a host, a port and a path", from);
    *out = e;
    return FEEDLINE_OK;
}

int32_t fdl_endpoint_of_bucket(const struct fdl_endpoint *e, const char *bucket,
                               bool in_host, struct fdl_endpoint *out)
{
    struct fdl_endpoint b = *e;
    int n = in_host
                ? snprintf(b.host, sizeof(b.host), "%s.%s", bucket, e->host)
                : snprintf(b.path, sizeof(b.path), "%s/%s", e->path, bucket);
    if (n < 0 || n >= FDL_BUCKET_BYTES)
        return fdl_fail(FEEDLINE_EINVAL, "%s: the name is too long", bucket);
    *out = b;
    return FEEDLINE_OK;
}

void fdl_endpoint_add_path(const struct fdl_endpoint *e, const char *key,
                           struct fdl_text *out)
{
    fdl_text_add(out, "%s%s", e->path, *key || !*e->path ? "/" : "");
    fdl_percent_add(out, key, "/");
}

char *fdl_endpoint_url(const struct fdl_endpoint *e, const char *path,
                       const char *query)
{
    struct fdl_text url = {0};
    fdl_text_add(&url, "%s://%s%s%s%s", e->tls ? "https" : "http", e->host,
                 path, *query ? "?" : "", query);
    if (url.failed)
        fdl_text_free(&url);
    return url.data;
}

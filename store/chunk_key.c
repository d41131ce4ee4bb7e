/* SPDX-License-Identifier: Apache-2.0 */
#include "store/chunk_key.h"

#include "base/compiler.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- What signs a URL ---------------------------------------------------- */

/* Where `marker` is, the parameters named here belong to the signature; "X-*"
 * stands for all that begin so. */
static const struct {
    const char *marker;
    const char *parts[20];
} signers[] = {
    {"X-Amz-Signature", {"X-Amz-*"}},
    {"X-Goog-Signature", {"X-Goog-*"}},
    {"Signature",
     {"Signature", "Expires", "Policy", "Key-Pair-Id", "AWSAccessKeyId",
      "GoogleAccessId"}},
    {"sig",
     {"sig", "sv", "ss", "srt", "sr", "sp", "se", "st", "spr", "sip", "si",
      "skoid", "sktid", "skt", "ske", "sks", "skv"}},
};

/* A parameter, "name=value". */
struct parameter {
    const char *at;
    size_t bytes, name;
};

/* The next one of `query`, which goes on behind it; false: there is none. */
static bool next_parameter(const char **query, struct parameter *p)
{
    const char *at = *query + strspn(*query, "?&");
    p->at = at;
    p->bytes = strcspn(at, "&");
    p->name = FDL_MIN(strcspn(at, "="), p->bytes);
    *query = at + p->bytes;
    return p->bytes > 0;
}

static bool is_named(const struct parameter *p, const char *name)
{
    size_t n = strlen(name);
    if (name[n - 1] == '*')
        return p->name >= n - 1 && strncasecmp(p->at, name, n - 1) == 0;
    return p->name == n && strncasecmp(p->at, name, n) == 0;
}

static bool has_parameter(const char *query, const char *name)
{
    struct parameter p;
    while (next_parameter(&query, &p))
        if (is_named(&p, name))
            return true;
    return false;
}

static bool signs(const char *query, const struct parameter *p)
{
    for (size_t i = 0; i < FDL_COUNT_OF(signers); i++) {
        if (!has_parameter(query, signers[i].marker))
            continue;
        for (const char *const *part = signers[i].parts; *part; part++)
            if (is_named(p, *part))
                return true;
    }
    return false;
}

/* ---- Names --------------------------------------------------------------- */

/* *d becomes the hash of itself and of some bytes more. */
static void mix(struct fdl_digest *d, const void *data, size_t n)
{
    struct fdl_digest both[2] = {*d};
    fdl_sha256(data, n, &both[1]);
    fdl_sha256(both, sizeof(both), d);
}

void fdl_chunk_group(const char *location, char out[FDL_CHUNK_GROUP_BYTES])
{
    char hex[FDL_SHA256_HEX];
    struct fdl_digest d;
    const char *end = strrchr(location, '/');
    fdl_sha256(location, end ? (size_t)(end - location) : 0, &d);
    fdl_digest_hex(&d, hex);
    snprintf(out, FDL_CHUNK_GROUP_BYTES, "%.16s", hex);
}

void fdl_chunk_key_make(const char *location, const char *query,
                        const char *tag, struct fdl_chunk_key *out)
{
    char group[FDL_CHUNK_GROUP_BYTES], hex[FDL_SHA256_HEX];
    const char *rest = query ? query : "";
    struct parameter p;
    struct fdl_digest d;
    fdl_sha256(location, strlen(location), &d);
    while (next_parameter(&rest, &p))
        if (!signs(query, &p))
            mix(&d, p.at, p.bytes);
    fdl_chunk_group(location, group);
    fdl_digest_hex(&d, hex);
    snprintf(out->path, sizeof(out->path), "%s/%.32s", group, hex);
    mix(&d, tag, strlen(tag));
    out->identity = d;
}

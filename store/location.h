/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of objects, as data sets have them, and the servers that they are on.
 *
 *     s3://BUCKET/KEY    gs://BUCKET/KEY    az://CONTAINER/BLOB
 *     hf://datasets/OWNER/NAME[@REVISION]/PATH
 *     https://HOST/PATH
 *
 * A key is plain text: nothing in it is percent-encoded, and "?" and "#" are
 * characters like others. An https:// address is as a browser has it.
 */
#ifndef FDL_STORE_LOCATION_H
#define FDL_STORE_LOCATION_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_BUCKET_BYTES 256

struct fdl_location {
    char bucket[FDL_BUCKET_BYTES];   /* "OWNER/NAME" of hf:// */
    char revision[FDL_BUCKET_BYTES]; /* of hf://, "main" if none is named */
    const char *key;                 /* in the text; "" if none */
};

/* scheme: "s3", of "s3://". EINVAL says what is wrong. */
int32_t fdl_location_parse(const char *text, const char *scheme,
                           struct fdl_location *out);

/* Where a server is. */
struct fdl_endpoint {
    bool tls;
    char host[FDL_BUCKET_BYTES]; /* with the port, unless that is the usual */
    char path[FDL_BUCKET_BYTES]; /* before every other: "" or "/PREFIX" */
};

/* "http[s]://HOST[:PORT][/PREFIX]". from: what gave it, for the message, which
 * does not show it where it has a password. EINVAL. */
int32_t fdl_endpoint_parse(const char *text, const char *from,
                           struct fdl_endpoint *out);

/* May a bucket be the first label of a host's name? With dots in it, the
 * certificates of stores do not match. */
bool fdl_bucket_is_label(const char *bucket);

/* The endpoint of a bucket, which then is in the host or in the path. EINVAL:
 * the name becomes too long. */
int32_t fdl_endpoint_of_bucket(const struct fdl_endpoint *e, const char *bucket,
                               bool in_host, struct fdl_endpoint *out);

/* Adds the path of a key ("": of the bucket), percent-encoded, with the
 * endpoint's before it. */
void fdl_endpoint_add_path(const struct fdl_endpoint *e, const char *key,
                           struct fdl_text *out);

/* The address of a path and a query ("" if none) at it; NULL: no memory. */
char *fdl_endpoint_url(const struct fdl_endpoint *e, const char *path,
                       const char *query);

#endif

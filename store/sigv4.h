/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS Signature Version 4, for requests without a body: GET, HEAD, lists. It is
 * understood by S3 and whatever speaks as S3 does, Google's store among them.
 */
#ifndef FDL_STORE_SIGV4_H
#define FDL_STORE_SIGV4_H

#include "store/percent.h"

#include <stdint.h>

/* The SHA-256 of nothing, and what may stand for it where TLS protects what is
 * sent. */
#define FDL_PAYLOAD_NONE                                                       \
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define FDL_PAYLOAD_UNSIGNED "UNSIGNED-PAYLOAD"

struct fdl_sigv4 {
    const char *id, *secret;
    const char *region, *service; /* "us-east-1", "s3" */
    int64_t time;
    const char *method;
    const char *path;  /* as it is sent, percent-encoded; S3 changes nothing */
    const char *query; /* of fdl_percent_query, "" if none */
    const struct fdl_pair *headers; /* what is signed; lower-case names */
    uint32_t n_headers;
    const char *payload; /* FDL_PAYLOAD_* */
};

/* The text that is signed first; tests compare it. */
void fdl_sigv4_canonical(const struct fdl_sigv4 *s, struct fdl_text *out);

/* Adds the value of the header Authorization. ENOMEM. */
int32_t fdl_sigv4_authorization(const struct fdl_sigv4 *s,
                                struct fdl_text *out);

#endif

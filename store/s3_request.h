/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as S3 wants them: of its own, and of whoever speaks as it does. */
#ifndef FDL_STORE_S3_REQUEST_H
#define FDL_STORE_S3_REQUEST_H

#include "store/credentials.h"
#include "store/location.h"
#include "store/pages.h"
#include "store/percent.h"
#include "store/request.h"

#include <stdint.h>

struct fdl_s3_call {
    const struct fdl_endpoint *bucket; /* of fdl_endpoint_of_bucket */
    const char *key;                   /* "": the bucket */
    const struct fdl_pair *query;
    uint32_t n_query;
    const char *range, *tag; /* or NULL: what the sender adds */
    const char *region;
    int64_t now; /* of the server */
    const struct fdl_credentials *credentials;
};

/* A GET, signed unless the credentials are anonymous. ENOMEM, EINVAL. */
int32_t fdl_s3_request(const struct fdl_s3_call *c, struct fdl_request *out);

/* A page of ListObjectsV2, as fdl_page_make has it. */
int32_t fdl_s3_list_request(const struct fdl_s3_call *c,
                            const struct fdl_pages *p, const char *next,
                            struct fdl_request *out);

#endif

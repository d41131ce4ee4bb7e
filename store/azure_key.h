/* SPDX-License-Identifier: Apache-2.0 */
/* Azure's Shared Key, for GETs of its blob service. */
#ifndef FDL_STORE_AZURE_KEY_H
#define FDL_STORE_AZURE_KEY_H

#include "store/percent.h"

#include <stdint.h>

struct fdl_azure_key {
    const char *account, *key; /* the key in base64 */
    const char *path;          /* as it is sent */
    const struct fdl_pair *query;
    uint32_t n_query;
    const char *date;          /* of x-ms-date */
    const char *version;       /* of x-ms-version */
    const char *range, *match; /* headers, or NULL */
};

/* Adds the value of the header Authorization. EINVAL: the key is not base64;
 * ENOMEM. */
int32_t fdl_azure_authorization(const struct fdl_azure_key *k,
                                struct fdl_text *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AWS's two files say of a profile: ~/.aws/credentials and ~/.aws/config,
 * or where AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE say they are. Both
 * may be missing.
 */
#ifndef FDL_STORE_AWS_PROFILE_H
#define FDL_STORE_AWS_PROFILE_H

#include "store/request.h"

#include <stdbool.h>
#include <stdint.h>

enum fdl_aws_key {
    FDL_AWS_ID,
    FDL_AWS_SECRET,
    FDL_AWS_TOKEN,
    FDL_AWS_REGION,
    FDL_AWS_ENDPOINT,
    FDL_AWS_ROLE,
    FDL_AWS_SESSION_NAME,
    FDL_AWS_TOKEN_FILE,
    FDL_AWS_PROCESS,
    FDL_AWS_SSO,
    FDL_AWS_SSO_URL,
    FDL_AWS_KEYS
};

/* Values of the heap, NULL where there is none. */
struct fdl_aws_profile {
    const char *name; /* borrowed */
    bool found;
    char *values[FDL_AWS_KEYS];
};

/* The profile of the options, else of AWS_PROFILE, else "default". ENOENT: one
 * that was asked for is in neither file; EIO, EINVAL, ENOMEM. */
int32_t fdl_aws_profile_read(const struct fdl_store_options *o,
                             struct fdl_aws_profile *out);
void fdl_aws_profile_free(struct fdl_aws_profile *p);

#endif

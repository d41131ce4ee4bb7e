/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of Azure's blob service: AZURE_STORAGE_CONNECTION_STRING, or
 * AZURE_STORAGE_ACCOUNT (also ..._ACCOUNT_NAME) with a key
 * (AZURE_STORAGE_KEY, ..._ACCOUNT_KEY), a SAS (AZURE_STORAGE_SAS_TOKEN), a
 * token (AZURE_STORAGE_TOKEN), or the identity of the machine.
 */
#ifndef FDL_STORE_AZURE_ACCOUNT_H
#define FDL_STORE_AZURE_ACCOUNT_H

#include "store/location.h"

#include <stdint.h>

/* Name of the account and where it is. EINVAL: none is named. */
int32_t fdl_azure_account(const char *option, char account[FDL_BUCKET_BYTES],
                          struct fdl_endpoint *endpoint);

#endif

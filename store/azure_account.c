/* SPDX-License-Identifier: Apache-2.0 */
#include "store/azure_account.h"

#include "base/memory.h"
#include "base/status.h"
#include "store/ask.h"
#include "store/credentials.h"
#include "store/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_MS 1000u
#define MACHINE_URL                                                            \
  "http://169.254.169.254/metadata/identity/oauth2/token?"                     \
  "api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F"

/* Name=value;Name=value; a value may have '=' in it. */
char *fdl_azure_part(const char *name)
{
    const char *at = fdl_store_env("AZURE_STORAGE_CONNECTION_STRING");
    size_t n = strlen(name);
    while (at && *at) {
        size_t length = strcspn(at, ";");
        if (length > n + 1 && at[n] == '=' && strncmp(at, name, n) == 0)
            return strndup(at + n + 1, length - n - 1);
        at += length;
        at += strspn(at, ";");
    }
    return NULL;
}

static bool is_account(const char *name)
{
    return strlen(name) <= 63 && /* "devstoreaccount1" of the emulator is one */
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
               strlen(name);
}

static char *account_name(void)
{
    char *name = fdl_azure_part("AccountName");
    const char *given = fdl_store_env("AZURE_STORAGE_ACCOUNT");
    if (!given)
        given = fdl_store_env("AZURE_STORAGE_ACCOUNT_NAME");
    return name || !given ? name : fdl_strdup(given);
}

int32_t fdl_azure_account(const char *option, char account[FDL_BUCKET_BYTES],
                          struct fdl_endpoint *endpoint)
{
    char *name = account_name();
    char *given = option ? fdl_strdup(option) : fdl_azure_part("BlobEndpoint");
    char usual[FDL_BUCKET_BYTES];
    int32_t status = FEEDLINE_OK;
    if (!name || !*name || !is_account(name))
        status =
            fdl_fail(FEEDLINE_EINVAL, "az://: no name of a storage account in "
                                      "AZURE_STORAGE_ACCOUNT");
    if (status == FEEDLINE_OK) {
        snprintf(account, FDL_BUCKET_BYTES, "%s", name);
        snprintf(usual, sizeof(usual), "https://%.63s.blob.core.windows.net",
                 name);
        status =
            fdl_endpoint_parse(given ? given : usual,
                               "the endpoint of the storage account", endpoint);
    }
    free(name);
    free(given);
    return status;
}

/* ---- Credentials --------------------------------------------------------- */

static int32_t from_machine(const struct fdl_store_options *o, int64_t now,
                            struct fdl_credentials *out)
{
    struct fdl_request r;
    int32_t status = fdl_ask_begin(&r, "GET", fdl_strdup(MACHINE_URL), NEAR_MS);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(&r, "Metadata", "true");
    if (status == FEEDLINE_OK)
        return fdl_ask_token(o, now, &r, "Azure's metadata service", out);
    fdl_request_free(&r);
    return status;
}

static char *first_of(char *part, const char *a, const char *b, const char *c)
{
    const char *given = fdl_store_env(a);
    if (!given && b)
        given = fdl_store_env(b);
    if (!given && c)
        given = fdl_store_env(c);
    return part || !given ? part : fdl_strdup(given);
}

int32_t fdl_azure_credentials(const struct fdl_store_options *o, int64_t now,
                              struct fdl_credentials *out)
{
    struct fdl_credentials c = {0};
    c.secret =
        first_of(fdl_azure_part("AccountKey"), "AZURE_STORAGE_KEY",
                 "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY");
    if (c.secret)
        c.id = account_name();
    if (!c.secret)
        c.query = first_of(fdl_azure_part("SharedAccessSignature"),
                           "AZURE_STORAGE_SAS_TOKEN", NULL, NULL);
    if (!c.secret && !c.query)
        c.token = first_of(NULL, "AZURE_STORAGE_TOKEN", NULL, NULL);
    if (c.query && c.query[0] == '?')
        memmove(c.query, c.query + 1, strlen(c.query));
    if ((c.secret && c.id) || c.query || c.token) {
        *out = c;
        return FEEDLINE_OK;
    }
    fdl_credentials_free(&c);
    int32_t status = from_machine(o, now, out);
    if (status == FEEDLINE_OK || status == FEEDLINE_ENOMEM)
        return status;
    return fdl_fail(FEEDLINE_EINVAL,
                    "no credentials of Azure: no key (AZURE_STORAGE_KEY), no "
                    "SAS (AZURE_STORAGE_SAS_TOKEN), no token "
                    "(AZURE_STORAGE_TOKEN), and no metadata service answered; "
                    "for public data set AZURE_SKIP_SIGNATURE=1");
}

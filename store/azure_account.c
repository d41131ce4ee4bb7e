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

/* A setting: a part of the connection string, "Name=value;Name=value", in which
 * a value may have '=', or a variable. */
struct setting {
    const char *part, *variables[3];
};

static const struct setting account_name = {
    "AccountName", {"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"}};
static const struct setting account_key = {"AccountKey",
                                           {"AZURE_STORAGE_KEY",
                                            "AZURE_STORAGE_ACCOUNT_KEY",
                                            "AZURE_STORAGE_ACCESS_KEY"}};
static const struct setting sas = {"SharedAccessSignature",
                                   {"AZURE_STORAGE_SAS_TOKEN"}};
static const struct setting bearer = {NULL, {"AZURE_STORAGE_TOKEN"}};
static const struct setting blob_endpoint = {"BlobEndpoint", {NULL}};

static const char *find_part(const char *part, size_t *length)
{
    const char *at = fdl_store_env("AZURE_STORAGE_CONNECTION_STRING");
    size_t n = strlen(part);
    while (at && *at) {
        *length = strcspn(at, ";");
        if (*length > n + 1 && at[n] == '=' && strncmp(at, part, n) == 0) {
            *length -= n + 1;
            return at + n + 1;
        }
        at += *length;
        at += strspn(at, ";");
    }
    return NULL;
}

static const char *find(const struct setting *s, size_t *length)
{
    const char *text = s->part ? find_part(s->part, length) : NULL;
    if (text)
        return text;
    for (size_t i = 0; !text && i < FDL_COUNT_OF(s->variables); i++)
        text = s->variables[i] ? fdl_store_env(s->variables[i]) : NULL;
    *length = text ? strlen(text) : 0;
    return text;
}

/* A copy of the heap; NULL stays where there is none. ENOMEM. */
static int32_t read_setting(const struct setting *s, char **out)
{
    size_t n;
    const char *text = find(s, &n);
    if (!text)
        return FEEDLINE_OK;
    *out = malloc(n + 1);
    if (!*out)
        return fdl_fail_memory(n, "a setting");
    memcpy(*out, text, n);
    (*out)[n] = '\0';
    return FEEDLINE_OK;
}

static bool is_account(const char *name)
{
    return strlen(name) <= 63 && /* "devstoreaccount1" of the emulator is one */
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
               strlen(name);
}

static int32_t use_account(const char *name, const char *address,
                           char account[FDL_BUCKET_BYTES],
                           struct fdl_endpoint *endpoint)
{
    char usual[FDL_BUCKET_BYTES];
    if (!name || !*name || !is_account(name))
        return fdl_fail(FEEDLINE_EINVAL,
                        "az://: no name of a storage account in "
                        "AZURE_STORAGE_ACCOUNT");
    snprintf(account, FDL_BUCKET_BYTES, "%s", name);
    snprintf(usual, sizeof(usual), "https://%.63s.blob.core.windows.net", name);
    return fdl_endpoint_parse(address ? address : usual,
                              "the endpoint of the storage account", endpoint);
}

int32_t fdl_azure_account(const char *option, char account[FDL_BUCKET_BYTES],
                          struct fdl_endpoint *endpoint)
{
    char *name = NULL, *address = NULL;
    int32_t status = read_setting(&account_name, &name);
    if (status == FEEDLINE_OK && !option)
        status = read_setting(&blob_endpoint, &address);
    if (status == FEEDLINE_OK)
        status =
            use_account(name, option ? option : address, account, endpoint);
    free(name);
    free(address);
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

/* A key is before a SAS, and that before a token. */
static int32_t read_all(struct fdl_credentials *c)
{
    int32_t status = read_setting(&account_key, &c->secret);
    if (status == FEEDLINE_OK && c->secret)
        return read_setting(&account_name, &c->id);
    if (status == FEEDLINE_OK)
        status = read_setting(&sas, &c->query);
    if (status == FEEDLINE_OK && !c->query)
        status = read_setting(&bearer, &c->token);
    if (c->query && c->query[0] == '?')
        memmove(c->query, c->query + 1, strlen(c->query));
    return status;
}

int32_t fdl_azure_credentials(const struct fdl_store_options *o, int64_t now,
                              struct fdl_credentials *out)
{
    struct fdl_credentials c = {0};
    int32_t status = read_all(&c);
    if (status == FEEDLINE_OK && (c.id || c.query || c.token)) {
        *out = c;
        return FEEDLINE_OK;
    }
    fdl_credentials_free(&c);
    if (status == FEEDLINE_OK)
        status = from_machine(o, now, out);
    if (status == FEEDLINE_OK || status == FEEDLINE_ENOMEM)
        return status;
    return fdl_fail(FEEDLINE_EINVAL,
                    "no credentials of Azure: no key (AZURE_STORAGE_KEY), no "
                    "SAS (AZURE_STORAGE_SAS_TOKEN), no token "
                    "(AZURE_STORAGE_TOKEN), and no metadata service answered; "
                    "for public data set AZURE_SKIP_SIGNATURE=1");
}

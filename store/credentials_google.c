/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Google's: an HMAC key (GS_ACCESS_KEY_ID, GS_SECRET_ACCESS_KEY), a token
 * (GOOGLE_OAUTH_ACCESS_TOKEN, CLOUDSDK_AUTH_ACCESS_TOKEN), what `gcloud auth
 * application-default login` has left, the machine's service (GCE, GKE).
 *
 * The key of a service account signs with RSA, which is not done here.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/ask.h"
#include "store/credentials.h"
#include "store/environment.h"
#include "store/percent.h"

#include <stdlib.h>
#include <string.h>

#define LOGIN_URL    "https://oauth2.googleapis.com/token"
#define MACHINE_HOST "metadata.google.internal"
#define NEAR_MS      1000u
#define FAR_MS       10000u

static int32_t keep(struct fdl_credentials *out, const char *id,
                    const char *secret, const char *token)
{
    const struct fdl_credentials borrowed = {.id = (char *)(uintptr_t)id,
                                             .secret =
                                                 (char *)(uintptr_t)secret,
                                             .token = (char *)(uintptr_t)token};
    return fdl_credentials_copy(&borrowed, out);
}

/* ---- The login of gcloud ------------------------------------------------- */

enum { TYPE, CLIENT, CLIENT_SECRET, REFRESH, IN_FILE };

static char *login_body(const struct fdl_field f[IN_FILE])
{
    struct fdl_text body = {0};
    const struct fdl_pair pairs[] = {
        {"client_id", f[CLIENT].text},
        {"client_secret", f[CLIENT_SECRET].text},
        {"grant_type", "refresh_token"},
        {"refresh_token", f[REFRESH].text},
    };
    fdl_percent_query(&body, pairs, FDL_COUNT_OF(pairs));
    if (body.failed)
        fdl_text_free(&body);
    return body.data;
}

static int32_t log_in(const struct fdl_store_options *o, int64_t now,
                      const struct fdl_field f[IN_FILE], const char *path,
                      struct fdl_credentials *out)
{
    struct fdl_request r;
    if (!f[TYPE].text || strcmp(f[TYPE].text, "authorized_user") != 0)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s: only a user's login is read, not the key of a "
                        "service account: use an HMAC key (GS_ACCESS_KEY_ID, "
                        "GS_SECRET_ACCESS_KEY), or a token "
                        "(GOOGLE_OAUTH_ACCESS_TOKEN), such as `gcloud auth "
                        "print-access-token` prints",
                        path);
    if (!f[CLIENT].text || !f[CLIENT_SECRET].text || !f[REFRESH].text)
        return fdl_fail(FEEDLINE_EINVAL, "%s: not what gcloud writes", path);
    int32_t status = fdl_ask_begin(&r, "POST", fdl_strdup(LOGIN_URL), FAR_MS);
    if (status < 0)
        return status;
    r.body = login_body(f);
    status = r.body ? fdl_request_header(&r, "Content-Type",
                                         "application/x-www-form-urlencoded")
                    : fdl_fail_memory(0, "a request");
    if (status == FEEDLINE_OK)
        return fdl_ask_token(o, now, &r, "Google's login service", out);
    fdl_request_free(&r);
    return status;
}

static int32_t from_login(const struct fdl_store_options *o, int64_t now,
                          const char *path, struct fdl_credentials *out)
{
    struct fdl_field f[IN_FILE] = {{.name = "type"},
                                   {.name = "client_id"},
                                   {.name = "client_secret"},
                                   {.name = "refresh_token"}};
    struct fdl_text text = {0};
    int32_t status = fdl_file_load(path, &text.data, &text.length);
    if (status < 0)
        return status;
    text.capacity = text.length;
    status = fdl_fields_json(&text, path, f, IN_FILE);
    if (status == FEEDLINE_OK)
        status = log_in(o, now, f, path, out);
    fdl_fields_free(f, IN_FILE);
    fdl_wipe(text.data);
    return status;
}

/* ---- The machine's service ----------------------------------------------- */

static int32_t from_machine(const struct fdl_store_options *o, int64_t now,
                            struct fdl_credentials *out)
{
    const char *host = fdl_store_env("GCE_METADATA_HOST");
    struct fdl_text url = {0};
    struct fdl_request r;
    fdl_text_add(&url,
                 "http://%s/computeMetadata/v1/instance/service-accounts/"
                 "default/token",
                 host ? host : MACHINE_HOST);
    int32_t status = fdl_ask_begin(&r, "GET", url.data, NEAR_MS);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(&r, "Metadata-Flavor", "Google");
    if (status == FEEDLINE_OK)
        return fdl_ask_token(o, now, &r, "Google's metadata service", out);
    fdl_request_free(&r);
    return status;
}

/* ---- The chain ----------------------------------------------------------- */

static int32_t from_machine_or_none(const struct fdl_store_options *o,
                                    int64_t now, struct fdl_credentials *out)
{
    int32_t status = from_machine(o, now, out);
    if (status == FEEDLINE_OK || status == FEEDLINE_ENOMEM)
        return status;
    return fdl_fail(FEEDLINE_EINVAL,
                    "no credentials of Google: no HMAC key (GS_ACCESS_KEY_ID), "
                    "no token (GOOGLE_OAUTH_ACCESS_TOKEN), no login of gcloud, "
                    "and no metadata service answered; for public data set "
                    "GOOGLE_SKIP_SIGNATURE=1");
}

int32_t fdl_google_credentials(const struct fdl_store_options *o, int64_t now,
                               struct fdl_credentials *out)
{
    const char *id = fdl_store_env("GS_ACCESS_KEY_ID");
    const char *secret = fdl_store_env("GS_SECRET_ACCESS_KEY");
    const char *token = fdl_store_env("GOOGLE_OAUTH_ACCESS_TOKEN");
    const char *file = fdl_store_env("GOOGLE_APPLICATION_CREDENTIALS");
    if (id && secret)
        return keep(out, id, secret, NULL);
    if (id || secret)
        return fdl_fail(FEEDLINE_EINVAL,
                        "only one of GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY "
                        "is set");
    if (!token)
        token = fdl_store_env("CLOUDSDK_AUTH_ACCESS_TOKEN");
    if (token)
        return keep(out, NULL, NULL, token);
    if (file)
        return from_login(o, now, file, out);
    char *path = NULL;
    int32_t status = fdl_store_home(
        ".config/gcloud/application_default_credentials.json", &path);
    if (status == FEEDLINE_OK)
        status = from_login(o, now, path, out);
    free(path);
    return status == FEEDLINE_ENOENT ? from_machine_or_none(o, now, out)
                                     : status;
}

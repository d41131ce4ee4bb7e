/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS's chain, in botocore's order: the environment, a web identity (EKS), the
 * profile, the container's service (ECS, EKS), the machine's (EC2, IMDSv2). A
 * profile that was named by an option comes before the environment.
 */
#include "base/memory.h"
#include "base/status.h"
#include "store/ask.h"
#include "store/aws_profile.h"
#include "store/credentials.h"
#include "store/dates.h"
#include "store/environment.h"
#include "store/location.h"
#include "store/percent.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONTAINER_HOST "http://169.254.170.2"
#define MACHINE_HOST   "http://169.254.169.254"
#define NEAR_MS        1000u /* a service on this machine */
#define FAR_MS         10000u

struct chain {
    const struct fdl_store_options *o;
    const struct fdl_aws_profile *profile;
    struct fdl_credentials *out;
    bool found;
};

static int32_t keep(struct chain *c, const char *id, const char *secret,
                    const char *token)
{
    const struct fdl_credentials borrowed = {
        .id = (char *)(uintptr_t)id,
        .secret = (char *)(uintptr_t)secret,
        .token = (char *)(uintptr_t)(token && *token ? token : NULL)};
    c->found = true;
    return fdl_credentials_copy(&borrowed, c->out);
}

/* ---- What is at hand ----------------------------------------------------- */

static int32_t from_environment(struct chain *c)
{
    const char *id = fdl_store_env("AWS_ACCESS_KEY_ID");
    const char *secret = fdl_store_env("AWS_SECRET_ACCESS_KEY");
    const char *token = fdl_store_env("AWS_SESSION_TOKEN");
    if (c->o->profile || (!id && !secret))
        return FEEDLINE_OK;
    if (!id || !secret)
        return fdl_fail(FEEDLINE_EINVAL, "%s is set and %s is not",
                        id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                        id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    return keep(c, id, secret, token);
}

static int32_t from_profile(struct chain *c)
{
    char *const *values = c->profile->values;
    if (values[FDL_AWS_ID] && values[FDL_AWS_SECRET])
        return keep(c, values[FDL_AWS_ID], values[FDL_AWS_SECRET],
                    values[FDL_AWS_TOKEN]);
    if (values[FDL_AWS_ID] || values[FDL_AWS_SECRET])
        return fdl_fail(FEEDLINE_EINVAL,
                        "AWS's profile %s has only one of aws_access_key_id "
                        "and aws_secret_access_key",
                        c->profile->name);
    if (values[FDL_AWS_PROCESS] || values[FDL_AWS_SSO] ||
        values[FDL_AWS_SSO_URL] || values[FDL_AWS_ROLE])
        return fdl_fail(FEEDLINE_ENOSYS,
                        "AWS's profile %s wants a program, a login or a role, "
                        "which is not done here: put what `aws configure "
                        "export-credentials --format env` prints into the "
                        "environment",
                        c->profile->name);
    return FEEDLINE_OK;
}

/* ---- Services ------------------------------------------------------------ */

enum { ID, SECRET, TOKEN, EXPIRATION, ANSWERED };

static int32_t keep_answer(struct chain *c, struct fdl_field f[ANSWERED],
                           const char *what)
{
    int64_t expires = 0;
    int32_t status;
    if (!f[ID].text || !f[SECRET].text)
        status = fdl_fail(FEEDLINE_EIO, "%s: gave no credentials", what);
    else if (f[EXPIRATION].text &&
             !fdl_date_parse_iso(f[EXPIRATION].text, &expires))
        status = fdl_fail(FEEDLINE_EIO, "%s: gave no date of expiry", what);
    else
        status = keep(c, f[ID].text, f[SECRET].text, f[TOKEN].text);
    if (status == FEEDLINE_OK)
        c->out->expires = expires;
    fdl_fields_free(f, ANSWERED);
    return status;
}

static int32_t ask_service(struct chain *c, struct fdl_request *r,
                           const char *what)
{
    struct fdl_field f[ANSWERED] = {{.name = "AccessKeyId"},
                                    {.name = "SecretAccessKey"},
                                    {.name = "Token"},
                                    {.name = "Expiration"}};
    int32_t status = fdl_ask_json(c->o, r, what, f, ANSWERED);
    return status < 0 ? status : keep_answer(c, f, what);
}

/* ---- A web identity ------------------------------------------------------ */

static const char *setting(const struct chain *c, const char *variable,
                           enum fdl_aws_key key)
{
    const char *value = c->o->profile ? NULL : fdl_store_env(variable);
    return value ? value : c->profile->values[key];
}

static char *sts_url(const struct chain *c)
{
    struct fdl_text url = {0};
    const char *endpoint = fdl_store_env("AWS_ENDPOINT_URL_STS");
    const char *region = c->o->region;
    if (!endpoint)
        endpoint = fdl_store_env("AWS_ENDPOINT_URL");
    if (!region)
        region = setting(c, "AWS_REGION", FDL_AWS_REGION);
    if (!region)
        region = fdl_store_env("AWS_DEFAULT_REGION");
    if (endpoint)
        fdl_text_add(&url, "%s", endpoint);
    else if (region &&
             strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
                 strlen(region))
        fdl_text_add(&url, "https://sts.%s.amazonaws.com%s/", region,
                     strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    else
        fdl_text_add(&url, "https://sts.amazonaws.com/");
    return url.data;
}

/* The token is in the body, as addresses are written into logs. */
static char *sts_body(const char *role, const char *session, const char *token)
{
    struct fdl_text body = {0};
    const struct fdl_pair pairs[] = {
        {"Action", "AssumeRoleWithWebIdentity"},
        {"Version", "2011-06-15"},
        {"RoleArn", role},
        {"RoleSessionName", session},
        {"WebIdentityToken", token},
    };
    fdl_percent_query(&body, pairs, FDL_COUNT_OF(pairs));
    if (body.failed)
        fdl_text_free(&body);
    return body.data;
}

static int32_t ask_sts(struct chain *c, const struct fdl_request *r)
{
    static const char what[] = "AWS's token service (web identity)";
    struct fdl_field f[ANSWERED] = {{.name = "AccessKeyId"},
                                    {.name = "SecretAccessKey"},
                                    {.name = "SessionToken"},
                                    {.name = "Expiration"}};
    struct fdl_answer answer;
    int32_t status = fdl_ask(c->o, r, what, &answer);
    if (status == FEEDLINE_OK)
        status = fdl_fields_xml(&answer.body, what, f, ANSWERED);
    if (status == FEEDLINE_OK)
        status = keep_answer(c, f, what);
    fdl_answer_free(&answer);
    return status;
}

static int32_t from_web_identity(struct chain *c)
{
    const char *file =
        setting(c, "AWS_WEB_IDENTITY_TOKEN_FILE", FDL_AWS_TOKEN_FILE);
    const char *role = setting(c, "AWS_ROLE_ARN", FDL_AWS_ROLE);
    const char *session =
        setting(c, "AWS_ROLE_SESSION_NAME", FDL_AWS_SESSION_NAME);
    struct fdl_request r;
    char *token;
    if (!file || !role)
        return FEEDLINE_OK;
    int32_t status =
        fdl_store_token_file(file, "AWS_WEB_IDENTITY_TOKEN_FILE", &token);
    if (status < 0)
        return status;
    status = fdl_ask_begin(&r, "POST", sts_url(c), FAR_MS);
    if (status == FEEDLINE_OK) {
        r.body = sts_body(role, session ? session : "feedline", token);
        status = r.body ? FEEDLINE_OK : fdl_fail_memory(0, "a request");
    }
    if (status == FEEDLINE_OK)
        status = fdl_request_header(&r, "Content-Type",
                                    "application/x-www-form-urlencoded");
    if (status == FEEDLINE_OK)
        status = ask_sts(c, &r);
    fdl_request_free(&r);
    fdl_wipe(token);
    return status;
}

/* ---- The container's service --------------------------------------------- */

/* A token goes to this machine, or through TLS. */
static bool is_near(const struct fdl_endpoint *e)
{
    static const char *const hosts[] = {"localhost",      "127.0.0.1",
                                        "[::1]",          "169.254.170.2",
                                        "169.254.170.23", "[fd00:ec2::23]"};
    for (size_t i = 0; i < FDL_COUNT_OF(hosts); i++) {
        size_t n = strlen(hosts[i]);
        if (strncmp(e->host, hosts[i], n) == 0 &&
            (e->host[n] == '\0' || e->host[n] == ':'))
            return true;
    }
    return false;
}

static int32_t container_url(const char *relative, const char *full, char **out)
{
    struct fdl_endpoint e;
    struct fdl_text url = {0};
    if (!relative) {
        int32_t status =
            fdl_endpoint_parse(full, "AWS_CONTAINER_CREDENTIALS_FULL_URI", &e);
        if (status < 0)
            return status;
        if (!e.tls && !is_near(&e))
            return fdl_fail(FEEDLINE_EINVAL,
                            "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither "
                            "https:// nor on this machine");
    }
    fdl_text_add(&url, "%s%s", relative ? CONTAINER_HOST : "",
                 relative ? relative : full);
    *out = url.data;
    return url.failed ? fdl_fail_memory(0, "an address") : FEEDLINE_OK;
}

static int32_t add_token(struct fdl_request *r)
{
    const char *file = fdl_store_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = fdl_store_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char *read = NULL;
    int32_t status = FEEDLINE_OK;
    if (file)
        status = fdl_store_token_file(
            file, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &read);
    if (status == FEEDLINE_OK && (read || token))
        status = fdl_request_header(r, "Authorization", read ? read : token);
    fdl_wipe(read);
    return status;
}

static int32_t from_container(struct chain *c)
{
    const char *relative =
        fdl_store_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = fdl_store_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    struct fdl_request r;
    char *url = NULL;
    if (!relative && !full)
        return FEEDLINE_OK;
    if (relative && *relative != '/')
        return fdl_fail(FEEDLINE_EINVAL,
                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin "
                        "with '/'");
    int32_t status = container_url(relative, full, &url);
    if (status == FEEDLINE_OK)
        status = fdl_ask_begin(&r, "GET", url, NEAR_MS);
    if (status < 0)
        return status;
    status = add_token(&r);
    if (status == FEEDLINE_OK)
        return ask_service(c, &r, "the container's credentials service");
    fdl_request_free(&r);
    return status;
}

/* ---- The machine's service ----------------------------------------------- */

static const char machine[] = "EC2's metadata service";

static char *machine_url(const char *path, const char *role)
{
    const char *given = fdl_store_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *host = given ? given : MACHINE_HOST;
    size_t n = strlen(host);
    struct fdl_text url = {0};
    while (n > 0 && host[n - 1] == '/')
        n--;
    fdl_text_add(&url, "%.*s/latest/%s", (int)n, host, path);
    fdl_percent_add(&url, role, "");
    return url.data;
}

/* The body as a text of one line; NULL: it is none. */
static const char *one_line(const struct fdl_answer *a)
{
    char *text = a->body.length ? a->body.data : NULL;
    if (text)
        text[strcspn(text, "\r\n")] = '\0';
    return text && *text ? text : NULL;
}

static int32_t ask_token(struct chain *c, struct fdl_answer *out)
{
    struct fdl_request r;
    int32_t status =
        fdl_ask_begin(&r, "PUT", machine_url("api/token", ""), NEAR_MS);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(&r, "X-aws-ec2-metadata-token-ttl-seconds",
                                    "21600");
    if (status == FEEDLINE_OK)
        status = fdl_ask(c->o, &r, machine, out);
    fdl_request_free(&r);
    return status;
}

static int32_t begin_machine(struct fdl_request *r, const char *role,
                             const char *token)
{
    int32_t status = fdl_ask_begin(
        r, "GET", machine_url("meta-data/iam/security-credentials/", role),
        NEAR_MS);
    if (status == FEEDLINE_OK)
        status = fdl_request_header(r, "X-aws-ec2-metadata-token", token);
    if (status < 0)
        fdl_request_free(r);
    return status;
}

static int32_t ask_machine(struct chain *c, const char *token)
{
    struct fdl_answer roles = {0};
    struct fdl_request r;
    int32_t status = begin_machine(&r, "", token);
    if (status < 0)
        return status;
    status = fdl_ask(c->o, &r, machine, &roles);
    fdl_request_free(&r);
    const char *role = status == FEEDLINE_OK ? one_line(&roles) : NULL;
    if (roles.status == 404) /* a machine without a role */
        status = FEEDLINE_OK;
    if (role)
        status = begin_machine(&r, role, token);
    if (role && status == FEEDLINE_OK)
        status = ask_service(c, &r, machine);
    fdl_answer_free(&roles);
    return status;
}

/* Most machines are not Amazon's, and nobody answers: then there are none. */
static int32_t from_machine(struct chain *c)
{
    const char *disabled = fdl_store_env("AWS_EC2_METADATA_DISABLED");
    struct fdl_answer token = {0};
    if ((disabled && strcasecmp(disabled, "true") == 0) || !c->o->fetch)
        return FEEDLINE_OK;
    int32_t status = ask_token(c, &token);
    bool there = status == FEEDLINE_OK && one_line(&token);
    if (there)
        status = ask_machine(c, one_line(&token));
    fdl_answer_free(&token);
    return there || status == FEEDLINE_ENOMEM ? status : FEEDLINE_OK;
}

/* ---- The chain ----------------------------------------------------------- */

static int32_t walk(struct chain *c)
{
    static int32_t (*const sources[])(struct chain *) = {
        from_environment, from_web_identity, from_profile, from_container,
        from_machine};
    for (size_t i = 0; i < FDL_COUNT_OF(sources); i++) {
        int32_t status = sources[i](c);
        if (status < 0 || c->found)
            return status;
    }
    return fdl_fail(FEEDLINE_EINVAL,
                    "no credentials of AWS: not in the environment "
                    "(AWS_ACCESS_KEY_ID), not in the profile %s, and no "
                    "service gave any; for public data set "
                    "AWS_NO_SIGN_REQUEST=1",
                    c->profile->name);
}

int32_t fdl_aws_credentials(const struct fdl_store_options *o, int64_t now,
                            struct fdl_credentials *out)
{
    struct fdl_aws_profile profile;
    struct fdl_credentials made = {0};
    struct chain c = {.o = o, .profile = &profile, .out = &made};
    (void)now;
    const char *id = o->profile ? NULL : fdl_store_env("AWS_ACCESS_KEY_ID");
    int32_t status = fdl_aws_profile_read(o, &profile);
    if (status == FEEDLINE_ENOENT && id) { /* the environment is enough */
        profile = (struct fdl_aws_profile){.name = "default"};
        status = FEEDLINE_OK;
    }
    if (status < 0)
        return status;
    status = walk(&c);
    if (status == FEEDLINE_OK)
        *out = made;
    else
        fdl_credentials_free(&made);
    fdl_aws_profile_free(&profile);
    return status;
}

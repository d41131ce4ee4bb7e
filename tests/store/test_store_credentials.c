/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where credentials come from, and when they are asked for again. All that is
 * secret here has "5ECR3T" in it, which no message may show.
 */
#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"
#include "fetch_script.h"
#include "store/credentials.h"
#include "store/refusal.h"

#define KEYS                                                                   \
  "{\"Code\":\"Success\",\"AccessKeyId\":\"AK95ECR3T\",\"SecretAccessKey\":"   \
  "\"5ECR3T/+=\",\"Token\":\"TOK5ECR3T\",\"Expiration\":"                      \
  "\"2026-11-22T01:00:00Z\"}"

static const struct fdl_store_options options = SCRIPT_OPTIONS;

static void check_shown(void)
{
    char log[8192];
    uint64_t n;
    assert_null(strstr(fdl_last_error(), "5ECR3T"));
    if (fdl_log_read(log, sizeof(log), &n) == FEEDLINE_OK)
        assert_null(strstr(log, "5ECR3T"));
}

static void setting(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

/* A file with this in it, which a variable then names. */
static void file_setting(const char *name, const char *text)
{
    char path[] = "/tmp/feedline-store-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
    setting(name, path);
}

static void remove_file(const char *name)
{
    assert_int_equal(unlink(getenv(name)), 0);
}

static void expect(fdl_obtain *obtain, const char *id, const char *secret,
                   const char *token, int64_t expires)
{
    struct fdl_credentials c = {0};
    int32_t status = obtain(&options, script.now, &c);
    if (status < 0)
        print_error("%s\n", fdl_last_error());
    assert_int_equal(status, FEEDLINE_OK);
    const char *const made[] = {c.id, c.secret, c.token};
    const char *const wanted[] = {id, secret, token};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(!made[i], !wanted[i]);
        if (made[i])
            assert_string_equal(made[i], wanted[i]);
    }
    assert_int_equal(c.expires, expires);
    fdl_credentials_free(&c);
    check_shown();
}

static void expect_failure(fdl_obtain *obtain, int32_t status, const char *says)
{
    struct fdl_credentials c = {0};
    assert_int_equal(obtain(&options, script.now, &c), status);
    assert_null(c.id);
    if (!strstr(fdl_last_error(), says))
        assert_string_equal(fdl_last_error(), says);
    check_shown();
}

/* ---- AWS ----------------------------------------------------------------- */

TEST_WITH(aws_environment, script_clear_environment, script_reset)
{
    setting("AWS_ACCESS_KEY_ID", "AK5ECR3T");
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL,
                   "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not");
    setting("AWS_SECRET_ACCESS_KEY", "5ECR3T");
    expect(fdl_aws_credentials, "AK5ECR3T", "5ECR3T", NULL, 0);
    setting("AWS_SESSION_TOKEN", "TOK5ECR3T");
    setting("AWS_PROFILE", "of-another-machine"); /* is not needed */
    expect(fdl_aws_credentials, "AK5ECR3T", "5ECR3T", "TOK5ECR3T", 0);
    assert_int_equal(script.asked, 0);
}

static void write_profiles(void)
{
    file_setting("AWS_SHARED_CREDENTIALS_FILE",
                 "# a comment = 1\n"
                 "[default]\naws_access_key_id = AK15ECR3T\r\n"
                 "aws_secret_access_key=5ECR3T=1\n\n"
                 "[other]\n  \naws_access_key_id = AK25ECR3T\n"
                 "; aws_access_key_id = AK35ECR3T\n"
                 "AWS_SECRET_ACCESS_KEY = 5ECR3T2\n"
                 "aws_session_token = TOK25ECR3T\n"
                 "[half]\naws_access_key_id = AK55ECR3T\n");
    file_setting("AWS_CONFIG_FILE",
                 "[profile other]\nregion = eu-west-3\n"
                 "s3 =\n  endpoint_url = not-this\n"
                 "[profile\tthird]\naws_access_key_id = AK45ECR3T\n"
                 "aws_secret_access_key = 5ECR3T4\n"
                 "[profile sso]\nsso_session = 5ECR3T\n"
                 "[third]\naws_access_key_id = WRONG\n");
}

TEST_WITH(aws_profiles, script_clear_environment, script_reset)
{
    write_profiles();
    expect(fdl_aws_credentials, "AK15ECR3T", "5ECR3T=1", NULL, 0);
    setting("AWS_PROFILE", "other");
    expect(fdl_aws_credentials, "AK25ECR3T", "5ECR3T2", "TOK25ECR3T", 0);
    setting("AWS_PROFILE", "third");
    expect(fdl_aws_credentials, "AK45ECR3T", "5ECR3T4", NULL, 0);
    setting("AWS_PROFILE", "half");
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL,
                   "profile half has only one of");
    setting("AWS_PROFILE", "sso");
    expect_failure(fdl_aws_credentials, FEEDLINE_ENOSYS, "profile sso");
    setting("AWS_PROFILE", "missing");
    expect_failure(fdl_aws_credentials, FEEDLINE_ENOENT,
                   "the profile missing is neither");

    /* A profile that an option names is before the environment. */
    const struct fdl_store_options named = {.profile = "other"};
    struct fdl_credentials c;
    setting("AWS_ACCESS_KEY_ID", "AK");
    setting("AWS_SECRET_ACCESS_KEY", "SK");
    assert_int_equal(fdl_aws_credentials(&named, 0, &c), FEEDLINE_OK);
    assert_string_equal(c.id, "AK25ECR3T");
    fdl_credentials_free(&c);
    remove_file("AWS_SHARED_CREDENTIALS_FILE");
    remove_file("AWS_CONFIG_FILE");
}

TEST_WITH(aws_web_identity, script_clear_environment, script_reset)
{
    file_setting("AWS_WEB_IDENTITY_TOKEN_FILE", "WEB.5ECR3T+/=\n");
    setting("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
    setting("AWS_REGION", "eu-west-3");
    script_answer(200,
                  "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts\">"
                  "<AssumeRoleWithWebIdentityResult><Credentials>"
                  "<AccessKeyId>AK5ECR3T</AccessKeyId>"
                  "<SecretAccessKey>5ECR3T</SecretAccessKey>"
                  "<SessionToken>TOK5ECR3T</SessionToken>"
                  "<Expiration>2026-11-22T01:00:00Z</Expiration>"
                  "</Credentials></AssumeRoleWithWebIdentityResult>"
                  "</AssumeRoleWithWebIdentityResponse>",
                  NULL);
    expect(fdl_aws_credentials, "AK5ECR3T", "5ECR3T", "TOK5ECR3T",
           script.now + 3600);
    assert_true(script_saw(0, "POST https://sts.eu-west-3.amazonaws.com/\n"));
    assert_true(script_saw(0, "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"));
    assert_true(script_saw(0, "&WebIdentityToken=WEB.5ECR3T%2B%2F%3D"));

    script_answer(403, "<Error><Message>WEB.5ECR3T</Message></Error>", NULL);
    expect_failure(fdl_aws_credentials, FEEDLINE_EIO,
                   "AWS's token service (web identity): refused with status "
                   "403");
    script_answer(200, "<a>5ECR3T</b>", NULL);
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL, "AWS's token service");
    script_answer(200, "<a>5ECR3T</a>", NULL);
    expect_failure(fdl_aws_credentials, FEEDLINE_EIO, "gave no credentials");
    remove_file("AWS_WEB_IDENTITY_TOKEN_FILE");
    expect_failure(fdl_aws_credentials, FEEDLINE_ENOENT,
                   "AWS_WEB_IDENTITY_TOKEN_FILE");
}

TEST_WITH(aws_container, script_clear_environment, script_reset)
{
    setting("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x");
    setting("AWS_CONTAINER_AUTHORIZATION_TOKEN", "AUTH5ECR3T");
    script_answer(200, KEYS, NULL);
    expect(fdl_aws_credentials, "AK95ECR3T", "5ECR3T/+=", "TOK5ECR3T",
           script.now + 3600);
    assert_true(script_saw(0, "GET http://169.254.170.2/v2/x\n"
                              "Authorization: AUTH5ECR3T\n"));
    unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    file_setting("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "FILE5ECR3T\n");
    static const char *const near[] = {
        "http://127.0.0.1:51679/x", "http://[::1]/x", "http://localhost/x",
        "http://169.254.170.23/v1/credentials", "https://h.example/x"};
    for (size_t i = 0; i < FDL_COUNT_OF(near); i++) {
        setting("AWS_CONTAINER_CREDENTIALS_FULL_URI", near[i]);
        script_answer(200, KEYS, NULL);
        expect(fdl_aws_credentials, "AK95ECR3T", "5ECR3T/+=", "TOK5ECR3T",
               script.now + 3600);
        assert_true(script_saw(1 + (int)i, "Authorization: FILE5ECR3T\n"));
    }
    static const char *const far[] = {"http://h.example/x",
                                      "http://127.0.0.1.example/x",
                                      "http://localhost@h.example/x"};
    int asked = script.asked;
    for (size_t i = 0; i < FDL_COUNT_OF(far); i++) {
        setting("AWS_CONTAINER_CREDENTIALS_FULL_URI", far[i]);
        expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL,
                       "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    }
    assert_int_equal(script.asked, asked);
    remove_file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
}

TEST_WITH(aws_machine, script_clear_environment, script_reset)
{
    script_answer(200, "IMDS5ECR3T", NULL);
    script_answer(200, "my role\n", NULL);
    script_answer(200, KEYS, NULL);
    expect(fdl_aws_credentials, "AK95ECR3T", "5ECR3T/+=", "TOK5ECR3T",
           script.now + 3600);
    assert_true(script_saw(0, "PUT http://169.254.169.254/latest/api/token\n"
                              "X-aws-ec2-metadata-token-ttl-seconds: 21600"));
    assert_true(script_saw(1, "GET http://169.254.169.254/latest/meta-data/iam/"
                              "security-credentials/\n"
                              "X-aws-ec2-metadata-token: IMDS5ECR3T\n"));
    assert_true(script_saw(2, "security-credentials/my%20role\n"
                              "X-aws-ec2-metadata-token: IMDS5ECR3T\n"));
    static const char none[] = "no credentials of AWS";
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL, none); /* nobody */
    script.n = script.asked;
    script_answer(403, "5ECR3T", NULL);
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL, none);
    script_answer(200, "IMDS5ECR3T", NULL);
    script_answer(404, "5ECR3T", NULL); /* a machine without a role */
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL, none);
    script_answer(200, "IMDS5ECR3T", NULL);
    script_answer(200, "role", NULL);
    script_answer(200, "{\"AccessKeyId\":\"AK5ECR3T\", oh 5ECR3T", NULL);
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL,
                   "EC2's metadata service: at ");
    int asked = script.asked;
    setting("AWS_EC2_METADATA_DISABLED", "true");
    expect_failure(fdl_aws_credentials, FEEDLINE_EINVAL, none);
    assert_int_equal(script.asked, asked);
}

/* ---- Others -------------------------------------------------------------- */

TEST_WITH(google, script_clear_environment, script_reset)
{
    script_answer(200, "{\"access_token\":\"TOK5ECR3T\",\"expires_in\":3599}",
                  NULL);
    expect(fdl_google_credentials, NULL, NULL, "TOK5ECR3T", script.now + 3599);
    assert_true(script_saw(0, "GET http://metadata.google.internal/compute"));
    assert_true(script_saw(0, "Metadata-Flavor: Google"));
    expect_failure(fdl_google_credentials, FEEDLINE_EINVAL,
                   "no credentials of Google");
    script.n = script.asked;

    file_setting("GOOGLE_APPLICATION_CREDENTIALS",
                 "{\"type\": \"authorized_user\", \"client_id\": \"id\","
                 "\"client_secret\": \"5ECR3T&1\", \"x\": [1, {\"y\": 2}],"
                 "\"refresh_token\": \"1//5ECR3T\"}");
    script_answer(200, "{\"access_token\":\"TOK5ECR3T\",\"expires_in\":\"60\"}",
                  NULL);
    expect(fdl_google_credentials, NULL, NULL, "TOK5ECR3T", script.now + 60);
    assert_true(script_saw(2, "POST https://oauth2.googleapis.com/token\n"));
    assert_true(script_saw(2, "client_secret=5ECR3T%261&grant_type="
                              "refresh_token&refresh_token=1%2F%2F5ECR3T"));
    remove_file("GOOGLE_APPLICATION_CREDENTIALS");
    file_setting(
        "GOOGLE_APPLICATION_CREDENTIALS",
        "{\"type\": \"service_account\", \"private_key\": \"5ECR3T\"}");
    expect_failure(fdl_google_credentials, FEEDLINE_ENOSYS, "HMAC key");
    remove_file("GOOGLE_APPLICATION_CREDENTIALS");

    setting("CLOUDSDK_AUTH_ACCESS_TOKEN", "SDK5ECR3T");
    expect(fdl_google_credentials, NULL, NULL, "SDK5ECR3T", 0);
    setting("GS_ACCESS_KEY_ID", "GOOG5ECR3T");
    expect_failure(fdl_google_credentials, FEEDLINE_EINVAL, "only one of");
    setting("GS_SECRET_ACCESS_KEY", "5ECR3T");
    expect(fdl_google_credentials, "GOOG5ECR3T", "5ECR3T", NULL, 0);
}

TEST_WITH(azure, script_clear_environment, script_reset)
{
    struct fdl_credentials c = {0};
    script_answer(
        200, "{\"access_token\":\"TOK5ECR3T\",\"expires_in\":\"3599\"}", NULL);
    expect(fdl_azure_credentials, NULL, NULL, "TOK5ECR3T", script.now + 3599);
    assert_true(script_saw(0, "\nMetadata: true\n"));
    expect_failure(fdl_azure_credentials, FEEDLINE_EINVAL,
                   "no credentials of Azure");
    setting("AZURE_STORAGE_TOKEN", "BEARER5ECR3T");
    expect(fdl_azure_credentials, NULL, NULL, "BEARER5ECR3T", 0);
    setting("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=a%2F5ECR3T");
    assert_int_equal(fdl_azure_credentials(&options, 0, &c), FEEDLINE_OK);
    assert_string_equal(c.query, "sv=1&sig=a%2F5ECR3T");
    char text[] = "string to sign: a/5ECR3T, a%2F5ECR3T";
    fdl_credentials_redact(&c, text);
    assert_string_equal(text, "string to sign: ********, **********");
    fdl_credentials_free(&c);
    setting("AZURE_STORAGE_CONNECTION_STRING",
            "DefaultEndpointsProtocol=https;AccountName=acc;"
            "AccountKey=U0VDUkVU==;EndpointSuffix=core.windows.net");
    expect(fdl_azure_credentials, "acc", "U0VDUkVU==", NULL, 0);
}

/* ---- How long they last -------------------------------------------------- */

static int made;
static int64_t lasts;

static int32_t obtain(const struct fdl_store_options *o, int64_t now,
                      struct fdl_credentials *out)
{
    (void)o;
    if (lasts < 0)
        return fdl_fail(FEEDLINE_EIO, "none today");
    char id[16];
    snprintf(id, sizeof(id), "ID%d", ++made);
    const struct fdl_credentials c = {
        .id = id, .secret = id, .expires = lasts ? now + lasts : 0};
    return fdl_credentials_copy(&c, out);
}

static void take(struct fdl_keeper *k, const char *id)
{
    struct fdl_credentials c = {0};
    int32_t status = fdl_keeper_take(k, &c);
    assert_int_equal(status, id ? FEEDLINE_OK : FEEDLINE_EIO);
    if (id)
        assert_string_equal(c.id, id);
    fdl_credentials_free(&c);
}

TEST_WITH(refreshed_ahead_of_their_end, script_clear_environment, script_reset)
{
    struct fdl_keeper k;
    fdl_keeper_init(&k, obtain, &options);
    lasts = 3600;
    take(&k, "ID1");
    script.now += 3600 - 901;
    take(&k, "ID1");
    script.now += 2; /* 15 minutes before */
    lasts = -1;
    take(&k, "ID1"); /* none today, but they are still valid */
    lasts = 3600;
    take(&k, "ID1"); /* not for each request */
    script.now += 60;
    take(&k, "ID2");
    script.now += 3601;
    lasts = -1;
    take(&k, NULL); /* they are not */
    lasts = 60;     /* of a source that gives no more */
    take(&k, "ID3");
    take(&k, "ID3");
    script.now += 59;
    take(&k, "ID3");
    script.now += 1;
    take(&k, "ID4");
    fdl_keeper_fini(&k);
}

/* Many requests are refused at once. */
TEST_WITH(renewed_when_refused, script_clear_environment, script_reset)
{
    struct fdl_keeper k;
    fdl_keeper_init(&k, obtain, &options);
    lasts = 0;
    take(&k, "ID1");
    assert_true(fdl_keeper_renew(&k));
    assert_true(fdl_keeper_renew(&k));
    take(&k, "ID2");
    script.now += 10;
    made = 1; /* the same again */
    assert_false(fdl_keeper_renew(&k));
    assert_false(fdl_keeper_renew(&k));
    assert_int_equal(made, 2);
    fdl_keeper_fini(&k);
}

TEST_WITH(anonymous, script_clear_environment, script_reset)
{
    const struct fdl_store_options nobody = {.anonymous = true};
    struct fdl_credentials c = {0};
    struct fdl_keeper k;
    fdl_keeper_init(&k, obtain, &nobody);
    assert_int_equal(fdl_keeper_take(&k, &c), FEEDLINE_OK);
    assert_null(c.id);
    assert_false(fdl_keeper_renew(&k));
    assert_int_equal(made, 0);
    fdl_keeper_fini(&k);
}

/* ---- Refusals ------------------------------------------------------------ */

static enum fdl_refusal refuse(struct fdl_keeper *k, int32_t http,
                               const char *headers, const char *body,
                               int32_t *status)
{
    struct fdl_answer a = {.status = http};
    struct fdl_refused r;
    *status = FEEDLINE_OK;
    fdl_text_add(&a.headers, "%s", headers);
    fdl_text_add(&a.body, "%s", body);
    fdl_refused_read(&a, k, &r);
    enum fdl_refusal what =
        fdl_refused_judge(&r, &a, k, "s3://b/k", "bytes=0-99", status);
    fdl_answer_free(&a);
    return what;
}

TEST_WITH(the_clock_is_set_by_the_server, script_clear_environment,
          script_reset)
{
    static const char body[] =
        "<?xml version=\"1.0\"?><Error><Code>RequestTimeTooSkewed</Code>"
        "<Message>The difference is too large.</Message></Error>";
    static const char date[] = "Date: Sun, 22 Nov 2026 02:00:00 GMT\r\n";
    struct fdl_keeper k;
    int32_t status;
    fdl_keeper_init(&k, obtain, &options);
    take(&k, "ID1");
    assert_int_equal(refuse(&k, 403, date, body, &status), FDL_REFUSED_AGAIN);
    assert_int_equal(fdl_keeper_now(&k), script.now + 7200);
    /* Others that were under way. */
    assert_int_equal(refuse(&k, 403, date, body, &status), FDL_REFUSED_AGAIN);
    script.now += 10;
    made = 0;
    assert_int_equal(refuse(&k, 403, date, body, &status), FDL_REFUSED_FINAL);
    assert_int_equal(status, FEEDLINE_EIO);
    assert_string_equal(
        fdl_last_error(),
        "s3://b/k, bytes=0-99: the server answers 403 RequestTimeTooSkewed: "
        "The difference is too large.; this machine's clock is 7200 s behind "
        "the server's");
    fdl_keeper_fini(&k);
}

static void expect_end(const char *end)
{
    const char *said = fdl_last_error();
    size_t n = strlen(end), bytes = strlen(said);
    if (bytes < n || strcmp(said + bytes - n, end) != 0)
        assert_string_equal(said, end);
}

/* Clocks are to blame where they differ, and nowhere else. */
TEST_WITH(a_signature_that_is_wrong, script_clear_environment, script_reset)
{
    static const char *const bodies[] = {
        "<Error><Code>AuthenticationFailed</Code></Error>",
        "<Error><Code>SignatureDoesNotMatch</Code></Error>"};
    static const char same[] = "Date: Sun, 22 Nov 2026 00:00:09 GMT\r\n";
    static const char other[] = "Date: Sat, 21 Nov 2026 23:00:00 GMT\r\n";
    for (size_t i = 0; i < FDL_COUNT_OF(bodies); i++) {
        struct fdl_keeper k;
        int32_t status;
        fdl_keeper_init(&k, obtain, &options);
        made = 0;
        take(&k, "ID1");
        made = 0; /* there are no others */
        refuse(&k, 403, same, bodies[i], &status);
        expect_end("; is this the right key, and that of this account?");
        assert_int_equal(refuse(&k, 403, other, bodies[i], &status),
                         FDL_REFUSED_AGAIN);
        script.now += 10;
        made = 0;
        assert_int_equal(refuse(&k, 403, other, bodies[i], &status),
                         FDL_REFUSED_FINAL);
        assert_int_equal(status, FEEDLINE_EIO);
        expect_end("; is this the right key, and that of this account?; this "
                   "machine's clock is 3600 s ahead of the server's");
        fdl_keeper_fini(&k);
        script.now -= 10;
    }
}

/* Nobody's credentials are to blame. */
TEST_WITH(a_refusal_of_who_has_none, script_clear_environment, script_reset)
{
    const struct fdl_store_options nothing = {
        .fetch = script_fetch, .now = script_now, .anonymous = true};
    struct fdl_credentials c;
    struct fdl_keeper k;
    int32_t status;
    fdl_keeper_init(&k, obtain, &nothing);
    assert_int_equal(fdl_keeper_take(&k, &c), FEEDLINE_OK);
    fdl_credentials_free(&c);
    assert_int_equal(refuse(&k, 401, "", "", &status), FDL_REFUSED_FINAL);
    expect_end("answers 401; it was asked without credentials");
    assert_int_equal(refuse(&k, 403, "", "", &status), FDL_REFUSED_FINAL);
    expect_end("answers 403; it was asked without credentials");
    fdl_keeper_fini(&k);
}

TEST_WITH(refusals, script_clear_environment, script_reset)
{
    static const struct {
        int32_t http;
        const char *headers, *body, *says;
        enum fdl_refusal what;
        int32_t status;
    } cases[] = {
        {503, "", "<Error><Code>SlowDown</Code></Error>", "503 SlowDown",
         FDL_REFUSED_LATER, FEEDLINE_EIO},
        {500, "", "garbage <<<", "answers 500", FDL_REFUSED_LATER,
         FEEDLINE_EIO},
        {200, "", "<Error><Code>InternalError</Code></Error>", "InternalError",
         FDL_REFUSED_LATER, FEEDLINE_EIO},
        {429, "", "", "answers 429", FDL_REFUSED_LATER, FEEDLINE_EIO},
        {404, "", "<Error><Code>NoSuchKey</Code><Message>No.</Message>",
         "404 NoSuchKey: No.", FDL_REFUSED_FINAL, FEEDLINE_ENOENT},
        {403, "", "<Error><Code>AccessDenied</Code></Error>",
         "403 AccessDenied; may these", FDL_REFUSED_FINAL, FEEDLINE_EIO},
        {412, "", "", "it was replaced", FDL_REFUSED_FINAL, FEEDLINE_EIO},
        {416, "", "", "it is shorter", FDL_REFUSED_FINAL, FEEDLINE_EIO},
        {403, "x-ms-error-code: ServerBusy\r\n", "", "403 ServerBusy",
         FDL_REFUSED_LATER, FEEDLINE_EIO},
        {404, "", "{\"error\":{\"code\":404,\"message\":\"Not here.\"}}",
         "404: Not here.", FDL_REFUSED_FINAL, FEEDLINE_ENOENT},
        {404, "X-Error-Code: EntryNotFound\nX-Error-Message: Gone.\n", "",
         "404 EntryNotFound: Gone.", FDL_REFUSED_FINAL, FEEDLINE_ENOENT}};
    struct fdl_keeper k;
    int32_t status;
    fdl_keeper_init(&k, obtain, &options);
    take(&k, "ID1");
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        assert_int_equal(
            refuse(&k, cases[i].http, cases[i].headers, cases[i].body, &status),
            cases[i].what);
        assert_int_equal(status, cases[i].status);
        if (!strstr(fdl_last_error(), cases[i].says))
            assert_string_equal(fdl_last_error(), cases[i].says);
    }
    static const char expired[] = "<Error><Code>ExpiredToken</Code></Error>";
    assert_int_equal(refuse(&k, 400, "", expired, &status), FDL_REFUSED_AGAIN);
    take(&k, "ID2");
    fdl_keeper_fini(&k);
}

/* Some servers repeat what they were sent. */
TEST_WITH(nothing_is_repeated, script_clear_environment, script_reset)
{
    static const char *const bodies[] = {
        "<E><Code>AK5ECR3T</Code><Message>5ECR3T/+= TOK5ECR3T</Message></E>",
        "{\"error\":\"it was TOK5ECR3T\"}",
        "{\"error\":{\"message\":\"Bearer TOK5ECR3T, 5ECR3T\\/+=\"}}"};
    struct fdl_keeper k;
    int32_t status;
    setting("AWS_ACCESS_KEY_ID", "AK5ECR3T");
    setting("AWS_SECRET_ACCESS_KEY", "5ECR3T/+=");
    setting("AWS_SESSION_TOKEN", "TOK5ECR3T");
    fdl_keeper_init(&k, fdl_aws_credentials, &options);
    take(&k, "AK5ECR3T");
    for (size_t i = 0; i < FDL_COUNT_OF(bodies); i++) {
        refuse(&k, 403, "", bodies[i], &status);
        check_shown();
        refuse(&k, 403, "X-Error-Message: TOK5ECR3T\n", "", &status);
        check_shown();
    }
    /* A message that ends within a secret. */
    struct fdl_text t = {0};
    fdl_text_add(&t, "<Error><Message>%*s TOK5ECR3T</Message></Error>",
                 FDL_REFUSAL_MESSAGE_BYTES - 8, "x");
    refuse(&k, 403, "", t.data, &status);
    assert_null(strstr(fdl_last_error(), "TOKS"));
    fdl_text_free(&t);
    fdl_keeper_fini(&k);
}

TEST_MAIN("store_credentials")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: names of objects, endpoints, profiles and refusals. A name that
 * is accepted becomes an address of visible characters only, whatever its key
 * is; a secret that an error repeats is not in the message.
 */
#include "base/status.h"
#include "fuzz.h"
#include "store/aws_profile.h"
#include "store/dates.h"
#include "store/location.h"
#include "store/percent.h"
#include "store/refusal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET "5ecr3t/+Key"

static void check_visible(const char *text)
{
    for (; *text; text++)
        fuzz_check(*text > ' ' && *text < 0x7f);
}

static void parse(const char *text, const char *scheme)
{
    const struct fdl_endpoint server = {.host = "h", .path = "/p"};
    struct fdl_location l;
    struct fdl_endpoint e;
    struct fdl_text path = {0};
    int32_t status = fdl_location_parse(text, scheme, &l);
    if (status < 0) {
        fuzz_check_error(status);
        return;
    }
    fuzz_check(l.key >= text && l.key <= text + strlen(text));
    fuzz_check(!strstr(l.bucket, "..") && !strstr(l.revision, ".."));
    if (fdl_endpoint_of_bucket(&server, l.bucket, false, &e) < 0)
        return;
    fdl_endpoint_add_path(&e, l.key, &path);
    check_visible(path.data);
    fuzz_check(fdl_percent_undo(path.data, false));
    fuzz_check(!*l.key || strcmp(path.data + strlen(e.path) + 1, l.key) == 0);
    fdl_text_free(&path);
}

static void check_endpoint(const char *text)
{
    struct fdl_endpoint e;
    if (fdl_endpoint_parse(text, "the endpoint", &e) < 0) {
        fuzz_check(strstr(fdl_last_error(), "the endpoint"));
        return;
    }
    char *url = fdl_endpoint_url(&e, e.path, "");
    fuzz_check(url);
    check_visible(url);
    fuzz_check(!strchr(url, '@'));
    free(url);
}

static void read_profile(const uint8_t *data, size_t n)
{
    static const struct fdl_store_options o = {.profile = "p"};
    char path[FUZZ_PATH_BYTES];
    struct fdl_aws_profile p;
    int fd = fuzz_file(data, n, path);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    setenv("AWS_CONFIG_FILE", path, 1);
    int32_t status = fdl_aws_profile_read(&o, &p);
    if (status == FEEDLINE_OK)
        fdl_aws_profile_free(&p);
    else
        fuzz_check_error(status);
    close(fd);
}

static int32_t secret(const struct fdl_store_options *o, int64_t now,
                      struct fdl_credentials *out)
{
    static char text[] = SECRET;
    const struct fdl_credentials c = {.secret = text};
    (void)o;
    (void)now;
    return fdl_credentials_copy(&c, out);
}

static void refuse(const char *text)
{
    static const struct fdl_store_options o;
    struct fdl_credentials c;
    struct fdl_keeper k;
    struct fdl_answer a = {.status = 403};
    struct fdl_refused r;
    int32_t status = FEEDLINE_OK;
    fdl_keeper_init(&k, secret, &o);
    fuzz_check(fdl_keeper_take(&k, &c) == FEEDLINE_OK);
    fdl_text_add(&a.headers, "%s", text);
    fdl_text_add(&a.body, "%s", text);
    fdl_refused_read(&a, &k, &r);
    fuzz_check(!strstr(r.message, SECRET) && !strstr(r.code, SECRET));
    if (fdl_refused_judge(&r, &a, &k, "s3://b/k", NULL, &status) !=
        FDL_REFUSED_AGAIN) {
        fuzz_check_error(status);
        fuzz_check(!strstr(fdl_last_error(), SECRET));
    }
    fdl_credentials_free(&c);
    fdl_keeper_fini(&k);
    fdl_answer_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const schemes[] = {"s3", "gs", "az", "hf"};
    struct fuzz_input in = {data, size};
    int64_t time;
    char *text = fuzz_text(&in, FUZZ_REST);
    for (size_t i = 0; i < FDL_COUNT_OF(schemes); i++)
        parse(text, schemes[i]);
    check_endpoint(text);
    (void)(fdl_date_parse_http(text, &time) || fdl_date_parse_iso(text, &time));
    read_profile(data, size);
    refuse(text);
    free(text);
    return 0;
}

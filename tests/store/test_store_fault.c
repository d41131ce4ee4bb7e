/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that ends, at each allocation in turn: ENOMEM and nothing else, and
 * sanitizers see what is left behind. */
#include "base/compiler.h"
#include "base/status.h"
#include "fetch_script.h"
#include "store/refusal.h"
#include "store/store.h"
#include "wrap_memory.h"

#define ATTEMPTS 2000

/* The server's memory does not end. */
static int32_t calm_fetch(void *user, const struct fdl_request *r,
                          uint64_t max_bytes, struct fdl_answer *out)
{
    int64_t left = memory_left;
    memory_left = 0;
    int32_t status = script_fetch(user, r, max_bytes, out);
    memory_left = left;
    return status;
}

static const struct fdl_store_options options = {.fetch = calm_fetch,
                                                 .now = script_now};

static int32_t tell(void *user, const struct fdl_object *o)
{
    (void)o;
    ++*(int *)user;
    return FEEDLINE_OK;
}

static int32_t use(const struct fdl_store_ops *ops, const char *location,
                   const char *page)
{
    struct fdl_store *store;
    struct fdl_request r;
    int told = 0;
    int32_t status = ops->open(location, &options, &store);
    if (status < 0)
        return status;
    status = ops->sign(store, location, "bytes=0-9", "\"e\"", &r);
    if (status == FEEDLINE_OK)
        fdl_request_free(&r);
    script_answer(200, page, NULL);
    if (status == FEEDLINE_OK)
        status = ops->list(store, location, tell, NULL, &told);
    if (status == FEEDLINE_OK)
        assert_int_equal(told, 1);
    ops->close(store);
    return status;
}

/* Until all of it is there. */
static void check(const struct fdl_store_ops *ops, const char *location,
                  const char *page)
{
    for (int n = 1; n < ATTEMPTS; n++) {
        script_reset();
        memory_failed = false;
        memory_left = n;
        int32_t status = use(ops, location, page);
        memory_left = 0;
        if (!memory_failed) {
            assert_int_equal(status, FEEDLINE_OK);
            assert_true(n > 5);
            return;
        }
        assert_int_equal(status, FEEDLINE_ENOMEM);
        assert_non_null(strstr(fdl_last_error(), "out of memory"));
    }
    fail_msg("it never succeeds");
}

static void with_credentials(void)
{
    static const char *const settings[][2] = {
        {"AWS_ACCESS_KEY_ID", "AK"},
        {"AWS_SECRET_ACCESS_KEY", "SK"},
        {"AWS_SESSION_TOKEN", "TOK"},
        {"GOOGLE_OAUTH_ACCESS_TOKEN", "TOK"},
        {"AZURE_STORAGE_ACCOUNT", "acc"},
        {"AZURE_STORAGE_KEY", "AAAA"},
        {"HF_TOKEN", "hf_TOK"}};
    script_clear_environment();
    for (size_t i = 0; i < FDL_COUNT_OF(settings); i++)
        assert_int_equal(setenv(settings[i][0], settings[i][1], 1), 0);
}

TEST_WITH(s3, with_credentials, script_reset)
{
    check(&fdl_store_s3, "s3://bucket/p",
          "<ListBucketResult><Contents><Key>p</Key><Size>1</Size></Contents>"
          "</ListBucketResult>");
}

TEST_WITH(gs, with_credentials, script_reset)
{
    check(&fdl_store_gs, "gs://bucket/p",
          "{\"items\":[{\"name\":\"p\",\"size\":\"1\"}]}");
}

TEST_WITH(az, with_credentials, script_reset)
{
    check(&fdl_store_az, "az://bucket/p",
          "<EnumerationResults><Blobs><Blob><Name>p</Name><Content-Length>1"
          "</Content-Length></Blob></Blobs></EnumerationResults>");
}

TEST_WITH(hf, with_credentials, script_reset)
{
    check(&fdl_store_hf, "hf://datasets/o/n/p",
          "[{\"type\":\"file\",\"path\":\"p\",\"size\":1}]");
}

TEST_MAIN("store_fault")

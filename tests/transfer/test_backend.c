/* SPDX-License-Identifier: Apache-2.0 */
/* The host backend, and how one is found. */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "test.h"
#include "transfer/backend.h"

static const struct fdl_backend_ops *const host = &fdl_backend_host;

static void done(struct fdl_transfer *t, int32_t status, const char *reason)
{
    uint32_t *calls = t->user;
    assert_int_equal(status, FEEDLINE_OK);
    assert_string_equal(reason, "");
    assert_int_equal(calls[0]++, calls[1]); /* done before landed */
}

static void landed(struct fdl_transfer *t)
{
    uint32_t *calls = t->user;
    calls[1]++;
}

TEST(host_hands_over_at_once)
{
    void *backend = &backend;
    struct fdl_slab slab;
    uint32_t calls[2] = {0, 0};
    assert_int_equal(host->device, FEEDLINE_CPU);
    assert_string_equal(host->name, "host");
    assert_int_equal(host->create(NULL, &backend), FEEDLINE_OK);
    assert_int_equal(host->slab_alloc(backend, 10000, &slab), FEEDLINE_OK);
    assert_int_equal((uintptr_t)slab.host % 4096, 0);
    assert_ptr_equal(slab.host, slab.device);
    assert_int_equal(slab.bytes, 10000);
    struct fdl_transfer t = {.slab = &slab,
                             .bytes = 9000,
                             .done = done,
                             .landed = landed,
                             .user = calls};
    int64_t before = fdl_now_ns();
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(host->submit(backend, &t), FEEDLINE_OK);
        assert_int_equal(calls[0], i);
        assert_int_equal(calls[1], i);
        assert_true(t.start_ns >= before);
        assert_int_equal(t.start_ns, t.done_ns);
    }
    host->destroy(backend);
    /* Slabs may outlive what they were made by: batches are kept. */
    host->slab_free(NULL, &slab);
    assert_null(slab.host);
}

TEST(refuses_more_than_there_is)
{
    struct fdl_slab slab = {.bytes = 7};
    assert_int_equal(host->slab_alloc(NULL, UINT64_MAX - 4096, &slab),
                     FEEDLINE_ENOMEM);
    assert_int_equal(host->slab_alloc(NULL, UINT64_MAX, &slab),
                     FEEDLINE_ENOMEM);
    assert_non_null(strstr(fdl_last_error(), "bytes for a batch"));
    assert_int_equal(slab.bytes, 7);
}

TEST(finds_by_name)
{
    static const char *const cuda[] = {"cuda", "cuda:0", "cuda:12"};
    static const char *const unknown[] = {
        "",        "hos",  "hosts", "cudas",   "cuda:",        "cuda:x",
        "cuda:1x", "fake", "HOST",  "cuda:-1", "cuda:12345678"};
    const struct fdl_backend_ops *ops = NULL;
    static const uint32_t numbers[] = {0, 0, 12};
    uint32_t number = 7;
    for (uint32_t i = 0; i < FDL_COUNT_OF(unknown); i++) {
        assert_int_equal(fdl_backend_find(unknown[i], &ops, &number),
                         FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), unknown[i]));
    }
    assert_null(ops);
    assert_int_equal(fdl_backend_find("host", &ops, &number), FEEDLINE_OK);
    assert_ptr_equal(ops, &fdl_backend_host);
    for (uint32_t i = 0; i < FDL_COUNT_OF(cuda); i++) {
        assert_int_equal(fdl_backend_find(cuda[i], &ops, &number), FEEDLINE_OK);
        assert_ptr_equal(ops, &fdl_backend_cuda);
        assert_int_equal(number, numbers[i]);
    }
}

TEST_MAIN("backend")

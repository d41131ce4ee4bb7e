/* SPDX-License-Identifier: Apache-2.0 */
/* The host and the fake backend, and how one is found. The fake one runs on a
 * clock that the test moves, so its order does not depend on the machine. */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/event.h"
#include "base/status.h"
#include "test.h"
#include "transfer/backend.h"

#include <stdatomic.h>
#include <stdbool.h>

#define N_SLABS 8

static _Atomic int64_t fake_ns = 1000;

static int64_t fake_now(void)
{
    return atomic_load(&fake_ns);
}

struct desk {
    const struct fdl_backend_ops *ops;
    void *backend;
    struct fdl_slab slabs[N_SLABS];
    struct fdl_transfer transfers[N_SLABS];
    struct fdl_event arrived;
    _Atomic uint32_t n_done, n_landed;
    uint32_t order[N_SLABS];
    int32_t status[N_SLABS];
    char reason[N_SLABS][64];
};

static void done(struct fdl_transfer *t, int32_t status, const char *reason)
{
    struct desk *d = t->user;
    uint32_t i = (uint32_t)(t - d->transfers);
    d->status[i] = status;
    snprintf(d->reason[i], sizeof(d->reason[i]), "%s", reason);
    d->order[atomic_load(&d->n_done)] = i;
    atomic_fetch_add(&d->n_done, 1);
    fdl_event_notify(&d->arrived, 1);
}

static void landed(struct fdl_transfer *t)
{
    struct desk *d = t->user;
    atomic_fetch_add(&d->n_landed, 1);
    fdl_event_notify(&d->arrived, 1);
}

static void open_desk(struct desk *d, const struct fdl_backend_ops *ops,
                      struct fdl_fake_config *script)
{
    struct fdl_backend_config config = {.script = script};
    memset(d, 0, sizeof(*d));
    d->ops = ops;
    fdl_event_init(&d->arrived);
    assert_int_equal(ops->create(&config, &d->backend), FEEDLINE_OK);
    for (uint32_t i = 0; i < N_SLABS; i++) {
        struct fdl_slab *s = &d->slabs[i];
        assert_int_equal(ops->slab_alloc(d->backend, 10000, s), FEEDLINE_OK);
        assert_int_equal((uintptr_t)s->host % 4096, 0);
        assert_int_equal((uintptr_t)s->device % 4096, 0);
        assert_int_equal(s->bytes, 10000);
        memset(s->host, 'a' + (int)i, 10000);
        d->transfers[i] = (struct fdl_transfer){.slab = s,
                                                .bytes = 9000,
                                                .done = done,
                                                .landed = landed,
                                                .user = d};
    }
}

static void close_desk(struct desk *d)
{
    d->ops->destroy(d->backend);
    assert_int_equal(d->n_landed, d->n_done);
    for (uint32_t i = 0; i < N_SLABS; i++) {
        /* Slabs may outlive what they were made by: batches are kept. */
        d->ops->slab_free(NULL, &d->slabs[i]);
        assert_null(d->slabs[i].host);
    }
}

static int32_t submit(struct desk *d, uint32_t i)
{
    return d->ops->submit(d->backend, &d->transfers[i]);
}

static void await(struct desk *d, uint32_t n)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(&d->arrived);
        if (atomic_load(&d->n_done) >= n) {
            fdl_event_cancel(&d->arrived);
            return;
        }
        fdl_event_wait(&d->arrived, key, -1);
    }
}

TEST(host_hands_over_at_once)
{
    struct desk d;
    open_desk(&d, &fdl_backend_host, NULL);
    assert_int_equal(fdl_backend_host.device, FEEDLINE_CPU);
    assert_string_equal(fdl_backend_host.name, "host");
    int64_t before = fdl_now_ns();
    for (uint32_t i = 0; i < N_SLABS; i++) {
        assert_ptr_equal(d.slabs[i].host, d.slabs[i].device);
        assert_int_equal(submit(&d, i), FEEDLINE_OK);
        assert_int_equal(d.n_done, i + 1);
        assert_int_equal(d.n_landed, i + 1);
        assert_int_equal(d.order[i], i);
        assert_int_equal(d.status[i], FEEDLINE_OK);
        assert_true(d.transfers[i].start_ns >= before);
        assert_int_equal(d.transfers[i].start_ns, d.transfers[i].done_ns);
    }
    close_desk(&d);
}

TEST(refuses_more_than_there_is)
{
    const struct fdl_backend_ops *both[] = {&fdl_backend_host,
                                            &fdl_backend_fake};
    for (uint32_t i = 0; i < FDL_COUNT_OF(both); i++) {
        struct fdl_slab slab = {.bytes = 7};
        void *backend = NULL;
        assert_int_equal(both[i]->create(NULL, &backend), FEEDLINE_OK);
        assert_int_equal(both[i]->slab_alloc(backend, UINT64_MAX - 4096, &slab),
                         FEEDLINE_ENOMEM);
        assert_int_equal(both[i]->slab_alloc(backend, UINT64_MAX, &slab),
                         FEEDLINE_ENOMEM);
        assert_int_equal(slab.bytes, 7);
        both[i]->destroy(backend);
        both[i]->destroy(NULL);
    }
}

TEST(fake_orders_by_latency)
{
    static const struct fdl_fake_step steps[] = {
        {.latency_ns = 30}, {.latency_ns = 10}, {.latency_ns = 20},
        {.latency_ns = 10}, {.latency_ns = 5}, /* the last one repeats */
    };
    static const uint32_t order[] = {4, 5, 1, 3, 2, 0};
    struct fdl_fake_config config = {steps, FDL_COUNT_OF(steps)};
    struct desk d;
    fdl_clock_replace(fake_now);
    open_desk(&d, &fdl_backend_fake, &config);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(submit(&d, i), FEEDLINE_OK);
    assert_int_equal(d.n_done, 0); /* time stands still */

    atomic_store(&fake_ns, 1000 + 10);
    await(&d, 4);
    assert_int_equal(d.n_done, 4);
    /* What has not arrived is not there. */
    assert_int_equal(((char *)d.slabs[2].device)[0], 0);
    atomic_store(&fake_ns, 1000 + 30);
    await(&d, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(d.order[i], order[i]);
        assert_int_equal(d.status[i], FEEDLINE_OK);
        assert_int_equal(d.transfers[i].start_ns, 1000);
        assert_true(d.transfers[i].done_ns >=
                    1000 + steps[FDL_MIN(i, 4)].latency_ns);
        assert_int_equal(((char *)d.slabs[i].device)[8999], 'a' + (int)i);
        assert_int_equal(((char *)d.slabs[i].device)[9000], 0);
    }
    close_desk(&d);
}

TEST(fake_fails_as_written)
{
    static const struct fdl_fake_step steps[] = {
        {.status = FEEDLINE_OK},
        {.status = FEEDLINE_EDEVICE},
        {.submit_status = FEEDLINE_ENOMEM},
        {.status = FEEDLINE_OK},
    };
    struct fdl_fake_config config = {steps, FDL_COUNT_OF(steps)};
    struct desk d;
    open_desk(&d, &fdl_backend_fake, &config);
    assert_int_equal(submit(&d, 0), FEEDLINE_OK);
    assert_int_equal(submit(&d, 1), FEEDLINE_OK);
    assert_int_equal(submit(&d, 2), FEEDLINE_ENOMEM);
    assert_string_equal(fdl_last_error(), "scripted refusal of transfer 2");
    assert_int_equal(submit(&d, 3), FEEDLINE_OK);
    await(&d, 3);
    assert_int_equal(d.status[0], FEEDLINE_OK);
    assert_int_equal(d.status[1], FEEDLINE_EDEVICE);
    assert_string_equal(d.reason[1], "scripted failure of transfer 1");
    assert_int_equal(d.status[3], FEEDLINE_OK);
    /* A failed transfer brought nothing. */
    assert_int_equal(((char *)d.slabs[1].device)[0], 0);
    assert_int_equal(((char *)d.slabs[3].device)[0], 'd');
    close_desk(&d);
    assert_int_equal(d.n_done, 3);
}

TEST(fake_destroy_waits_for_what_is_under_way)
{
    static const struct fdl_fake_step steps[] = {{.latency_ns = 3000000}};
    struct fdl_fake_config config = {steps, 1};
    struct desk d;
    open_desk(&d, &fdl_backend_fake, &config);
    for (uint32_t i = 0; i < N_SLABS; i++)
        assert_int_equal(submit(&d, i), FEEDLINE_OK);
    close_desk(&d);
    assert_int_equal(d.n_done, N_SLABS);
    for (uint32_t i = 0; i < N_SLABS; i++)
        assert_true(d.transfers[i].done_ns - d.transfers[i].start_ns >=
                    3000000);
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

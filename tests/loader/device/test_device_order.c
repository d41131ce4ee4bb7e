/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders that a program gives, and batches that it keeps, on a GPU: the same
 * bytes as with device=host. On the double of the CUDA driver
 * (FEEDLINE_LIBCUDA) and, with label gpu, on hardware.
 */
#include "device_rig.h"

#include <feedline/elsewhere.h>
#include <feedline/exchange.h>
#include <feedline/order.h>

#define KEPT 30u

/* A batch of a size that depends on i, to both. */
static void give(feedline_loader *device, feedline_loader *host, uint32_t i)
{
    uint64_t indices[RIG_BATCH];
    uint32_t copies[RIG_BATCH], count = 1 + i % RIG_BATCH;
    for (uint32_t k = 0; k < count; k++) {
        indices[k] = (i * 13 + k * 5) % RIG_IMAGES;
        copies[k] = (i + k) % 3;
    }
    assert_ok(feedline_loader_append(device, indices, copies, count));
    assert_ok(feedline_loader_append(host, indices, copies, count));
}

static void begin(feedline_loader *device, feedline_loader *host,
                  uint64_t epoch)
{
    assert_ok(feedline_loader_begin(device, epoch, 100 + epoch, 0));
    assert_ok(feedline_loader_begin(host, epoch, 100 + epoch, 0));
}

static void end(feedline_loader *device, feedline_loader *host)
{
    feedline_batch *b;
    assert_ok(feedline_loader_end(device));
    assert_ok(feedline_loader_end(host));
    assert_int_equal(feedline_loader_next(device, -1, &b), FEEDLINE_END);
    assert_int_equal(feedline_loader_next(host, -1, &b), FEEDLINE_END);
}

static void open_pair(const struct rig *r, const char *finish,
                      const char *options, struct pair *out)
{
    char text[256];
    snprintf(text, sizeof(text), "shuffle=false order=given %s", options);
    rig_pair_open(r, out, "cuda:0", finish, text);
}

/* Epochs to their end, and every third one left in the middle. */
static void check_equal(struct rig *r, const char *finish, const char *options)
{
    struct pair p;
    open_pair(r, finish, options, &p);
    for (uint32_t epoch = 0; epoch < 7; epoch++) {
        bool leave = epoch % 3 == 2;
        begin(p.device, p.host, epoch);
        for (uint32_t i = 0; i < 10; i++)
            give(p.device, p.host, epoch + i);
        for (uint32_t i = 0; i < (leave ? 3 : 10); i++)
            rig_pair_next(r, &p, 0, r->streams[i % 2]);
        if (!leave)
            end(p.device, p.host);
    }
    rig_pair_close(r, &p);
}

TEST(equals_host_in_a_given_order)
{
    static const char *const how[][2] = {
        {"auto", "dtype=u8"},
        {"device", "dtype=f32 layout=nhwc workers=3"},
        {"host", "dtype=f16 depth=1 workers=1"},
        {"auto", "dtype=f32 depth=9"},
        {"auto", "dtype=u8 max_sample_bytes=64k"},
    };
    SCOPED_RIG r;
    rig_open(&r);
    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
        check_equal(&r, how[i][0], how[i][1]);
}

/* Every batch of an epoch is held until its end. Their copies are still under
 * way when the next one is asked for. */
TEST(kept_batches_stay)
{
    static const char *const how[][2] = {{"device", "dtype=f32 depth=1"},
                                         {"auto", "dtype=u8 depth=3"}};
    SCOPED_RIG r;
    rig_open(&r);
    for (size_t k = 0; k < 2; k++) {
        feedline_batch *on_device[KEPT], *on_host[KEPT];
        struct pair p;
        char text[128];
        snprintf(text, sizeof(text), "held=grow workers=2 %s", how[k][1]);
        open_pair(&r, how[k][0], text, &p);
        begin(p.device, p.host, 0);
        for (uint32_t i = 0; i < KEPT; i++)
            give(p.device, p.host, i);
        for (uint32_t i = 0; i < KEPT; i++) {
            on_device[i] = fixture_take(p.device);
            on_host[i] = fixture_take(p.host);
        }
        for (uint32_t i = 0; i < KEPT; i++) {
            fdl_cuda_stream stream = r.streams[i % RIG_STREAMS];
            rig_pair_check(&r, &p, on_device[i], on_host[i], 0, stream);
            feedline_batch_release_on(on_device[i], stream);
            feedline_batch_release(on_host[i]);
        }
        end(p.device, p.host);
        rig_pair_close(&r, &p);
    }
}

TEST(none_is_shown_ahead_or_brought)
{
    uint64_t ticket;
    feedline_batch *b;
    struct pair p;
    SCOPED_RIG r;
    rig_open(&r);
    open_pair(&r, "device", "dtype=f32", &p);
    begin(p.device, p.host, 0);
    assert_error(feedline_loader_peek(p.device, 0, &b), FEEDLINE_ENOSYS,
                 "no batch on a device is shown ahead");
    assert_error(feedline_loader_expect(p.device, 1, &ticket), FEEDLINE_ENOSYS,
                 "images that a device finishes");
    rig_pair_close(&r, &p);
}

TEST_MAIN("device_order")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of a GPU for other libraries: copies in the order of a stream, and
 * tensors that are deleted while streams still read them. Held against a loader
 * with device=host, on the double of the CUDA driver and, with label gpu, on
 * hardware, as test_device_batches.c is.
 *
 * What is read goes to the host behind work that takes a while, on the stream
 * that reads, and the batch is given back at once: a missing wait anywhere
 * shows as wrong bytes, and the double sees who overtook whom.
 */
#include "device_rig.h"
#include "loader/api/dlpack.h"

#include <feedline/exchange.h>

#include <pthread.h>

#define ROUNDS TEST_ROUNDS(60u)

/* ---- Copies ------------------------------------------------------------- */

/* Into memory of the program's, wherever that begins, which reads it later than
 * the slot's next batch arrives. */
static void copy_batches(const char *options, const char *finish)
{
    struct desk d;
    void *memory[2], *labels[2];
    desk_open(&d, options, finish);
    const struct fdl_cuda_api *cuda = d.rig.run.cuda;
    size_t bytes = (size_t)rig_batch_bytes(d.host);
    for (uint32_t s = 0; s < 2; s++) {
        assert_cuda(cuda->MemAlloc(&memory[s], bytes + 16));
        assert_cuda(cuda->MemAlloc(&labels[s], bytes));
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t s = rig_draw(&d.rig, 2);
        uint8_t *images = (uint8_t *)memory[s] + 4 * rig_draw(&d.rig, 4);
        feedline_batch *b = desk_next(&d);
        struct feedline_batch_info from = fixture_info(b);
        void *stream = feedline_busy_stream(d.busy[s]);
        assert_ok(feedline_busy_work(d.busy[s], rig_draw(&d.rig, 200000)));
        if (i % 2) {
            assert_ok(feedline_batch_copy(b, images, labels[s], stream));
        } else {
            assert_ok(feedline_batch_copy(b, images, NULL, stream));
            assert_ok(feedline_batch_copy(b, NULL, labels[s], stream));
        }
        feedline_batch_release(b);
        from.images.data = images;
        from.labels.data = labels[s];
        desk_read_late(&d, s, &from);
    }
    desk_verify(&d);
    for (uint32_t s = 0; s < 2; s++) {
        assert_cuda(cuda->MemFree(memory[s]));
        assert_cuda(cuda->MemFree(labels[s]));
    }
    desk_close(&d);
}

TEST(a_copy_is_the_batch)
{
    copy_batches("dtype=u8 depth=2", "auto");
    copy_batches("dtype=f32 depth=2 layout=nhwc", "host");
    copy_batches("dtype=f16 depth=2", "device");
}

TEST(a_copy_finishes_the_batch)
{
    static const char *const forms[] = {"dtype=f32", "dtype=f16 layout=nhwc",
                                        "dtype=bf16",
                                        "dtype=f32 layout=nhwc channels=4",
                                        "dtype=f32 op=five_crop batch_size=10"};
    char options[128];
    for (uint32_t i = 0; i < FDL_COUNT_OF(forms); i++) {
        snprintf(options, sizeof(options), "%s depth=2 handover=copy",
                 forms[i]);
        copy_batches(options, "device");
    }
    copy_batches("dtype=f32 depth=2 handover=copy", "host");
    copy_batches("dtype=u8 depth=2 handover=copy", "auto");
}

/* There are none to share, and twice as many to copy. */
TEST(images_that_are_finished_late)
{
    SCOPED_RIG r;
    struct pair p;
    void *tensor, *to[2];
    rig_open(&r);
    rig_pair_open(&r, &p, "cuda:0", "device", "dtype=f16 handover=copy");
    feedline_batch *db = fixture_take(p.device), *hb = fixture_take(p.host);
    struct feedline_batch_info d = fixture_info(db), h = fixture_info(hb);
    assert_same_info(&d, &h, 0);
    assert_null(d.images.data);
    assert_error(feedline_batch_export(db, FEEDLINE_IMAGES, 0, &tensor),
                 FEEDLINE_ESTATE, "handover=copy");
    assert_ok(feedline_batch_export(db, FEEDLINE_LABELS, 0, &tensor));
    for (uint32_t i = 0; i < 2; i++) {
        assert_cuda(r.run.cuda->MemAlloc(&to[i], (size_t)d.image_bytes));
        assert_ok(feedline_batch_copy(db, to[i], NULL, r.streams[i]));
    }
    struct fdl_dl_managed *labels = tensor;
    labels->deleter(labels);
    for (uint32_t i = 0; i < 2; i++) {
        d.images.data = to[i];
        rig_read_back(&r, &d, r.streams[i], &p.echo);
        assert_cuda(r.run.cuda->StreamSynchronize(r.streams[i]));
        assert_same_bytes(&d, &h, &p.echo);
        assert_cuda(r.run.cuda->MemFree(to[i]));
    }
    feedline_batch_release(db);
    feedline_batch_release(hb);
    rig_pair_close(&r, &p);
}

TEST(a_copy_of_any_sizes)
{
    SCOPED_RIG r;
    struct pair p;
    void *images;
    rig_open(&r);
    rig_pair_open(&r, &p, "cuda:0", "auto", "dtype=u8 max_sample_bytes=200k");
    assert_cuda(r.run.cuda->MemAlloc(&images, (size_t)rig_batch_bytes(p.host)));
    for (uint32_t i = 0; i < RIG_BATCHES; i++) {
        feedline_batch *db = fixture_take(p.device), *hb = fixture_take(p.host);
        struct feedline_batch_info d = fixture_info(db), h = fixture_info(hb),
                                   c = d;
        assert_ok(feedline_batch_copy(db, images, NULL, r.streams[0]));
        c.images.data = images;
        rig_read_back(&r, &c, r.streams[0], &p.echo);
        assert_cuda(r.run.cuda->StreamSynchronize(r.streams[0]));
        assert_same_bytes(&d, &h, &p.echo);
        feedline_batch_release(db);
        feedline_batch_release(hb);
    }
    assert_cuda(r.run.cuda->MemFree(images));
    rig_pair_close(&r, &p);
}

TEST(a_copy_that_cannot_be)
{
    SCOPED_RIG r;
    uint8_t here[64];
    rig_open(&r);
    SCOPED_LOADER device = rig_loader(r.dataset, "cuda:0", "dtype=u8");
    feedline_batch *b = fixture_take(device);
    for (uint32_t s = 0; s < 4; s++)
        assert_ok(feedline_batch_copy(b, NULL, NULL, r.streams[s]));
    assert_error(feedline_batch_copy(b, here, NULL, r.streams[4]),
                 FEEDLINE_ERANGE, "4");
    feedline_batch_release(b);
}

/* Its batches are in memory of the device. */
TEST(no_memory_is_lent)
{
    SCOPED_RIG r;
    static _Alignas(64) uint8_t here[64];
    rig_open(&r);
    SCOPED_LOADER device = rig_loader(r.dataset, "cuda:0", "dtype=u8");
    feedline_batch_release(fixture_take(device));
    assert_error(feedline_loader_lend(device, here, sizeof(here)),
                 FEEDLINE_ENOSYS, "on a device");
}

/* ---- Tensors ------------------------------------------------------------ */

static struct fdl_dl_versioned *export_images(feedline_batch *b)
{
    void *out;
    struct feedline_batch_info info = fixture_info(b);
    assert_ok(feedline_batch_export(b, FEEDLINE_IMAGES,
                                    FEEDLINE_DLPACK_VERSIONED, &out));
    struct fdl_dl_versioned *t = out;
    assert_int_equal(t->tensor.device_type, 2);
    assert_int_equal(t->tensor.device_id, 0);
    assert_ptr_equal(t->tensor.data, info.images.data);
    return t;
}

static void *delete_tensor(void *tensor)
{
    struct fdl_dl_versioned *t = tensor;
    t->deleter(t);
    return NULL;
}

static void delete_elsewhere(struct fdl_dl_versioned *t)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, delete_tensor, t), 0);
    pthread_join(thread, NULL);
}

/* The batch is given back first, and the tensor while its stream still reads:
 * by this thread, or by one that never saw CUDA. */
static void export_batches(const char *options, const char *finish)
{
    struct desk d;
    desk_open(&d, options, finish);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t s = rig_draw(&d.rig, 2);
        feedline_batch *b = desk_next(&d);
        struct feedline_batch_info from = fixture_info(b);
        struct fdl_dl_versioned *t = export_images(b);
        assert_ok(feedline_batch_wait(b, feedline_busy_stream(d.busy[s])));
        feedline_batch_release(b);
        desk_read_late(&d, s, &from);
        if (i % 4 == 0)
            delete_elsewhere(t);
        else
            delete_tensor(t);
    }
    desk_close(&d);
}

TEST(tensors_go_while_they_are_read)
{
    export_batches("dtype=u8 depth=2", "auto");
    export_batches("dtype=f16 depth=2", "device");
    export_batches("dtype=f32 depth=2", "host");
}

/* The consumer's work is on a stream that waited for another one; it gives the
 * batch back on that, and a tensor goes later. */
TEST(a_stream_is_remembered_beside_a_tensor)
{
    struct desk d;
    fdl_cuda_event there;
    desk_open(&d, "dtype=u8 depth=2", "auto");
    const struct fdl_cuda_api *cuda = d.rig.run.cuda;
    assert_cuda(cuda->EventCreate(&there, FDL_CUDA_EVENT_NO_TIMING));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        feedline_batch *b = desk_next(&d);
        struct feedline_batch_info from = fixture_info(b);
        void *works = feedline_busy_stream(d.busy[1]);
        struct fdl_dl_versioned *t = export_images(b);
        assert_ok(feedline_batch_wait(b, d.rig.streams[0]));
        assert_cuda(cuda->EventRecord(there, d.rig.streams[0]));
        assert_cuda(cuda->StreamWaitEvent(works, there, 0));
        desk_read_late(&d, 1, &from);
        if (i % 2) {
            feedline_batch_release_on(b, works);
            delete_tensor(t);
        } else {
            delete_tensor(t);
            feedline_batch_release_on(b, works);
        }
    }
    desk_close(&d);
    assert_cuda(cuda->EventDestroy(there));
}

TEST(a_tensor_outlives_the_loader)
{
    struct desk d;
    for (uint32_t i = 0; i < 6; i++) {
        desk_open(&d, "dtype=u8 depth=2", "auto");
        feedline_batch *b = desk_next(&d);
        struct feedline_batch_info from = fixture_info(b);
        struct fdl_dl_versioned *t = export_images(b);
        assert_ok(feedline_batch_wait(b, feedline_busy_stream(d.busy[0])));
        feedline_batch_release(b);
        if (i % 2)
            assert_ok(feedline_loader_stop(d.device));
        feedline_loader_destroy(d.device);
        d.device = NULL;
        desk_read_late(&d, 0, &from);
        delete_elsewhere(t);
        desk_close(&d);
    }
}

TEST_MAIN("device_exchange")

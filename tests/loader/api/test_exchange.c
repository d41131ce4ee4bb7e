/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches for other libraries, on the host and on a device of the tests: what
 * an exported tensor says and shows, who keeps a slot and for how long,
 * capsules, copies, and what is refused. test_exchange_stress.c has the
 * threads, and test_device_exchange.c the GPU.
 */
#include "loader/api/api.h"
#include "loader/api/dlpack.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"
#include "tests/transfer/fake.h"
#include "tests/wrap_memory.h"

#include <feedline/exchange.h>

#include <sys/wait.h>
#include <unistd.h>

#define N     26
#define BATCH 8

FIXTURE_IMAGES(N)

/* ---- Short ways --------------------------------------------------------- */

static struct fdl_dl_managed *export_plain(feedline_batch *b, uint32_t part)
{
    void *out;
    assert_ok(feedline_batch_export(b, part, 0, &out));
    return out;
}

static struct fdl_dl_versioned *export_versioned(feedline_batch *b,
                                                 uint32_t part)
{
    void *out;
    assert_ok(feedline_batch_export(b, part, FEEDLINE_DLPACK_VERSIONED, &out));
    return out;
}

static uint32_t held_slots(feedline_loader *l)
{
    struct fdl_ring *r = l->engine->ring;
    fdl_lock(&r->lock);
    uint32_t n = r->n_held;
    fdl_unlock(&r->lock);
    return n;
}

/* A copy of what the batch shows, for later. */
static uint8_t *pixels_of(const feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    uint8_t *copy = malloc((size_t)info.image_bytes);
    memcpy(copy, info.images.data, (size_t)info.image_bytes);
    return copy;
}

/* ---- What a tensor says ------------------------------------------------- */

static void assert_tensor(const struct fdl_dl_tensor *t,
                          const struct feedline_tensor *from)
{
    static const struct {
        uint8_t code, bits;
    } types[] = {[FEEDLINE_U8] = {1, 8},
                 [FEEDLINE_F16] = {2, 16},
                 [FEEDLINE_F32] = {2, 32},
                 [FEEDLINE_I64] = {0, 64},
                 [FEEDLINE_BF16] = {4, 16}};
    assert_ptr_equal(t->data, from->data);
    assert_int_equal((uintptr_t)t->data % 64, 0);
    assert_int_equal(t->device_type, 1);
    assert_int_equal(t->device_id, 0);
    assert_int_equal(t->ndim, from->ndim);
    assert_int_equal(t->code, types[from->dtype].code);
    assert_int_equal(t->bits, types[from->dtype].bits);
    assert_int_equal(t->lanes, 1);
    assert_int_equal(t->byte_offset, 0);
    for (int32_t i = 0; i < t->ndim; i++) {
        assert_int_equal(t->shape[i], from->shape[i]);
        assert_int_equal(t->strides[i], from->stride[i]);
    }
}

static void assert_exports(feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    const struct feedline_tensor *parts[] = {&info.images, &info.labels};
    for (uint32_t part = 0; part < 2; part++) {
        struct fdl_dl_managed *plain = export_plain(b, part);
        struct fdl_dl_versioned *versioned = export_versioned(b, part);
        assert_tensor(&plain->tensor, parts[part]);
        assert_tensor(&versioned->tensor, parts[part]);
        assert_int_equal(versioned->major, 1);
        assert_int_equal(versioned->minor, 0);
        assert_int_equal(versioned->flags, 0);
        plain->deleter(plain);
        versioned->deleter(versioned);
    }
}

TEST_WITH(a_tensor_is_the_batch, setup, teardown)
{
    static const char *const options[] = {
        "dtype=u8 layout=nchw", "dtype=f32 layout=nhwc", "dtype=f16",
        "dtype=bf16 channels=1", "dtype=u8 layout=nhwc channels=4"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        SCOPED_LOADER l = fixture_open(images.ds, options[i]);
        for (uint32_t k = 0; k < 4; k++) { /* the last one is short */
            feedline_batch *b = fixture_take(l);
            assert_exports(b);
            feedline_batch_release(b);
        }
    }
}

TEST_WITH(labels_of_images_that_are_no_tensor, setup, teardown)
{
    void *out = &out;
    SCOPED_LOADER l = fixture_open(images.ds, "max_sample_bytes=100k");
    feedline_batch *b = fixture_take(l);
    struct feedline_batch_info info = fixture_info(b);
    assert_error(feedline_batch_export(b, FEEDLINE_IMAGES, 0, &out),
                 FEEDLINE_EINVAL, "max_sample_bytes");
    assert_null(out);
    struct fdl_dl_managed *labels = export_plain(b, FEEDLINE_LABELS);
    assert_tensor(&labels->tensor, &info.labels);
    labels->deleter(labels);
    feedline_batch_release(b);
}

TEST_WITH(wrong_arguments, setup, teardown)
{
    void *out = &out;
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    feedline_batch *b = fixture_take(l);
    assert_error(feedline_batch_export(NULL, 0, 0, &out), FEEDLINE_EINVAL,
                 "batch is NULL");
    assert_null(out);
    assert_error(feedline_batch_export(b, 0, 0, NULL), FEEDLINE_EINVAL,
                 "out is NULL");
    assert_error(feedline_batch_export(b, 2, 0, &out), FEEDLINE_EINVAL,
                 "no part 2");
    assert_error(feedline_batch_export(b, 0, 2, &out), FEEDLINE_EINVAL,
                 "flags 0x2");
    assert_error(feedline_batch_copy(NULL, NULL, NULL, NULL), FEEDLINE_EINVAL,
                 "batch is NULL");
    feedline_batch_release(b);
}

/* ---- Who keeps the slot ------------------------------------------------- */

/* While the consumer goes on for several rounds of the ring. */
TEST_WITH(a_tensor_keeps_its_pixels, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "depth=2 epochs=9");
    feedline_batch *b = fixture_take(l);
    struct fdl_dl_managed *t = export_plain(b, FEEDLINE_IMAGES);
    uint8_t *before = pixels_of(b);
    size_t bytes = (size_t)fixture_info(b).image_bytes;
    feedline_batch_release(b);
    for (uint32_t i = 0; i < 20; i++) {
        feedline_batch *other = fixture_take(l);
        assert_ptr_not_equal(fixture_info(other).images.data, t->tensor.data);
        feedline_batch_release(other);
        assert_memory_equal(t->tensor.data, before, bytes);
    }
    t->deleter(t);
    free(before);
}

TEST_WITH(the_last_one_frees_the_slot, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "depth=1 epochs=9");
    for (uint32_t order = 0; order < 6; order++) {
        feedline_batch *b = fixture_take(l);
        struct fdl_dl_managed *plain = export_plain(b, FEEDLINE_IMAGES);
        struct fdl_dl_versioned *versioned =
            export_versioned(b, FEEDLINE_LABELS);
        for (uint32_t i = 0; i < 3; i++) { /* in each order of the three */
            assert_int_equal(held_slots(l), 1);
            uint32_t which = order < 3 ? (order + i) % 3 : (order + 3 - i) % 3;
            if (which == 0)
                feedline_batch_release(b);
            else if (which == 1)
                plain->deleter(plain);
            else
                versioned->deleter(versioned);
        }
        assert_int_equal(held_slots(l), 0);
    }
}

TEST_WITH(tensors_outlive_the_loader, setup, teardown)
{
    feedline_loader *l = fixture_open(images.ds, "depth=3");
    feedline_batch *b = fixture_take(l), *held = fixture_take(l);
    struct fdl_dl_versioned *t = export_versioned(b, FEEDLINE_IMAGES);
    struct fdl_dl_managed *other = export_plain(held, FEEDLINE_IMAGES);
    uint8_t *before = pixels_of(b);
    size_t bytes = (size_t)fixture_info(b).image_bytes;
    feedline_batch_release(b);
    assert_ok(feedline_loader_stop(l));
    assert_ok(feedline_loader_start(l, 0));
    feedline_batch_release(fixture_take(l));
    feedline_loader_destroy(l);
    assert_memory_equal(t->tensor.data, before, bytes);
    t->deleter(t);
    other->deleter(other);
    feedline_batch_release(held);
    free(before);
}

/* In a child it does nothing, so that twice is as good as once. */
TEST_WITH(a_deleter_in_a_child, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    feedline_batch *b = fixture_take(l);
    struct fdl_dl_managed *t = export_plain(b, FEEDLINE_IMAGES);
    uint8_t *before = pixels_of(b);
    size_t bytes = (size_t)fixture_info(b).image_bytes;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        void *out = &out;
        t->deleter(t);
        t->deleter(t);
        bool same = memcmp(t->tensor.data, before, bytes) == 0;
        int32_t status = feedline_batch_export(b, 0, 0, &out);
        _exit(same && status == FEEDLINE_EFORK && !out ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    feedline_batch_release(b);
    t->deleter(t);
    free(before);
}

TEST_WITH(memory_ends, setup, teardown)
{
    void *out = &out;
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    feedline_batch *b = fixture_take(l);
    memory_refuses = 1;
    int32_t status = feedline_batch_export(b, FEEDLINE_IMAGES, 0, &out);
    memory_refuses = 0;
    assert_int_equal(status, FEEDLINE_ENOMEM);
    assert_non_null(strstr(feedline_last_error(), "an exported tensor"));
    assert_null(out);
    feedline_batch_release(b);
    assert_int_equal(held_slots(l), 0);
}

/* ---- Capsules ----------------------------------------------------------- */

/* As an interpreter has them. */
struct capsule {
    const char *name;
    void *pointer;
};

static int is_valid(void *object, const char *name)
{
    const struct capsule *c = object;
    return c->pointer && strcmp(c->name, name) == 0;
}

static void *get_pointer(void *object, const char *name)
{
    struct capsule *c = object;
    assert_true(is_valid(c, name));
    return c->pointer;
}

static int is_valid_elsewhere(void *object, const char *name)
{
    return is_valid(object, name);
}

TEST(capsules_are_set_up_once)
{
    struct capsule c = {"dltensor", &c};
    feedline_capsule_destructor(&c); /* nothing is known yet */
    assert_error(feedline_capsule_init(NULL, get_pointer), FEEDLINE_EINVAL,
                 "NULL");
    assert_error(feedline_capsule_init(is_valid, NULL), FEEDLINE_EINVAL,
                 "NULL");
    assert_ok(feedline_capsule_init(is_valid, get_pointer));
    assert_ok(feedline_capsule_init(is_valid, get_pointer));
    assert_error(feedline_capsule_init(is_valid_elsewhere, get_pointer),
                 FEEDLINE_ESTATE, "another interpreter");
}

TEST_WITH(a_capsule_frees_what_nobody_took, setup, teardown)
{
    static const char *const names[] = {"dltensor", "dltensor_versioned"};
    static const char *const taken[] = {"used_dltensor",
                                        "used_dltensor_versioned"};
    assert_ok(feedline_capsule_init(is_valid, get_pointer));
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    for (uint32_t flags = 0; flags < 2; flags++) {
        feedline_batch *b = fixture_take(l);
        struct capsule c = {.name = names[flags]};
        assert_ok(feedline_batch_export(b, FEEDLINE_IMAGES, flags, &c.pointer));
        feedline_batch_release(b);
        c.name = taken[flags];
        feedline_capsule_destructor(&c);
        assert_int_equal(held_slots(l), 1);
        c.name = names[flags];
        feedline_capsule_destructor(&c);
        assert_int_equal(held_slots(l), 0);
    }
}

/* ---- Copies ------------------------------------------------------------- */

static void assert_copies(feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    size_t bytes = (size_t)info.image_bytes;
    size_t label_bytes = info.count * sizeof(int64_t);
    uint8_t *pixels = calloc(1, bytes + 1);
    int64_t *labels = calloc(1, label_bytes + 8);
    assert_ok(feedline_batch_copy(b, NULL, NULL, NULL));
    assert_ok(feedline_batch_copy(b, pixels, NULL, NULL));
    assert_int_equal(labels[0], 0);
    assert_memory_equal(pixels, info.images.data, bytes);
    memset(pixels, 0, bytes);
    assert_ok(feedline_batch_copy(b, NULL, labels, NULL));
    assert_memory_equal(labels, info.labels.data, label_bytes);
    assert_ok(feedline_batch_copy(b, pixels, labels, NULL));
    assert_memory_equal(pixels, info.images.data, bytes);
    assert_int_equal(pixels[bytes], 0);
    assert_int_equal(labels[info.count], 0);
    free(labels);
    free(pixels);
}

TEST_WITH(a_copy_is_the_batch, setup, teardown)
{
    static const char *const options[] = {"dtype=u8 layout=nhwc", "dtype=f32",
                                          "max_sample_bytes=100k"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        SCOPED_LOADER l = fixture_open(images.ds, options[i]);
        for (uint32_t k = 0; k < 4; k++) {
            feedline_batch *b = fixture_take(l);
            assert_copies(b);
            feedline_batch_release(b);
        }
    }
}

/* A loader on the device that the tests script. */
static feedline_loader *scripted(const struct fdl_fake_config *script)
{
    const struct fdl_backend_config backend = {.script = script};
    feedline_config *cfg;
    feedline_pipeline *p;
    feedline_loader *l;
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set(cfg, "dtype", "u8"));
    assert_ok(feedline_config_set_int(cfg, "batch_size", BATCH));
    assert_ok(feedline_pipeline_create(NULL, &p));
    assert_ok(feedline_pipeline_add(p, "resize", "width=32 height=32"));
    assert_ok(fdl_loader_create(&cfg->options, images.ds, p->pipeline,
                                &fdl_backend_fake, &backend, &l));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return l;
}

/* Memory of its own, which gets the bytes late and out of order. */
TEST_WITH(a_scripted_device_is_no_exception, setup, teardown)
{
    static const struct fdl_fake_step steps[] = {
        {.latency_ns = 3000000}, {.latency_ns = 0}, {.latency_ns = 1000000}};
    const struct fdl_fake_config script = {.steps = steps, .n_steps = 3};
    SCOPED_LOADER l = scripted(&script);
    for (uint32_t k = 0; k < 6; k++) {
        feedline_batch *b = fixture_take(l);
        assert_exports(b);
        assert_copies(b);
        struct fdl_dl_managed *t = export_plain(b, FEEDLINE_IMAGES);
        uint8_t *before = pixels_of(b);
        size_t bytes = (size_t)fixture_info(b).image_bytes;
        feedline_batch_release(b);
        feedline_batch_release(fixture_take(l));
        assert_memory_equal(t->tensor.data, before, bytes);
        t->deleter(t);
        free(before);
    }
}

TEST_MAIN("exchange")

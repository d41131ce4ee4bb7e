/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders on a device for tests; see device_rig.h. */
#include "device_rig.h"

#include <feedline/views.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        fail_msg("no %s: %s", name, dlerror());
    memcpy(function, &symbol, sizeof(symbol));
}

void rig_open_driver(struct driver *run)
{
    if (fdl_cuda_load(&run->cuda) < 0) {
        if (getenv("FEEDLINE_LIBCUDA"))
            fail_msg("%s", feedline_last_error());
        test_skip("%s", feedline_last_error());
    }
    Dl_info where;
    void *address;
    memcpy(&address, &run->cuda->MemAlloc, sizeof(address));
    assert_int_not_equal(dladdr(address, &where), 0);
    void *library = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    find(library, "cuCtxSetCurrent", &run->CtxSetCurrent);
    find(library, "cuCtxGetDevice", &run->CtxGetDevice);
    find(library, "cuMemHostAlloc", &run->MemHostAlloc);
    find(library, "cuMemFreeHost", &run->MemFreeHost);
    find(library, "cuMemcpyDtoHAsync_v2", &run->MemcpyDtoHAsync);
    dlclose(library);
}

void rig_use_device(struct rig *r, int device)
{
    void *context;
    int handle;
    assert_cuda(r->run.cuda->DeviceGet(&handle, device));
    assert_cuda(r->run.cuda->DevicePrimaryCtxRetain(&context, handle));
    assert_cuda(r->run.CtxSetCurrent(context));
}

void rig_open(struct rig *r)
{
    *r = (struct rig){.dice = {test_seed()}};
    rig_open_driver(&r->run);
    fixture_create(&r->images, RIG_IMAGES);
    r->dataset = fixture_memory(&r->images);
    rig_use_device(r, 0);
    for (uint32_t i = 0; i < RIG_STREAMS; i++)
        assert_cuda(r->run.cuda->StreamCreateWithPriority(
            &r->streams[i], FDL_CUDA_STREAM_NON_BLOCKING, 0));
}

void rig_close(struct rig *r)
{
    for (uint32_t i = 0; i < RIG_STREAMS; i++) {
        assert_cuda(r->run.cuda->StreamSynchronize(r->streams[i]));
        assert_cuda(r->run.cuda->StreamDestroy(r->streams[i]));
    }
    feedline_dataset_close(r->dataset);
    fixture_remove(&r->images);
}

uint32_t rig_draw(struct rig *r, uint32_t below)
{
    return dice_below(&r->dice, below);
}

void rig_echo_open(const struct rig *r, struct echo *e, uint64_t bytes)
{
    void *memory;
    assert_cuda(r->run.MemHostAlloc(&memory, (size_t)bytes, 0));
    *e = (struct echo){memory, bytes};
}

void rig_echo_close(const struct rig *r, struct echo *e)
{
    assert_cuda(r->run.MemFreeHost(e->memory));
}

/* ---- Loaders and batches ------------------------------------------------ */

/* Three views by `chain`, and one that is smaller. */
static feedline_pipeline *in_views(feedline_pipeline *chain)
{
    feedline_pipeline *small, *views;
    assert_ok(feedline_pipeline_create("none", &views));
    assert_ok(feedline_pipeline_create("none", &small));
    assert_ok(feedline_pipeline_add(small, "resize", "width=9 height=7"));
    assert_ok(feedline_pipeline_add_views(views, chain, 3));
    assert_ok(feedline_pipeline_add_views(views, small, 1));
    feedline_pipeline_destroy(chain);
    feedline_pipeline_destroy(small);
    return views;
}

feedline_loader *rig_loader(feedline_dataset *ds, const char *device,
                            const char *options)
{
    char text[512], *rest = text, *word, *op = NULL;
    char crop[64] = "width=36 height=28";
    feedline_config *cfg;
    feedline_pipeline *p;
    feedline_loader *l;
    snprintf(text, sizeof(text), "seed=7 shuffle=true batch_size=%u %s",
             RIG_BATCH, options);
    assert_ok(feedline_config_create(&cfg));
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (strcmp(word, "size") == 0)
            snprintf(crop, sizeof(crop), "width=%s height=%s", value, value);
        else if (strcmp(word, "op") == 0)
            op = value;
        else
            assert_ok(feedline_config_set(cfg, word, value));
    }
    assert_ok(feedline_config_set(cfg, "device", device));
    assert_ok(feedline_pipeline_create(NULL, &p));
    if (!strstr(options, "max_sample_bytes="))
        assert_ok(feedline_pipeline_add(p, "random_resized_crop", crop));
    assert_ok(feedline_pipeline_add(p, "horizontal_flip", NULL));
    if (op && strcmp(op, "five_crop") == 0)
        assert_ok(feedline_pipeline_add(p, op, "width=24 height=24"));
    if (strstr(options, "dtype=") && !strstr(options, "dtype=u8"))
        assert_ok(feedline_pipeline_add(
            p, "normalize",
            strstr(options, "channels=") ? "mean=0.5 std=0.25" : NULL));
    if (op && strcmp(op, "views") == 0)
        p = in_views(p);
    else if (op && strcmp(op, "mix") == 0)
        assert_ok(feedline_pipeline_add(p, op, "mixup_alpha=1 cutmix_alpha=1"));
    else if (op && strcmp(op, "cutmix") == 0)
        assert_ok(feedline_pipeline_add(
            p, "mix", "like=timm mode=elem p=0.7 cutmix_alpha=1"));
    else if (op && strcmp(op, "five_crop") != 0)
        assert_ok(feedline_pipeline_add(p, op, NULL));
    assert_ok(feedline_loader_create(cfg, ds, p, &l));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return l;
}

uint64_t rig_batch_bytes(const feedline_loader *host)
{
    struct feedline_epoch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_loader_get_epoch_info(host, &info));
    return info.batch_bytes;
}

uint64_t rig_labels_at(const struct feedline_batch_info *info)
{
    return (info->image_bytes + 7) / 8 * 8;
}

void rig_read_back(const struct rig *r, const struct feedline_batch_info *d,
                   fdl_cuda_stream stream, struct echo *e)
{
    uint64_t at = rig_labels_at(d), bytes = d->count * sizeof(int64_t);
    assert_true(at + bytes <= e->capacity);
    memset(e->memory, 0x5a, (size_t)(at + bytes));
    assert_cuda(r->run.MemcpyDtoHAsync(e->memory, d->images.data,
                                       (size_t)d->image_bytes, stream));
    assert_cuda(r->run.MemcpyDtoHAsync(e->memory + at, d->labels.data,
                                       (size_t)bytes, stream));
}

/* All that can be seen without touching the device. */
static void assert_same_tensor(const struct feedline_tensor *d,
                               const struct feedline_tensor *h, int32_t device)
{
    assert_int_equal(d->device, FEEDLINE_CUDA);
    assert_int_equal(d->device_id, device);
    assert_int_equal(d->dtype, h->dtype);
    assert_int_equal(d->ndim, h->ndim);
    assert_memory_equal(d->shape, h->shape, sizeof(d->shape));
    assert_memory_equal(d->stride, h->stride, sizeof(d->stride));
}

void assert_same_info(const struct feedline_batch_info *d,
                      const struct feedline_batch_info *h, int32_t device)
{
    assert_same_tensor(&d->images, &h->images, device);
    assert_same_tensor(&d->labels, &h->labels, device);
    assert_int_equal(d->count, h->count);
    assert_int_equal(d->epoch, h->epoch);
    assert_int_equal(d->sequence, h->sequence);
    assert_int_equal(d->position, h->position);
    assert_int_equal(d->image_bytes, h->image_bytes);
    assert_memory_equal(d->sample_index, h->sample_index,
                        h->count * sizeof(int64_t));
    assert_memory_equal(d->sample_status, h->sample_status,
                        h->count * sizeof(int32_t));
    assert_int_equal(d->image_size != NULL, h->image_size != NULL);
    if (h->image_size)
        assert_memory_equal(d->image_size, h->image_size,
                            h->count * sizeof(*h->image_size));
}

void assert_same_bytes(const struct feedline_batch_info *d,
                       const struct feedline_batch_info *h,
                       const struct echo *e)
{
    struct feedline_batch_info back = *d;
    back.images.data = e->memory;
    bool chains = h->images.shape[0] != h->count; /* view by view, in a piece */
    if (chains)
        assert_memory_equal(e->memory, h->images.data, h->image_bytes);
    for (uint32_t i = 0; i < (chains ? 0 : h->count); i++) {
        size_t bytes, same;
        const uint8_t *got = fixture_image(&back, i, &bytes);
        const uint8_t *want = fixture_image(h, i, &same);
        assert_int_equal(bytes, same);
        if (memcmp(got, want, bytes) != 0)
            fail_msg("image %u of batch %llu of epoch %llu differs", i,
                     (unsigned long long)h->sequence,
                     (unsigned long long)h->epoch);
    }
    assert_memory_equal(e->memory + rig_labels_at(d), h->labels.data,
                        h->count * sizeof(int64_t));
}

/* ---- Pairs --------------------------------------------------------------- */

void rig_pair_open(const struct rig *r, struct pair *p, const char *device,
                   const char *finish, const char *options)
{
    char text[256];
    snprintf(text, sizeof(text), "%s finish=%s", options, finish);
    p->device = rig_loader(r->dataset, device, text);
    p->host = rig_loader(r->dataset, "host", options);
    rig_echo_open(r, &p->echo, rig_batch_bytes(p->host));
}

void rig_pair_close(const struct rig *r, struct pair *p)
{
    rig_echo_close(r, &p->echo);
    feedline_loader_destroy(p->host);
    feedline_loader_destroy(p->device);
}

void rig_pair_check(const struct rig *r, struct pair *p, feedline_batch *device,
                    feedline_batch *host, int number, fdl_cuda_stream stream)
{
    struct feedline_batch_info d = fixture_info(device), h = fixture_info(host);
    assert_same_info(&d, &h, number);
    assert_ok(feedline_batch_wait(device, stream));
    rig_read_back(r, &d, stream, &p->echo);
    assert_cuda(r->run.cuda->StreamSynchronize(stream));
    assert_same_bytes(&d, &h, &p->echo);
}

void rig_pair_next(const struct rig *r, struct pair *p, int number,
                   fdl_cuda_stream stream)
{
    feedline_batch *d = fixture_take(p->device), *h = fixture_take(p->host);
    rig_pair_check(r, p, d, h, number, stream);
    feedline_batch_release(d);
    feedline_batch_release(h);
}

/* ---- Desks --------------------------------------------------------------- */

void desk_open(struct desk *d, const char *options, const char *finish)
{
    char text[256];
    *d = (struct desk){.n = 0};
    rig_open(&d->rig);
    snprintf(text, sizeof(text), "%s finish=%s", options, finish);
    d->device = rig_loader(d->rig.dataset, "cuda:0", text);
    snprintf(text, sizeof(text), "%s depth=%u", options, 2 * RIG_ECHOES);
    d->host = rig_loader(d->rig.dataset, "host", text);
    for (uint32_t s = 0; s < 2; s++) {
        assert_ok(feedline_busy_create("cuda:0", &d->busy[s]));
        for (uint32_t i = 0; i < RIG_ECHOES; i++)
            rig_echo_open(&d->rig, &d->echoes[i][s], rig_batch_bytes(d->host));
    }
}

void desk_verify(struct desk *d)
{
    for (uint32_t s = 0; s < 2; s++)
        assert_ok(feedline_busy_wait(d->busy[s]));
    for (uint32_t i = 0; i < d->n; i++) {
        struct feedline_batch_info h = fixture_info(d->expected[i]);
        for (uint32_t s = 0; s < 2; s++)
            if (d->filled[i][s])
                assert_same_bytes(&d->info[i], &h, &d->echoes[i][s]);
        feedline_batch_release(d->expected[i]);
    }
    memset(d->filled, 0, sizeof(d->filled));
    d->n = 0;
}

void desk_close(struct desk *d)
{
    desk_verify(d);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < RIG_ECHOES; i++)
            rig_echo_close(&d->rig, &d->echoes[i][s]);
        feedline_busy_destroy(d->busy[s]);
    }
    feedline_loader_destroy(d->host);
    if (d->device)
        feedline_loader_destroy(d->device);
    rig_close(&d->rig);
}

feedline_batch *desk_next(struct desk *d)
{
    if (d->n == RIG_ECHOES)
        desk_verify(d);
    feedline_batch *b = fixture_take(d->device);
    d->expected[d->n] = fixture_take(d->host);
    d->info[d->n++] = fixture_info(b);
    return b;
}

void desk_read_late(struct desk *d, uint32_t stream,
                    const struct feedline_batch_info *from)
{
    uint32_t at = d->n - 1;
    assert_ok(feedline_busy_work(d->busy[stream], rig_draw(&d->rig, 200000)));
    rig_read_back(&d->rig, from, feedline_busy_stream(d->busy[stream]),
                  &d->echoes[at][stream]);
    d->filled[at][stream] = true;
}

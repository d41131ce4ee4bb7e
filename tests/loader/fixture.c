/* SPDX-License-Identifier: Apache-2.0 */
/* Generated images and short ways to a loader; see fixture.h. */
#include "fixture.h"

#include "tests/remove_tree.h"

#include <jpeglib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASSES 3

uint8_t *fixture_jpeg(uint32_t seed, uint64_t *size)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    unsigned char *out = NULL;
    unsigned long bytes = 0;
    uint32_t noise = seed * 2654435761u + 1;
    c.err = jpeg_std_error(&err);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &bytes);
    c.image_width = 40 + seed % 23;
    c.image_height = 36 + seed % 17;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    jpeg_start_compress(&c, TRUE);
    JSAMPLE row[3 * 64];
    while (c.next_scanline < c.image_height) {
        for (uint32_t x = 0; x < 3 * c.image_width; x++) {
            noise = noise * 1664525u + 1013904223u;
            row[x] = (JSAMPLE)((x * 3 + c.next_scanline * 5 + seed * 11 +
                                (noise >> 28)) &
                               0xff);
        }
        JSAMPROW rows[1] = {row};
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *size = bytes;
    return out;
}

void fixture_path(const struct fixture *f, uint32_t i, char *path, size_t size)
{
    snprintf(path, size, "%s/class_%u/%06u.jpg", f->folder, i % CLASSES, i);
}

static void write_file(const char *path, const void *data, uint64_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void fixture_create(struct fixture *f, uint32_t n)
{
    char path[256];
    f->n = n;
    f->data = calloc(n, sizeof(*f->data));
    f->sizes = calloc(n, sizeof(*f->sizes));
    f->labels = calloc(n, sizeof(*f->labels));
    snprintf(f->folder, sizeof(f->folder), "/tmp/feedline-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    for (uint32_t k = 0; k < CLASSES; k++) {
        snprintf(path, sizeof(path), "%s/class_%u", f->folder, k);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        f->data[i] = fixture_jpeg(i, &f->sizes[i]);
        f->labels[i] = i % CLASSES;
        fixture_path(f, i, path, sizeof(path));
        write_file(path, f->data[i], f->sizes[i]);
    }
    f->ds = fixture_memory(f);
    f->files = fixture_folder(f);
}

void fixture_remove(struct fixture *f)
{
    feedline_dataset_close(f->ds);
    feedline_dataset_close(f->files);
    for (uint32_t i = 0; i < f->n; i++)
        free(f->data[i]);
    free(f->data);
    free(f->sizes);
    free(f->labels);
    remove_tree(f->folder);
}

feedline_dataset *fixture_memory(const struct fixture *f)
{
    feedline_dataset *ds;
    assert_ok(
        feedline_dataset_open_memory((const void *const *)(const void *)f->data,
                                     f->sizes, f->labels, f->n, &ds));
    return ds;
}

feedline_dataset *fixture_folder(const struct fixture *f)
{
    feedline_dataset *ds;
    assert_ok(feedline_dataset_open(f->folder, &ds));
    return ds;
}

static void set_options(feedline_config *cfg, char *options)
{
    char *save;
    for (char *word = strtok_r(options, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value = '\0';
        assert_ok(feedline_config_set(cfg, word, value + 1));
    }
}

static void add_operations(feedline_pipeline *p, const char *operations)
{
    char text[256], *save;
    snprintf(text, sizeof(text), "%s", operations);
    for (char *op = strtok_r(text, ";", &save); op;
         op = strtok_r(NULL, ";", &save)) {
        char *args = strchr(op, ' ');
        if (args)
            *args++ = '\0';
        assert_ok(feedline_pipeline_add(p, op, args));
    }
}

static int32_t make(feedline_loader **out, feedline_dataset *ds,
                    const struct feedline_op_def *def, const char *operations,
                    const char *options, va_list values)
{
    feedline_config *cfg;
    feedline_pipeline *p;
    char text[512];
    assert_in_range(vsnprintf(text, sizeof(text), options, values), 0,
                    sizeof(text) - 1);
    assert_ok(feedline_config_create(&cfg));
    set_options(cfg, text);
    assert_ok(feedline_pipeline_create("none", &p));
    if (def)
        assert_ok(feedline_pipeline_register(p, def));
    add_operations(p, operations);
    int32_t status = feedline_loader_create(cfg, ds, p, out);
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return status;
}

int32_t fixture_try(feedline_loader **out, feedline_dataset *ds,
                    const struct feedline_op_def *def, const char *operations,
                    const char *options, ...)
{
    va_list values;
    va_start(values, options);
    int32_t status = make(out, ds, def, operations, options, values);
    va_end(values);
    return status;
}

feedline_loader *fixture_with(feedline_dataset *ds,
                              const struct feedline_op_def *def,
                              const char *operations, const char *options, ...)
{
    feedline_loader *l;
    va_list values;
    va_start(values, options);
    assert_ok(make(&l, ds, def, operations, options, values));
    va_end(values);
    return l;
}

feedline_loader *fixture_loader(feedline_dataset *ds, const char *options)
{
    feedline_loader *l;
    bool whole = options && strstr(options, "max_sample_bytes=");
    (void)fixture_try(&l, ds, NULL,
                      whole ? "horizontal_flip"
                            : "random_resized_crop width=32 height=32;"
                              "horizontal_flip",
                      "dtype=u8 batch_size=8 %s", options ? options : "");
    return l;
}

feedline_loader *fixture_open(feedline_dataset *ds, const char *options)
{
    feedline_loader *l = fixture_loader(ds, options);
    if (!l)
        fail_msg("%s", feedline_last_error());
    return l;
}

void fixture_close(feedline_dataset **ds)
{
    feedline_dataset_close(*ds);
}

void fixture_destroy(feedline_loader **l)
{
    feedline_loader_destroy(*l);
}

feedline_batch *fixture_next(feedline_loader *l)
{
    feedline_batch *b;
    int32_t status = feedline_loader_next(l, -1, &b);
    assert_ok(status);
    return status == FEEDLINE_OK ? b : NULL;
}

feedline_batch *fixture_take(feedline_loader *l)
{
    feedline_batch *b;
    while (!(b = fixture_next(l)))
        continue;
    return b;
}

void fixture_take_all(feedline_loader *l, feedline_batch **out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = fixture_take(l);
}

void fixture_release_all(feedline_batch **batches, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        feedline_batch_release(batches[i]);
}

void fixture_pass(feedline_loader *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        feedline_batch_release(fixture_take(l));
}

uint32_t fixture_pass_epoch(feedline_loader *l)
{
    uint32_t n = 0;
    for (feedline_batch *b; (b = fixture_next(l)); n++)
        feedline_batch_release(b);
    return n;
}

struct feedline_batch_info fixture_info(const feedline_batch *b)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_batch_get_info(b, &info));
    return info;
}

struct feedline_batch_targets fixture_targets(const feedline_batch *b)
{
    struct feedline_batch_targets t = {.struct_size = sizeof(t)};
    assert_ok(feedline_batch_get_targets(b, &t));
    return t;
}

struct feedline_stats fixture_stats(const feedline_loader *l)
{
    struct feedline_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_stats(l, &s));
    return s;
}

struct feedline_wait_stats fixture_waits(const feedline_loader *l)
{
    struct feedline_wait_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_wait_stats(l, &s));
    return s;
}

struct feedline_stage_stats fixture_stage(const feedline_loader *l,
                                          uint32_t stage)
{
    struct feedline_stage_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_stage_stats(l, stage, &s));
    return s;
}

struct feedline_worker_stats fixture_workers(const feedline_loader *l)
{
    struct feedline_worker_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_worker_stats(l, &s));
    return s;
}

struct feedline_device_stats fixture_device(const feedline_loader *l)
{
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_device_stats(l, &s));
    return s;
}

struct feedline_verdict fixture_verdict(feedline_loader *l)
{
    struct feedline_verdict v = {.struct_size = sizeof(v)};
    assert_ok(feedline_loader_get_verdict(l, &v));
    return v;
}

int64_t fixture_int(const feedline_loader *l, const char *key)
{
    int64_t value;
    assert_ok(feedline_loader_get_int(l, key, &value));
    return value;
}

const char *fixture_json(feedline_loader *l)
{
    static char text[1 << 20];
    uint64_t needed;
    assert_ok(feedline_loader_stats_json(l, text, sizeof(text), &needed));
    return text;
}

uint32_t fixture_log_count(const char *words)
{
    char line[1024];
    uint64_t needed;
    uint32_t n = 0;
    while (feedline_log_read(line, sizeof(line), &needed) == FEEDLINE_OK)
        n += strstr(line, words) != NULL;
    return n;
}

/* A loop over bytes is dear under sanitizers: over words, then the rest. */
uint64_t fixture_hash(uint64_t hash, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        p += sizeof(word);
        hash = (hash ^ word) * FIXTURE_HASH;
        hash ^= hash >>
                32; /* into the low bits, which a product never gives them */
    }
    while (n-- > 0)
        hash = (hash ^ *p++) * FIXTURE_HASH;
    return hash;
}

const uint8_t *fixture_image(const struct feedline_batch_info *info, uint32_t i,
                             size_t *bytes)
{
    const struct feedline_tensor *t = &info->images;
    const uint8_t *pixels = t->data;
    size_t element = t->dtype == FEEDLINE_U8    ? 1
                     : t->dtype == FEEDLINE_F32 ? 4
                                                : 2;
    if (!info->image_size) {
        *bytes = (size_t)t->stride[0] * element;
        return pixels + i * *bytes;
    }
    const int32_t *size = info->image_size[i];
    int64_t channels = t->shape[1] + t->shape[3]; /* one is 0 */
    *bytes = (size_t)(size[0] * (int64_t)size[1] * channels) * element;
    return pixels + info->image_offset[i];
}

uint64_t fixture_hash_sample(uint64_t hash,
                             const struct feedline_batch_info *info, uint32_t i)
{
    const int64_t *labels = info->labels.data;
    size_t bytes;
    const uint8_t *pixels = fixture_image(info, i, &bytes);
    hash = fixture_hash(hash, &info->sample_index[i], sizeof(int64_t));
    hash = fixture_hash(hash, &info->sample_status[i], sizeof(int32_t));
    hash = fixture_hash(hash, &labels[i], sizeof(int64_t));
    if (info->image_size)
        hash = fixture_hash(hash, info->image_size[i], 2 * sizeof(int32_t));
    return fixture_hash(hash, pixels, bytes);
}

void fixture_consume(feedline_batch *b, uint64_t *hash)
{
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t i = 0; i < info.count; i++)
        *hash = fixture_hash_sample(*hash, &info, i);
    feedline_batch_release(b);
}

uint64_t fixture_run(feedline_loader *l, uint32_t epochs)
{
    uint64_t hash = FIXTURE_HASH;
    uint32_t ended = 0;
    while (ended < epochs) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            fixture_consume(b, &hash);
        ended += status == FEEDLINE_END;
    }
    return hash;
}

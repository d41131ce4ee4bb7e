/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/read/reader_rig.h"

#include "base/log.h"
#include "base/memory.h"
#include "decode/decoder.h"
#include "tests/remove_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool rig_reads;
bool rig_caches;
uint16_t (*rig_serve)(const char *folder, uint32_t delay_ms);

static uint8_t byte_at(uint64_t file, uint64_t offset)
{
    uint64_t x =
        (file + 1) * 0x9e3779b97f4a7c15u + offset * 0xbf58476d1ce4e5b9u;
    return (uint8_t)(x >> 40 | 1); /* never 0: padding is told from bytes */
}

/* Whole files only. */
static int32_t read_as_program(struct feedline_read_call *call)
{
    const struct rig *rig = call->context;
    FILE *f = fopen(rig->paths[call->index], "rb");
    if (!f)
        return feedline_read_fail(call, FEEDLINE_ENOENT, strerror(errno));
    call->length = rig->sizes[call->index];
    void *buffer = call->length > call->room
                       ? feedline_read_grow(call, call->length)
                       : call->buffer;
    if (buffer)
        assert_int_equal(fread(buffer, 1, call->length, f), call->length);
    assert_int_equal(fclose(f), 0);
    return FEEDLINE_OK;
}

static void peek(void *user, uint64_t sample, struct fdl_source *out)
{
    struct rig *rig = user;
    uint64_t i = sample % rig->n_files;
    const struct rig_extent *e = &rig->extents[i];
    *out = (struct fdl_source){.path = rig->paths[i],
                               .file = e->part ? e->file : FDL_OWN_FILE,
                               .offset = e->offset,
                               .length = e->length};
    if (!rig->store)
        return;
    out->path = rig->urls[i];
    out->store = rig->store;
    out->tag = &rig->tags[e->file];
}

static void resolve(void *user, struct fdl_read *r)
{
    struct rig *rig = user;
    r->index = r->sample % rig->n_files;
    r->times = &rig->times[r->sample % RIG_TIMES];
    peek(rig, r->sample, &r->source);
    if (rig->dataset.data) {
        r->source.data = rig->dataset.data[r->index];
        r->source.length = (int64_t)rig->dataset.sizes[r->index];
    }
    if (rig_reads) {
        r->source.user = &rig->user;
        r->source.offset = r->index;
    }
}

struct rig *rig_create(void)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    snprintf(rig->folder, sizeof(rig->folder), "/tmp/feedline-test-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    assert_int_equal(chmod(rig->folder, 0755), 0);
    rig->depth = 4;
    rig->limit = 16;
    rig->max_file_bytes = RIG_MAX_FILE;
    rig->memory_budget = UINT64_MAX;
#ifdef RIG_DIRECT
    rig->direct = FDL_DIRECT_TRUE;
#endif
    rig->stages = fdl_pages_alloc(RIG_MAX_DEPTH * sizeof(*rig->stages));
    assert_non_null(rig->stages);
    rig->user.name = rig->folder;
    atomic_init(&rig->user.usual, 4096);
    rig->user.source.read = read_as_program;
    rig->user.source.context = rig;
    fdl_lock_init(&rig->user.turns, FDL_RANK_TURNS);
    return rig;
}

void rig_destroy(struct rig *rig)
{
    rig_stop(rig);
    remove_tree(rig->folder);
    fdl_store_close(rig->store);
    for (uint32_t i = 0; i < rig->n_files; i++) {
        free(rig->paths[i]);
        free(rig->bytes[i]);
        free(rig->urls[i]);
        free(rig->tags[i]);
    }
    fdl_pages_free(rig->stages, RIG_MAX_DEPTH * sizeof(*rig->stages));
    free(rig);
}

uint32_t rig_add_path(struct rig *rig, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : rig->folder,
             name[0] == '/' ? "" : "/", name);
    assert_true(rig->n_files < RIG_FILES);
    rig->paths[rig->n_files] = fdl_strdup(path);
    assert_non_null(rig->paths[rig->n_files]);
    rig->extents[rig->n_files] =
        (struct rig_extent){.file = rig->n_files, .length = -1};
    rig->dataset.count = rig->n_files + 1;
    return rig->n_files++;
}

uint32_t rig_add_extent(struct rig *rig, uint32_t file, uint64_t offset,
                        int64_t length)
{
    uint32_t i = rig_add_path(rig, rig->paths[file]);
    rig->extents[i] = (struct rig_extent){file, offset, length, true};
    rig->sizes[i] = length < 0 ? rig->sizes[file] - offset : (uint64_t)length;
    return i;
}

uint32_t rig_add_file(struct rig *rig, uint64_t size)
{
    char name[32];
    snprintf(name, sizeof(name), "%u", rig->n_files);
    uint32_t file = rig_add_path(rig, name);
    rig->sizes[file] = size;
    uint8_t *bytes = rig->bytes[file] = malloc(size + 1);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = byte_at(file, i);
    FILE *f = fopen(rig->paths[file], "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return file;
}

void rig_open_window(struct rig *rig)
{
    if (!rig->window)
        assert_int_equal(fdl_window_create(rig->limit, rig->max_file_bytes,
                                           resolve, rig, &rig->window),
                         FEEDLINE_OK);
}

static void wake_workers(void *user)
{
    struct rig *rig = user;
    fdl_event_notify(fdl_window_ready(rig->window), UINT32_MAX);
}

static void serve(struct rig *rig)
{
    char url[192];
    if (!rig->store) {
        snprintf(rig->base, sizeof(rig->base), "http://127.0.0.1:%u",
                 rig_serve(rig->folder, 0));
        assert_int_equal(fdl_store_open(rig->base, &rig->store), FEEDLINE_OK);
    }
    for (uint32_t i = 0; i < rig->n_files; i++) {
        if (rig->urls[i])
            continue;
        snprintf(url, sizeof(url), "%s%s", rig->base,
                 rig->paths[i] + strlen(rig->folder));
        rig->urls[i] = fdl_strdup(url);
        assert_non_null(rig->urls[i]);
    }
}

static void open_chunks(struct rig *rig)
{
    char folder[96];
    snprintf(folder, sizeof(folder), "%s/chunks", rig->folder);
    rig->chunks =
        fdl_chunk_cache_open(folder, (uint64_t)256 << 20, (uint64_t)32 << 20);
    assert_non_null(rig->chunks);
}

int32_t rig_try_start(struct rig *rig, const struct fdl_reader_ops *ops)
{
    if (ops == &fdl_reader_remote)
        serve(rig);
    rig_open_window(rig);
    if (ops == &fdl_reader_remote && rig_caches && !rig->chunks)
        open_chunks(rig);
    fdl_window_remote(rig->window)->chunks = rig->chunks;
    struct fdl_reader_config cfg = {
        .window = rig->window,
        .dataset = &rig->dataset,
        .depth = rig->depth,
        .max_depth = RIG_MAX_DEPTH,
        .stages = rig->stages,
        .memory_budget = rig->memory_budget,
    };
    rig->ops = ops;
    fdl_window_close_shards(rig->window);
    fdl_window_direct(rig->window)->mode = rig->direct;
    fdl_window_set_peek(rig->window,
                        rig->gathers && !ops->read_now ? peek : NULL);
    int32_t status =
        fdl_window_open_shards(rig->window, rig->n_files, rig->random);
    if (status != FEEDLINE_OK)
        return status;
    if (ops->read_now)
        fdl_window_set_waker(rig->window, wake_workers, rig);
    return ops->start(&cfg, &rig->reader);
}

void rig_start(struct rig *rig, const struct fdl_reader_ops *ops)
{
    int32_t status = rig_try_start(rig, ops);
    if (status == FEEDLINE_ENOSYS) {
        printf("%s\n", fdl_last_error());
        char reason[FDL_ERROR_BYTES];
        snprintf(reason, sizeof(reason), "%s", fdl_last_error());
        rig_destroy(rig);
        test_skip("%s", reason);
    }
    assert_int_equal(status, FEEDLINE_OK);
}

void rig_stop(struct rig *rig)
{
    if (!rig->window)
        return;
    fdl_window_close(rig->window);
    if (rig->reader)
        rig->ops->stop(rig->reader);
    rig->reader = NULL;
    fdl_window_close_shards(rig->window);
    struct fdl_read one_more = {0};
    fdl_read_send(rig->window, &one_more);
    assert_int_equal(one_more.ahead, 0); /* all have arrived, or failed */
    fdl_window_destroy(rig->window);
    rig->window = NULL;
    fdl_chunk_cache_close(rig->chunks);
    rig->chunks = NULL;
}

/* As a worker does it where the reader has no threads. */
static struct fdl_read *take_now(struct rig *rig)
{
    struct fdl_read *r = fdl_window_take(rig->window);
    if (r || !rig->ops->read_now)
        return r;
    while (!r && (r = fdl_window_claim(rig->window))) {
        rig->ops->read_now(rig->reader, r);
        fdl_window_complete(rig->window, r);
        r = fdl_window_take(rig->window); /* or another worker has it */
    }
    return r;
}

struct fdl_read *rig_take(struct rig *rig)
{
    struct fdl_event *ready = fdl_window_ready(rig->window);
    for (;;) {
        uint32_t key = fdl_event_prepare(ready);
        struct fdl_read *r = take_now(rig);
        if (r) {
            fdl_event_cancel(ready);
            return r;
        }
        fdl_event_wait(ready, key, -1);
    }
}

void rig_check(const struct rig *rig, const struct fdl_read *r)
{
    assert_int_equal(r->status, FEEDLINE_OK);
    assert_string_equal(r->reason, "");
    assert_int_equal(r->index, r->sample % rig->n_files);
    assert_int_equal(r->size, rig->sizes[r->index]);
    const struct rig_extent *e = &rig->extents[r->index];
    if (r->size > 0)
        assert_memory_equal(r->data, rig->bytes[e->file] + e->offset, r->size);
    assert_true(r->readable >= r->size);
    if (!r->source.data && !rig->gathers)
        assert_int_equal(r->readable, r->size + FDL_ENCODED_PADDING);
    const uint8_t *padding = r->data + r->size;
    uint64_t n = r->readable - r->size;
    if (n > 0 && (padding[0] || memcmp(padding, padding + 1, n - 1) != 0))
        fail_msg("file %d is not padded with 0", (int)r->index);
    int64_t start = atomic_load(&r->times->read_start);
    int64_t done = atomic_load(&r->times->read_done);
    assert_true(start > 0);
    assert_true(done >= start);
}

uint64_t rig_drain(struct rig *rig, uint64_t n)
{
    uint64_t failures = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct fdl_read *r = rig_take(rig);
        if (r->status == FEEDLINE_OK)
            rig_check(rig, r);
        else
            failures += printf("%s\n", r->reason) > 0;
        fdl_window_free(rig->window, r);
    }
    return failures;
}

void rig_expect_failure(struct rig *rig, uint64_t sample, int32_t status,
                        const char *text)
{
    fdl_window_issue(rig->window, sample + 1);
    struct fdl_read *r = rig_take(rig);
    assert_int_equal(r->sample, sample);
    if (!strstr(r->reason, text))
        fail_msg("'%s' is not in '%s'", text, r->reason);
    assert_int_equal(r->status, status);
    assert_null(r->data);
    assert_int_equal(r->size, 0);
    fdl_window_free(rig->window, r);
}

void rig_expect(struct rig *rig, uint64_t end, uint64_t n)
{
    fdl_window_issue(rig->window, end);
    assert_int_equal(rig_drain(rig, n), 0);
}

void rig_expect_log(const char *text)
{
    char line[FDL_LOG_LINE_BYTES];
    uint64_t needed;
    int32_t status = fdl_log_read(line, sizeof(line), &needed);
    assert_int_equal(status, text ? FEEDLINE_OK : FEEDLINE_END);
    if (text && !strstr(line, text))
        fail_msg("'%s' is not in '%s'", text, line);
}

struct rig *rig_with_files(uint32_t n, uint64_t bytes)
{
    struct rig *rig = rig_create();
    for (uint32_t i = 0; i < n; i++)
        rig_add_file(rig, bytes);
    return rig;
}

struct rig *rig_start_files(const struct fdl_reader_ops *ops, uint32_t n,
                            uint64_t bytes)
{
    struct rig *rig = rig_with_files(n, bytes);
    rig_start(rig, ops);
    return rig;
}

struct rig *rig_start_shard(const struct fdl_reader_ops *ops)
{
    struct rig *rig = rig_create();
    rig_add_file(rig, 4000);
    rig->extents[0].part = true;
    for (uint32_t i = 1; i < 4; i++)
        rig_add_extent(rig, 0, i * 1000, 1000);
    rig_add_file(rig, 100);
    rig->depth = 1;
    rig_start(rig, ops);
    return rig;
}

struct rig *rig_neighbours(uint32_t n)
{
    struct rig *rig = rig_create();
    rig_add_file(rig, (uint64_t)n * 5000);
    rig->extents[0] = (struct rig_extent){0, 0, 4000, true};
    rig->sizes[0] = 4000;
    for (uint32_t i = 1; i < n; i++)
        rig_add_extent(rig, 0, i * 5000, 4000);
    rig->gathers = true;
    return rig;
}

struct fdl_total *rig_total(const struct rig *rig)
{
    struct fdl_total *total = calloc(1, sizeof(*total));
    assert_non_null(total);
    for (uint32_t i = 0; i < RIG_MAX_DEPTH; i++)
        fdl_total_add(total, &rig->stages[i]);
    return total;
}

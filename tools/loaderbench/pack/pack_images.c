/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that change: a loader reads, decodes and scales them, and the last
 * operation of its pipeline encodes what it sees, on the loader's workers. The
 * batches themselves are of one pixel an image: they bring the order, and what
 * went wrong.
 */
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"

#include <feedline/order.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BATCH "32"
#define DEPTH "4"
#define AHEAD 64u /* batches that are appended before they are taken */

struct maker {
    struct pack *pack;
    struct pack_made *made; /* [pack->n], by sample */
    feedline_loader *loader;
    const uint64_t *order;
    uint64_t n, batch, appended;
};

/* ---- On the workers ------------------------------------------------------ */

static int32_t make(struct pack *p, const struct feedline_image *image,
                    uint64_t i, struct pack_made *made)
{
    uint8_t *of = NULL;
    uint64_t bytes = 0;
    if (p->in_memory && !p->recipe.jpeg) {
        made->extension = "png";
        return pack_encode_png(image, &made->data, &made->bytes);
    }
    const char *why;
    int32_t status =
        p->in_memory ? FEEDLINE_OK : pack_read(p, i, &of, &bytes, &why);
    if (status < 0)
        return status;
    if (of && !pack_changes(&p->recipe, of, bytes)) {
        const char *content = pack_content(of, bytes);
        *made = (struct pack_made){of, bytes, content ? content : "img", true};
        return pack_store(p, &made->data, &made->bytes);
    }
    made->extension = "jpg";
    status = pack_encode_jpeg(&p->recipe, image, of, bytes, &made->data,
                              &made->bytes);
    free(of);
    return status < 0 ? status : pack_store(p, &made->data, &made->bytes);
}

static int32_t encode(const struct feedline_op_call *call)
{
    struct maker *m = call->user;
    return make(m->pack, &call->image, (uint64_t)call->sample_index,
                &m->made[call->sample_index]);
}

/* ---- The loader ---------------------------------------------------------- */

static int32_t set_up(const struct pack *p, feedline_config *config)
{
    static const struct {
        const char *key, *value;
    } own[] = {
        {"order", "given"},   {"dtype", "u8"},    {"layout", "nhwc"},
        {"channels", "3"},    {"device", "host"}, {"batch_size", BATCH},
        {"depth", DEPTH},     {"live", "off"},    {"max_sample_bytes", "0"},
        {"quality", "exact"},
    };
    int32_t status = FEEDLINE_OK;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own) && status >= 0; i++)
        status = feedline_config_set(config, own[i].key, own[i].value);
    /* Skipped samples would be replaced by others. */
    if (status >= 0 && p->skip)
        status = feedline_config_set(config, "on_error", "zero");
    return status;
}

static int32_t make_pipeline(struct maker *m, feedline_pipeline **out)
{
    char args[48];
    struct feedline_op_def def = {.struct_size = sizeof(def),
                                  .name = "pack_encode",
                                  .run = encode,
                                  .user = m};
    int32_t side = m->pack->recipe.longest_side;
    int32_t status = feedline_pipeline_create(NULL, out);
    snprintf(args, sizeof(args), "longest=%" PRId32, side);
    if (status >= 0 && side > 0)
        status = feedline_pipeline_add(*out, "resize", args);
    if (status >= 0)
        status = feedline_pipeline_register(*out, &def);
    if (status >= 0)
        status = feedline_pipeline_add(*out, def.name, NULL);
    if (status >= 0)
        status = feedline_pipeline_add(*out, "center_crop", "size=1");
    return status;
}

static int begin(struct maker *m)
{
    feedline_pipeline *pipeline = NULL;
    int32_t status = set_up(m->pack, m->pack->config);
    if (status >= 0)
        status = make_pipeline(m, &pipeline);
    if (status >= 0)
        status = feedline_loader_create(m->pack->config, m->pack->data,
                                        pipeline, &m->loader);
    if (status >= 0)
        status = feedline_loader_begin(m->loader, 0, 0, 0);
    feedline_pipeline_destroy(pipeline);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* Keeps batches appended ahead of the one that is taken next. */
static int32_t append(struct maker *m, uint64_t taken)
{
    int32_t status = FEEDLINE_OK;
    while (status >= 0 && m->appended < m->n &&
           m->appended < taken + AHEAD * m->batch) {
        uint64_t n = m->n - m->appended;
        n = n < m->batch ? n : m->batch;
        status = feedline_loader_append(m->loader, m->order + m->appended, NULL,
                                        (uint32_t)n);
        m->appended += n;
        if (status >= 0 && m->appended == m->n)
            status = feedline_loader_end(m->loader);
    }
    return status;
}

/* Why sample i failed; the first thousand are known. */
static const char *reason_of(const struct maker *m, uint64_t i)
{
    struct feedline_failure f = {.struct_size = sizeof(f)};
    int32_t n = feedline_loader_failure_count(m->loader);
    for (int32_t k = n; k-- > 0;)
        if (feedline_loader_get_failure(m->loader, (uint32_t)k, &f) >= 0 &&
            f.sample_index == (int64_t)i)
            return f.reason;
    return "it cannot be decoded";
}

static int take_batch(struct maker *m, feedline_batch *batch, uint64_t *taken,
                      pack_take *take, void *to)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    int32_t status = feedline_batch_get_info(batch, &info);
    int rc = status < 0 ? tool_run_failed(status) : TOOL_DONE;
    for (uint32_t k = 0; k < info.count && rc == TOOL_DONE; k++) {
        uint64_t i = (uint64_t)info.sample_index[k];
        struct pack_made *made = &m->made[i];
        bool failed = info.sample_status[k] < 0;
        rc = take(to, (*taken)++, made, failed ? reason_of(m, i) : NULL);
        free(made->data);
        *made = (struct pack_made){0};
    }
    return rc;
}

static int take_all(struct maker *m, pack_take *take, void *to)
{
    uint64_t taken = 0;
    int rc = TOOL_DONE;
    tool_watch_loader(m->loader);
    while (rc == TOOL_DONE && taken < m->n) {
        feedline_batch *batch = NULL;
        int32_t status = append(m, taken);
        if (status >= 0)
            status = feedline_loader_next(m->loader, -1, &batch);
        if (status < 0)
            rc = tool_run_failed(status);
        else if (batch)
            rc = take_batch(m, batch, &taken, take, to);
        feedline_batch_release(batch);
        if (rc == TOOL_DONE && tool_interrupted())
            rc = TOOL_INTERRUPTED;
    }
    tool_watch_loader(NULL);
    return rc;
}

int pack_make_images(struct pack *p, const uint64_t *order, uint64_t n,
                     pack_take *take, void *to)
{
    struct maker m = {.pack = p,
                      .order = order,
                      .n = n,
                      .batch = (uint64_t)atoi(BATCH),
                      .made = calloc(p->n + 1, sizeof(*m.made))};
    int rc = m.made ? begin(&m) : tool_no_memory();
    if (rc == TOOL_DONE)
        rc = take_all(&m, take, to);
    feedline_loader_destroy(m.loader);
    for (uint64_t i = 0; m.made && i < p->n; i++)
        free(m.made[i].data);
    free(m.made);
    return rc;
}

/* ---- Into shards --------------------------------------------------------- */

struct filling {
    struct pack *pack;
    uint64_t *order; /* of the samples that are made, shard after shard */
    uint64_t n, shard, left_in_shard;
    struct shard_writer writer;
    struct pack_left left;
    bool open;
    struct progress progress;
};

static int next_shard(struct filling *f)
{
    const struct pack *p = f->pack;
    while (p->shards[f->shard].done)
        f->shard++;
    f->left_in_shard = p->shards[f->shard].count;
    int rc = shard_begin(&f->writer, p->folder, p->options->name, f->shard);
    f->open = rc == TOOL_DONE;
    return rc;
}

static int end_shard(struct filling *f)
{
    struct pack *p = f->pack;
    uint64_t bytes = f->writer.bytes;
    uint64_t samples = p->shards[f->shard].count - f->left.n;
    f->open = false;
    int rc = pack_shard_end(p, &f->writer, &f->left, f->shard++);
    if (rc == TOOL_DONE) {
        p->samples_written += samples;
        p->bytes_written += bytes;
        p->shards_written++;
    }
    return rc;
}

/* The ending that a name has stays, if it is one of what is stored. */
static const char *extension_of(const struct pack_made *made,
                                const char *ending)
{
    if (*ending && made->kept)
        return ending;
    if (strcmp(made->extension, "jpg") == 0 &&
        (strcasecmp(ending, "jpg") == 0 || strcasecmp(ending, "jpeg") == 0))
        return ending;
    return made->extension;
}

static int fill(void *to, uint64_t place, struct pack_made *made,
                const char *why)
{
    struct filling *f = to;
    struct pack *p = f->pack;
    uint64_t i = f->order[place];
    char ending[PACK_EXTENSION_BYTES], *key;
    int rc = f->open ? TOOL_DONE : next_shard(f);
    progress_count(&f->progress, place + 1);
    if (rc == TOOL_DONE && why) {
        rc = pack_leave_out(p, &f->left, i, why);
    } else if (rc == TOOL_DONE) {
        key = pack_key(p, i, ending);
        rc = key ? shard_add(&f->writer, key, extension_of(made, ending),
                             pack_label(p, i), made->data, made->bytes)
                 : tool_no_memory();
        if (rc == TOOL_DONE)
            rc = pack_add_fields(p, &f->writer, key, i);
        free(key);
    }
    if (rc == TOOL_DONE && --f->left_in_shard == 0)
        rc = end_shard(f);
    return rc;
}

int pack_write_images(struct pack *p)
{
    struct filling f = {.pack = p,
                        .order = malloc((p->n + 1) * sizeof(*f.order))};
    if (!f.order)
        return tool_no_memory();
    for (uint64_t s = 0; s < p->n_shards; s++)
        for (uint64_t k = 0; !p->shards[s].done && k < p->shards[s].count; k++)
            f.order[f.n++] = p->order[p->shards[s].first + k];
    f.progress = (struct progress){
        .what = "pack", .unit = "samples", .all = f.n, .begin = tool_seconds()};
    int rc = f.n ? pack_make_images(p, f.order, f.n, fill, &f) : TOOL_DONE;
    if (f.open)
        shard_drop(&f.writer);
    pack_left_drop(&f.left);
    progress_line("%s", "");
    free(f.order);
    return rc;
}

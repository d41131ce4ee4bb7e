/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench h2d: what the bus of this machine can do.
 *
 *   sizes 4 KiB ... 256 MiB   x   pinned, pageable   x   1, 16, 256 copies
 *                             x   idle GPU, busy GPU
 *
 * and the very batches of the user. All are measured in turn, several times
 * through, and medians are taken.
 */
#include "tools/loaderbench/h2d/h2d.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/run/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE_FACTOR    4
#define COPY_BYTES_LOW 64 /* nobody copies less at a time */
#define BYTES_MAX      (1ull << 36)

struct h2d_options {
    const char *device, *pipeline, *json;
    struct cli_list ops;
    uint64_t min, max, batch_bytes, repeats;
    bool quiet;
};

#define VALUES struct h2d_options
static const struct cli_option options[] = {
    {"device", "cuda[:N]", "which GPU [cuda:0]", VALUE_TEXT(device)},
    {"min", "SIZE", "the smallest size [4k]", VALUE_SIZE(min, 256)},
    {"max", "SIZE",
     "the largest size [256m]\n"
     "Sizes grow by a factor of 4.",
     VALUE_SIZE(max, 1024)},
    {"repeats", "N", "how often each copy is measured; medians count [5]",
     VALUE_COUNT(repeats, 1)},
    {"batch-bytes", "SIZE", "size of a batch [64x3x224x224, as u8 and as f32]",
     VALUE_SIZE(batch_bytes, 256)},
    {"pipeline", "NAME", "with a URI: as for run [train; none with --op]",
     VALUE_CHOICE(pipeline, RECIPE_CHOICES)},
    {"op", "\"NAME ARGS\"", "with a URI: add an operation, as for run",
     VALUE_LIST(ops)},
    CLI_JSON(json),
    CLI_QUIET(quiet),
};

const struct cli_command command_h2d = {
    .name = "h2d",
    .positional = "URI",
    .positional_folder = true,
    .positional_optional = true,
    .summary = "what the bus to the GPU can do",
    .about =
        "Measures copies to the GPU: their latency, the bandwidth, and which "
        "of the two limits your batches.\n\n"
        "Small and large copies, from pinned and from pageable memory, in one "
        "piece and in many, while the GPU is idle and while it works.\n\n"
        "The batch is that of a loader of URI with the loader options given, "
        "or of --batch-bytes.",
    .example = "h2d photos --batch-size 64",
    CLI_TABLE(.device = "cuda:0", .min = 4096, .max = 256u << 20, .repeats = 5),
    .loader_options = true,
    .run = h2d_main,
};

/* ---- The batches in question -------------------------------------------- */

static void add_batch(struct h2d *h, const int64_t shape[4], const char *dtype,
                      uint64_t bytes)
{
    struct h2d_batch *b = &h->batches[h->n_batches++];
    snprintf(b->name, sizeof(b->name),
             "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " %s", shape[0],
             shape[1], shape[2], shape[3], dtype);
    b->bytes = bytes;
    b->images = (uint64_t)shape[0];
}

static uint64_t element_bytes(int64_t dtype)
{
    static const uint64_t bytes[] = {1, 4, 2, 2}; /* u8|f32|f16|bf16 */
    return bytes[dtype];
}

/* What the loader would deliver, and its images as u8 if that is not it. */
static void batches_of_epoch(struct h2d *h, const feedline_config *cfg,
                             const struct feedline_epoch_info *epoch)
{
    static const char *const names[] = {"u8", "f32", "f16", "bf16"};
    const int64_t *shape = epoch->shape;
    int64_t dtype = 0;
    feedline_config_get_int(cfg, "dtype", &dtype);
    uint64_t elements =
        (uint64_t)(shape[0] * shape[1]) * (uint64_t)(shape[2] * shape[3]);
    uint64_t saved = elements * (element_bytes(dtype) - 1);
    if (saved)
        add_batch(h, shape, "u8", epoch->batch_bytes - saved);
    add_batch(h, shape, names[dtype], epoch->batch_bytes);
}

static int batches_of_uri(struct h2d *h, const struct h2d_options *o,
                          const struct cli_parsed *parsed)
{
    feedline_config *cfg = NULL;
    feedline_pipeline *pipeline = NULL;
    feedline_dataset *dataset = NULL;
    feedline_loader *loader = NULL;
    struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
    int32_t status = feedline_config_create(&cfg);
    int rc = status < 0 ? tool_setup_failed(status) : cli_apply(parsed, cfg);
    if (rc == TOOL_DONE)
        rc = recipe_make(o->pipeline ? o->pipeline : recipe_default(&o->ops),
                         &o->ops, cfg, &pipeline);
    if (rc != TOOL_DONE)
        goto out;
    status = feedline_config_set(cfg, "device", "host");
    if (status >= 0)
        status = feedline_dataset_open(parsed->positional, &dataset);
    if (status >= 0)
        status = feedline_loader_create(cfg, dataset, pipeline, &loader);
    if (status >= 0)
        status = feedline_loader_get_epoch_info(loader, &epoch);
    if (status < 0)
        rc = tool_setup_failed(status);
    else
        batches_of_epoch(h, cfg, &epoch);
out:
    feedline_loader_destroy(loader);
    feedline_dataset_close(dataset);
    feedline_config_destroy(cfg);
    feedline_pipeline_destroy(pipeline);
    return rc;
}

static int choose_batches(struct h2d *h, const struct h2d_options *o,
                          const struct cli_parsed *parsed)
{
    static const int64_t usual[4] = {64, 3, 224, 224};
    const uint64_t elements = 64ull * 3 * 224 * 224, labels = 64 * 8;
    if (parsed->positional)
        return batches_of_uri(h, o, parsed);
    if (o->batch_bytes) {
        struct h2d_batch *b = &h->batches[h->n_batches++];
        snprintf(b->name, sizeof(b->name), "%" PRIu64 " bytes", o->batch_bytes);
        b->bytes = o->batch_bytes;
    } else {
        add_batch(h, usual, "u8", elements + labels);
        add_batch(h, usual, "f32", 4 * elements + labels);
    }
    return TOOL_DONE;
}

/* ---- The points --------------------------------------------------------- */

static int add_point(struct h2d *h, struct gpu_copy point)
{
    struct gpu_copy *more =
        realloc(h->points, (h->n_points + 1) * sizeof(*more));
    if (!more)
        return tool_no_memory();
    h->points = more;
    more[h->n_points++] = point;
    return TOOL_DONE;
}

static int add_size(struct h2d *h, uint64_t bytes)
{
    static const uint32_t copies[] = {1, 16, 256};
    int rc = TOOL_DONE;
    int kinds = h->no_kernels[0] ? 2 : 4;
    for (int kind = 0; kind < kinds; kind++)
        for (size_t i = 0; i < 3 && rc == TOOL_DONE; i++)
            if (bytes / copies[i] >= COPY_BYTES_LOW || copies[i] == 1)
                rc = add_point(h, (struct gpu_copy){.bytes = bytes,
                                                    .copies = copies[i],
                                                    .pageable = kind & 1,
                                                    .busy = kind & 2});
    return rc;
}

static int choose_points(struct h2d *h, const struct h2d_options *o)
{
    int rc = TOOL_DONE;
    for (uint64_t bytes = o->min; bytes < o->max && rc == TOOL_DONE;
         bytes *= SIZE_FACTOR)
        rc = add_size(h, bytes);
    if (rc == TOOL_DONE)
        rc = add_size(h, o->max);
    for (size_t i = 0; i < h->n_batches && rc == TOOL_DONE; i++) {
        struct gpu_copy point = {.bytes = h->batches[i].bytes, .copies = 1};
        rc = add_point(h, point);
        point.pageable = true;
        if (rc == TOOL_DONE)
            rc = add_point(h, point);
    }
    return rc;
}

static int check_options(const struct h2d_options *o)
{
    if (o->max <= o->min || o->max > BYTES_MAX) {
        tool_say("--max has to be above --min, and 64g at most");
        return TOOL_USAGE;
    }
    if (o->batch_bytes > BYTES_MAX) {
        tool_say("--batch-bytes is 64g at most");
        return TOOL_USAGE;
    }
    return TOOL_DONE;
}

static int measure(struct h2d *h, const struct h2d_options *o,
                   const struct cli_parsed *parsed)
{
    int rc = check_options(o);
    if (rc == TOOL_DONE)
        rc = gpu_find(o->device, &h->gpu);
    if (rc == TOOL_DONE)
        gpu_kernels(o->device, h->no_kernels, sizeof(h->no_kernels));
    if (rc == TOOL_DONE)
        rc = choose_batches(h, o, parsed);
    if (rc == TOOL_DONE)
        rc = choose_points(h, o);
    if (rc == TOOL_DONE)
        rc = gpu_time_copies(o->device, h->points, h->n_points, o->repeats);
    bool measured =
        rc == TOOL_DONE || (rc == TOOL_INTERRUPTED && h->points[0].host_us > 0);
    h->interrupted = rc == TOOL_INTERRUPTED;
    if (!measured)
        return rc;
    int fitted = h2d_fit(h->points, h->n_points, &h->fit);
    return fitted == TOOL_DONE ? rc : fitted;
}

int h2d_main(void *values, const struct cli_parsed *parsed)
{
    const struct h2d_options *o = values;
    struct h2d h = {.points = NULL};
    int rc = measure(&h, o, parsed);
    if (h.interrupted && !(h.fit.gigabytes_per_second > 0))
        tool_say("interrupted before each copy was measured once");
    else if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED) {
        h2d_advise(&h);
        if (output_is_free(o->quiet, o->json, NULL))
            h2d_report(&h);
        if (o->json)
            rc = document_deliver(h2d_document(&h), o->json, rc);
    }
    free(h.points);
    return rc;
}

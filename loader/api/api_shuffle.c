/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: shuffle=block. */
#include "base/philox.h"
#include "loader/api/api.h"
#include "loader/dataset/dataset.h"
#include "loader/options.h"
#include "loader/order/mixing.h"

#include <feedline/shuffle.h>

#include <inttypes.h>
#include <stdlib.h>

/* Where the samples of another file begin. NULL: no memory. */
static uint64_t *find_runs(const feedline_dataset *ds, uint64_t *n)
{
    uint64_t runs = 1;
    for (uint64_t i = 1; ds->extents && i < ds->count; i++)
        runs += ds->extents[i].file != ds->extents[i - 1].file;
    uint64_t *first = calloc(runs, sizeof(*first));
    *n = first ? 1 : 0;
    for (uint64_t i = 1; first && runs > 1 && i < ds->count; i++)
        if (ds->extents[i].file != ds->extents[i - 1].file)
            first[(*n)++] = i;
    return first;
}

static int32_t measure(const feedline_dataset *ds, const struct fdl_options *o,
                       struct feedline_mixing *out)
{
    struct fdl_mixing m;
    struct fdl_mixing_source from = {.labels = &ds->labels, .count = ds->count};
    uint64_t bytes = fdl_dataset_extent_bytes(ds);
    struct fdl_block_shape shape = fdl_options_blocks(o, ds->count, bytes);
    uint64_t batch = (uint64_t)fdl_option_int(o, FDL_OPT_BATCH_SIZE);
    uint32_t rank, world;
    int32_t status = fdl_options_ranks(o, &rank, &world);
    batch *= world;
    if (status >= 0)
        status = fdl_mixing_of_blocks(&from, &shape, batch, &m);
    if (status < 0)
        return status;
    *out = (struct feedline_mixing){
        .lanes = (uint32_t)shape.lanes,
        .block = shape.samples,
        .batch = batch,
        .variance = m.variance,
        .variance_most = m.most,
        .blocks = m.blocks,
        .blocks_full = m.blocks_full,
        .same_block = m.same_block,
        .same_block_full = m.same_block_full,
        .buffer = FDL_MIN(shape.lanes * shape.samples, ds->count),
    };
    out->bytes =
        (uint64_t)((double)bytes * (double)out->buffer / (double)ds->count);
    uint64_t *runs = find_runs(ds, &from.n_runs);
    if (!runs)
        return fdl_fail_memory(ds->files.n * sizeof(*runs), "files in a row");
    from.runs = runs;
    status =
        fdl_mixing_of_buffer(&from, out->buffer, batch, &out->buffer_variance);
    free(runs);
    return status;
}

int32_t feedline_dataset_get_mixing(const feedline_dataset *ds,
                                    const feedline_config *cfg,
                                    struct feedline_mixing *out)
{
    struct fdl_options defaults = {0};
    const struct fdl_options *options = &defaults;
    struct feedline_mixing mixing;
    int32_t status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = fdl_check_out(out);
    if (status >= 0 && cfg) {
        status = fdl_api_enter_config(cfg);
        options = &cfg->options;
    } else if (status >= 0) {
        status = fdl_options_init(&defaults, "loader", fdl_loader_options,
                                  FDL_LOADER_OPTIONS);
    }
    if (status >= 0)
        status = measure(ds, options, &mixing);
    fdl_options_fini(&defaults);
    return status < 0 ? status : fdl_copy_out(out, &mixing, sizeof(mixing));
}

int32_t feedline_block_order(uint64_t count, uint64_t block, uint64_t lanes,
                             uint64_t seed, uint64_t epoch, uint64_t first,
                             uint64_t n, uint64_t *out)
{
    struct fdl_blocks b;
    struct fdl_block_shape shape = {block, lanes};
    int32_t status = fdl_api_enter(out, "out");
    if (status < 0)
        return status;
    if (block < 1 || block > FDL_BLOCK_MAX || lanes < 1 ||
        lanes > FDL_LANES_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "block=%" PRIu64 " lanes=%" PRIu64
                        ": 1 to %d samples and 1 to %d lanes",
                        block, lanes, FDL_BLOCK_MAX, FDL_LANES_MAX);
    if (count < 1 || count > FDL_SAMPLES_MAX || first > count ||
        n > count - first)
        return fdl_fail(FEEDLINE_EINVAL,
                        "elements %" PRIu64 " and %" PRIu64
                        " more of an order of %" PRIu64,
                        first, n, count);
    fdl_blocks_init(&b, count, &shape, seed, epoch);
    for (uint64_t i = 0; i < n; i++)
        out[i] = fdl_blocks_sample(&b, first + i);
    return FEEDLINE_OK;
}

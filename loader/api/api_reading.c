/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: how fast the samples of a data set are read. */
#include "base/compiler.h"
#include "loader/api/api.h"
#include "loader/options.h"
#include "loader/order/permute.h"
#include "loader/order/sampler.h"
#include "loader/read/read_rate.h"
#include "loader/read/remote_cache.h"

#include <stdlib.h>

#define MOST_SAMPLES 32768 /* at once: seconds of reading */

/* In the data set's order from a random sample on, or in a random order. */
static uint64_t *choose_samples(const struct fdl_options *o, uint64_t count,
                                uint64_t n)
{
    uint64_t *samples = malloc(n * sizeof(*samples));
    uint64_t seed = (uint64_t)fdl_option_int(o, FDL_OPT_SEED);
    bool random = fdl_option_int(o, FDL_OPT_SHUFFLE) != FDL_SHUFFLE_NONE;
    uint64_t first = fdl_permute(count, seed, 0, 0);
    for (uint64_t i = 0; samples && i < n; i++)
        samples[i] =
            random ? fdl_permute(count, seed, 0, i) : (first + i) % count;
    return samples;
}

static int32_t measure(const struct fdl_options *o, const feedline_dataset *ds,
                       uint64_t most_ns, uint32_t flags,
                       struct feedline_reading *out)
{
    uint64_t n = FDL_MIN(ds->count, (uint64_t)MOST_SAMPLES);
    uint64_t *samples = choose_samples(o, ds->count, n);
    if (!samples)
        return fdl_fail_memory(n * sizeof(*samples), "the order");
    struct fdl_reading_plan plan = {
        .dataset = ds,
        .reader = (enum fdl_reader_kind)fdl_option_int(o, FDL_OPT_READER),
        .depth = (uint32_t)fdl_option_int(o, FDL_OPT_IO_DEPTH),
        .direct = (int32_t)fdl_option_int(o, FDL_OPT_DIRECT),
        .random = fdl_option_int(o, FDL_OPT_SHUFFLE) != FDL_SHUFFLE_NONE &&
                  (flags & FEEDLINE_READING_COLD),
        .cold = flags & FEEDLINE_READING_COLD,
        .most_ns = most_ns,
        .max_file_bytes = (uint64_t)fdl_option_int(o, FDL_OPT_MAX_FILE_BYTES),
        .samples = samples,
        .n = n,
    };
    plan.chunks = fdl_remote_cache_open(o, ds, UINT64_MAX);
    int32_t status = fdl_reading_measure(&plan, out);
    fdl_chunk_cache_close(plan.chunks);
    free(samples);
    return status;
}

int32_t feedline_dataset_measure_reading(const feedline_config *cfg,
                                         feedline_dataset *ds, uint64_t most_ns,
                                         uint32_t flags,
                                         struct feedline_reading *out)
{
    struct feedline_reading result;
    int32_t status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = fdl_api_enter_config(cfg);
    if (status < 0)
        return status;
    if (ds->data || ds->user)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the samples are not in files: nothing is read");
    if (fdl_option_int(&cfg->options, FDL_OPT_READER) == FDL_READER_memory)
        return fdl_fail(FEEDLINE_EINVAL,
                        "reader=memory reads each file once; measure another");
    status = measure(&cfg->options, ds, most_ns, flags, &result);
    return status < 0 ? status : fdl_copy_out(out, &result, sizeof(result));
}

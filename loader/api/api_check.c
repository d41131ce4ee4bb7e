/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: checking the samples of a data set. */
#include "loader/api/api.h"
#include "loader/options.h"
#include "loader/read/checker.h"

#include <feedline/files.h>

#include <inttypes.h>

/* Those of cfg, or the defaults, which are for fdl_options_fini. */
static int32_t options_of(const feedline_config *cfg,
                          struct fdl_options *defaults,
                          const struct fdl_options **out)
{
    *out = cfg ? &cfg->options : defaults;
    return cfg ? fdl_api_enter_config(cfg)
               : fdl_options_init(defaults, "loader", fdl_loader_options,
                                  FDL_LOADER_OPTIONS);
}

static int32_t need_images(const feedline_dataset *ds)
{
    if (!fdl_dataset_is_recorded(ds))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "samples of %s bring their own steps, so only a loader "
                    "reads them",
                    ds->user->name);
}

int32_t feedline_checker_create(const feedline_config *cfg,
                                feedline_dataset *ds, feedline_checker **out)
{
    struct fdl_options defaults = {0};
    const struct fdl_options *options;
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = need_images(ds);
    if (status >= 0)
        status = options_of(cfg, &defaults, &options);
    if (status >= 0) {
        struct fdl_decode_limits limits = {0};
        fdl_options_fill(options, &limits);
        limits.apply_exif = true; /* else orientations are not looked for */
        status = fdl_checker_create(
            ds, &limits,
            (uint64_t)fdl_option_int(options, FDL_OPT_MAX_FILE_BYTES), out);
    }
    fdl_options_fini(&defaults);
    return status;
}

int32_t feedline_dataset_read(const feedline_config *cfg, feedline_dataset *ds,
                              uint64_t index, void **data, uint64_t *bytes)
{
    struct fdl_options defaults = {0};
    const struct fdl_options *options;
    int32_t status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = need_images(ds);
    if (status >= 0)
        status = fdl_api_enter_out(data);
    if (status >= 0)
        status = fdl_api_enter_out(bytes);
    if (status >= 0 && index >= ds->count)
        status = fdl_fail(FEEDLINE_ERANGE,
                          "sample %" PRIu64 ": the data set has %" PRIu64,
                          index, ds->count);
    if (status >= 0)
        status = options_of(cfg, &defaults, &options);
    if (status >= 0)
        status = fdl_sample_read(
            ds, (enum fdl_checksums)fdl_option_int(options, FDL_OPT_CHECKSUMS),
            (uint64_t)fdl_option_int(options, FDL_OPT_MAX_FILE_BYTES), index,
            data, bytes);
    fdl_options_fini(&defaults);
    return status;
}

int32_t feedline_checker_check(feedline_checker *c, uint64_t index,
                               struct feedline_checked *out)
{
    int32_t status =
        fdl_api_enter_handle(c, c ? fdl_checker_generation(c) : 0, "checker");
    if (status < 0)
        return status;
    uint64_t count = fdl_checker_dataset(c)->count;
    if (index >= count)
        return fdl_fail(FEEDLINE_ERANGE,
                        "sample %" PRIu64 ": the data set has %" PRIu64, index,
                        count);
    struct feedline_checked checked;
    fdl_checker_check(c, index, &checked);
    return fdl_copy_out(out, &checked, sizeof(checked));
}

void feedline_checker_destroy(feedline_checker *c)
{
    if (c && fdl_checker_generation(c) == fdl_fork_generation())
        fdl_checker_destroy(c);
}

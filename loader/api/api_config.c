/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: version, status, options, config, pipeline. */
#include "base/json.h"
#include "base/memory.h"
#include "decode/ops/op.h"
#include "decode/pipeline.h"
#include "loader/api/api.h"
#include "loader/index/index_format.h"
#include "loader/options.h"

#include <stdlib.h>
#include <string.h>

#define VERSION_NUMBER                                                         \
  (FEEDLINE_VERSION_MAJOR << 16 | FEEDLINE_VERSION_MINOR << 8 |                \
   FEEDLINE_VERSION_PATCH)

/* ---- Version and status ------------------------------------------------- */

const char *feedline_version(void)
{
    return fdl_version();
}

uint32_t feedline_version_number(void)
{
    return VERSION_NUMBER;
}

uint32_t feedline_features(void)
{
    return FDL_FEATURES; /* from the build */
}

const char *feedline_status_name(int32_t status)
{
    return fdl_status_name(status);
}

const char *feedline_status_text(int32_t status)
{
    return fdl_status_text(status);
}

const char *feedline_last_error(void)
{
    return fdl_last_error();
}

/* ---- Option tables ------------------------------------------------------ */

static int32_t find_table(const char *scope, const struct fdl_option **table,
                          uint32_t *n)
{
    const struct fdl_op *op;
    const struct fdl_index_format *format;
    int32_t status = fdl_api_enter(scope, "scope");
    if (status < 0)
        return status;
    if (strcmp(scope, "loader") == 0) {
        *table = fdl_loader_options;
        *n = FDL_LOADER_OPTIONS;
        return FEEDLINE_OK;
    }
    size_t bytes = strlen(scope);
    if (bytes > 0 && scope[bytes - 1] == ':' &&
        (format = fdl_index_of_scheme(scope, bytes - 1))) {
        *table = format->options;
        *n = format->n_options;
        return FEEDLINE_OK;
    }
    status = fdl_op_find(scope, &op);
    if (status < 0)
        return status;
    *table = op->options;
    *n = op->n_options;
    return FEEDLINE_OK;
}

int32_t feedline_option_count(const char *scope)
{
    const struct fdl_option *table;
    uint32_t n;
    int32_t status = find_table(scope, &table, &n);
    return status < 0 ? status : (int32_t)n;
}

int32_t feedline_option_get_info(const char *scope, uint32_t index,
                                 struct feedline_option_info *out)
{
    const struct fdl_option *table;
    uint32_t n;
    int32_t status = find_table(scope, &table, &n);
    if (status < 0)
        return status;
    return fdl_option_describe(table, n, index, out);
}

/* ---- Config ------------------------------------------------------------- */

int32_t feedline_config_create(feedline_config **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status < 0)
        return status;
    feedline_config *cfg = calloc(1, sizeof(*cfg));
    if (!cfg)
        return fdl_fail_memory(sizeof(*cfg), "a config");
    cfg->fork_generation = fdl_fork_generation();
    status = fdl_options_init(&cfg->options, "loader", fdl_loader_options,
                              FDL_LOADER_OPTIONS);
    if (status >= 0)
        status = fdl_options_set_environment(&cfg->options, "FEEDLINE");
    if (status < 0) {
        feedline_config_destroy(cfg);
        return status;
    }
    *out = cfg;
    return FEEDLINE_OK;
}

void feedline_config_destroy(feedline_config *cfg)
{
    if (!cfg || cfg->fork_generation != fdl_fork_generation())
        return;
    fdl_options_fini(&cfg->options);
    free(cfg);
}

int32_t feedline_config_set(feedline_config *cfg, const char *key,
                            const char *text)
{
    int32_t status = fdl_api_enter_config(cfg);
    if (status >= 0)
        status = fdl_api_enter(key, "key");
    if (status >= 0)
        status = fdl_api_enter(text, "text");
    return status < 0 ? status : fdl_options_set(&cfg->options, key, text);
}

int32_t feedline_config_set_int(feedline_config *cfg, const char *key,
                                int64_t value)
{
    int32_t status = fdl_api_enter_config(cfg);
    if (status >= 0)
        status = fdl_api_enter(key, "key");
    return status < 0 ? status : fdl_options_set_int(&cfg->options, key, value);
}

int32_t feedline_config_get_int(const feedline_config *cfg, const char *key,
                                int64_t *out)
{
    int32_t status = fdl_api_enter_config(cfg);
    if (status >= 0)
        status = fdl_api_enter(key, "key");
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    return status < 0 ? status : fdl_options_get_int(&cfg->options, key, out);
}

int32_t feedline_config_load(feedline_config *cfg, const char *path,
                             const char *section)
{
    int32_t status = fdl_api_enter_config(cfg);
    if (status >= 0)
        status = fdl_api_enter(path, "path");
    return status < 0 ? status : fdl_options_load(&cfg->options, path, section);
}

int32_t feedline_config_json(const feedline_config *cfg, char *buf,
                             uint64_t capacity, uint64_t *needed)
{
    struct fdl_json j;
    int32_t status = fdl_api_enter_config(cfg);
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_json_begin_object(&j, NULL);
    fdl_options_json(&cfg->options, &j);
    fdl_json_end_object(&j);
    return fdl_json_finish(&j, needed);
}

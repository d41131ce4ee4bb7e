/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/run/recipe.h"

#include "bench/loaderbench/tool.h"

#include <stdlib.h>
#include <string.h>

#define DTYPE_U8 0 /* u8|f32|f16|bf16 */

const char *recipe_default(const struct cli_list *ops)
{
    return ops->n ? "none" : "train";
}

static int add_operation(feedline_pipeline *p, const char *text)
{
    size_t n = strcspn(text, " ");
    char *name = strndup(text, n);
    if (!name)
        return tool_no_memory();
    int32_t status = feedline_pipeline_add(p, name, text + n);
    free(name);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* "train" -> "train_u8" where the pixels stay whole numbers. */
static const char *recipe_for(const char *name, const feedline_config *config)
{
    int64_t dtype = 0;
    feedline_config_get_int(config, "dtype", &dtype);
    if (dtype != DTYPE_U8)
        return name;
    return strcmp(name, "train") == 0  ? "train_u8"
           : strcmp(name, "eval") == 0 ? "eval_u8"
                                       : name;
}

int recipe_make(const char *name, const struct cli_list *ops,
                const feedline_config *config, feedline_pipeline **out)
{
    int32_t status = feedline_pipeline_create(recipe_for(name, config), out);
    if (status < 0)
        return tool_setup_failed(status);
    for (size_t i = 0; i < ops->n; i++) {
        int rc = add_operation(*out, ops->items[i]);
        if (rc != TOOL_DONE)
            return rc;
    }
    return TOOL_DONE;
}

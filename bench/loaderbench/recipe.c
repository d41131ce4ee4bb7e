/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/recipe.h"

#include "bench/loaderbench/tool.h"

#include <stdlib.h>
#include <string.h>

const char *recipe_default(const struct cli_list *ops)
{
    return ops->n ? "none" : "train";
}

static int add_operation(feedline_pipeline *p, const char *text)
{
    size_t n = strcspn(text, " ");
    char *name = strndup(text, n);
    if (!name) {
        tool_say("out of memory");
        return TOOL_ENVIRONMENT;
    }
    int32_t status = feedline_pipeline_add(p, name, text + n);
    free(name);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

int recipe_make(const char *name, const struct cli_list *ops,
                feedline_pipeline **out)
{
    int32_t status = feedline_pipeline_create(name, out);
    if (status < 0)
        return tool_setup_failed(status);
    for (size_t i = 0; i < ops->n; i++) {
        int rc = add_operation(*out, ops->items[i]);
        if (rc != TOOL_DONE)
            return rc;
    }
    return TOOL_DONE;
}

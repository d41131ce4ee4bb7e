/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/run/recipe.h"

#include "tools/loaderbench/tool.h"

#include <feedline/views.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DTYPE_U8 0 /* u8|f32|f16|bf16 */
#define VIEWS    "views "

const char *recipe_default(const struct cli_list *ops)
{
    return ops->n ? "none" : "train";
}

bool recipe_trains(const char *name)
{
    return strcmp(name, "eval") != 0 && strcmp(name, "clip") != 0 &&
           strcmp(name, "none") != 0;
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
static int32_t create(const char *name, const feedline_config *config,
                      feedline_pipeline **out)
{
    int64_t dtype = 0;
    char text[64];
    feedline_config_get_int(config, "dtype", &dtype);
    snprintf(text, sizeof(text), "%s%s", name, dtype == DTYPE_U8 ? "_u8" : "");
    return feedline_pipeline_create(text, out);
}

/* A pipeline under way: `chain` takes the operations; "views N" makes it N more
 * views of `views`, and another one follows. */
struct recipe {
    feedline_pipeline *chain, *views;
    bool fresh; /* the chain has nothing yet */
};

static int end_chain(struct recipe *r, const char *count)
{
    char *end;
    unsigned long n = strtoul(count, &end, 10);
    if (*end || n > FEEDLINE_VIEWS_MAX) {
        tool_say("--op \"views %s\": views are 1 to %d", count,
                 FEEDLINE_VIEWS_MAX);
        return TOOL_USAGE;
    }
    int32_t status = FEEDLINE_OK;
    if (!r->views)
        status = feedline_pipeline_create("none", &r->views);
    if (status >= 0)
        status = feedline_pipeline_add_views(r->views, r->chain, (uint32_t)n);
    feedline_pipeline_destroy(r->chain);
    r->chain = NULL;
    if (status >= 0)
        status = feedline_pipeline_create("none", &r->chain);
    r->fresh = true;
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

static int add_item(struct recipe *r, const char *text)
{
    if (strncmp(text, VIEWS, strlen(VIEWS)) == 0)
        return end_chain(r, text + strlen(VIEWS));
    r->fresh = false;
    return add_operation(r->chain, text);
}

int recipe_make(const char *name, const struct cli_list *ops,
                const feedline_config *config, feedline_pipeline **out)
{
    struct recipe r = {0};
    int rc = TOOL_DONE;
    int32_t status = create(name, config, &r.chain);
    if (status < 0)
        rc = tool_setup_failed(status);
    for (size_t i = 0; i < ops->n && rc == TOOL_DONE; i++)
        rc = add_item(&r, ops->items[i]);
    if (rc == TOOL_DONE && r.views && !r.fresh) {
        tool_say("--op: operations after the last \"views N\" belong to no "
                 "view; end with another \"views\"");
        rc = TOOL_USAGE;
    }
    *out = r.views && rc == TOOL_DONE ? r.views : r.chain;
    feedline_pipeline_destroy(*out == r.chain ? r.views : r.chain);
    return rc;
}

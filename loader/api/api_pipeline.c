/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: pipelines, their operations and views. */
#include "decode/custom.h"
#include "decode/ops/op.h"
#include "loader/api/api.h"

#include <feedline/custom_op.h>
#include <feedline/views.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#define ENTRY "feedline_op_register"

int32_t feedline_pipeline_create(const char *recipe, feedline_pipeline **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status < 0)
        return status;
    feedline_pipeline *p = calloc(1, sizeof(*p));
    if (!p)
        return fdl_fail_memory(sizeof(*p), "a pipeline");
    p->fork_generation = fdl_fork_generation();
    status = fdl_pipeline_create(recipe, &p->pipeline);
    if (status < 0) {
        free(p);
        return status;
    }
    *out = p;
    return FEEDLINE_OK;
}

void feedline_pipeline_destroy(feedline_pipeline *p)
{
    if (!p || p->fork_generation != fdl_fork_generation())
        return;
    fdl_pipeline_destroy(p->pipeline);
    free(p);
}

int32_t feedline_pipeline_add(feedline_pipeline *p, const char *op,
                              const char *args)
{
    int32_t status = fdl_api_enter_pipeline(p);
    if (status >= 0)
        status = fdl_api_enter(op, "op");
    return status < 0 ? status : fdl_pipeline_add(p->pipeline, op, args);
}

int32_t feedline_pipeline_json(const feedline_pipeline *p, char *buf,
                               uint64_t capacity, uint64_t *needed)
{
    struct fdl_json j;
    int32_t status = fdl_api_enter_pipeline(p);
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_pipeline_json(p->pipeline, NULL, &j);
    return fdl_json_finish(&j, needed);
}

const char *feedline_op_name(uint32_t index)
{
    const struct fdl_op *op = fdl_op_at(index);
    return op ? op->name : NULL;
}

int32_t feedline_pipeline_add_views(feedline_pipeline *p,
                                    const feedline_pipeline *chain,
                                    uint32_t count)
{
    int32_t status = fdl_api_enter_pipeline(p);
    if (status >= 0)
        status = fdl_api_enter_handle(chain, chain ? chain->fork_generation : 0,
                                      "chain");
    if (status >= 0 && p == chain)
        return fdl_fail(FEEDLINE_EINVAL, "a pipeline is no chain of itself");
    return status < 0
               ? status
               : fdl_pipeline_add_views(p->pipeline, chain->pipeline, count);
}

/* ---- Custom operations -------------------------------------------------- */

int32_t feedline_pipeline_register(feedline_pipeline *p,
                                   const struct feedline_op_def *def)
{
    int32_t status = fdl_api_enter_pipeline(p);
    if (status >= 0)
        status = fdl_api_enter(def, "def");
    return status < 0 ? status : fdl_pipeline_register(p->pipeline, def);
}

/* dlerror names the file itself. */
static int32_t fail_loading(int32_t status)
{
    const char *reason = dlerror();
    return fdl_fail(status, "%s", reason ? reason : "no reason given");
}

int32_t feedline_pipeline_load(feedline_pipeline *p, const char *path)
{
    int32_t status = fdl_api_enter_pipeline(p);
    if (status >= 0)
        status = fdl_api_enter(path, "path");
    if (status < 0)
        return status;
    /* NODELETE: its functions are called for as long as any loader lives. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return fail_loading(access(path, F_OK) == 0 ? FEEDLINE_EINVAL
                                                    : FEEDLINE_ENOENT);
    union { /* ISO C has no cast from an object to a function */
        void *object;
        int32_t (*call)(feedline_pipeline *);
    } entry = {.object = dlsym(library, ENTRY)};
    if (entry.object)
        status = entry.call(p);
    else
        status = fail_loading(FEEDLINE_ENOENT);
    dlclose(library);
    return status;
}

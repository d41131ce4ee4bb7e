/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: custom operations and their random numbers. */
#include "decode/custom.h"
#include "decode/pipeline.h"
#include "loader/api/api.h"

#include <dlfcn.h>
#include <unistd.h>

#define ENTRY "feedline_op_register"

static int32_t enter(const feedline_pipeline *p)
{
    return fdl_api_enter_handle(p, p ? p->fork_generation : 0, "pipeline");
}

int32_t feedline_pipeline_register(feedline_pipeline *p,
                                   const struct feedline_op_def *def)
{
    int32_t status = enter(p);
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
    int32_t status = enter(p);
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

/* On workers, inside a run function: no error line, no checks. */

uint32_t feedline_rng_u32(feedline_rng *rng)
{
    return fdl_rng_u32(&rng->rng);
}

double feedline_rng_uniform(feedline_rng *rng)
{
    return fdl_rng_uniform(&rng->rng);
}

uint32_t feedline_rng_below(feedline_rng *rng, uint32_t n)
{
    return fdl_rng_below(&rng->rng, n);
}

void feedline_op_waited(const struct feedline_op_call *call, int64_t ns)
{
    fdl_custom_waited(call, ns);
}

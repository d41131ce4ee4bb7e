/* SPDX-License-Identifier: Apache-2.0 */
/* What every public function does first; see api.h. */
#include "loader/api/api.h"

#include "base/compiler.h"
#include "loader/loader.h"
#include "loader/stream/ring.h"
#include "loader/watch/outside.h"

#include <string.h>

int32_t fdl_api_enter(const void *handle, const char *what)
{
    fdl_clear_error();
    if (!handle)
        return fdl_fail(FEEDLINE_EINVAL, "%s is NULL", what);
    return FEEDLINE_OK;
}

FDL_HOT int32_t fdl_api_enter_out(void *out)
{
    int32_t status = fdl_api_enter(out, "out");
    if (status >= 0)
        memset(out, 0, sizeof(void *));
    return status;
}

int32_t fdl_api_enter_handle(const void *handle, uint32_t generation,
                             const char *what)
{
    int32_t status = fdl_api_enter(handle, what);
    if (status < 0)
        return status;
    if (generation != fdl_fork_generation())
        return fdl_fail(FEEDLINE_EFORK,
                        "this %s was made before fork(): make a new one in "
                        "the child",
                        what);
    return FEEDLINE_OK;
}

FDL_HOT int32_t fdl_api_enter_batch(const feedline_batch *b)
{
    return fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
}

int32_t fdl_api_enter_config(const feedline_config *cfg)
{
    return fdl_api_enter_handle(cfg, cfg ? cfg->fork_generation : 0, "config");
}

int32_t fdl_api_enter_dataset(const feedline_dataset *ds)
{
    return fdl_api_enter_handle(ds, ds ? ds->fork_generation : 0, "data set");
}

int32_t fdl_api_enter_pipeline(const feedline_pipeline *p)
{
    return fdl_api_enter_handle(p, p ? p->fork_generation : 0, "pipeline");
}

int32_t fdl_api_enter_loader(const feedline_loader *l)
{
    return fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
}

FDL_HOT int32_t fdl_api_enter_engine(const feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    return status >= 0 && l->watch.outside ? fdl_outside_refuse() : status;
}

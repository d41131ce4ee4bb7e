/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every public function does first: a clean error line, a handle that
 * exists, the process that made it.
 */
#ifndef FDL_LOADER_API_H
#define FDL_LOADER_API_H

#include "base/abi.h"
#include "base/option.h"
#include "base/status.h"
#include "base/thread.h"
#include "decode/pipeline.h"

#include <feedline/feedline.h>

struct feedline_config {
    uint32_t fork_generation;
    struct fdl_options options;
};

/* Clears the error line. EINVAL: `handle` is NULL ("config is NULL"). */
int32_t fdl_api_enter(const void *handle, const char *what);

/* Clears the error line, and *out, where a new handle goes. EINVAL: out is
 * NULL. */
int32_t fdl_api_enter_out(void *out);

/* Clears the error line. EINVAL: `handle` is NULL; EFORK: it was made before a
 * fork(). */
int32_t fdl_api_enter_handle(const void *handle, uint32_t generation,
                             const char *what);
int32_t fdl_api_enter_batch(const feedline_batch *b);
int32_t fdl_api_enter_config(const feedline_config *cfg);
int32_t fdl_api_enter_dataset(const feedline_dataset *ds);
int32_t fdl_api_enter_pipeline(const feedline_pipeline *p);
int32_t fdl_api_enter_loader(const feedline_loader *l);

/* As fdl_api_enter_loader, and ESTATE: the loader is a watch, whose batches are
 * made elsewhere. */
int32_t fdl_api_enter_engine(const feedline_loader *l);

#endif

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

/* Clears the error line. EINVAL: `handle` is NULL ("config is NULL"). */
int32_t fdl_api_enter(const void *handle, const char *what);

/* The same, and EFORK if the handle was made before a fork(). */
int32_t fdl_api_enter_handle(const void *handle, uint32_t generation,
                             const char *what);

struct feedline_config {
    uint32_t fork_generation;
    struct fdl_options options;
};

struct feedline_pipeline {
    uint32_t fork_generation;
    struct fdl_pipeline *pipeline;
};

#endif

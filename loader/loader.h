/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: the engine, and everything that watches and controls it from
 * outside.
 *
 *      stream: engine  ---- records ---->  watch: books, notes, monitor
 *        ^   ^                               |  |
 *        |   +---------- questions ----------+  |
 *        |                                      v
 *        +---- settings ---- tune: control <--- questions --- report: pages,
 *                                                             logs, traces
 */
#ifndef FDL_LOADER_LOADER_H
#define FDL_LOADER_LOADER_H

#include "loader/report/exports.h"
#include "loader/report/sources.h"
#include "loader/report/tracing.h"
#include "loader/stream/engine.h"
#include "loader/tune/control.h"
#include "loader/watch/watcher.h"
#include "profiler/verdict/verdict.h"

struct feedline_loader {
    uint32_t fork_generation;
    uint32_t number; /* see loader_number.h */
    struct fdl_engine *engine;
    struct fdl_watch watch;
    struct fdl_control *control; /* its thread runs with a run */
    struct fdl_sources sources;  /* of all reports; constant */
    struct fdl_tracing tracing;
    struct fdl_exports exports; /* page, log, metrics */
    struct fdl_verdict verdict; /* the last one requested; under the books' lock
                                 */
};

/* backend_config: the device, and a script; the rest is filled in here. */
int32_t fdl_loader_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          feedline_loader **out);
void fdl_loader_destroy(feedline_loader *l);

/* fdl_engine_begin and fdl_engine_begin_given, with the books and the tuner of
 * a run that begins. */
int32_t fdl_loader_begin(feedline_loader *l, uint64_t epoch, uint64_t position);
int32_t fdl_loader_begin_given(feedline_loader *l, uint64_t epoch,
                               uint64_t seed, uint64_t position);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report is made from. The loader fills it in when it is created, and it
 * lives as long; every report is given this and nothing else. To read a part
 * takes locks of that part.
 */
#ifndef FDL_LOADER_SOURCES_H
#define FDL_LOADER_SOURCES_H

#include "loader/stream/engine.h"
#include "loader/tune/control.h"
#include "loader/watch/watcher.h"

#include <stdint.h>

struct fdl_sources {
    struct fdl_engine *engine;
    struct fdl_watch *watch;
    struct fdl_control *control;
    int64_t started_ns;
    uint32_t rank, world; /* of the job, also where others share out samples */
    uint64_t job;         /* its number, the same on all ranks; 0: none */
    uint32_t number;      /* of this loader, see loader_number.h */
};

#endif

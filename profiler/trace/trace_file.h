/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a trace while it grows.
 *
 *   head | events ... | tail, of a fixed size
 *                     ^ the next events go here, and a new tail behind them
 *
 * The file is called PATH.partial until it is complete and then gets its name,
 * so that a PATH is a whole trace; and it has a tail all the time, so that what
 * a killed process leaves behind can be opened too. Each addition is one write.
 *
 * Ends with the last events that fit: at the limit, or when the disk is full.
 * The tail says why. One thread at a time.
 */
#ifndef FDL_PROFILER_TRACE_FILE_H
#define FDL_PROFILER_TRACE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define FDL_TRACE_TAIL 256u /* bytes behind the events */

struct fdl_trace_file {
    char *path, *partial;
    char *buffer;
    uint64_t capacity;
    uint64_t at; /* of the tail */
    uint64_t limit;
    bool cut; /* events did not fit */
    char reason[96];
    int fd;
};

/* What the tail says. */
struct fdl_trace_end {
    uint64_t steps, lost;
};

/* EIO with the path; ENOMEM. f is empty on error. Loaders of one process, or of
 * several, may be told the same path: who comes second gets PATH with ".2"
 * before its ending. exact: PATH itself, whoever else writes one. */
int32_t fdl_trace_file_open(struct fdl_trace_file *f, const char *path,
                            uint64_t limit, bool exact);

/* false: they do not fit, and nothing more will. The error line says why. */
bool fdl_trace_file_add(struct fdl_trace_file *f, const char *events,
                        uint64_t length, const struct fdl_trace_end *end);

/* PATH is there after that. EIO: it is not, PATH.partial may be. Empties f. */
int32_t fdl_trace_file_finish(struct fdl_trace_file *f,
                              const struct fdl_trace_end *end);

/* Removes what was written. Nothing if f is empty. */
void fdl_trace_file_discard(struct fdl_trace_file *f);

#endif

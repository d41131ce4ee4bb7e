/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a trace while it grows.
 *
 *   head | events ... | tail, of a fixed size
 *                     ^ the next events go here, followed by a new tail
 *
 * The file is called PATH.partial until it is complete and is then renamed to
 * PATH, so PATH is always a whole trace. It has a tail at all times, so what a
 * killed process leaves behind opens as well. Each addition is one write.
 *
 * It ends with the last events that fit: at the limit, or when the disk is
 * full; the tail says why. One thread at a time.
 */
#ifndef FDL_PROFILER_TRACE_FILE_H
#define FDL_PROFILER_TRACE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define FDL_TRACE_TAIL 256u /* bytes after the events */

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

/* EIO with the path; ENOMEM. f is empty on error. If loaders of one or several
 * processes have the same path, the second gets PATH with ".2" before its
 * extension. exact: PATH itself, whatever else writes it. */
int32_t fdl_trace_file_open(struct fdl_trace_file *f, const char *path,
                            uint64_t limit, bool exact);

/* ERANGE (the limit), ENOMEM, EIO: they do not fit, and nothing more will,
 * which is ESTATE. */
int32_t fdl_trace_file_add(struct fdl_trace_file *f, const char *events,
                           uint64_t length, const struct fdl_trace_end *end);

/* PATH exists afterwards. EIO: it does not, PATH.partial may. Empties f. */
int32_t fdl_trace_file_finish(struct fdl_trace_file *f,
                              const struct fdl_trace_end *end);

/* Removes the file. Does nothing if f is empty. */
void fdl_trace_file_discard(struct fdl_trace_file *f);

#endif

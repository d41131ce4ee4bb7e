/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: the thread "feedline-trace", which exists only with option
 * trace and during feedline_loader_record. While steps are recorded it copies
 * the rings of all threads often enough that nothing is overwritten, and
 * appends what began in these steps to the file.
 *
 *     next()   | wait | warmup | active  active  active | wait | ...
 *     recorder          copies and     copies and        once more a little
 *                       drops          writes            later, for what had
 *                                                        not ended
 *
 * A note is in the trace if it began in a recorded step. The consumer's thread
 * says where steps begin, without a lock but at the first and last of a cycle.
 * The file is complete when the last cycle is over, or the loader ends. When it
 * cannot grow, one line in the log says so, the recorder ends, and the training
 * does not notice.
 */
#ifndef FDL_LOADER_RECORDER_H
#define FDL_LOADER_RECORDER_H

#include "loader/report/sources.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_recorder;

/* Reads the options; the file is there, partial, after that. *out is NULL
 * without option trace. EINVAL, EIO, ENOMEM. */
int32_t fdl_recorder_create(const struct fdl_sources *from,
                            struct fdl_recorder **out);

/* The thread. Once a run begins; again is nothing. A thread that cannot be had
 * is a line in the log. */
void fdl_recorder_start(struct fdl_recorder *r);

/* The consumer's thread: step number `step` begins at `now`. The same step may
 * begin again. */
void fdl_recorder_step(struct fdl_recorder *r, uint64_t step, int64_t now);

/* A recording that the caller begins and ends, of everything from since_ns on;
 * what is still in the rings counts. The consumer's thread, as the next two.
 * EIO, ENOMEM. */
int32_t fdl_recorder_begin(const struct fdl_sources *from, const char *path,
                           int64_t since_ns, struct fdl_recorder **out);

/* A step that the program counts ended: it began at the last mark. Waits for
 * the recorder if a ring is a quarter full, so that nothing is overwritten. */
void fdl_recorder_mark(struct fdl_recorder *r, uint64_t number, int64_t now);

/* Ends at the last mark, or now; destroys it. */
void fdl_recorder_end(struct fdl_recorder *r, bool at_mark);

/* Joins the thread and completes the file. */
void fdl_recorder_destroy(struct fdl_recorder *r);

#endif

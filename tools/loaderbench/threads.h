/* SPDX-License-Identifier: Apache-2.0 */
/* One function on several threads, which share its work out among them. */
#ifndef LOADERBENCH_THREADS_H
#define LOADERBENCH_THREADS_H

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

/* Returns an exit status; first: on the thread of the caller. */
typedef int threads_work(void *arg, bool first);

/* On as many threads as option `workers` of config says, or there are usable
 * cores (also where config is NULL), and no more than there are pieces of work;
 * one of them is the caller's own, so it is done even if no other can be
 * started. TOOL_DONE, or what failed first. */
int threads_run(const feedline_config *config, uint64_t pieces,
                threads_work *work, void *arg);

#endif

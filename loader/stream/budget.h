/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory budget, and who has how much of it:
 *
 *     |---------------- memory_budget ----------------|
 *     | slots: (depth + 2) batches | files not decoded |
 *
 * Batches come first: a depth whose slots do not fit is refused. What they
 * leave is the allowance of read buffers (buffers.h). A deeper ring gets its
 * slots only once the buffers have shrunk to what will be left; a shallower one
 * gives its memory back slot by slot, as they come free, for no work is thrown
 * away. So at no moment is there more than the budget, but for one thing: where
 * batches leave less than a file takes, files are read one at a time.
 *
 * Not in it: what decoders work with (some hundred KB for each worker), files
 * kept by the memory reader, which have a budget of the same size for
 * themselves, and what a replacement (on_error=skip) is larger than the sample
 * it stands for; nor, with held=grow, batches that the program keeps beyond the
 * usual two, which are its own memory. get_stats counts all of that.
 */
#ifndef FDL_LOADER_BUDGET_H
#define FDL_LOADER_BUDGET_H

#include <stdint.h>

struct fdl_engine;

/* Of slots that become fewer, the rest goes at a beat of the monitor. */
int32_t fdl_budget_create(struct fdl_engine *l);

/* Before slots grow to `bytes` in all: reads make room. Returns what slots may
 * take, which is less where files do not get decoded within a moment, and no
 * less than they have. `run_lock` is held. */
uint64_t fdl_budget_make_room_locked(struct fdl_engine *l, uint64_t bytes);

/* After that, and whenever slots became fewer: reads get what is left. */
void fdl_budget_share_locked(struct fdl_engine *l);

#endif

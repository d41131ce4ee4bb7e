/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory budgets. That of the device holds batches alone, (depth + 2) of
 * them. That of the host is divided:
 *
 *     |--------------------- memory_budget ---------------------|
 *     | slots: (depth + 2) batches | fields | files not decoded |
 *
 * On a device memory is made before a run, so there a run has slots for more
 * depth than it begins with, as far as both budgets go.
 *
 * Batches come first: a depth whose slots do not fit is refused. What they
 * leave is the allowance of read buffers (buffers.h), and of fields, which take
 * what they need: the buffers then shrink. A deeper ring gets its slots only
 * after the buffers have shrunk to what will remain; a shallower one returns
 * its memory slot by slot, as they become free, since no work is thrown away.
 * So usage exceeds the budget only where batches and fields leave less than a
 * file takes: files are then read one at a time.
 *
 * With remote_cache a sixteenth at most is for what waits to be stored.
 *
 * Not included: decoders' memory (some hundred KB per worker), files kept by
 * the memory reader, which have a budget of the same size, and the excess of a
 * replacement (on_error=skip) over the sample it stands for; nor, with
 * held=grow, batches that the program keeps beyond the usual two, which are its
 * own memory. get_stats counts all of that.
 */
#ifndef FDL_LOADER_BUDGET_H
#define FDL_LOADER_BUDGET_H

#include <stdint.h>

struct fdl_engine;

/* What a run on a device has slots for at least, if they fit: a depth that most
 * programs never reach. */
#define FDL_BUDGET_REACH 16u

/* The depth for which a run on a device that begins with `depth` has slots. */
uint32_t fdl_budget_reach(const struct fdl_engine *l, uint32_t depth);

/* The most of `depth` whose slots fit, and no less than 1. */
uint32_t fdl_budget_depth(const struct fdl_engine *l, uint32_t depth);

/* The option whose budget has no room for this depth; NULL: there is room. */
const char *fdl_budget_exceeded(const struct fdl_engine *l, uint32_t depth);

/* ERANGE: a budget has no room for this depth; says which, what a slot takes,
 * and what would help. */
int32_t fdl_budget_check(const struct fdl_engine *l, uint32_t depth);

/* If the device's budget is auto, the first run asks the device what is free,
 * and lowers the depth to what fits. EDEVICE. `run_lock` is held. */
int32_t fdl_budget_ask_device_locked(struct fdl_engine *l);

/* Before slots grow to `bytes` in total: reads make room. Returns what slots
 * may take, which is less if files are not decoded within a moment, and no less
 * than they have. `run_lock` is held. */
uint64_t fdl_budget_make_room_locked(struct fdl_engine *l, uint64_t bytes);

/* Afterwards, and whenever slots became fewer: reads get the rest. */
void fdl_budget_share_locked(struct fdl_engine *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to ask of the disk ahead of a block shuffle's samples.
 *
 * Samples of a group come in random order, and reading them so would gain
 * nothing. So while one group is delivered, the next one is asked for, block by
 * block, each sample in the order of the files: one for one, so that the disk
 * always has work and never more than a group of it.
 *
 *     delivered   7 0 1 8 6 2      group 0, from the page cache
 *     asked for   3 4 5 9 10 11    group 1, as it lies on the disk
 *
 * The first group of a run was not asked for by anybody. Its samples are read
 * as they come, and beside that asked for at CATCH_UP times the pace; the first
 * batch waits for itself only.
 *
 * A rank asks for its own samples: all ranks of a host together for whole
 * blocks, and no host for what another one delivers.
 */
#ifndef FDL_LOADER_AHEAD_H
#define FDL_LOADER_AHEAD_H

#include "loader/order/sampler.h"

/* Finding its own samples takes a rank longer the more ranks there are: above
 * this nothing is asked for. */
#define FDL_AHEAD_WORLD_MAX 256

typedef void fdl_ahead_each(void *user, uint64_t index);

/* Calls `each` with the data set indices to ask for when position `position`
 * of `epoch`, of this rank, is about to be read; any thread. Nothing for other
 * orders. */
void fdl_ahead(const struct fdl_stream *st, uint64_t epoch, uint64_t position,
               fdl_ahead_each *each, void *user);

#endif

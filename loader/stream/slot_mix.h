/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp and CutMix of a batch, once its last sample is done and before it is
 * submitted: by the workers, in strips (decode/plan/mix.h). Whoever finished
 * the last sample opens the batch; every worker takes strips, of the batch that
 * is due first, before it takes another sample, and the last strip sends the
 * batch on its way. So the consumer never mixes, and no worker waits for
 * another.
 *
 *     filling  | sample | sample |          worker 1
 *              | sample | sample | open | strip | strip | submit
 *              |    sample    | strip | strip | sample    worker 3
 */
#ifndef FDL_LOADER_SLOT_MIX_H
#define FDL_LOADER_SLOT_MIX_H

#include "loader/stream/ring.h"

/* All samples of b are there: workers may mix it. */
void fdl_slot_mix_open(feedline_batch *b);

/* A strip of an open batch; false: there is none. A worker's thread. */
bool fdl_ring_mix(struct fdl_ring *r);

/* Whether there is one. */
bool fdl_ring_has_strips(const struct fdl_ring *r);

/* As feedline_batch_get_targets, of a batch that is done. */
void fdl_slot_targets(const feedline_batch *b,
                      struct feedline_batch_targets *out);

#endif

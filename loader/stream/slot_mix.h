/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp and CutMix of a batch, in the last pass. Workers leave the pixels of
 * their samples as bytes; whoever brings the later of the two samples that an
 * image of the batch is made of makes it, while at least its own one is in the
 * caches. So nobody waits for another, and a batch is done with its last
 * sample, like any other.
 *
 *     torchvision's partners, two workers:
 *
 *     worker 1   | sample 0 | sample 2 | image 2  | sample 3 | image 3, image 0
 *     worker 2   | sample 1 | image 1  |    ...
 *
 * If the device makes the last pass, it mixes, and only targets are made here.
 */
#ifndef FDL_LOADER_SLOT_MIX_H
#define FDL_LOADER_SLOT_MIX_H

#include "decode/plan/plan.h"
#include "loader/stream/slot.h"

/* Before the first sample of a ticket, where batches are mixed: no image has
 * what it is mixed of. */
void fdl_slot_mixes_forget(const feedline_batch *b);

/* As fdl_slot_claim, for the pixels that are left; takes the finished steps out
 * of the plan. */
void fdl_slot_leave(feedline_batch *b, uint32_t place, struct fdl_plan *plan,
                    struct fdl_output_format *format, void **dst);

/* Of the sample there, all is known: makes the images that have both now. */
void fdl_slot_mix(feedline_batch *b, uint32_t place);

/* As feedline_batch_get_targets, of a batch that is done. */
void fdl_slot_targets(const feedline_batch *b,
                      struct feedline_batch_targets *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External order, for programs with a sampler of their own, such as torch's.
 * With option order=given the loader delivers the batches that the program
 * appends. Everything else is as usual: batches are prepared ahead, as many as
 * option depth says, of those that were appended.
 *
 *     begin(epoch, seed, 0)
 *     append(4 17 9)  append(2 30 1)      the first two batches
 *     next() -> [4 17 9]
 *     append(8 5)                         the last one may be short
 *     end()
 *     next() -> [2 30 1]   next() -> [8 5]   next() -> END
 *
 * What would define another order is refused: the options shuffle, world, rank,
 * drop_last, repeats, epochs and epoch_samples when the loader is created
 * (EINVAL), and feedline_loader_start, _set_position, _restore and _save, as
 * the program owns that state (ESTATE). feedline_epoch_info describes an epoch
 * with each sample once, in batches of batch_size.
 *
 * begin, append and end are for the thread that calls feedline_loader_next.
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_ORDER_H
#define FEEDLINE_ORDER_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Batches that may be appended and not yet delivered. */
#define FEEDLINE_GIVEN_MAX 1024

/* Begins an epoch, in place of feedline_loader_start, also after an error.
 * Batches that were appended and not delivered are discarded; batches that the
 * caller holds stay valid. If every appended batch has been delivered, the call
 * takes microseconds; otherwise threads are joined and restarted.
 *
 * Random draws depend on seed, epoch, the sample's position in the data set and
 * its copy (see append), as with a loader whose option seed is `seed`.
 * position: samples of this epoch that were delivered in an earlier run. It
 * counts only for feedline_batch_info and feedline_loader_get_position; the
 * latter stays at the end of the epoch until the next begin.
 *
 * ESTATE: the loader was created without order=given; EINVAL: epoch is 2^62 or
 * above; ENOMEM. */
FEEDLINE_API int32_t feedline_loader_begin(feedline_loader *l, uint64_t epoch,
                                           uint64_t seed, uint64_t position);

/* Appends a batch: the samples at these positions of the data set, 1 to
 * batch_size of them (views not counted), in this order. copies: [count]
 * numbers, 0 to 65535, that give repeated samples different random draws; NULL:
 * all 0. Both arrays are copied. ERANGE: an index, a copy or count is out of
 * range, or FEEDLINE_GIVEN_MAX batches were appended and not delivered. ESTATE:
 * no epoch was begun, or it ended (end, an error, stop). On an error nothing is
 * appended. */
FEEDLINE_API int32_t feedline_loader_append(feedline_loader *l,
                                            const uint64_t *indices,
                                            const uint32_t *copies,
                                            uint32_t count);

/* Ends the epoch: feedline_loader_next returns END after its last batch, and
 * again until the next begin. Before this call it returns ESTATE where it would
 * have to wait for an append, whatever its timeout. A second end does nothing.
 * ESTATE: no epoch was begun, or it ended with an error or stop. */
FEEDLINE_API int32_t feedline_loader_end(feedline_loader *l);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_ORDER_H */

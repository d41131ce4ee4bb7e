/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order of the caller's: for programs that have a sampler of their own, as a
 * Python script with torch's samplers has. With option order=given the loader
 * delivers the batches it is given, one after the other, and everything else is
 * as ever: batches are prepared ahead as far as they were given and depth goes.
 *
 *     begin(epoch, seed, 0)
 *     append(4 17 9)  append(2 30 1)      the first two batches
 *     next() -> [4 17 9]
 *     append(8 5)                         the last one may be short
 *     end()
 *     next() -> [2 30 1]   next() -> [8 5]   next() -> END
 *
 * What says an order elsewhere is refused here: the options shuffle, world,
 * rank, drop_last, repeats, epochs, epoch_samples and replay when the loader is
 * made (EINVAL), and start, set_position, restore and save, whose state would
 * be the program's (ESTATE). feedline_epoch_info tells of an epoch that has
 * each sample once, as data set and batch_size make it.
 *
 * begin, append and end: the consumer's thread, as next. Statuses and strings
 * as in feedline.h.
 */
#ifndef FEEDLINE_ORDER_H
#define FEEDLINE_ORDER_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Batches that may be given and not yet delivered. */
#define FEEDLINE_GIVEN_MAX 1024

/* A new epoch, in place of feedline_loader_start. What was prepared is thrown
 * away, batches still held stay valid, and the loader may have failed before.
 * Where every batch that was given has been delivered nothing stops, and it
 * takes microseconds; else threads are joined and started. What is drawn for a
 * sample follows from seed, epoch, its position in the data set and its copy
 * (see append), as with a loader whose option seed is `seed`. position: samples
 * of this epoch that were delivered in an earlier run; it only counts in
 * feedline_batch_info and get_position, which stands at the end of the epoch
 * until the next begin. ESTATE without order=given; EINVAL: an epoch of 2^62 or
 * above; ENOMEM. */
FEEDLINE_API int32_t feedline_loader_begin(feedline_loader *l, uint64_t epoch,
                                           uint64_t seed, uint64_t position);

/* The next batch: the samples at these places of the data set, 1 to batch_size
 * (of samples, without views), in this order. copies: [count] numbers, 0 to
 * 65535, that tell the draws of equal samples apart, for an order in which
 * samples come more than once; NULL: all 0. Both arrays are copied. ERANGE: an
 * index or copy that is none, count, or FEEDLINE_GIVEN_MAX batches are waiting
 * already; nothing is appended then, nor where it is ENOMEM. ESTATE: no begin,
 * or after end, an error or stop. */
FEEDLINE_API int32_t feedline_loader_append(feedline_loader *l,
                                            const uint64_t *indices,
                                            const uint32_t *copies,
                                            uint32_t count);

/* No batch follows in this epoch: next() returns END behind the last one, and
 * again until the next begin. Before, next() returns ESTATE where it would have
 * to wait for an append, whatever its timeout. ESTATE as for append, but for a
 * second end. */
FEEDLINE_API int32_t feedline_loader_end(feedline_loader *l);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_ORDER_H */

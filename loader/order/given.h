/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order that a program supplies, batch by batch (feedline/order.h), as a
 * stream of tickets and samples like that of a sampler:
 *
 *     ticket       0       1       2       3      4       5
 *     samples    0 1 2 | 3 4 5 | 6 7 8 | 9 10 | 11 12 | 13 14
 *                      ^ awaited, at least            ^ appended
 *
 * A batch that is made elsewhere has a ticket and none of these samples.
 *
 * The consumer's thread appends. Readers find a sample's batch by bisection
 * between these two, without a lock; given.c shows that nothing they read is
 * being written. Tickets continue across epochs: one may begin as soon as the
 * previous one was delivered, without a stop.
 */
#ifndef FDL_LOADER_GIVEN_H
#define FDL_LOADER_GIVEN_H

#include "loader/order/sampler.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_given;

/* batch_size: the most samples of a batch; count: of the data set. ENOMEM. */
int32_t fdl_given_create(uint32_t batch_size, uint64_t count,
                         struct fdl_given **out);
void fdl_given_destroy(struct fdl_given *g);

/* ---- The consumer's thread ---------------------------------------------- */

/* Tickets and samples count from 0 again; no epoch is open. No other thread may
 * be using g. */
void fdl_given_reset(struct fdl_given *g);

/* An epoch, after `position` of its samples. */
void fdl_given_begin(struct fdl_given *g, uint64_t epoch, uint64_t position);

/* As feedline_loader_append documents; awaited: the ticket that is delivered
 * next. Also ENOMEM. The ring has not been told yet. */
int32_t fdl_given_append(struct fdl_given *g, uint64_t awaited,
                         const uint64_t *indices, const uint32_t *copies,
                         uint32_t count);

/* As feedline_loader_expect documents: a batch of which no sample is read
 * here. *ticket: its own. */
int32_t fdl_given_expect(struct fdl_given *g, uint64_t awaited, uint32_t count,
                         uint64_t *ticket);

/* Ends the epoch. Whether one is open, so that more may follow. */
void fdl_given_end(struct fdl_given *g);
bool fdl_given_is_open(const struct fdl_given *g);

/* Batches appended and not delivered. */
uint64_t fdl_given_waiting(const struct fdl_given *g, uint64_t awaited);

/* ---- Any thread --------------------------------------------------------- */

/* As for a stream: a sample that is issued and not done; a ticket that is not
 * delivered. false: it was not appended (yet). */
void fdl_given_locate(const struct fdl_given *g, uint64_t sample,
                      struct fdl_place *out);
bool fdl_given_ticket(const struct fdl_given *g, uint64_t ticket,
                      struct fdl_ticket_range *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's books; see books.h. */
#include "loader/watch/books.h"

int32_t fdl_books_init(struct fdl_books *c, uint32_t batch_size)
{
    fdl_lock_init(&c->lock, FDL_RANK_BOOKS);
    fdl_slow_init(&c->slow);
    c->zero = &c->zeros[0];
    c->notes.ring = fdl_trace_ring_create();
    return fdl_ledger_scratch_create(batch_size, &c->scratch);
}

void fdl_books_fini(struct fdl_books *c)
{
    fdl_ledger_scratch_destroy(c->scratch);
    fdl_trace_ring_destroy(c->notes.ring);
    fdl_slow_fini(&c->slow);
    fdl_lock_destroy(&c->lock);
}

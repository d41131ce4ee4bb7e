/* SPDX-License-Identifier: Apache-2.0 */
/* Which locks this thread holds; see lock.h. */
#include "base/lock.h"

#include "base/status.h"

#ifdef FDL_LOCK_ORDER

#  define HELD_MAX 16u

static _Thread_local enum fdl_rank held[HELD_MAX];
static _Thread_local unsigned n_held;

void fdl_lock_check(const struct fdl_lock *l)
{
    fdl_assert(l->rank != FDL_RANK_NONE); /* it was never made */
    for (unsigned i = 0; i < n_held; i++)
        fdl_assert(held[i] < l->rank); /* docs/locks.md has the order */
}

void fdl_lock_taken(const struct fdl_lock *l)
{
    fdl_assert(n_held < HELD_MAX);
    held[n_held++] = l->rank;
}

void fdl_lock_left(const struct fdl_lock *l)
{
    unsigned i = n_held;
    while (i > 0 && held[i - 1] != l->rank)
        i--;
    fdl_assert(i > 0); /* it is not this thread's */
    for (n_held--; i - 1 < n_held; i++)
        held[i - 1] = held[i];
}

#endif

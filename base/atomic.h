/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that one thread writes and others look at. */
#ifndef FDL_BASE_ATOMIC_H
#define FDL_BASE_ATOMIC_H

#include <stdatomic.h>

/* The value of *x, of any atomic type, which may be old by the time it is used:
 * nothing that was written before it is known to be there. */
#define fdl_load(x) atomic_load_explicit((x), memory_order_relaxed)

#endif

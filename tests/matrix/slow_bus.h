/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bus that is slow on demand: a transfer backend whose memory is the host's.
 * One engine, first come first served:
 *
 *   submit --queue_ns--> copy --copy_ns--> done --leave_ns--> landed
 *            asleep             asleep            meanwhile the next one
 *
 * leave_ns keeps the slot from being filled again, as a GPU does that is still
 * at work on a batch which its consumer has given back.
 */
#ifndef FDL_TESTS_SLOW_BUS_H
#define FDL_TESTS_SLOW_BUS_H

#include "transfer/backend.h"

struct slow_bus {
    int64_t queue_ns, copy_ns, leave_ns;
};

extern const struct fdl_backend_ops slow_bus_ops; /* script: struct slow_bus */

/* Of all copies so far: asleep before them, in them, and behind them. */
struct slow_bus_slept {
    int64_t queue_ns, copy_ns, leave_ns;
};
void slow_bus_slept(struct slow_bus_slept *out);
void slow_bus_forget(void);

#endif

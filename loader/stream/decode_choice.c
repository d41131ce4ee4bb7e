/* SPDX-License-Identifier: Apache-2.0 */
/* Where images are decoded; see decode_choice.h. */
#include "loader/stream/decode_choice.h"

#include <stdio.h>

void fdl_decode_choose(struct fdl_decode_choice *c, bool device,
                       const char *reason)
{
    uint32_t n = atomic_load_explicit(&c->n_reasons, memory_order_relaxed);
    if (n < FDL_DECODE_REASONS) {
        snprintf(c->reasons[n], sizeof(c->reasons[n]), "%s", reason);
        /* release: pairs with fdl_decode_reason; the words are there. */
        atomic_store_explicit(&c->n_reasons, n + 1, memory_order_release);
    }
    /* relaxed: either is right for any sample. */
    atomic_store_explicit(&c->device, device, memory_order_relaxed);
}

const char *fdl_decode_reason(const struct fdl_decode_choice *c)
{
    uint32_t n = atomic_load_explicit(&c->n_reasons, memory_order_acquire);
    return n > 0 ? c->reasons[n - 1] : "";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that could not be used; see failure.h. */
#include "loader/stream/failure.h"

#include "base/abi.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdlib.h>

static const char no_words[] = "no memory was left for the reason";

int32_t fdl_failures_init(struct fdl_failures *f)
{
    *f = (struct fdl_failures){0};
    fdl_lock_init(&f->lock, FDL_RANK_FAILURES);
    f->kept = calloc(FDL_FAILURES_KEPT, sizeof(*f->kept));
    if (!f->kept)
        return fdl_fail_memory(FDL_FAILURES_KEPT * sizeof(*f->kept),
                               "the list of failures");
    return FEEDLINE_OK;
}

void fdl_failures_fini(struct fdl_failures *f)
{
    for (uint32_t i = 0; i < f->n_kept; i++)
        if (f->kept[i].reason != no_words)
            free((void *)(uintptr_t)f->kept[i].reason);
    free(f->kept);
    fdl_lock_destroy(&f->lock);
}

uint64_t fdl_failures_add(struct fdl_failures *f,
                          const struct feedline_failure *failure)
{
    fdl_lock(&f->lock);
    if (f->n_kept < FDL_FAILURES_KEPT) {
        /* Never fewer than there were: who counts none looks no further. */
        char *reason = fdl_strdup(failure->reason);
        f->kept[f->n_kept] = *failure;
        f->kept[f->n_kept].reason = reason ? reason : no_words;
        f->n_kept++;
    }
    fdl_unlock(&f->lock);
    return atomic_fetch_add_explicit(&f->total, 1, memory_order_relaxed) + 1;
}

uint32_t fdl_failures_count(struct fdl_failures *f)
{
    fdl_lock(&f->lock);
    uint32_t n = f->n_kept;
    fdl_unlock(&f->lock);
    return n;
}

int32_t fdl_failures_get(struct fdl_failures *f, uint32_t index,
                         struct feedline_failure *out)
{
    struct feedline_failure found;
    uint32_t n = fdl_failures_count(f);
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE, "failure %u: there are %u", index, n);
    fdl_lock(&f->lock);
    found = f->kept[index];
    fdl_unlock(&f->lock);
    return fdl_copy_out(out, &found, sizeof(found));
}

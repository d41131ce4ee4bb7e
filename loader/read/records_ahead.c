/* SPDX-License-Identifier: Apache-2.0 */
/* Records of samples whose turn is still to come; see records_ahead.h. */
#include "loader/read/records_ahead.h"

#include "base/status.h"

#include <stdlib.h>

void fdl_ahead_clear(struct fdl_ahead *a)
{
    for (uint32_t i = 0; i < a->n; i++)
        free(a->records[i]);
    free(a->records);
    *a = (struct fdl_ahead){.n = 0};
}

static int32_t make_all(struct fdl_ahead *a,
                        const struct feedline_recorded_image *images,
                        const uint32_t *counts, uint32_t n, uint64_t most)
{
    const uint8_t *at = (const uint8_t *)images;
    for (; a->n < n; a->n++) {
        uint32_t count = counts[a->n];
        const struct feedline_recorded_image *own = (const void *)at;
        int32_t status = fdl_record_make(own, count, most, &a->records[a->n]);
        if (status < 0)
            return status;
        if (count > 0)
            at += (size_t)count * own->struct_size;
    }
    return FEEDLINE_OK;
}

int32_t fdl_ahead_tell(struct fdl_ahead *a, uint64_t first,
                       const struct feedline_recorded_image *images,
                       const uint32_t *counts, uint32_t n, uint64_t most)
{
    if (a->records)
        return fdl_fail(FEEDLINE_EINVAL,
                        "there are samples that were told of before");
    if (n > FDL_AHEAD_MOST)
        return fdl_fail(FEEDLINE_ERANGE, "%u samples; %u at most", n,
                        FDL_AHEAD_MOST);
    if (n == 0)
        return FEEDLINE_OK;
    struct fdl_ahead made = {
        .records = calloc(n, sizeof(struct fdl_record *)),
        .first = first,
    };
    if (!made.records)
        return fdl_fail_memory(n * sizeof(struct fdl_record *),
                               "records of samples");
    int32_t status = make_all(&made, images, counts, n, most);
    if (status < 0)
        fdl_ahead_clear(&made);
    else
        *a = made;
    return status;
}

struct fdl_record *fdl_ahead_take(struct fdl_ahead *a, uint64_t sample)
{
    if (sample < a->first || sample - a->first >= a->n)
        return NULL;
    uint64_t at = sample - a->first;
    struct fdl_record *record = a->records[at];
    a->records[at] = NULL;
    if (at + 1 == a->n)
        fdl_ahead_clear(a);
    return record;
}

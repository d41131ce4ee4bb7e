/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large a data set is. Listings do not ask for the size of each file, so of
 * whole files some are asked here, always the same ones: whoever opens the same
 * data set gets the same answer, to about one part in twenty.
 */
#include "base/compiler.h"
#include "loader/dataset/dataset.h"

#include <stdbool.h>
#include <sys/stat.h>

#define ASKED 400u /* files; on a cold disk each may take some milliseconds */

/* 0: it cannot be asked. */
static uint64_t ask(const feedline_dataset *ds, uint64_t index)
{
    struct fdl_source s;
    struct stat st;
    fdl_dataset_get(ds, index, &s);
    if (stat(s.path, &st) != 0 || (uint64_t)st.st_size < s.offset)
        return 0;
    return (uint64_t)st.st_size - s.offset;
}

static bool is_known(const feedline_dataset *ds, uint64_t index)
{
    return ds->extents && ds->extents[index].length != FEEDLINE_TO_END;
}

uint64_t fdl_dataset_bytes(const feedline_dataset *ds)
{
    uint64_t known, n_known = 0, asked = 0, n_asked = 0;
    if (ds->data || ds->user)
        return 0;
    if (ds->remote) /* each would be a request */
        return fdl_dataset_extent_bytes(ds);
    for (uint64_t i = 0; ds->extents && i < ds->count; i++)
        n_known += is_known(ds, i) ? 1 : 0;
    known = fdl_dataset_extent_bytes(ds);
    uint64_t step = FDL_MAX(ds->count / ASKED, UINT64_C(1));
    for (uint64_t i = 0; n_known < ds->count && i < ds->count; i += step) {
        if (is_known(ds, i))
            continue;
        asked += ask(ds, i);
        n_asked++;
    }
    if (n_asked == 0)
        return known;
    double mean = (double)asked / (double)n_asked;
    return known + (uint64_t)(mean * (double)(ds->count - n_known));
}

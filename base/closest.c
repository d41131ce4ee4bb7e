/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edit distance with swaps of neighbours counted as one (optimal string
 * alignment): "bacth_size" is one mistake away from "batch_size", not two.
 */
#include "base/closest.h"

#include "base/compiler.h"

#include <stddef.h>
#include <string.h>

#define ROW_LENGTH (FDL_CLOSEST_NAME_MAX + 1)

uint32_t fdl_edit_distance(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a > FDL_CLOSEST_NAME_MAX || n_b > FDL_CLOSEST_NAME_MAX)
        return UINT32_MAX;

    /* rows[i % 3][k]: from the first i letters of a to the first k of b. */
    uint32_t rows[3][ROW_LENGTH];
    for (size_t k = 0; k <= n_b; k++)
        rows[0][k] = (uint32_t)k;
    for (size_t i = 1; i <= n_a; i++) {
        const uint32_t *above2 = rows[(i + 1) % 3];
        const uint32_t *above = rows[(i + 2) % 3];
        uint32_t *row = rows[i % 3];
        row[0] = (uint32_t)i;
        for (size_t k = 1; k <= n_b; k++) {
            uint32_t best = above[k - 1] + (a[i - 1] != b[k - 1]);
            best = FDL_MIN(best, above[k] + 1);
            best = FDL_MIN(best, row[k - 1] + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                best = FDL_MIN(best, above2[k - 2] + 1);
            row[k] = best;
        }
    }
    return rows[n_a % 3][n_b];
}

void fdl_closest_offer(struct fdl_closest *c, const char *name)
{
    size_t n_typed = strlen(c->typed);
    size_t longer = FDL_MAX(n_typed, strlen(name));
    uint32_t distance = fdl_edit_distance(c->typed, name);

    /* A third of the letters wrong is a guess, all of them wrong is none. */
    if (distance > FDL_MAX(2, n_typed / 3) || distance >= longer)
        return;
    if (!c->name || distance < c->distance) {
        c->name = name;
        c->distance = distance;
    }
}

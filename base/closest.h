/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": the closest of the names that exist to one that does not.
 *
 *     struct fdl_closest closest = {.typed = typed};
 *     for (i = 0; i < n; i++)
 *         fdl_closest_offer(&closest, names[i]);
 *     if (closest.name) ...
 */
#ifndef FDL_BASE_CLOSEST_H
#define FDL_BASE_CLOSEST_H

#include <stdint.h>

#define FDL_CLOSEST_NAME_MAX 63 /* longer names are close to nothing */

struct fdl_closest {
    const char *typed;
    const char *name; /* the best so far, NULL if nothing is close */
    uint32_t distance;
};

void fdl_closest_offer(struct fdl_closest *c, const char *name);

/* Letters to insert, remove, replace or swap with their neighbour; UINT32_MAX
 * for names longer than FDL_CLOSEST_NAME_MAX. */
uint32_t fdl_edit_distance(const char *a, const char *b);

#endif

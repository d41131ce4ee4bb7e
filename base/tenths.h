/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in sentences: one digit behind the point, and a point in every
 * locale. */
#ifndef FDL_BASE_TENTHS_H
#define FDL_BASE_TENTHS_H

struct fdl_tenths {
    char at[24];
};

/* Below 0, or no number: "0.0"; above 1e15: that. */
struct fdl_tenths fdl_tenths(double value);

#endif

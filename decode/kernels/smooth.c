/* SPDX-License-Identifier: Apache-2.0 */
/* SMOOTH in plain C. */
#include "decode/kernels/smooth.h"

void fdl_smooth_row(const uint8_t *above, const uint8_t *row,
                    const uint8_t *below, size_t n, uint8_t *out)
{
    out[0] = row[0];
    uint32_t left = (uint32_t)above[0] + row[0] + below[0];
    uint32_t centre = (uint32_t)above[1] + row[1] + below[1];
    for (size_t i = 1; i + 1 < n; i++) {
        uint32_t right = (uint32_t)above[i + 1] + row[i + 1] + below[i + 1];
        out[i] = (uint8_t)((left + centre + right + 4u * row[i] + 6) / 13);
        left = centre;
        centre = right;
    }
    out[n - 1] = row[n - 1];
}

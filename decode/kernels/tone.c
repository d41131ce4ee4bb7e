/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of single bytes in plain C. */
#include "decode/kernels/tone.h"

#include "base/compiler.h"

#include <string.h>

void fdl_cut_line(uint8_t *x, size_t n, const struct fdl_cut *cut)
{
    uint8_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t more = i + cut->add;
        uint32_t y = i >= cut->at ? i ^ cut->flip : more > 255 ? 255 : more;
        table[i] = (uint8_t)(y & cut->mask);
    }
    fdl_lookup(x, n, table);
}

void fdl_lookup(uint8_t *x, size_t n, const uint8_t table[256])
{
    for (size_t i = 0; i < n; i++)
        x[i] = table[x[i]];
}

void fdl_range(const uint8_t *x, size_t n, uint8_t *low, uint8_t *high)
{
    uint8_t least = 255, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = FDL_MIN(least, x[i]);
        most = FDL_MAX(most, x[i]);
    }
    *low = least;
    *high = most;
}

/* In four parts: pixels beside each other are often alike, and a count could
 * not be read again before it is stored. */
void fdl_histogram(const uint8_t *x, size_t n, uint32_t out[256])
{
    uint32_t part[4][256];
    size_t i = 0;
    memset(part, 0, sizeof(part));
    for (; i + 4 <= n; i += 4) {
        part[0][x[i]]++;
        part[1][x[i + 1]]++;
        part[2][x[i + 2]]++;
        part[3][x[i + 3]]++;
    }
    for (; i < n; i++)
        part[0][x[i]]++;
    for (size_t k = 0; k < 256; k++)
        out[k] = part[0][k] + part[1][k] + part[2][k] + part[3][k];
}

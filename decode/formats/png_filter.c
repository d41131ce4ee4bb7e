/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte waits for the one before it, so a row alone takes as many cycles a
 * byte as the longest filter has steps. With vectors, 16 or 32 rows go at once:
 * see png_wave_loops.h.
 */
#include "decode/formats/png_filter.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/png_wave.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- One row ------------------------------------------------------------ */

static inline uint8_t paeth(int32_t a, int32_t b, int32_t c)
{
    int32_t of_a = abs(b - c), of_b = abs(a - c), of_c = abs(a + b - 2 * c);
    int32_t other = of_b <= of_c ? b : c;
    return (uint8_t)(of_a <= FDL_MIN(of_b, of_c) ? a : other);
}

/* a: what is before a byte; c: what is above that. */
static inline void unfilter(enum fdl_png_filter filter, uint8_t *row,
                            const uint8_t *above, size_t n, size_t pixel)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t a = i < pixel ? 0 : row[i - pixel];
        uint8_t c = i < pixel ? 0 : above[i - pixel];
        uint8_t predicted = 0;
        if (filter == FDL_PNG_SUB)
            predicted = a;
        else if (filter == FDL_PNG_UP)
            predicted = above[i];
        else if (filter == FDL_PNG_AVERAGE)
            predicted = (uint8_t)((a + above[i]) / 2);
        else if (filter == FDL_PNG_PAETH)
            predicted = paeth(a, above[i], c);
        row[i] = (uint8_t)(row[i] + predicted);
    }
}

/* A loop for each filter. */
static void unfilter_row(const struct fdl_png_rows *rows, size_t y)
{
    size_t n = rows->row_bytes, pixel = rows->pixel;
    uint8_t *row = rows->first + y * (n + 1);
    const uint8_t *above = row - (n + 1);
    switch (row[-1]) {
    case FDL_PNG_SUB:
        unfilter(FDL_PNG_SUB, row, above, n, pixel);
        break;
    case FDL_PNG_UP:
        unfilter(FDL_PNG_UP, row, above, n, pixel);
        break;
    case FDL_PNG_AVERAGE:
        unfilter(FDL_PNG_AVERAGE, row, above, n, pixel);
        break;
    case FDL_PNG_PAETH:
        unfilter(FDL_PNG_PAETH, row, above, n, pixel);
        break;
    default:
        break;
    }
}

/* ---- Many rows ---------------------------------------------------------- */

#if defined(__SSE2__)

#  include <emmintrin.h>

#  define TARGET
#  define LANES   16u
#  define LINE    __m128i
#  define VECTOR  LINE
#  define V(name) _mm_##name

FDL_INLINE VECTOR pair(__m128i low, __m128i same)
{
    (void)same;
    return low;
}

FDL_INLINE VECTOR load_pair(const uint8_t *p, ptrdiff_t apart)
{
    (void)apart;
    return _mm_loadu_si128((const __m128i *)p);
}

FDL_INLINE void store_pair(uint8_t *p, ptrdiff_t apart, VECTOR v)
{
    (void)apart;
    _mm_storeu_si128((__m128i *)p, v);
}

FDL_INLINE VECTOR shifted(VECTOR v, int first)
{
    return _mm_slli_si128(v, 1) | _mm_cvtsi32_si128(first);
}

FDL_INLINE VECTOR choose(VECTOR mask, VECTOR yes, VECTOR no)
{
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

#elif defined(__aarch64__)
#  include "decode/formats/png_wave_neon.h"
#endif

#if defined(LANES)
#  include "decode/formats/png_wave_loops.h"

/* As many of n rows as go at once, and are worth it; how many those are. */
static size_t unfilter_some(const struct fdl_png_rows *rows, size_t y, size_t n)
{
    size_t least = rows->row_bytes / 4;
#  if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2 &&
        FDL_MIN(n, least) >= FDL_PNG_WIDE_ROWS) {
        fdl_png_wave_wide(rows, y);
        return FDL_PNG_WIDE_ROWS;
    }
#  endif
    if (FDL_MIN(n, least) < LANES)
        return 0;
    unfilter_wave(rows, y);
    return LANES;
}

#else

static size_t unfilter_some(const struct fdl_png_rows *rows, size_t y, size_t n)
{
    (void)rows;
    (void)y;
    (void)n;
    return 0;
}

#endif

/* How many of n rows have no byte that waits for the one before it, as in
 * palettes' images mostly: then a row alone is a loop of vectors. */
static size_t simple_rows(const struct fdl_png_rows *rows, size_t y, size_t n)
{
    size_t k = 0;
    for (; k < n; k++) {
        const uint8_t *row = rows->first + (y + k) * (rows->row_bytes + 1);
        uint8_t filter = row[-1];
        if (filter != FDL_PNG_NONE && filter != FDL_PNG_UP)
            break;
    }
    return k;
}

#define MANY 8u /* so many simple ones are not worth a place among others */

void fdl_png_unfilter(const struct fdl_png_rows *rows, size_t n)
{
    for (size_t y = 0; y < n;) {
        size_t simple = simple_rows(rows, y, n - y);
        size_t some = simple < MANY ? unfilter_some(rows, y, n - y) : 0;
        size_t end = y + (some > 0 ? some : FDL_MAX(simple, 1u));
        for (y += some; y < end; y++)
            unfilter_row(rows, y);
    }
}

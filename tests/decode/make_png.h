/* SPDX-License-Identifier: Apache-2.0 */
/* PNG files made in memory, of every kind that libpng writes. */
#ifndef FDL_TESTS_MAKE_PNG_H
#define FDL_TESTS_MAKE_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct make_png {
    uint32_t width, height;
    int depth;  /* 1 to 16 */
    int colour; /* as in the file: 0, 2, 3, 4, 6 */
    bool interlaced;
    const uint8_t *exif; /* NULL: none */
    uint32_t exif_bytes;
    uint64_t seed; /* of the picture, which is noise */
};

/* The file; free() it. Never NULL: what goes wrong ends the program. */
uint8_t *make_png(const struct make_png *m, size_t *size);

#endif

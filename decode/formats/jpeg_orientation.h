/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way up a JPEG is, from its APP1 segments, as Pillow has it.
 */
#ifndef FDL_DECODE_JPEG_ORIENTATION_H
#define FDL_DECODE_JPEG_ORIENTATION_H

#include "decode/formats/arena.h"

#include <stddef.h>
#include <stdint.h>

/* What is in one segment, in the file, or in several, joined. */
struct fdl_jpeg_profile {
    const uint8_t *data; /* NULL: none */
    size_t size;
    uint8_t *joined; /* is `data`, unless that is in the file */
    size_t capacity;
};

struct fdl_jpeg_profiles {
    struct fdl_jpeg_profile exif, xmp;
};

/* The content of one APP1, which stays where it is; memory is of the arena. */
int32_t fdl_jpeg_profiles_add(struct fdl_jpeg_profiles *p,
                              struct fdl_arena *arena, const uint8_t *data,
                              size_t size);

/* 1 to 8. XMP is asked where EXIF data has none. */
int32_t fdl_jpeg_profiles_orientation(const struct fdl_jpeg_profiles *p);

#endif

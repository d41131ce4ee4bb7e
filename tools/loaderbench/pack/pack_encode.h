/* SPDX-License-Identifier: Apache-2.0 */
/* An image as it is stored: as a JPEG, or as it was. */
#ifndef LOADERBENCH_PACK_ENCODE_H
#define LOADERBENCH_PACK_ENCODE_H

#include <feedline/custom_op.h>
#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct pack_recipe {
    bool jpeg;            /* all become JPEG */
    int32_t longest_side; /* 0: none is too large */
    int32_t quality;      /* of a JPEG that is made, 1 to 100 */
    bool packed;          /* JPEGs become packed coefficients */
    bool upright;         /* EXIF is followed here, not by who reads it */
};

/* "jpg", "png" or "webp" by how the bytes begin; NULL: none of them. A packed
 * sample is none. */
const char *pack_content(const uint8_t *data, uint64_t bytes);

/* Whether an encoded image has to be decoded and encoded anew. */
bool pack_changes(const struct pack_recipe *r, const uint8_t *data,
                  uint64_t bytes);

/* RGB pixels as a JPEG, gray if all of them are, with the EXIF and XMP data of
 * the JPEG that they are of (NULL, or no JPEG: none); or as a PNG, without
 * loss. *out for free(). A status for the operation of a pipeline. */
int32_t pack_encode_jpeg(const struct pack_recipe *r,
                         const struct feedline_image *image, const uint8_t *of,
                         uint64_t of_bytes, uint8_t **out, uint64_t *bytes);
int32_t pack_encode_png(const struct feedline_image *image, uint8_t **out,
                        uint64_t *bytes);

#endif

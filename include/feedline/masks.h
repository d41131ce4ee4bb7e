/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks: an image of its own beside each image, such as the classes of its
 * pixels, which moves as the image does: by the same draws, with the nearest
 * pixel where images are resampled, and without whatever changes colours.
 *
 * A mask is a field of the data set (feedline/fields.h) whose bytes are a file
 * of one channel and 8 bits: a gray or palette PNG, of which indices are
 * delivered and not colours, or any other gray image. The loader's option
 * `masks` names the field, mask_fill is the value of borders, and mask_nearest
 * chooses the pixel. A mask that is missing, damaged, or not of its image's
 * size fails the sample, as a damaged image does (option on_error).
 *
 *     list:photos.txt?fields=mask     a column of files (feedline/fields.h)
 *     feedline_dataset_add_files      anything else
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_MASKS_H
#define FEEDLINE_MASKS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a field of kind FEEDLINE_FIELD_BYTES: the file paths[i] for sample i;
 * NULL: it has none. Copies; no file is opened before it is needed. Before any
 * loader is made of ds, and not while another thread uses it. EINVAL: there is
 * such a field, or there are FEEDLINE_FIELDS_MAX. */
FEEDLINE_API int32_t feedline_dataset_add_files(feedline_dataset *ds,
                                                const char *field,
                                                const char *const *paths);

/* The masks of a batch, a byte for a pixel, in host memory whatever the device,
 * and as long as the batch. Where images have one size they are one array
 * [count, height, width] from `data` on; otherwise each has the size of its
 * image, and its rows lie one behind the other. */
struct feedline_batch_masks {
    uint32_t struct_size;
    int32_t height, width; /* 0: images have different sizes */
    uint32_t reserved;
    const uint8_t *data;
    const uint64_t *offset; /* [count] in data */
    const uint64_t *bytes;  /* [count]; 0: the sample failed */
};

/* EINVAL: the loader has none. */
FEEDLINE_API int32_t feedline_batch_get_masks(const feedline_batch *b,
                                              struct feedline_batch_masks *out);

#ifdef __cplusplus
}
#endif

#endif

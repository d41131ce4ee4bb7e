/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks: a second image for each image, such as the class of each of its
 * pixels. It moves as the image does: by the same draws, with the nearest pixel
 * where the image is resampled, and untouched by operations on colours.
 *
 * A mask is a field of the data set (feedline/fields.h) whose bytes are an
 * image file of one channel and 8 bits: a gray or palette PNG, whose indices
 * are delivered and not its colours, or any other gray image. The loader's
 * option `masks` names the field, mask_fill is the value of borders, and
 * mask_nearest says which pixel is the nearest. A mask that is missing,
 * damaged, or not of its image's size fails the sample, as a damaged image does
 * (option on_error).
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

/* Adds a field of kind FEEDLINE_FIELD_BYTES: for sample i it is the file
 * paths[i], one for each sample; NULL: the sample has none. Names and paths are
 * copied; no file is opened before it is needed. Call it before a loader is
 * made from ds, and not while another thread uses ds. EINVAL: there is a field
 * of this name, or there are FEEDLINE_FIELDS_MAX already. */
FEEDLINE_API int32_t feedline_dataset_add_files(feedline_dataset *ds,
                                                const char *field,
                                                const char *const *paths);

/* The masks of a batch, one byte per pixel, in host memory whatever the device,
 * and valid until the batch is released. Where all images have one size the
 * masks are one array [count, height, width] from `data` on; otherwise each has
 * the size of its image, without gaps between its rows. */
struct feedline_batch_masks {
    uint32_t struct_size;
    int32_t height, width; /* 0: images have different sizes */
    uint32_t reserved;
    const uint8_t *data;
    const uint64_t *offset; /* [count] in data, where an image's mask begins */
    const uint64_t *bytes;  /* [count] its size; 0: the sample failed */
};

/* Any thread, while the caller holds the batch. EINVAL: the loader has no
 * masks. */
FEEDLINE_API int32_t feedline_batch_get_masks(const feedline_batch *b,
                                              struct feedline_batch_masks *out);

#ifdef __cplusplus
}
#endif

#endif

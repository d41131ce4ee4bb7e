/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws: what the random operations of a pipeline take for one image of a
 * sample, such as its crop. For programs that compute the pixels elsewhere, or
 * check them; loading data does not need it.
 *
 * Statuses and strings as in feedline.h; any thread.
 */
#ifndef FEEDLINE_DRAWS_H
#define FEEDLINE_DRAWS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum feedline_interpolation {
    FEEDLINE_BILINEAR = 0,
    FEEDLINE_NEAREST = 1,
    FEEDLINE_BOX = 2,
    FEEDLINE_HAMMING = 3,
    FEEDLINE_BICUBIC = 4,
    FEEDLINE_LANCZOS = 5
};

/* Enough to recompute the pixels elsewhere. In terms of Pillow, for the decoded
 * `image`, or with option apply_exif for ImageOps.exif_transpose(image):
 *   image.crop((x, y, x + width, y + height))
 *        .resize((resize_width, resize_height), interpolation)
 *        .crop((window_x, window_y, window_x + window_width, ...))
 *   and, if flip, .transpose(FLIP_LEFT_RIGHT), and, if vertical_flip,
 *   .transpose(FLIP_TOP_BOTTOM).
 * These include flips before the resize, which matter where a filter chooses
 * between two equally near pixels: if resize_mirrored, put
 * .transpose(FLIP_LEFT_RIGHT) on both sides of .resize(), and if
 * resize_mirrored_vertical .transpose(FLIP_TOP_BOTTOM). */
struct feedline_draw {
    uint32_t struct_size;
    int32_t flip;                /* 0 or 1 */
    int32_t x, y, width, height; /* crop of the source image, pixels */
    int32_t resize_width, resize_height;
    int32_t window_x, window_y, window_width, window_height;
    int32_t vertical_flip; /* 0 or 1 */
    int32_t interpolation; /* enum feedline_interpolation */
    int32_t resize_mirrored, resize_mirrored_vertical; /* 0 or 1 */
};

/* What is drawn for one image of a sample; any thread. width, height: of the
 * source image in pixels, of the upright one with option apply_exif. copy:
 * below option repeats, or below 65536 with order=given; view: below views of
 * feedline_epoch_info. EINVAL: one of these is out of range.
 *
 * The result depends on seed, epoch, sample, copy, view, image size and
 * pipeline only. With five_crop and ten_crop, all but a view's own crop and
 * flip is the same for every view. */
FEEDLINE_API int32_t feedline_loader_get_draw(const feedline_loader *l,
                                              uint64_t epoch,
                                              uint64_t sample_index,
                                              uint32_t copy, uint32_t view,
                                              int32_t width, int32_t height,
                                              struct feedline_draw *out);

/* What the whole pipeline draws for one image, with the arguments of
 * feedline_loader_get_draw: {"operations": [...]}, each with its name ("op")
 * and drawn parameters, in pipeline order. Constant parameters are in
 * feedline_pipeline_json. */
FEEDLINE_API int32_t feedline_loader_draw_json(
    const feedline_loader *l, uint64_t epoch, uint64_t sample_index,
    uint32_t copy, uint32_t view, int32_t width, int32_t height, char *buf,
    uint64_t capacity, uint64_t *needed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_DRAWS_H */

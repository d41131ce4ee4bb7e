/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects: boxes, labels and keypoints of what is seen in the images of a data
 * set. They move as the pixels do: by the draws that crop, resize, flip or turn
 * an image, its boxes and keypoints become those of the result, with the
 * numbers of torchvision v2 (docs/pixels.md).
 *
 * Boxes are left, top, right, bottom, in pixels of the image as it is decoded;
 * all numbers are finite.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_OBJECTS_H
#define FEEDLINE_OBJECTS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The objects of all samples of a data set, one sample after the other. */
struct feedline_objects {
    uint32_t struct_size;
    uint32_t keypoints;    /* of each object; 0: none */
    uint64_t n;            /* objects in all */
    const uint64_t *first; /* [samples + 1]: sample i has objects first[i] to
                              first[i + 1] - 1; the last one is n */
    const float *boxes;    /* [n][4] */
    const int64_t *labels; /* [n]; NULL: all 0 */
    const float *points;   /* [n][keypoints][2] x, y; NULL without them */
};

/* Copies the table; NULL removes the current one. Call it before a loader is
 * made from ds, and not while another thread uses ds. EINVAL: first is not
 * ascending from 0 to n, a number is not finite, or an array is missing;
 * ERANGE: a sample has too many objects, or an object too many keypoints, with
 * the limit in the detail; ESTATE: a loader of ds exists; ENOMEM. */
FEEDLINE_API int32_t feedline_dataset_set_objects(
    feedline_dataset *ds, const struct feedline_objects *objects);

/* The objects of a batch, image after image, in host memory whatever the
 * device, and valid until the batch is released. Samples that failed have none.
 */
struct feedline_batch_objects {
    uint32_t struct_size;
    uint32_t keypoints;    /* of each object; 0: none */
    uint64_t n;            /* objects in the batch */
    const uint64_t *first; /* [count + 1]: image i has objects first[i] to
                              first[i + 1] - 1 */
    const float *boxes;    /* [n][4] in pixels of the delivered image */
    const int64_t *labels; /* [n] */
    const float *points;   /* [n][keypoints][2]; NULL without them */
    const int64_t *source; /* [n] number of the object in its sample, from 0:
                              operations may have dropped some */
};

/* Any thread, while the caller holds the batch. ESTATE: the data set has no
 * objects. */
FEEDLINE_API int32_t feedline_batch_get_objects(
    const feedline_batch *b, struct feedline_batch_objects *out);

#ifdef __cplusplus
}
#endif

#endif

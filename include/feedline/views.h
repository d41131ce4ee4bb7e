/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: several images of each sample, made by different chains of operations
 * from one decoding, such as the two large and eight small crops of DINO.
 *
 *     feedline_pipeline *large, *small, *views;
 *     ...
 *     feedline_pipeline_create("none", &views);
 *     feedline_pipeline_add_views(views, large, 2);
 *     feedline_pipeline_add_views(views, small, 8);
 *
 * Each view of a sample has random draws of its own (draws.h); those of view 0
 * are what a loader with the first chain as its pipeline would draw. Batches
 * count images: batch_size is a multiple of the number of views, and labels and
 * other tables have a row for each image. Pixels lie view by view: first view 0
 * of all samples, then view 1, and so on. feedline_batch_copy copies all of
 * them in this layout.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_VIEWS_H
#define FEEDLINE_VIEWS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FEEDLINE_VIEWS_MAX 64 /* of a sample */

/* A part of feedline_batch_export: view v is FEEDLINE_VIEW + v. */
#define FEEDLINE_VIEW 16

/* Adds `count` views of each sample, each made by a copy of `chain` as it is
 * now; the caller may destroy chain. p has no operations of its own: it is made
 * from recipe "none". EINVAL: p has operations; or chain makes several views
 * itself (five_crop), or has custom operations. ERANGE: count is 0, or more
 * than FEEDLINE_VIEWS_MAX views in all. On an error p is as before. Not while
 * another thread uses p or chain. */
FEEDLINE_API int32_t feedline_pipeline_add_views(feedline_pipeline *p,
                                                 const feedline_pipeline *chain,
                                                 uint32_t count);

/* *out: view `view` of all samples of the batch, [samples, C, H, W] or
 * [samples, H, W, C], where samples is count / views of feedline_batch_info. It
 * is dense, and views of one size that follow each other in the pipeline do so
 * in memory, too, so that n of them are also one tensor of n * samples images.
 * After five_crop and ten_crop it is not dense: the views of a sample lie next
 * to each other, and the stride leads from sample to sample. Pointers and
 * threads as in feedline_batch_get_info, whose `images` are view 0. ERANGE: no
 * such view; EINVAL: images of different sizes (max_sample_bytes). */
FEEDLINE_API int32_t feedline_batch_get_view(const feedline_batch *b,
                                             uint32_t view,
                                             struct feedline_tensor *out);

#ifdef __cplusplus
}
#endif

#endif

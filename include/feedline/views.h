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
 * Each view of a sample has draws of its own (`view` of
 * feedline_loader_draw_json); those of view 0 are what a loader of the first
 * chain alone would draw. Batches count images: batch_size is a multiple of the
 * views, and labels and other tables have a row for each image. Pixels lie view
 * by view; feedline_batch_copy copies them all as they lie.
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

/* `count` more views of each sample, each made by a copy of `chain` as it is
 * now. p has no operations of its own: it comes from recipe "none". EINVAL: it
 * has; or chain makes several views itself (five_crop), or has operations of
 * the program's. ERANGE above FEEDLINE_VIEWS_MAX. p is as before on error. Not
 * while another thread uses p or chain. */
FEEDLINE_API int32_t feedline_pipeline_add_views(feedline_pipeline *p,
                                                 const feedline_pipeline *chain,
                                                 uint32_t count);

/* View `view` of all samples of the batch: [samples, C, H, W] or [samples, H,
 * W, C], where samples is the batch's count / views. Dense; views of one size
 * that follow each other in the pipeline do so in memory, too, so that n of
 * them are also one tensor of n * samples images. Pointers and thread rules as
 * of feedline_batch_get_info, whose `images` are view 0. Works for five_crop
 * and ten_crop, whose strides lead from sample to sample. ERANGE: no such view;
 * EINVAL: images of different sizes (max_sample_bytes). */
FEEDLINE_API int32_t feedline_batch_get_view(const feedline_batch *b,
                                             uint32_t view,
                                             struct feedline_tensor *out);

#ifdef __cplusplus
}
#endif

#endif

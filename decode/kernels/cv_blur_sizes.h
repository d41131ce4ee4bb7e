/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that OpenCV's blurs and their loops share. */
#ifndef FDL_DECODE_CV_BLUR_SIZES_H
#define FDL_DECODE_CV_BLUR_SIZES_H

/* Elements of lines, of those that a box sums too. */
#define FDL_CV_BLOCK     64
#define FDL_CV_BOX_BLOCK 256

/* Those behind the end of a line that a median may read. */
#define FDL_CV_MEDIAN_MORE (5 * FDL_CV_BLOCK)

/* The side of the largest median by choosing, and of any kernel. */
#define FDL_CV_CHOICE_MAX 7
#define FDL_CV_KERNEL_MAX 255

#endif

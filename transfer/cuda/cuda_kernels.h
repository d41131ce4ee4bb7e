/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of transfer/cuda/cuda_kernels.cu, as the host starts them. They
 * are carried as PTX (cuda_kernels.ptx, made from the .cu by cmake/make_ptx),
 * which the driver compiles for any GPU since Maxwell (sm_50), so that no
 * compiler for GPUs is needed to build the library.
 */
#ifndef FDL_TRANSFER_CUDA_KERNELS_H
#define FDL_TRANSFER_CUDA_KERNELS_H

#include "transfer/image_mix.h"

#include <stdint.h>

/* Threads of a block, for all of them. */
#define FDL_KERNEL_BLOCK 256

/* fdl_kernel_finish: each byte of u8 NHWC images becomes a number, as a table
 * has it for its channel. One thread does FDL_FINISH_PIXELS pixels in a row;
 * the grid covers images * plane of them. The one parameter is this struct, by
 * value. */
#define FDL_FINISH_PIXELS 4

struct fdl_finish_args {
    const uint8_t *src;    /* [images, plane, channels] */
    void *dst;             /* [images, channels, plane], or as src where nhwc */
    const uint32_t *table; /* [channels, 256], bits as they are stored; NULL:
                              zeros */
    uint64_t pixels;       /* images * plane */
    uint32_t plane;        /* height * width */
    uint32_t channels;     /* 1 to 4 */
    uint32_t bytes;        /* of a number: 4 or 2 */
    uint32_t nhwc;
    uint32_t width;
    const struct fdl_image_mix *mixes; /* [images]; NULL: none is mixed */
};

/* fdl_kernel_spin: one block of one thread runs until so many ns have passed.
 * Parameter: uint64_t ns. */

/* The PTX text, NUL-terminated. */
extern const char fdl_kernels_ptx[];

#endif

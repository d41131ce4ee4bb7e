/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that the kernels of this folder are written in, for CUDA. Kernels
 * are in what C and CUDA have in common: as C, tests/decode/blocks_as_c.h has
 * the same words, and runs a kernel block by block.
 *
 * A kernel consists of steps, EACH_THREAD(t), with ALL_ARE_HERE between
 * them. What a thread knows does not last from one step to the next; what
 * lasts is SHARED, or the same for all threads of a block. So a block can be
 * executed by one loop over its threads for each step, which is what C does, in
 * any order of theirs.
 *
 * READ and WRITE are for memory outside of the block. The tests hold them
 * against the four pieces of memory that there are, and count them; OPS counts
 * arithmetic there.
 */
#ifndef FDL_DECODE_DEVICE_WORDS_H
#define FDL_DECODE_DEVICE_WORDS_H

#ifdef __CUDACC__

#  define DEVICE     static __device__ __forceinline__
#  define TABLE      static __device__ const
#  define KERNEL     extern "C" __global__ void __launch_bounds__(128)
#  define SHARED     __shared__
#  define ALIGNED(n) __align__(n)
#  define UNROLL     _Pragma("unroll")
#  define EACH_THREAD(t)                                                       \
    for (uint32_t t = threadIdx.x, t##_to_do = 1; t##_to_do; t##_to_do = 0)
#  define ALL_ARE_HERE __syncthreads()
#  define READ(p)      (*(p))
#  define WRITE(p, x)  (*(p) = (x))
#  define OPS(n)
#  define ONES(x)  ((uint32_t)__popcll(x))
#  define FIRST(x) ((uint32_t)__ffsll((long long)(x)) - 1)

#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs on the GPU. Both kernels are written in what C and CUDA have in
 * common: tests/transfer compiles this very file as C and holds it, bit for
 * bit, against the CPU's last pass.
 *
 * The finish kernel is bound by memory, so all that counts is that a warp reads
 * and writes whole sectors. A block does BLOCK_PIXELS pixels, its threads in
 * one of three ways:
 *
 *   planes   4 pixels in a row per thread: 4 * channels bytes in, of which the
 *            cache makes whole lines, and one store of 4 numbers per channel,
 *            side by side in a warp
 *   packed   input and output have the same order, so pixels do not matter:
 *            `channels` times 4 elements that are neighbours in the warp. 4
 *            pixels in a row would store every third 16 bytes
 *   single   one pixel after the other, a block apart: for the last block, for
 *            planes whose size 4 does not divide, for addresses that are not
 *            aligned, and where images are mixed
 *
 * What becomes of each of the 256 bytes is in a table that the CPU's last pass
 * makes, so the arithmetic is that one's. A block has it in its own fast
 * memory.
 *
 * The number of channels is a constant where it unrolls loops; the size of a
 * number is a branch that all threads take the same way.
 */
#include "transfer/cuda/cuda_kernels.h"

#define BLOCK_PIXELS (FDL_KERNEL_BLOCK * FDL_FINISH_PIXELS)

/* What C says in other words; tests/transfer/kernels_as_c.h. */
#ifdef __CUDACC__

#define UNROLL _Pragma("unroll")
#define KERNEL extern "C" __global__
#define SHARED __shared__

static __device__ __forceinline__ void all_threads_are_here(void)
{
    __syncthreads();
}

static __device__ __forceinline__ uint64_t clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Of floats, as bits; each product and the sum rounded by itself. */
static __device__ __forceinline__ uint32_t
sum_of_products(uint32_t x, float a, uint32_t y, float b)
{
    return __float_as_uint(__fadd_rn(__fmul_rn(__uint_as_float(x), a),
                                     __fmul_rn(__uint_as_float(y), b)));
}

#endif

/* One store each. */
struct __align__(16) four_words {
    uint32_t x, y, z, w;
};
struct __align__(8) two_words {
    uint32_t x, y;
};

/* Byte `i` of a word. */
static __device__ __forceinline__ uint32_t byte_of(uint32_t word, uint32_t i)
{
    return word >> (8u * i) & 0xffu;
}

static __device__ __forceinline__ void
store_one(const struct fdl_finish_args *a, uint64_t at, uint32_t y)
{
    if (a->bytes == 4)
        ((uint32_t *)a->dst)[at] = y;
    else
        ((uint16_t *)a->dst)[at] = (uint16_t)y;
}

/* `at` is a multiple of 4. */
static __device__ __forceinline__ void
store_four(const struct fdl_finish_args *a, uint64_t at, const uint32_t y[4])
{
    if (a->bytes == 4) {
        struct four_words out = {y[0], y[1], y[2], y[3]};
        ((struct four_words *)a->dst)[at / 4] = out;
        return;
    }
    struct two_words out = {y[0] | y[1] << 16, y[2] | y[3] << 16};
    ((struct two_words *)a->dst)[at / 4] = out;
}

/* Number c of pixel p, which is in `image`, as bits: mixed with that of the
 * other image. */
static __device__ __forceinline__ uint32_t
mixed(const struct fdl_finish_args *a, const uint32_t *table, uint64_t p,
      uint64_t image, uint32_t c)
{
    const struct fdl_image_mix *m = &a->mixes[image];
    uint32_t at = (uint32_t)(p - image * a->plane);
    uint32_t x = at % a->width, y = at / a->width;
    uint64_t other = m->other * (uint64_t)a->plane + at;
    uint32_t own = table[c * 256u + a->src[p * a->channels + c]];
    uint32_t its = table[c * 256u + a->src[other * a->channels + c]];
    if (m->blank & FDL_FINISH_BLANK_OWN)
        own = 0;
    if (m->blank & FDL_FINISH_BLANK_OTHER)
        its = 0;
    if (m->kind == FDL_FINISH_SUM)
        return sum_of_products(own, m->own_share, its, m->other_share);
    bool cut = m->kind == FDL_FINISH_BOX && x >= m->left && x < m->right &&
               y >= m->top && y < m->bottom;
    return cut ? its : own;
}

static __device__ __forceinline__ void single(const struct fdl_finish_args *a,
                                              const uint32_t *table,
                                              uint64_t begin)
{
    uint64_t end = begin + BLOCK_PIXELS;
    if (end > a->pixels)
        end = a->pixels;
    for (uint64_t p = begin + threadIdx.x; p < end; p += FDL_KERNEL_BLOCK) {
        uint64_t from = p * a->channels, to = from, step = 1;
        uint64_t image = p / a->plane;
        if (!a->nhwc) {
            step = a->plane;
            to = image * a->channels * step + (p - image * step);
        }
        for (uint32_t c = 0; c < a->channels; c++)
            store_one(a, to + c * step,
                      a->mixes ? mixed(a, table, p, image, c)
                               : table[c * 256u + a->src[from + c]]);
    }
}

/* All 4 pixels are of one image. */
static __device__ __forceinline__ void planes(const struct fdl_finish_args *a,
                                              const uint32_t *table,
                                              uint64_t begin, uint32_t channels)
{
    uint64_t p = begin + 4u * threadIdx.x;
    uint64_t image = p / a->plane;
    uint64_t to = image * channels * a->plane + (p - image * a->plane);
    const uint32_t *from = (const uint32_t *)a->src + p / 4 * channels;
    uint32_t words[4];
    UNROLL
    for (uint32_t i = 0; i < channels; i++)
        words[i] = from[i];
    UNROLL
    for (uint32_t c = 0; c < channels; c++) {
        uint32_t y[4];
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t byte = i * channels + c;
            y[i] = table[c * 256u + byte_of(words[byte / 4], byte % 4)];
        }
        store_four(a, to + (uint64_t)c * a->plane, y);
    }
}

static __device__ __forceinline__ void packed(const struct fdl_finish_args *a,
                                              const uint32_t *table,
                                              uint64_t begin, uint32_t channels)
{
    /* The block begins with channel 0; this thread with another one. */
    const uint32_t *of[4];
    UNROLL
    for (uint32_t i = 0; i < channels; i++)
        of[i] = table + (4u * threadIdx.x + i) % channels * 256u;
    uint64_t at = begin * channels + 4u * threadIdx.x;
    const uint32_t *from = (const uint32_t *)a->src + at / 4;
    UNROLL
    for (uint32_t n = 0; n < channels; n++) {
        uint32_t word = from[n * FDL_KERNEL_BLOCK];
        uint32_t y[4];
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            y[i] = of[(n * BLOCK_PIXELS + i) % channels][byte_of(word, i)];
        store_four(a, at + n * BLOCK_PIXELS, y);
    }
}

static __device__ __forceinline__ void whole(const struct fdl_finish_args *a,
                                             const uint32_t *table,
                                             uint64_t begin, uint32_t channels)
{
    if (a->nhwc && channels > 1)
        packed(a, table, begin, channels);
    else
        planes(a, table, begin, channels);
}

static __device__ __forceinline__ bool
is_aligned(const struct fdl_finish_args *a)
{
    uint64_t store = 4u * a->bytes;
    bool same_order = a->nhwc && a->channels > 1;
    return ((uint64_t)a->src & 3) == 0 &&
           ((uint64_t)a->dst & (store - 1)) == 0 &&
           (same_order || (a->plane & 3) == 0);
}

KERNEL void __launch_bounds__(FDL_KERNEL_BLOCK)
    fdl_kernel_finish(struct fdl_finish_args args)
{
    SHARED uint32_t table[4 * 256];
    const struct fdl_finish_args *a = &args;
    for (uint32_t i = threadIdx.x; i < a->channels * 256u;
         i += FDL_KERNEL_BLOCK)
        table[i] = a->table ? a->table[i] : 0;
    all_threads_are_here();
    uint64_t begin = (uint64_t)blockIdx.x * BLOCK_PIXELS;
    if (begin + BLOCK_PIXELS > a->pixels || !is_aligned(a) || a->mixes)
        single(a, table, begin);
    else if (a->channels == 1)
        whole(a, table, begin, 1);
    else if (a->channels == 2)
        whole(a, table, begin, 2);
    else if (a->channels == 3)
        whole(a, table, begin, 3);
    else
        whole(a, table, begin, 4);
}

KERNEL void fdl_kernel_spin(uint64_t ns)
{
    uint64_t begin = clock_ns();
    while (clock_ns() - begin < ns) {
    }
}

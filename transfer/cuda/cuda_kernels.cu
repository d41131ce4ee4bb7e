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
 *            planes whose size 4 does not divide, and for addresses that are
 *            not aligned
 *
 * The number of channels is a constant where it unrolls loops; the type of the
 * output is a branch that all threads take the same way.
 */
#include "transfer/cuda/cuda_kernels.h"

#define BLOCK_PIXELS (FDL_KERNEL_BLOCK * FDL_FINISH_PIXELS)

/* enum feedline_dtype */
#define F16  2
#define F32  3
#define BF16 5

/* What C says in other words; tests/transfer/kernels_as_c.h. */
#ifdef __CUDACC__

#define UNROLL _Pragma("unroll")
#define KERNEL extern "C" __global__

static __device__ __forceinline__ uint32_t float_bits(float x)
{
    return __float_as_uint(x);
}

static __device__ __forceinline__ uint32_t f16_bits(float x)
{
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

static __device__ __forceinline__ uint64_t clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#endif

/* One store each. */
struct __align__(16) four_words {
    uint32_t x, y, z, w;
};
struct __align__(8) two_words {
    uint32_t x, y;
};

/* To nearest, ties to even, on the bits: the conversion instruction came with
 * Ampere. */
static __device__ __forceinline__ uint32_t bf16_bits(float x)
{
    uint32_t bits = float_bits(x);
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

static __device__ __forceinline__ uint32_t half_bits(float x, int32_t dtype)
{
    return dtype == F16 ? f16_bits(x) : bf16_bits(x);
}

/* Byte `i` of a word. */
static __device__ __forceinline__ float byte_of(uint32_t word, uint32_t i)
{
    return (float)(word >> (8u * i) & 0xffu);
}

/* An index that is not a constant, without a detour through memory. */
static __device__ __forceinline__ float pick(const float *of, uint32_t i)
{
    return i == 0 ? of[0] : i == 1 ? of[1] : i == 2 ? of[2] : of[3];
}

static __device__ __forceinline__ void
store_one(const struct fdl_finish_args *a, uint64_t at, float y)
{
    if (a->dtype == F32)
        ((float *)a->dst)[at] = y;
    else
        ((uint16_t *)a->dst)[at] = (uint16_t)half_bits(y, a->dtype);
}

/* `at` is a multiple of 4. */
static __device__ __forceinline__ void
store_four(const struct fdl_finish_args *a, uint64_t at, const float y[4])
{
    if (a->dtype == F32) {
        struct four_words out = {float_bits(y[0]), float_bits(y[1]),
                                 float_bits(y[2]), float_bits(y[3])};
        ((struct four_words *)a->dst)[at / 4] = out;
        return;
    }
    struct two_words out = {
        half_bits(y[0], a->dtype) | half_bits(y[1], a->dtype) << 16,
        half_bits(y[2], a->dtype) | half_bits(y[3], a->dtype) << 16,
    };
    ((struct two_words *)a->dst)[at / 4] = out;
}

static __device__ __forceinline__ void single(const struct fdl_finish_args *a,
                                              uint64_t begin)
{
    uint64_t end = begin + BLOCK_PIXELS;
    if (end > a->pixels)
        end = a->pixels;
    for (uint64_t p = begin + threadIdx.x; p < end; p += FDL_KERNEL_BLOCK) {
        uint64_t from = p * a->channels, to = from, step = 1;
        if (!a->nhwc) {
            uint64_t image = p / a->plane;
            step = a->plane;
            to = image * a->channels * step + (p - image * step);
        }
        for (uint32_t c = 0; c < a->channels; c++) {
            float x = (float)a->src[from + c];
            store_one(a, to + c * step,
                      fmaf(x, pick(a->scale, c), pick(a->bias, c)));
        }
    }
}

/* All 4 pixels are of one image. */
static __device__ __forceinline__ void planes(const struct fdl_finish_args *a,
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
        float y[4];
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t byte = i * channels + c;
            y[i] = fmaf(byte_of(words[byte / 4], byte % 4), a->scale[c],
                        a->bias[c]);
        }
        store_four(a, to + (uint64_t)c * a->plane, y);
    }
}

static __device__ __forceinline__ void packed(const struct fdl_finish_args *a,
                                              uint64_t begin, uint32_t channels)
{
    /* The block begins with channel 0; this thread with another one. */
    float scale[4], bias[4];
    UNROLL
    for (uint32_t i = 0; i < channels; i++) {
        uint32_t c = (4u * threadIdx.x + i) % channels;
        scale[i] = pick(a->scale, c);
        bias[i] = pick(a->bias, c);
    }
    uint64_t at = begin * channels + 4u * threadIdx.x;
    const uint32_t *from = (const uint32_t *)a->src + at / 4;
    UNROLL
    for (uint32_t n = 0; n < channels; n++) {
        uint32_t word = from[n * FDL_KERNEL_BLOCK];
        float y[4];
        UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t c = (n * BLOCK_PIXELS + i) % channels;
            y[i] = fmaf(byte_of(word, i), scale[c], bias[c]);
        }
        store_four(a, at + n * BLOCK_PIXELS, y);
    }
}

static __device__ __forceinline__ void whole(const struct fdl_finish_args *a,
                                             uint64_t begin, uint32_t channels)
{
    if (a->nhwc && channels > 1)
        packed(a, begin, channels);
    else
        planes(a, begin, channels);
}

static __device__ __forceinline__ bool
is_aligned(const struct fdl_finish_args *a)
{
    uint64_t store = a->dtype == F32 ? 16 : 8;
    bool same_order = a->nhwc && a->channels > 1;
    return ((uint64_t)a->src & 3) == 0 &&
           ((uint64_t)a->dst & (store - 1)) == 0 &&
           (same_order || (a->plane & 3) == 0);
}

KERNEL void __launch_bounds__(FDL_KERNEL_BLOCK)
    fdl_kernel_finish(struct fdl_finish_args args)
{
    const struct fdl_finish_args *a = &args;
    uint64_t begin = (uint64_t)blockIdx.x * BLOCK_PIXELS;
    if (begin + BLOCK_PIXELS > a->pixels || !is_aligned(a))
        single(a, begin);
    else if (a->channels == 1)
        whole(a, begin, 1);
    else if (a->channels == 2)
        whole(a, begin, 2);
    else if (a->channels == 3)
        whole(a, begin, 3);
    else
        whole(a, begin, 4);
}

KERNEL void fdl_kernel_spin(uint64_t ns)
{
    uint64_t begin = clock_ns();
    while (clock_ns() - begin < ns) {
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the images of a batch on the device: a launch for each stage, on a
 * stream of their own, in scratch memory that one batch after the other has.
 * What the kernels say of each image goes back to the host behind all that the
 * consumer waits for.
 */
#include "transfer/cuda/cuda_backend.h"

#include <stdio.h>

/* Blocks of a grid: as many as keep a large GPU busy, if images are few; a
 * block makes tables for itself, so there are not many of one image. */
#define BLOCKS_WANTED 2048u
#define BLOCKS_LEAST  8u
#define BLOCKS_MOST   64u

static uint32_t blocks_of(uint32_t images)
{
    uint32_t blocks = BLOCKS_WANTED / images;
    return blocks < BLOCKS_LEAST  ? BLOCKS_LEAST
           : blocks > BLOCKS_MOST ? BLOCKS_MOST
                                  : blocks;
}

/* All stages for so many images, whose records are in the slab. */
static int launch(const struct fdl_cuda *c, struct fdl_maker_args args,
                  uint32_t images)
{
    const struct fdl_makers *s = &c->config.makers;
    void *parameters[] = {&args};
    int error = FDL_CUDA_SUCCESS;
    for (uint32_t i = 0; i < s->n && error == FDL_CUDA_SUCCESS; i++) {
        args.pass = s->at[i].pass;
        error = c->device->cuda->LaunchKernel(c->makers[i], blocks_of(images),
                                              images, 1, s->threads, 1, 1, 0,
                                              c->making, parameters, NULL);
    }
    return error;
}

/* The first launches may take long, so they are of a record of zeros. */
static int warm_up(struct fdl_cuda *c)
{
    static const uint8_t zeros[FDL_RECORD_MOST];
    const struct fdl_makers *s = &c->config.makers;
    const struct fdl_cuda_api *cuda = c->device->cuda;
    const struct fdl_maker_args args = {c->scratch, c->scratch, c->scratch,
                                        c->scratch, 0};
    int error =
        cuda->MemcpyHtoDAsync(c->scratch, zeros, s->record_bytes, c->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = fdl_cuda_wait_stream(cuda, c->stream);
    return error == FDL_CUDA_SUCCESS ? launch(c, args, 1) : error;
}

int32_t fdl_cuda_makers_prepare(struct fdl_cuda *c)
{
    const struct fdl_makers *s = &c->config.makers;
    char reason[FDL_ERROR_BYTES];
    if (s->n == 0)
        return FEEDLINE_OK;
    fdl_assert(s->n <= FDL_MAKERS_MAX && s->record_bytes <= FDL_RECORD_MOST &&
               s->record_bytes <= s->scratch_bytes);
    int32_t status = fdl_cuda_maker_kernels(c->device, s, c->makers);
    if (status >= 0) {
        int error = fdl_cuda_memory_alloc(
            &c->memory, c->stream, (size_t)s->scratch_bytes, &c->scratch);
        if (error == FDL_CUDA_SUCCESS)
            error = warm_up(c);
        if (error != FDL_CUDA_SUCCESS)
            status = fdl_cuda_fail(c->device->cuda, error,
                                   "scratch memory, or the first launch");
    }
    if (status >= 0)
        return FEEDLINE_OK;
    snprintf(reason, sizeof(reason), "%s", fdl_last_error());
    return fdl_fail(
        status, "decode=device, or auto: %s; decode=host needs none", reason);
}

int fdl_cuda_make(const struct fdl_cuda *c, const struct fdl_transfer *t,
                  struct fdl_cuda_step *s, fdl_cuda_event copied)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    uint8_t *slab = t->slab->device;
    const struct fdl_maker_args args = {
        .records = slab + c->config.makers.records_at,
        .slab = slab,
        .scratch = c->scratch,
        .out = t->slab->made,
    };
    int error = cuda->StreamWaitEvent(c->making, copied, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventRecord(s->making, c->making);
    if (error == FDL_CUDA_SUCCESS)
        error = launch(c, args, t->images);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventRecord(s->made, c->making);
    return error;
}

int fdl_cuda_bring_back(const struct fdl_cuda *c, const struct fdl_transfer *t,
                        struct fdl_cuda_step *s)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    const struct fdl_makers *makers = &c->config.makers;
    uint64_t at = makers->records_at;
    int error = cuda->MemcpyDtoHAsync(
        (uint8_t *)t->slab->host + at, (const uint8_t *)t->slab->device + at,
        (size_t)(t->images * makers->record_bytes), c->making);
    return error == FDL_CUDA_SUCCESS ? cuda->EventRecord(s->told, c->making)
                                     : error;
}

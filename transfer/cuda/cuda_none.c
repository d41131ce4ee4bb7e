/* SPDX-License-Identifier: Apache-2.0 */
/* A library that was built without the CUDA transfer (FEEDLINE_CUDA=OFF). */
#include "base/status.h"
#include "transfer/gpu_probe.h"

static int32_t fail(void)
{
    return fdl_fail(FEEDLINE_ENOSYS,
                    "this library was built without the CUDA transfer "
                    "(FEEDLINE_CUDA=OFF); use device=host");
}

static int32_t create(const struct fdl_backend_config *config, void **backend)
{
    (void)config;
    (void)backend;
    return fail();
}

const struct fdl_backend_ops fdl_backend_cuda = {
    .name = "cuda", .device = FEEDLINE_CUDA, .create = create};

bool fdl_gpu_started(void)
{
    return false;
}

int32_t fdl_gpu_find(void)
{
    return fail();
}

int32_t fdl_gpu_count(void)
{
    return fail();
}

int32_t fdl_gpu_info(uint32_t number, struct feedline_device_info *out)
{
    (void)number;
    (void)out;
    return fail();
}

int32_t fdl_gpu_time_copy(uint32_t number,
                          const struct fdl_backend_place *place,
                          const struct feedline_copy_test *test,
                          struct feedline_copy_time *out)
{
    (void)number;
    (void)place;
    (void)test;
    (void)out;
    return fail();
}

int32_t fdl_gpu_has_kernels(uint32_t number)
{
    (void)number;
    return fail();
}

int32_t fdl_gpu_has_makers(uint32_t number, const struct fdl_makers *makers)
{
    (void)number;
    (void)makers;
    return fail();
}

int32_t fdl_gpu_busy_create(uint32_t number, struct fdl_gpu_busy **out)
{
    (void)number;
    (void)out;
    return fail();
}

void fdl_gpu_busy_destroy(struct fdl_gpu_busy *b)
{
    (void)b;
}

void *fdl_gpu_busy_stream(const struct fdl_gpu_busy *b)
{
    (void)b;
    return NULL;
}

int32_t fdl_gpu_busy_work(struct fdl_gpu_busy *b, uint64_t ns)
{
    (void)b;
    (void)ns;
    return fail();
}

int32_t fdl_gpu_busy_wait(struct fdl_gpu_busy *b)
{
    (void)b;
    return fail();
}

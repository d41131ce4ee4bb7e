/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools of the CUDA driver's double. */
#include "cuda_desk.h"

/* A pool's memory comes and goes in the order of a stream; what was freed takes
 * room until the pool is trimmed. */
TEST(a_pool_is_in_order_with_its_stream)
{
    const struct fdl_cuda_pool_props props = {.type = FDL_CUDA_POOL_PINNED,
                                              .location_type = 1};
    struct desk d;
    struct double_counters seen;
    uint64_t threshold = UINT64_MAX;
    void *pool, *memory;
    open_desk(&d);
    ok(cuMemPoolCreate(&pool, &props));
    ok(cuMemPoolSetAttribute(pool, FDL_CUDA_POOL_THRESHOLD, &threshold));
    ok(cuMemAllocFromPoolAsync(&memory, BYTES, pool, d.a));
    ok(cuStreamSynchronize(d.a));
    double_pause(d.b);
    ok(double_read(d.b, memory, BYTES, 0));
    ok(cuMemFreeAsync(memory, d.a)); /* and does not wait for b */
    ok(cuStreamSynchronize(d.a));
    double_resume(d.b);
    double_drain();
    one_fault("overwritten before it was read: a free");
    double_get_counters(&seen);
    assert_int_equal(seen.device_bytes, 3 * BYTES);
    ok(cuMemPoolTrimTo(pool, 0));
    double_get_counters(&seen);
    assert_int_equal(seen.device_bytes, 2 * BYTES);
    assert_int_equal(cuMemFreeAsync(memory, d.a), DOUBLE_ERROR_INVALID);
    ok(cuMemPoolDestroy(pool));
    assert_true(double_set("pools=0"));
    assert_int_equal(cuMemPoolCreate(&pool, &props),
                     DOUBLE_ERROR_NOT_SUPPORTED);
    double_reset();
    free(d.host);
}

TEST_MAIN("cuda_double_pool")

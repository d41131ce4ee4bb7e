/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that nobody watches: batches come, in order, and a run may end and
 * begin again. */
#include "loader/api/api.h"
#include "loader/stream/engine.h"
#include "tests/loader/fixture.h"

static struct fdl_engine *open_engine(const struct fixture *images)
{
    const struct fdl_backend_config config = {.device = 0};
    const struct fdl_backend_ops *ops;
    uint32_t device;
    feedline_dataset *ds = fixture_memory(images);
    feedline_config *cfg;
    feedline_pipeline *p;
    struct fdl_engine *e;
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set_int(cfg, "batch_size", 4));
    assert_ok(feedline_config_set_int(cfg, "workers", 2));
    assert_ok(feedline_config_set_int(cfg, "epochs", 2));
    assert_ok(feedline_config_set(cfg, "dtype", "u8"));
    assert_ok(feedline_config_set(cfg, "shuffle", "false"));
    assert_ok(feedline_pipeline_create("eval_u8", &p));
    assert_ok(fdl_backend_find("host", &ops, &device));
    assert_ok(fdl_engine_create(&cfg->options, ds, p->pipeline, ops, &config,
                                NULL, &e));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    feedline_dataset_close(ds);
    return e;
}

/* Two epochs of 12 samples. */
static void drain(struct fdl_engine *e)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    feedline_batch *b;
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3)
            assert_int_equal(fdl_consumer_next(e, -1, &b), FEEDLINE_END);
        assert_ok(fdl_consumer_next(e, -1, &b));
        assert_ok(feedline_batch_get_info(b, &info));
        assert_int_equal(info.epoch, i / 3);
        for (uint32_t k = 0; k < info.count; k++)
            assert_int_equal(info.sample_index[k], 4 * (i % 3) + k);
        feedline_batch_release(b);
    }
    assert_int_equal(fdl_consumer_next(e, -1, &b), FEEDLINE_END);
}

TEST(it_runs_with_no_observer)
{
    struct fixture images;
    feedline_batch *b;
    fixture_create(&images, 12);
    struct fdl_engine *e = open_engine(&images);
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(fdl_engine_begin(e, 0, 0));
        drain(e);
    }
    fdl_engine_stop(e);
    assert_int_equal(fdl_consumer_next(e, -1, &b), FEEDLINE_ESTATE);
    fdl_engine_destroy(e);
    fixture_remove(&images);
}

TEST_MAIN("engine")

/* SPDX-License-Identifier: Apache-2.0 */
/* Host or device finishing, as the tuner tries it: a model whose workers, bus
 * and consumer change with who finishes. */
#include "tuner_model.h"

struct finish_model {
    struct tuner_model m;
    double host_work, device_work; /* of a batch */
    double host_g, device_g;
    double host_copy, device_copy, kernel;
    unsigned changes; /* of who finishes */
};

/* 64 x 224 x 224 of f32; finishing a batch takes a worker 4 ms. */
static struct fdl_tuner_limits limits_of(double cores, uint32_t workers)
{
    struct fdl_tuner_limits l = model_limits(cores);
    l.workers_min = l.workers_max = workers;
    l.depth_min = l.depth_max = 12;
    l.io_depth_min = l.io_depth_max = 16;
    l.finish_free = true;
    l.finish = (struct fdl_finish_costs){
        .host_bytes = 38535168,
        .device_bytes = 9633792,
        .latency_ns = 8000,
        .bytes_per_ns = 25,
        .sample_ns = 4e6 / MODEL_SIZE,
    };
    return l;
}

static void begin(struct finish_model *f, const struct fdl_tuner_limits *l,
                  bool device)
{
    f->m.knobs.finish_device = device;
    fdl_tuner_destroy(f->m.tuner);
    f->m.tuner = fdl_tuner_create(l, &f->m.knobs, false);
    assert_non_null(f->m.tuner);
    f->host_work = f->m.work;
    f->device_work = f->m.work - 4e6;
    f->host_g = f->device_g = f->m.g;
    f->host_copy = 8000 + 38535168. / 25;
    f->device_copy = 8000 + 9633792. / 25;
    f->kernel = 50e3;
}

static void run(struct finish_model *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bool device = f->m.knobs.finish_device;
        f->m.work = device ? f->device_work : f->host_work;
        f->m.g = device ? f->device_g : f->host_g;
        model_step(&f->m);
        f->changes += device != f->m.knobs.finish_device;
        f->m.r.copied_batches++;
        f->m.r.copy_ns += (int64_t)(device ? f->device_copy : f->host_copy);
        f->m.r.kernel_ns += device ? (int64_t)f->kernel : 0;
    }
}

static struct fdl_decision only_decision(const struct finish_model *f)
{
    struct fdl_decision d, found = {.id = UINT64_MAX};
    for (uint64_t id = 0; fdl_tuner_decision(f->m.tuner, id, &d); id++)
        if (d.knob == FDL_KNOB_FINISH && d.reason == FDL_REASON_FINISH) {
            assert_int_equal(found.id, UINT64_MAX);
            found = d;
        }
    assert_int_not_equal(found.id, UINT64_MAX);
    return found;
}

/* No core is left: what workers do not have to do is throughput. */
static void work_that_cores_lack_moves_to_the_device(void **state)
{
    (void)state;
    struct finish_model f = {.changes = 0};
    struct fdl_tuner_limits l = limits_of(4, 4);
    model_begin(&f.m, &l, 4, 100, 20);
    begin(&f, &l, false);
    f.device_work = 75e6;
    l.finish.sample_ns = 25e6 / MODEL_SIZE;
    fdl_tuner_set_limits(f.m.tuner, &l);
    run(&f, 1500);
    model_print(&f.m);
    assert_true(f.m.knobs.finish_device);
    assert_int_equal(f.changes, 1);
    struct fdl_decision d = only_decision(&f);
    assert_int_equal(d.outcome, FDL_OUTCOME_KEPT);
    assert_true(d.predicted > 0.2 && d.predicted < 0.35);
    assert_true(fabs(d.measured - d.predicted) < 0.1);
    assert_true(strstr(d.why, "on the device") && strstr(d.why, "workers"));
    fdl_tuner_destroy(f.m.tuner);
}

/* Nobody waits: CPU time is spared. */
static void work_that_can_be_spared_moves_to_the_device(void **state)
{
    (void)state;
    struct finish_model f = {.changes = 0};
    struct fdl_tuner_limits l = limits_of(8, 4);
    model_begin(&f.m, &l, 4, 30, 20);
    begin(&f, &l, false);
    run(&f, 1500);
    model_print(&f.m);
    assert_true(f.m.knobs.finish_device);
    assert_int_equal(f.changes, 1);
    struct fdl_decision d = only_decision(&f);
    assert_int_equal(d.outcome, FDL_OUTCOME_KEPT);
    assert_true(fabs(d.predicted) < 0.005);
    assert_non_null(strstr(d.why, "spared 13.3 %"));
    fdl_tuner_destroy(f.m.tuner);
}

/* The kernel costs the consumer far more than it should: taken back, and, with
 * what is known of it now, not tried again. */
static void what_slows_the_consumer_is_taken_back(void **state)
{
    (void)state;
    struct finish_model f = {.changes = 0};
    struct fdl_tuner_limits l = limits_of(8, 4);
    model_begin(&f.m, &l, 4, 30, 20);
    begin(&f, &l, false);
    f.device_g = 24e6;
    f.kernel = 4e6;
    run(&f, 6000);
    model_print(&f.m);
    assert_false(f.m.knobs.finish_device);
    assert_int_equal(f.changes, 2);
    struct fdl_decision d = only_decision(&f);
    assert_int_equal(d.outcome, FDL_OUTCOME_ROLLED_BACK);
    assert_true(d.measured < -0.1);
    l.cores = 16; /* other conditions, the same kernel */
    fdl_tuner_set_limits(f.m.tuner, &l);
    run(&f, 3000);
    assert_false(f.m.knobs.finish_device);
    assert_int_equal(f.changes, 2);
    fdl_tuner_destroy(f.m.tuner);
}

/* The device is busy all the time, cores and bus are not. */
static void work_of_a_busy_device_moves_to_the_host(void **state)
{
    (void)state;
    struct finish_model f = {.changes = 0};
    struct fdl_tuner_limits l = limits_of(16, 8);
    model_begin(&f.m, &l, 8, 30, 18);
    begin(&f, &l, true);
    f.device_g = 20e6;
    f.kernel = 2e6;
    run(&f, 1500);
    model_print(&f.m);
    assert_false(f.m.knobs.finish_device);
    assert_int_equal(f.changes, 1);
    struct fdl_decision d = only_decision(&f);
    assert_int_equal(d.outcome, FDL_OUTCOME_KEPT);
    assert_true(d.predicted > 0.10 && d.predicted < 0.12);
    assert_true(fabs(d.measured - d.predicted) < 0.03);
    fdl_tuner_destroy(f.m.tuner);
}

/* With fewer bytes, or with nothing to gain, or without a choice. */
static void stays_where_it_is_right(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct finish_model f = {.changes = 0};
        struct fdl_tuner_limits l = limits_of(8, 4);
        l.finish_free = i != 2;
        model_begin(&f.m, &l, 4, i == 1 ? 60 : 30, 20);
        begin(&f, &l, i == 0);
        run(&f, 3000);
        model_print(&f.m);
        assert_true(f.m.knobs.finish_device == (i == 0));
        assert_int_equal(f.changes, 0);
        assert_int_equal(model_count(&f.m, FDL_REASON_FINISH, -1), 0);
        fdl_tuner_destroy(f.m.tuner);
    }
}

/* The first copies after a change are of before: they do not count. */
static void copies_of_before_do_not_count(void **state)
{
    (void)state;
    struct finish_model f = {.changes = 0};
    struct fdl_tuner_limits l = limits_of(4, 4);
    l.finish.bytes_per_ns = 1; /* of a bus that was measured wrongly */
    model_begin(&f.m, &l, 4, 30, 20);
    begin(&f, &l, true);
    run(&f, 500);
    /* By 1 byte a ns the bus would be a limit; by its copies it is none, and
     * the host's work fits the cores. */
    assert_true(f.m.knobs.finish_device);
    struct fdl_knobs host = f.m.knobs;
    host.finish_device = false;
    f.m.knobs = host;
    fdl_tuner_applied(f.m.tuner, &host, false);
    f.host_copy = 19e6; /* most of a step, and a quarter the other way */
    run(&f, 2000);
    model_print(&f.m);
    struct fdl_decision d = only_decision(&f);
    assert_true(fabs(d.predicted) < 0.005);
    fdl_tuner_destroy(f.m.tuner);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(work_that_cores_lack_moves_to_the_device),
    cmocka_unit_test(work_that_can_be_spared_moves_to_the_device),
    cmocka_unit_test(what_slows_the_consumer_is_taken_back),
    cmocka_unit_test(work_of_a_busy_device_moves_to_the_host),
    cmocka_unit_test(stays_where_it_is_right),
    cmocka_unit_test(copies_of_before_do_not_count),
};

TEST_MAIN("tuner_finish", cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who finishes batches changes while a loader runs, at any moment: every byte
 * is that of a loader with device=host, whoever finished it, whatever is held,
 * and the figures tell what was done. Tuner observe: the choice is there, and
 * nobody but the test makes it. CTest runs the cases on the double of the CUDA
 * runtime, and, with label gpu, on hardware.
 */
#include "device_rig.h"
#include "loader/engine.h"
#include "loader/stream/finishing.h"

#include <feedline/bench.h>

#include <stdlib.h>

/* What the choice is made from is the same everywhere: a bus of 8 us and 25
 * GB/s, and cores that nobody else needs. So large batches are finished on the
 * device at first, and those of a few bytes on the host. */
int32_t __wrap_fdl_cuda_time_copy(uint32_t number,
                                  const struct feedline_copy_test *test,
                                  struct feedline_copy_time *out);
int32_t __wrap_fdl_cuda_time_copy(uint32_t number,
                                  const struct feedline_copy_test *test,
                                  struct feedline_copy_time *out)
{
    (void)number;
    *out = (struct feedline_copy_time){.device_us =
                                           8 + (double)test->bytes / 25e3};
    return FEEDLINE_OK;
}

int __wrap_getloadavg(double load[], int n);
int __wrap_getloadavg(double load[], int n)
{
    for (int i = 0; i < n; i++)
        load[i] = 0;
    return n;
}

static bool on_device(const feedline_loader *l)
{
    return fdl_loader_finishes_on_device(l);
}

static struct feedline_device_stats device_stats(const feedline_loader *l)
{
    struct feedline_device_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_device_stats(l, &s));
    return s;
}

static uint64_t memory_bytes(const feedline_loader *l)
{
    struct feedline_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_stats(l, &s));
    return s.memory_bytes;
}

static feedline_loader *open_free(const struct rig *r, const char *options)
{
    char text[256];
    snprintf(text, sizeof(text), "tuner=observe %s", options);
    feedline_loader *l = rig_loader(r->dataset, "cuda:0", text);
    if (!fdl_loader_finish_is_free(l))
        fail_msg("%s: no choice: %s", options, fdl_loader_finish_reason(l));
    return l;
}

/* ---- The same bytes ----------------------------------------------------- */

#define HELD 2u

/* A batch that is kept, and what it has to be when it is looked at. */
struct kept {
    feedline_batch *device, *host;
};

struct pair {
    struct rig *rig;
    feedline_loader *device, *host;
    struct kept kept[HELD];
    struct echo echo;
    uint64_t seen[2];     /* batches, by who finished them */
    uint64_t in_parts[2]; /* of them, in parts */
};

static void pair_open(struct pair *p, struct rig *r, const char *options)
{
    *p = (struct pair){.rig = r};
    p->device = open_free(r, options);
    p->host = rig_loader(r->dataset, "host", options);
    rig_echo_open(r, &p->echo, rig_batch_bytes(p->host));
}

/* Compares and gives back. */
static void settle(struct pair *p, struct kept *k)
{
    fdl_cuda_stream stream = p->rig->streams[rig_draw(p->rig, 2)];
    if (!k->device)
        return;
    struct feedline_batch_info d = rig_look(k->device), h = rig_look(k->host);
    assert_same_info(&d, &h, 0);
    assert_ok(feedline_batch_wait(k->device, stream));
    rig_read_back(p->rig, &d, stream, &p->echo);
    assert_cuda(p->rig->run.cuda->StreamSynchronize(stream));
    assert_same_bytes(&d, &h, &p->echo);
    feedline_batch_release(k->device);
    feedline_batch_release(k->host);
    *k = (struct kept){NULL, NULL};
}

static void pair_close(struct pair *p)
{
    for (uint32_t i = 0; i < HELD; i++)
        settle(p, &p->kept[i]);
    rig_echo_close(p->rig, &p->echo);
    feedline_loader_destroy(p->host);
    feedline_loader_destroy(p->device);
}

/* The next batch of both; most are kept for a while. */
static void step(struct pair *p)
{
    struct kept now = {rig_next(p->device), rig_next(p->host)};
    p->seen[now.device->transfer.finish]++;
    p->in_parts[now.device->transfer.finish] +=
        atomic_load(&now.device->parts_sent);
    if (rig_draw(p->rig, 4) > 0) {
        struct kept *place = &p->kept[rig_draw(p->rig, HELD)];
        struct kept other = *place;
        *place = now;
        now = other;
    }
    settle(p, &now);
}

static void turn(struct pair *p)
{
    bool device = rig_draw(p->rig, 2);
    assert_ok(fdl_loader_set_finish(p->device, device));
    assert_true(on_device(p->device) == device);
    assert_true(device_stats(p->device).finish == device);
}

/* The other knobs turn at the same time. */
static void turn_another(struct pair *p)
{
    static const char *const knobs[] = {"workers", "depth", "io_depth"};
    assert_ok(feedline_loader_set_int(p->device, knobs[rig_draw(p->rig, 3)],
                                      1 + rig_draw(p->rig, 8)));
}

/* n batches with changes all the time; both kinds must have been among them. */
static void check_turns(struct rig *r, const char *options, bool first,
                        uint32_t n)
{
    struct pair p;
    pair_open(&p, r, options);
    if (on_device(p.device) != first)
        fail_msg("%s: %s", options, fdl_loader_finish_reason(p.device));
    for (uint32_t i = 0; i < n || (i < 10 * n && (!p.seen[0] || !p.seen[1]));
         i++) {
        if (rig_draw(r, 2))
            turn(&p);
        if (rig_draw(r, 4) == 0)
            turn_another(&p);
        step(&p);
    }
    if (p.seen[false] == 0 || p.seen[true] == 0)
        fail_msg("%s: %llu of the host, %llu of the device", options,
                 (unsigned long long)p.seen[false],
                 (unsigned long long)p.seen[true]);
    pair_close(&p);
}

static const char *const dtypes[] = {"f32", "f16", "bf16"};
static const char *const layouts[] = {"nchw", "nhwc"};

/* The slots of such loaders have to grow for the other way. */
static void begun_on_the_device(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 6; i++) {
        char options[96];
        snprintf(options, sizeof(options),
                 "dtype=%s layout=%s size=%u depth=%u", dtypes[i % 3],
                 layouts[i % 2], i < 3 ? 96 : 61, 1 + i % 5);
        check_turns(&r, options, true, TEST_FINISH_BATCHES);
    }
    rig_close(&r);
}

/* Those of a batch of a few bytes have room for either. */
static void begun_on_the_host(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 6; i++) {
        char options[96];
        snprintf(options, sizeof(options), "dtype=%s layout=%s size=2 depth=%u",
                 dtypes[i % 3], layouts[i / 3], 1 + i);
        check_turns(&r, options, false, TEST_FINISH_BATCHES);
    }
    rig_close(&r);
}

static void any_channels_views_and_replays(void **state)
{
    (void)state;
    static const char *const options[] = {
        "dtype=f32 size=96 channels=1",
        "dtype=bf16 size=96 channels=4 layout=nhwc",
        "dtype=f32 size=96 op=five_crop batch_size=10",
        "dtype=f32 size=96 replay=4",
        "dtype=f16 size=96 on_error=skip drop_last=true",
    };
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < FDL_COUNT_OF(options); i++) {
        struct pair p;
        pair_open(&p, &r, options[i]);
        for (uint32_t n = 0; n < TEST_FINISH_BATCHES; n++) {
            turn(&p);
            for (uint32_t k = 0; k < HELD && strstr(options[i], "replay"); k++)
                settle(&p, &p.kept[k]); /* or nothing would be left */
            step(&p);
        }
        pair_close(&p);
    }
    rig_close(&r);
}

/* Large ones go in pieces that are not of one size either way; runs end in the
 * middle of them. */
static void in_parts(void **state)
{
    (void)state;
    struct rig r;
    struct pair p;
    rig_open(&r);
    pair_open(&p, &r, "dtype=f32 size=320 batch_size=32 depth=1");
    for (uint32_t epoch = 0;
         epoch < 20 && (!p.in_parts[false] || !p.in_parts[true]); epoch++) {
        assert_ok(feedline_loader_start(p.device, epoch));
        assert_ok(feedline_loader_start(p.host, epoch));
        for (uint32_t n = 1 + rig_draw(&r, 3); n > 0; n--) {
            turn(&p);
            step(&p);
        }
    }
    if (!p.in_parts[false] || !p.in_parts[true])
        fail_msg("none of %llu of the host or %llu of the device in parts",
                 (unsigned long long)p.seen[false],
                 (unsigned long long)p.seen[true]);
    pair_close(&p);
    rig_close(&r);
}

/* ---- Consumers that are late -------------------------------------------- */

#define LATE 12u

struct late {
    feedline_busy *busy;
    struct echo echo[LATE];
    feedline_batch *host[LATE];
    struct feedline_batch_info info[LATE];
    uint32_t n;
};

static void verify_late(struct late *z)
{
    assert_ok(feedline_busy_wait(z->busy));
    for (uint32_t i = 0; i < z->n; i++) {
        struct feedline_batch_info h = rig_look(z->host[i]);
        assert_memory_equal(z->echo[i].memory, h.images.data,
                            (size_t)h.image_bytes);
        assert_memory_equal(z->echo[i].memory + rig_labels_at(&h),
                            h.labels.data, h.count * sizeof(int64_t));
        feedline_batch_release(z->host[i]);
    }
    z->n = 0;
}

/* A batch is given back at once, its bytes are read much later: the next batch
 * in its slot comes the other way, into the same memory. */
static void slot_is_not_reused_too_early(void **state)
{
    (void)state;
    struct rig r;
    struct late z = {.n = 0};
    rig_open(&r);
    feedline_loader *device = open_free(&r, "dtype=f32 size=48 depth=2");
    feedline_loader *host =
        rig_loader(r.dataset, "host", "dtype=f32 size=48 depth=32");
    assert_ok(feedline_busy_create("cuda:0", &z.busy));
    void *stream = feedline_busy_stream(z.busy);
    for (uint32_t i = 0; i < LATE; i++)
        rig_echo_open(&r, &z.echo[i], rig_batch_bytes(host));
    for (uint32_t i = 0; i < 8 * TEST_FINISH_BATCHES; i++) {
        feedline_batch *b = rig_next(device);
        struct feedline_batch_info d = rig_look(b);
        assert_ok(feedline_batch_wait(b, stream));
        assert_ok(feedline_busy_work(z.busy, rig_draw(&r, 200000)));
        rig_read_back(&r, &d, stream, &z.echo[z.n]);
        z.host[z.n++] = rig_next(host);
        feedline_batch_release(b);
        assert_ok(fdl_loader_set_finish(device, rig_draw(&r, 2)));
        if (z.n == LATE)
            verify_late(&z);
    }
    verify_late(&z);
    for (uint32_t i = 0; i < LATE; i++)
        rig_echo_close(&r, &z.echo[i]);
    feedline_busy_destroy(z.busy);
    feedline_loader_destroy(device);
    feedline_loader_destroy(host);
    rig_close(&r);
}

/* ---- From another thread, and around runs ------------------------------- */

struct switcher {
    feedline_loader *loader;
    _Atomic bool over;
    uint32_t turns;
};

static void *switch_on(void *arg)
{
    struct switcher *s = arg;
    while (!atomic_load(&s->over)) {
        if (fdl_loader_set_finish(s->loader, s->turns % 2) < 0)
            return s;
        s->turns++;
        sched_yield();
    }
    return NULL;
}

/* Depth and workers change too, and runs begin and end. */
static void while_everything_changes(void **state)
{
    (void)state;
    struct rig r;
    struct pair p;
    void *failed;
    pthread_t thread;
    rig_open(&r);
    pair_open(&p, &r, "dtype=f16 size=64");
    struct switcher s = {.loader = p.device};
    assert_int_equal(pthread_create(&thread, NULL, switch_on, &s), 0);
    for (uint32_t i = 0; i < 30; i++) {
        assert_ok(
            feedline_loader_set_int(p.device, "depth", 1 + rig_draw(&r, 9)));
        assert_ok(
            feedline_loader_set_int(p.device, "workers", 1 + rig_draw(&r, 4)));
        if (i % 7 == 3) {
            assert_ok(feedline_loader_start(p.device, i));
            assert_ok(feedline_loader_start(p.host, i));
        }
        for (uint32_t n = rig_draw(&r, 8); n > 0; n--)
            step(&p);
    }
    atomic_store(&s.over, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_true(s.turns > 1);
    pair_close(&p);
    rig_close(&r);
}

/* A position that was saved is one of either way. */
static void goes_on_where_it_was_saved(void **state)
{
    (void)state;
    struct rig r;
    char saved[256];
    uint64_t needed;
    rig_open(&r);
    for (uint32_t taken = 1; taken < 2 * RIG_BATCHES; taken += 4) {
        struct pair p;
        feedline_loader *first = open_free(&r, "dtype=f32 size=64");
        for (uint32_t i = 0; i < taken; i++) {
            assert_ok(fdl_loader_set_finish(first, i % 2));
            feedline_batch_release(rig_next(first));
        }
        assert_ok(feedline_loader_save(first, saved, sizeof(saved), &needed));
        feedline_loader_destroy(first);
        pair_open(&p, &r, "dtype=f32 size=64");
        assert_ok(feedline_loader_restore(p.device, saved));
        assert_ok(feedline_loader_restore(p.host, saved));
        for (uint32_t i = 0; i < 4; i++)
            step(&p);
        pair_close(&p);
    }
    rig_close(&r);
}

/* Batches outlive their loader, however they were finished. */
static void held_batches_outlive_the_loader(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < 4; i++) {
        struct pair p;
        pair_open(&p, &r, "dtype=f32 size=64 depth=2");
        for (uint32_t k = 0; k < 2; k++) {
            assert_ok(fdl_loader_set_finish(p.device, (k + i) % 2));
            for (uint32_t n = 0; n < 3; n++) /* what was issued before */
                feedline_batch_release(rig_next(p.device)),
                    feedline_batch_release(rig_next(p.host));
            p.kept[k] = (struct kept){rig_next(p.device), rig_next(p.host)};
        }
        feedline_loader_destroy(p.device);
        settle(&p, &p.kept[0]);
        settle(&p, &p.kept[1]);
        rig_echo_close(&r, &p.echo);
        feedline_loader_destroy(p.host);
    }
    rig_close(&r);
}

/* ---- Figures ------------------------------------------------------------ */

/* Memory of a choice that nobody made is that of finish=device, and a table; it
 * grows with the first change, once. */
static void memory_is_told(void **state)
{
    (void)state;
    enum { DEPTH = 3, SLOTS = DEPTH + FDL_SPARE_SLOTS, IMAGE = 64 * 64 * 3 };
    const uint64_t tables = RIG_BATCH * (2 * sizeof(int64_t) + sizeof(int32_t));
    struct rig r;
    rig_open(&r);
    feedline_loader *fixed = rig_loader(
        r.dataset, "cuda:0", "dtype=f32 size=64 depth=3 finish=device");
    feedline_loader *l = open_free(&r, "dtype=f32 size=64 depth=3");
    assert_true(on_device(l));
    feedline_batch_release(rig_next(fixed));
    feedline_batch_release(rig_next(l));
    struct feedline_device_stats f = device_stats(fixed), d = device_stats(l);
    assert_int_equal(d.pinned_bytes, f.pinned_bytes);
    assert_in_range(d.device_bytes - f.device_bytes, SLOTS * tables,
                    SLOTS * (tables + 64));

    uint64_t before = memory_bytes(l), wire = fdl_ring_slot_bytes(l->ring);
    assert_in_range(wire, RIG_BATCH * IMAGE + tables,
                    RIG_BATCH * IMAGE + tables + 64);
    assert_ok(fdl_loader_set_finish(l, false));
    struct feedline_device_stats now = device_stats(l);
    uint64_t wide = fdl_ring_slot_bytes(l->ring) - wire;
    assert_in_range(wide, RIG_BATCH * IMAGE * 4 + tables,
                    RIG_BATCH * IMAGE * 4 + tables + 64);
    assert_int_equal(now.device_bytes, d.device_bytes);
    assert_int_equal(now.pinned_bytes, d.pinned_bytes + SLOTS * wide);
    assert_true(memory_bytes(l) >= before + SLOTS * wide);
    assert_int_equal(fdl_ring_memory(l->ring), SLOTS * (wire + wide));

    for (uint32_t i = 0; i < 4; i++) {
        assert_ok(fdl_loader_set_finish(l, i % 2 == 0));
        feedline_batch_release(rig_next(l));
        assert_int_equal(fdl_ring_memory(l->ring), SLOTS * (wire + wide));
    }
    /* Slots that come later have room for what is in force. */
    assert_false(on_device(l));
    assert_ok(feedline_loader_set_int(l, "depth", DEPTH + 2));
    assert_int_equal(fdl_ring_memory(l->ring), (SLOTS + 2) * (wire + wide));
    assert_ok(fdl_loader_set_finish(l, true));
    assert_ok(feedline_loader_set_int(l, "depth", DEPTH + 3));
    assert_int_equal(fdl_ring_memory(l->ring),
                     (SLOTS + 2) * (wire + wide) + wire);
    assert_ok(fdl_loader_set_finish(l, false));
    assert_int_equal(fdl_ring_memory(l->ring), (SLOTS + 3) * (wire + wide));
    feedline_loader_destroy(l);
    feedline_loader_destroy(fixed);
    rig_close(&r);
}

/* Who finished each batch, and what crossed the bus for it. */
static void batches_are_counted(void **state)
{
    (void)state;
    struct rig r;
    struct pair p;
    rig_open(&r);
    pair_open(&p, &r, "dtype=f32 size=64 epochs=3 drop_last=true");
    const char *reason = fdl_loader_finish_reason(p.device);
    const struct fdl_finish_costs *costs = &p.device->finish_costs;
    assert_int_equal(costs->device_bytes, RIG_BATCH * 64 * 64 * 3);
    assert_int_equal(costs->host_bytes, 4 * costs->device_bytes);
    assert_true(costs->latency_ns > 7999 && costs->latency_ns < 8001);
    assert_true(costs->bytes_per_ns > 24.9 && costs->bytes_per_ns < 25.1);
    for (uint32_t i = 0; i < 3 * (RIG_BATCHES - 1); i++) {
        assert_ok(fdl_loader_set_finish(p.device, i / 4 % 2));
        assert_true((strstr(device_stats(p.device).finish_reason, "tuner") !=
                     NULL) == (i / 4 % 2 == 0));
        step(&p);
    }
    for (uint32_t i = 0; i < HELD; i++)
        settle(&p, &p.kept[i]);
    assert_ok(fdl_loader_set_finish(p.device, true));
    struct feedline_device_stats s = device_stats(p.device);
    const struct fdl_ring *ring = p.device->ring;
    assert_true(ring->layout.finish && !ring->other.finish);
    assert_ptr_equal(s.finish_reason, reason);
    assert_int_equal(s.batches, p.seen[false] + p.seen[true]);
    assert_int_equal(s.finished, p.seen[true]);
    assert_int_equal(s.copied_bytes, p.seen[true] * ring->layout.bytes +
                                         p.seen[false] * ring->other.bytes);
    pair_close(&p);
    rig_close(&r);
}

/* ---- No choice ---------------------------------------------------------- */

static void is_refused_where_there_is_no_choice(void **state)
{
    (void)state;
    static const struct {
        const char *device, *options, *words;
    } rows[] = {
        {"host", "dtype=f32", "delivered to the host"},
        {"cuda:0", "dtype=f32 finish=host", "finish=host was asked for"},
        {"cuda:0", "dtype=f32 finish=device", "finish=device was asked for"},
        {"cuda:0", "dtype=u8", "u8 batches need no finishing"},
        {"cuda:0", "dtype=f32 on_error=zero", "zeros that are not normalised"},
        {"cuda:0", "dtype=f32 op=random_erasing", "random_erasing"},
        {"cuda:0", "dtype=f32 tuner=off", "copy of"},
    };
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        char options[128];
        snprintf(options, sizeof(options), "tuner=observe %s", rows[i].options);
        feedline_loader *l = rig_loader(r.dataset, rows[i].device, options);
        bool device = on_device(l);
        assert_false(fdl_loader_finish_is_free(l));
        assert_error(fdl_loader_set_finish(l, !device), FEEDLINE_ESTATE,
                     rows[i].words);
        assert_ok(fdl_loader_set_finish(l, device));
        assert_true(on_device(l) == device);
        feedline_batch_release(rig_next(l));
        feedline_loader_destroy(l);
    }
    rig_close(&r);
}

/* Without memory for both, it stays; there, the way back is always open. */
static void the_budget_is_kept(void **state)
{
    (void)state;
    struct rig r;
    struct echo e;
    rig_open(&r);
    char options[128];
    snprintf(options, sizeof(options),
             "tuner=observe dtype=f32 size=64 depth=3 memory_budget=%u",
             6 * RIG_BATCH * 64 * 64 * 3);
    feedline_loader *l = rig_loader(r.dataset, "cuda:0", options);
    feedline_loader *host = rig_loader(r.dataset, "host", "dtype=f32 size=64");
    assert_true(on_device(l));
    assert_false(fdl_loader_finish_is_free(l));
    rig_echo_open(&r, &e, rig_batch_bytes(host));
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t memory = fdl_ring_memory(l->ring);
        assert_error(fdl_loader_set_finish(l, false), FEEDLINE_ERANGE,
                     "memory_budget");
        assert_int_equal(fdl_ring_memory(l->ring), memory);
        assert_same_next(&r, l, host, 0, r.streams[0], &e);
    }
    rig_echo_close(&r, &e);
    feedline_loader_destroy(l);

    l = open_free(&r, "dtype=f32 size=64 depth=3 memory_budget=40m");
    feedline_batch_release(rig_next(l));
    assert_ok(fdl_loader_set_finish(l, false));
    assert_true(fdl_loader_finish_is_free(l));
    uint64_t slot = fdl_ring_slot_bytes(l->ring);
    int64_t most = (int64_t)((UINT64_C(40) << 20) / slot) - FDL_SPARE_SLOTS;
    assert_error(feedline_loader_set_int(l, "depth", most + 1), FEEDLINE_ERANGE,
                 "memory_budget");
    assert_ok(feedline_loader_set_int(l, "depth", most));
    assert_true(fdl_ring_memory(l->ring) <= UINT64_C(40) << 20);
    assert_true(fdl_loader_finish_is_free(l));
    assert_ok(fdl_loader_set_finish(l, true));
    feedline_batch_release(rig_next(l));
    feedline_loader_destroy(l);
    feedline_loader_destroy(host);
    rig_close(&r);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(begun_on_the_device),
    cmocka_unit_test(begun_on_the_host),
    cmocka_unit_test(any_channels_views_and_replays),
    cmocka_unit_test(in_parts),
    cmocka_unit_test(slot_is_not_reused_too_early),
    cmocka_unit_test(while_everything_changes),
    cmocka_unit_test(goes_on_where_it_was_saved),
    cmocka_unit_test(held_batches_outlive_the_loader),
    cmocka_unit_test(memory_is_told),
    cmocka_unit_test(batches_are_counted),
    cmocka_unit_test(is_refused_where_there_is_no_choice),
    cmocka_unit_test(the_budget_is_kept),
};

TEST_MAIN("finish_switch", cases)

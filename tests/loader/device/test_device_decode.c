/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders with decode=device, held against loaders of the host: every stream
 * has the same bytes, in the same order, with the same verdicts, whoever
 * decoded a sample. The double of the CUDA driver runs the kernels.
 */
#include "cuda_double.h"
#include "device_rig.h"
#include "loader/loader.h"
#include "loader/stream/decode_choice.h"
#include "tests/decode/make_jpeg.h"

#include <feedline/exchange.h>
#include <feedline/packed.h>

#include <unistd.h>

#define KINDS 66u /* samples */

/* Files of all kinds: every sampling, gray, restarts, progressive, four
 * components, several scans, large and tiny. */
struct files {
    void *data[KINDS];
    uint64_t sizes[KINDS];
    int64_t labels[KINDS];
};

static void make_file(struct files *f, uint32_t i, bool packed)
{
    uint64_t seed = i * 2654435761u + 1;
    int32_t side = i % 7 == 0 ? 500 : 300;
    struct make_jpeg m = i % 5 == 0 ? make_any_coding(&seed, side, side)
                                    : make_any(&seed, side, side);
    if (i % 4 != 0) { /* as most photos are */
        m.components = i % 9 == 1 ? 1 : 3;
        m.h = m.components == 3 ? make_within(&seed, 1, 2) : 1;
        m.v = m.components == 3 ? make_within(&seed, 1, 2) : 1;
        m.width = FDL_MAX(m.width, 40);
    }
    m.arithmetic = false;
    size_t size;
    f->data[i] = make_jpeg(&m, &size);
    f->sizes[i] = size;
    f->labels[i] = i % 10;
    void *smaller;
    uint64_t bytes;
    if (packed && i % 11 != 3 &&
        feedline_jpeg_pack(f->data[i], size, &smaller, &bytes) >= 0) {
        free(f->data[i]);
        f->data[i] = smaller;
        f->sizes[i] = bytes;
    }
}

/* A rig whose data set is these files, packed if the host can decode that. */
static void open_files(struct rig *r, struct files *f, bool packed)
{
    packed &= (feedline_features() & FEEDLINE_FEATURE_PACKED) != 0;
    rig_open(r);
    feedline_dataset_close(r->dataset);
    for (uint32_t i = 0; i < KINDS; i++)
        make_file(f, i, packed);
    assert_ok(feedline_dataset_open_memory(
        (const void *const *)f->data, f->sizes, f->labels, KINDS, &r->dataset));
}

static void close_files(struct rig *r, struct files *f)
{
    rig_close(r);
    for (uint32_t i = 0; i < KINDS; i++)
        free(f->data[i]);
}

/* Whether this build and processor make samples for a device. */
static bool can_decode(void)
{
    void *packed;
    uint64_t bytes, size;
    uint8_t *file = fixture_jpeg(1, &size);
    bool can = feedline_jpeg_pack(file, size, &packed, &bytes) >= 0;
    if (can)
        free(packed);
    free(file);
    return can && feedline_features() & FEEDLINE_FEATURE_PACKED;
}

#define EPOCH ((KINDS + RIG_BATCH - 1) / RIG_BATCH)

static feedline_loader *on_device(const struct rig *r, const char *options)
{
    char text[256];
    snprintf(text, sizeof(text), "%s decode=device", options);
    return rig_loader(r->dataset, "cuda:0", text);
}

static void open_pair(const struct rig *r, struct pair *p, const char *options)
{
    p->device = on_device(r, options);
    p->host = rig_loader(r->dataset, "host", options);
    rig_echo_open(r, &p->echo, rig_batch_bytes(p->host));
}

/* `n` batches the same; how many samples the device decoded of them. */
static uint64_t compare(struct rig *r, const char *options, uint32_t n)
{
    struct pair p;
    open_pair(r, &p, options);
    for (uint32_t i = 0; i < n; i++)
        rig_pair_next(r, &p, 0, r->streams[i % 2]);
    uint64_t decoded = fixture_device(p.device).decoded;
    assert_int_equal(fixture_device(p.device).decode, 1);
    rig_pair_close(r, &p);
    return decoded;
}

TEST(packed_samples_are_the_hosts)
{
    static const char *const forms[] = {"dtype=f32 size=96",
                                        "dtype=f16 layout=nhwc size=96",
                                        "dtype=bf16 size=64",
                                        "dtype=u8 layout=nhwc size=96",
                                        "dtype=u8 size=96",
                                        "dtype=u8 channels=1 size=75",
                                        "dtype=f32 channels=1 size=128",
                                        "dtype=f32"};
    struct rig r;
    struct files f;
    open_files(&r, &f, true);
    for (uint32_t i = 0; i < FDL_COUNT_OF(forms); i++) {
        char options[96];
        snprintf(options, sizeof(options), "%s workers=%u", forms[i],
                 i % 3 + 1);
        uint64_t decoded = compare(&r, options, EPOCH + 2);
        assert_true(decoded > KINDS / 4 || !can_decode());
    }
    close_files(&r, &f);
}

/* In the first epoch the index is made, later ones are the device's. */
TEST(indexed_samples_are_the_hosts)
{
    static const char *const forms[] = {
        "dtype=f32 size=96 jpeg_index=true workers=1",
        "dtype=u8 size=96 layout=nhwc jpeg_index=true workers=3",
        "dtype=u8 size=75 jpeg_index=true workers=2"};
    struct rig r;
    struct files f;
    open_files(&r, &f, false);
    for (uint32_t i = 0; i < FDL_COUNT_OF(forms); i++) {
        assert_true(compare(&r, forms[i], 4 * EPOCH) > KINDS / 2 ||
                    !can_decode());
    }
    close_files(&r, &f);
}

TEST(mixed_batches_are_the_hosts)
{
    static const char *const forms[] = {
        "dtype=f32 op=mix size=64", "dtype=f32 layout=nhwc op=cutmix size=64",
        "dtype=bf16 op=cutmix"};
    struct rig r;
    struct files f;
    open_files(&r, &f, true);
    for (uint32_t i = 0; i < FDL_COUNT_OF(forms); i++)
        assert_true(compare(&r, forms[i], EPOCH + 2) > 0 || !can_decode());
    close_files(&r, &f);
}

/* Steps on pixels are the host's, for each sample that has some. */
TEST(steps_are_the_hosts)
{
    struct rig r;
    struct files f;
    open_files(&r, &f, true);
    compare(&r, "dtype=u8 layout=nhwc op=color_jitter", EPOCH);
    compare(&r, "dtype=u8 layout=nhwc op=random_grayscale", EPOCH);
    close_files(&r, &f);
}

/* Finished by the program's own copy of each batch. */
TEST(copied_batches_are_the_hosts)
{
    struct rig r;
    struct files f;
    struct pair p;
    void *to;
    open_files(&r, &f, true);
    open_pair(&r, &p, "dtype=f16 size=64 handover=copy");
    assert_cuda(r.run.cuda->MemAlloc(&to, (size_t)rig_batch_bytes(p.host)));
    for (uint32_t i = 0; i < EPOCH; i++) {
        feedline_batch *db = fixture_take(p.device), *hb = fixture_take(p.host);
        struct feedline_batch_info d = fixture_info(db), h = fixture_info(hb);
        assert_ok(feedline_batch_copy(db, to, NULL, r.streams[0]));
        d.images.data = to;
        rig_read_back(&r, &d, r.streams[0], &p.echo);
        assert_cuda(r.run.cuda->StreamSynchronize(r.streams[0]));
        assert_same_bytes(&d, &h, &p.echo);
        feedline_batch_release(db);
        feedline_batch_release(hb);
    }
    assert_true(fixture_device(p.device).decoded > 0 || !can_decode());
    assert_cuda(r.run.cuda->MemFree(to));
    rig_pair_close(&r, &p);
    close_files(&r, &f);
}

/* Bytes that the host finds damaged, in either form of a sample: what becomes
 * of them is what on_error says, wherever the others are decoded. */
static void damage_files(struct files *f)
{
    for (uint32_t i = 0; i < KINDS; i += 6) {
        uint8_t *data = f->data[i];
        memset(data + f->sizes[i] / (i % 12 ? 2 : 3), i % 12 ? 0 : 0xff, 40);
        if (i % 18 == 0)
            memset(data, 0, 8);
    }
}

TEST(damaged_samples_are_the_hosts)
{
    static const char *const forms[] = {
        "on_error=zero dtype=f32 size=64",
        "on_error=zero dtype=u8 layout=nhwc size=64 jpeg_index=true",
        "on_error=zero dtype=f32 op=mix size=64",
        "on_error=zero dtype=f32 size=64 checksums=false",
        "on_error=skip dtype=u8 layout=nhwc size=64",
        "on_error=skip dtype=f16 workers=3 size=64 jpeg_index=true",
        "on_error=zero dtype=u8 size=64"};
    struct rig r;
    struct files f;
    for (uint32_t i = 0; i < FDL_COUNT_OF(forms); i++) {
        open_files(&r, &f, i % 2 == 0);
        damage_files(&f);
        compare(&r, forms[i], 2 * EPOCH);
        close_files(&r, &f);
    }
}

TEST(an_error_ends_the_same_batch)
{
    struct rig r;
    struct files f;
    struct pair p;
    open_files(&r, &f, true);
    memset(f.data[17], 0, 8);
    open_pair(&r, &p, "dtype=f32 size=64 shuffle=false");
    for (uint32_t i = 0; i < 17 / RIG_BATCH; i++)
        rig_pair_next(&r, &p, 0, r.streams[0]);
    feedline_batch *b;
    char words[512];
    int32_t status = feedline_loader_next(p.host, -1, &b);
    assert_true(status < 0);
    snprintf(words, sizeof(words), "%s", feedline_last_error());
    assert_error(feedline_loader_next(p.device, -1, &b), status, words);
    rig_pair_close(&r, &p);
    close_files(&r, &f);
}

/* A state that either saved goes on with the other. */
TEST(resumes_where_the_other_stopped)
{
    struct rig r;
    struct files f;
    struct pair p;
    open_files(&r, &f, true);
    open_pair(&r, &p, "dtype=f32 size=64");
    for (uint32_t round = 0; round < 4; round++) {
        char state[256], other[256];
        uint64_t needed;
        for (uint32_t i = 0; i < 3 + round; i++)
            rig_pair_next(&r, &p, 0, r.streams[0]);
        assert_ok(
            feedline_loader_save(p.device, state, sizeof(state), &needed));
        assert_ok(feedline_loader_save(p.host, other, sizeof(other), &needed));
        assert_string_equal(state, other);
        if (round % 2)
            feedline_loader_stop(p.device);
        assert_ok(feedline_loader_restore(p.device, other));
        assert_ok(feedline_loader_restore(p.host, state));
    }
    rig_pair_close(&r, &p);
    close_files(&r, &f);
}

/* ---- Either of them, as measured ----------------------------------------- */

/* Whoever decodes changes every other batch, among them those that are under
 * way. */
TEST(a_change_between_batches_cannot_be_seen)
{
    static const char *const forms[] = {
        "dtype=f32 size=96 decode=auto tuner=off workers=3",
        "dtype=u8 layout=nhwc size=64 decode=auto tuner=off jpeg_index=true",
        "dtype=f16 size=64 decode=auto tuner=off op=cutmix"};
    struct rig r;
    struct files f;
    for (uint32_t i = 0; i < FDL_COUNT_OF(forms); i++) {
        struct pair p;
        open_files(&r, &f, i != 1);
        rig_pair_open(&r, &p, "cuda:0", i == 1 ? "auto" : "device", forms[i]);
        struct feedline_device_stats begun = fixture_device(p.device);
        assert_int_equal(begun.decode, 0);
        assert_string_equal(begun.decode_reason, "nothing is measured (tuner)");
        for (uint32_t n = 0; n < 3 * EPOCH; n++) {
            fdl_decode_choose(fdl_engine_decoding(p.device->engine),
                              n / 2 % 2 == 0, "the test's turn");
            rig_pair_next(&r, &p, 0, r.streams[n % 2]);
        }
        uint64_t decoded = fixture_device(p.device).decoded;
        assert_true(decoded > 0 || !can_decode());
        assert_true(decoded < 3 * (uint64_t)KINDS);
        rig_pair_close(&r, &p);
        close_files(&r, &f);
    }
}

/* Batches until whoever decodes is this one, with such words. */
static void take_until(feedline_loader *l, int32_t device, const char *words)
{
    for (;;) {
        feedline_batch *b = fixture_take(l);
        feedline_batch_release(b);
        struct feedline_device_stats s = fixture_device(l);
        if (s.decode == device && strstr(s.decode_reason, words))
            return;
    }
}

/* Kernels that do nothing: the one worker is what is waited for, and would be
 * less so. */
static feedline_loader *open_measured(struct rig *r, struct files *f)
{
    open_files(r, f, true);
    assert_true(double_set("decode=0"));
    assert_true(double_set("hash=0"));
    return rig_loader(r->dataset, "cuda:0",
                      "dtype=u8 layout=nhwc size=128 decode=auto workers=1 "
                      "depth=4 io_depth=4");
}

TEST(auto_finds_a_device_that_is_faster)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    struct rig r;
    struct files f;
    feedline_loader *l = open_measured(&r, &f);
    take_until(l, 1, "where the host does");
    assert_true(fixture_device(l).decoded > 0);
    char words[8192];
    uint64_t needed;
    assert_ok(feedline_loader_explain(l, words, sizeof(words), &needed));
    assert_non_null(strstr(words, "decode=auto: the device decodes ("));
    feedline_loader_destroy(l);
    close_files(&r, &f);
}

/* Kernels that have something to decode, ms a batch. */
static int64_t take_long(const char *kernel, uint64_t amount, void *user)
{
    const feedline_loader *l = user;
    (void)amount;
    return strstr(kernel, "place") &&
                   atomic_load(&fdl_engine_decoding(l->engine)->device)
               ? 50000000
               : 0;
}

TEST(auto_leaves_a_device_that_is_slower)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    struct rig r;
    struct files f;
    feedline_loader *l = open_measured(&r, &f);
    double_set_kernel_cost(take_long, l);
    take_until(l, 1, "it is tried");
    take_until(l, 0, "where the host does");
    feedline_loader_destroy(l);
    double_set_kernel_cost(NULL, NULL);
    close_files(&r, &f);
}

static int64_t take_20_ms(const char *kernel, uint64_t amount, void *user)
{
    (void)amount;
    (void)user;
    return strstr(kernel, "place") ? 20000000 : 0;
}

/* Kernels of 20 ms, and a program that does nothing else. */
TEST(a_slow_device_is_what_is_waited_for)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    struct rig r;
    struct files f;
    struct feedline_verdict v = {.struct_size = sizeof(v)};
    open_files(&r, &f, true);
    assert_true(double_set("decode=0"));
    double_set_kernel_cost(take_20_ms, NULL);
    feedline_loader *l =
        on_device(&r, "dtype=u8 layout=nhwc size=128 workers=2 repeats=20 "
                      "epoch_samples=1320");
    for (uint32_t i = 0; i < 80; i++)
        feedline_batch_release(fixture_take(l));
    assert_ok(feedline_loader_get_verdict(l, &v));
    print_message("%s\n%s\n", v.sentence, v.action);
    assert_string_equal(v.code, "DEVICE_DECODE_BOUND");
    feedline_loader_destroy(l);
    double_set_kernel_cost(NULL, NULL);
    close_files(&r, &f);
}

/* The call at the end of an epoch waits for what the device has left to do. */
TEST(the_end_of_an_epoch_is_waited_for)
{
    struct rig r;
    struct files f;
    open_files(&r, &f, true);
    assert_true(double_set("decode=0"));
    double_set_kernel_cost(take_20_ms, NULL);
    feedline_loader *l =
        on_device(&r, "dtype=u8 layout=nhwc size=64 depth=12 epochs=1");
    feedline_batch *b;
    while ((b = fixture_next(l)))
        feedline_batch_release(b);
    struct feedline_stats s = fixture_stats(l);
    assert_true(s.wait_ns > s.api_ns);
    feedline_loader_destroy(l);
    double_set_kernel_cost(NULL, NULL);
    close_files(&r, &f);
}

/* Such loaders are the host's, with the reason; and decode=device is refused.
 */
TEST(without_kernels_auto_is_the_hosts)
{
    struct fixture images;
    feedline_batch *b;
    double_reset();
    assert_true(double_set("devices=2,capability=37"));
    fixture_create(&images, 4);
    feedline_loader *l = fixture_open(images.ds, "device=cuda:1 decode=auto "
                                                 "dtype=u8 layout=nhwc");
    struct feedline_device_stats s = fixture_device(l);
    assert_int_equal(s.decode, 0);
    assert_non_null(strstr(s.decode_reason, "the device cannot: "));
    assert_non_null(strstr(s.decode_reason, "the kernels that decode"));
    fixture_pass(l, 1);
    assert_int_equal(fixture_device(l).decode_batches, 0);
    feedline_loader_destroy(l);
    l = fixture_open(images.ds,
                     "device=cuda:1 decode=device dtype=u8 layout=nhwc");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDEVICE,
                 "decode=device");
    feedline_loader_destroy(l);
    fixture_remove(&images);
}

/* ---- What goes wrong ----------------------------------------------------- */

TEST(says_why_it_cannot)
{
    static const struct {
        const char *options, *words, *more;
    } rows[] = {
        {"device=host dtype=f32", "batches are delivered to the host", ""},
        {"device=cuda:0 dtype=f32 finish=host", "the host finishes", ""},
        {"device=cuda:0 dtype=u8 layout=nhwc", "mixed by the host",
         ";mix mixup_alpha=1"},
        {"device=cuda:0 dtype=u8 layout=nhwc", "several views",
         ";five_crop width=5 height=5"},
        {"device=cuda:0 dtype=u8 layout=nhwc max_sample_bytes=1m",
         "max_sample_bytes", ""},
    };
    struct fixture images;
    double_reset();
    fixture_create(&images, 4);
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        feedline_loader *l;
        char ops[96];
        snprintf(ops, sizeof(ops), "resize width=9 height=9%s", rows[i].more);
        int32_t status =
            fixture_try(&l, images.ds, NULL, ops,
                        "decode=device batch_size=10 %s", rows[i].options);
        assert_int_equal(status, FEEDLINE_EINVAL);
        assert_non_null(
            strstr(feedline_last_error(), "decode=device is not possible"));
        assert_non_null(strstr(feedline_last_error(), rows[i].words));
        SCOPED_LOADER other =
            fixture_with(images.ds, NULL, ops, "decode=auto batch_size=10 %s",
                         rows[i].options);
        if (i > 0)
            assert_non_null(
                strstr(fixture_device(other).decode_reason, rows[i].words));
    }
    fixture_remove(&images);
}

/* A payload that changes on the bus: the batch is out by then, so the next
 * call ends the run and names the sample; at the latest, the one for the
 * epoch's end. */
TEST(lost_data_is_an_error)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    struct rig r;
    struct files f;
    open_files(&r, &f, true);
    for (uint32_t last = 0; last < 2; last++) {
        SCOPED_LOADER l = on_device(
            &r, last ? "dtype=f32 size=64 shuffle=false batch_size=66 epochs=1"
                     : "dtype=f32 size=64 shuffle=false workers=1");
        feedline_batch *b;
        double_damage_payload();
        int32_t status = FEEDLINE_OK;
        uint32_t n = 0;
        for (; status == FEEDLINE_OK; n++) {
            status = feedline_loader_next(l, -1, &b);
            if (status == FEEDLINE_OK)
                feedline_batch_release(b);
        }
        assert_int_equal(status, FEEDLINE_EDEVICE);
        assert_true(n <= EPOCH + 1);
        assert_non_null(strstr(feedline_last_error(), "lost data"));
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE, "");
    }
    close_files(&r, &f);
}

/* A few batches, where call n of a function of the driver fails: an error with
 * words, or none, nothing left, nothing hangs. */
static int32_t run_failing(const struct fixture *images, const char *decode,
                           const char *name, uint64_t n, char words[512])
{
    int32_t status = FEEDLINE_OK;
    feedline_batch *b;
    double_reset();
    assert_true(double_fail(name, n, 999, false));
    feedline_loader *l = fixture_with(
        images->ds, NULL, "resize width=32 height=32",
        "device=cuda:0 decode=%s dtype=u8 batch_size=4 depth=2", decode);
    for (uint32_t k = 0; k < 3 && status == FEEDLINE_OK; k++) {
        status = feedline_loader_next(l, -1, &b);
        if (status == FEEDLINE_OK)
            feedline_batch_release(b);
    }
    snprintf(words, 512, "%s", status < 0 ? feedline_last_error() : "no error");
    assert_true(strlen(words) >= 8);
    feedline_loader_destroy(l);
    double_fail_no_more();
    double_drain();
    char faults[1024];
    if (double_check_leaks() + double_faults(faults, sizeof(faults)) > 0)
        fail_msg("%s, call %u: %s", name, (unsigned)n, faults);
    return status;
}

/* At each of its first calls. */
TEST(every_call_may_fail)
{
    static const char *const names[] = {"cuModuleLoadData",
                                        "cuModuleGetFunction",
                                        "cuLaunchKernel",
                                        "cuMemcpyDtoHAsync",
                                        "cuMemcpyHtoDAsync",
                                        "cuEventCreate",
                                        "cuEventRecord",
                                        "cuStreamWaitEvent",
                                        "cuMemAllocFromPoolAsync",
                                        "cuEventSynchronize",
                                        "cuStreamCreateWithPriority",
                                        "cuStreamSynchronize",
                                        "cuCtxGetStreamPriorityRange"};
    struct fixture images;
    char words[512];
    fixture_create(&images, 16);
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++) {
        uint32_t failed = 0;
        for (uint64_t n = 1; n <= 12; n++)
            failed += run_failing(&images, "device", names[i], n, words) < 0;
        assert_true(failed > 0 || i == 10 || strstr(names[i], "Module"));
    }
    fixture_remove(&images);
}

/* What decodes has memory of its own; without it the error says who does not
 * need it, also where nobody asked for the device. */
TEST(scratch_memory_may_fail)
{
    static const char *const asked[] = {"device", "auto"};
    const char *name = "cuMemAllocFromPoolAsync";
    struct fixture images;
    char words[512];
    fixture_create(&images, 16);
    for (size_t i = 0; i < FDL_COUNT_OF(asked); i++) {
        uint32_t failed = 0, in_scratch = 0;
        for (uint64_t n = 1; n <= 12; n++) {
            failed += run_failing(&images, asked[i], name, n, words) < 0;
            in_scratch += strstr(words, "scratch memory") != NULL &&
                          strstr(words, "decode=host") != NULL;
        }
        assert_true(failed > 1);
        assert_int_equal(in_scratch, 1);
    }
    fixture_remove(&images);
}

TEST_MAIN("device_decode")

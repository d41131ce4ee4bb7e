/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed batches: images and soft targets are what the drawn parameters say of
 * the images that the same loader gives unmixed, and neither they nor the draws
 * depend on workers, depth, or where a run began. That the arithmetic is
 * torchvision's and timm's is tested in Python.
 */
#include "base/compiler.h"
#include "decode/plan/mix.h"
#include "tests/loader/fixture.h"

#include <feedline/exchange.h>
#include <feedline/targets.h>

#include <math.h>

/* Wider than what the last pass mixes at once. */
enum { N = 40, WIDTH = 264, HEIGHT = 8, CLASSES = 3 };

FIXTURE_IMAGES(N)

#define CROP   "random_resized_crop width=264 height=8"
#define BOTH   CROP ";mix mixup_alpha=0.4 cutmix_alpha=1"
#define ERASED CROP ";random_erasing p=0.6 noise=true count=3"
#define ELEM                                                                   \
  CROP ";mix like=timm mode=elem p=0.7 mixup_alpha=0.8 cutmix_alpha=1 "        \
       "label_smoothing=0.1 num_classes=5"

static uint64_t hash_rest(feedline_loader *l, uint32_t *batches)
{
    uint64_t hash = 1;
    feedline_batch *b;
    while ((b = fixture_next(l))) {
        struct feedline_batch_info info = fixture_info(b);
        struct feedline_batch_targets t = fixture_targets(b);
        hash = fixture_hash(hash, info.images.data, info.image_bytes);
        hash = fixture_hash(hash, t.soft.data,
                            info.count * t.classes * sizeof(float));
        hash = fixture_hash(hash, t.mixes, info.count * sizeof(*t.mixes));
        feedline_batch_release(b);
        ++*batches;
    }
    return hash;
}

static uint64_t hash_of(const char *operations, const char *options)
{
    uint32_t batches = 0;
    SCOPED_LOADER l =
        fixture_with(images.ds, NULL, operations, "epochs=1 %s", options);
    uint64_t hash = hash_rest(l, &batches);
    assert_int_equal(batches, 5);
    return hash;
}

TEST_WITH(workers_and_depth_change_nothing, setup, teardown)
{
    static const char *const ways[] = {"workers=1 depth=1", "workers=2 depth=3",
                                       "workers=4 depth=8",
                                       "workers=8 depth=2 reader=memory"};
    static const char *const operations[] = {BOTH, ELEM};
    for (uint32_t o = 0; o < FDL_COUNT_OF(operations); o++) {
        uint64_t first = 0;
        for (uint32_t w = 0; w < FDL_COUNT_OF(ways); w++) {
            char options[128];
            snprintf(options, sizeof(options),
                     "batch_size=9 shuffle=true seed=7 %s", ways[w]);
            uint64_t hash = hash_of(operations[o], options);
            first = w == 0 ? hash : first;
            assert_true(hash == first);
        }
    }
}

TEST_WITH(a_resumed_run_draws_the_same, setup, teardown)
{
    const char *options = "batch_size=8 epochs=1 shuffle=true workers=2";
    uint32_t batches = 0;
    char state[4096];
    uint64_t bytes;
    SCOPED_LOADER l = fixture_with(images.ds, NULL, ELEM, "%s", options);
    for (int i = 0; i < 2; i++)
        feedline_batch_release(fixture_next(l));
    assert_ok(feedline_loader_save(l, state, sizeof(state), &bytes));
    uint64_t rest = hash_rest(l, &batches);
    SCOPED_LOADER again = fixture_with(images.ds, NULL, ELEM, "%s", options);
    assert_ok(feedline_loader_restore(again, state));
    assert_true(hash_rest(again, &batches) == rest);
    assert_int_equal(batches, 6);
}

/* ---- What is in it ------------------------------------------------------ */

/* Element e of image i: what it was, and what its partner was. */
static float mixed(const struct feedline_image_mix *m, size_t e, float x,
                   float y)
{
    int32_t at_x = (int32_t)(e % WIDTH), at_y = (int32_t)(e / WIDTH % HEIGHT);
    bool inside = at_x >= m->box[0] && at_x < m->box[2] && at_y >= m->box[1] &&
                  at_y < m->box[3];
    if (m->kind == FEEDLINE_MIXUP) {
        volatile float a = x * (float)m->share;
        volatile float b = y * (float)(1 - m->share);
        return a + b;
    }
    return m->kind == FEEDLINE_CUTMIX && inside ? y : x;
}

static void check_images(const struct feedline_batch_info *plain,
                         const struct feedline_batch_info *info,
                         const struct feedline_batch_targets *t)
{
    const size_t n = (size_t)3 * WIDTH * HEIGHT;
    const float *was = plain->images.data, *is = info->images.data;
    for (uint32_t i = 0; i < info->count; i++) {
        const struct feedline_image_mix *m = &t->mixes[i];
        const float *x = was + i * n, *y = was + (size_t)m->partner * n;
        for (size_t e = 0; e < n; e++) {
            float want = mixed(m, e, x[e], y[e]);
            if (memcmp(&want, &is[i * n + e], sizeof(want)) != 0)
                fail_msg("image %u, element %zu: %g, not %g", i, e,
                         (double)is[i * n + e], (double)want);
        }
    }
}

static void check_targets(const struct feedline_batch_info *info,
                          const struct feedline_batch_targets *t)
{
    const int64_t *labels = info->labels.data;
    const float *soft = t->soft.data;
    for (uint32_t i = 0; i < info->count; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < t->classes; k++)
            sum += (double)soft[i * t->classes + k];
        assert_true(fabs(sum - 1) < 1e-6);
        if (labels[i] == labels[t->mixes[i].partner] || t->classes != CLASSES)
            continue;
        float mine = soft[i * t->classes + (size_t)labels[i]];
        assert_true(fabs((double)mine - t->mixes[i].share) < 1e-6);
    }
}

static void compare(const char *operations, const char *plain_operations,
                    uint32_t kinds[3])
{
    const char *options = "batch_size=9 dtype=f32 epochs=2 seed=3";
    SCOPED_LOADER l =
        fixture_with(images.ds, NULL, operations, "workers=2 %s", options);
    SCOPED_LOADER plain = fixture_with(images.ds, NULL, plain_operations,
                                       "workers=1 %s", options);
    for (int i = 0; i < 11; i++) {
        feedline_batch *b = fixture_next(l), *p = fixture_next(plain);
        if (!b || !p) {
            assert_true(!b && !p);
            continue;
        }
        struct feedline_batch_info info = fixture_info(b),
                                   was = fixture_info(p);
        struct feedline_batch_targets t = fixture_targets(b);
        check_images(&was, &info, &t);
        check_targets(&info, &t);
        for (uint32_t k = 0; k < info.count; k++)
            kinds[t.mixes[k].kind]++;
        feedline_batch_release(b);
        feedline_batch_release(p);
    }
}

TEST_WITH(images_are_mixed_as_told, setup, teardown)
{
    static const char *const ways[] = {
        BOTH, ELEM, CROP ";mix mixup_alpha=0.2 p=0.5",
        CROP ";mix like=timm mode=pair mixup_alpha=0.2 cutmix_alpha=1",
        CROP ";mix like=timm cutmix_min=0.2 cutmix_max=0.8 correct_lam=false"};
    uint32_t kinds[3] = {0};
    for (uint32_t i = 0; i < FDL_COUNT_OF(ways); i++)
        compare(ways[i], CROP, kinds);
    compare(ERASED ";mix mixup_alpha=0.4 cutmix_alpha=1", ERASED, kinds);
    for (int k = 0; k < 3; k++)
        assert_true(kinds[k] > 0);
}

TEST_WITH(partners_are_torchvisions_or_timms, setup, teardown)
{
    SCOPED_LOADER l = fixture_with(images.ds, NULL, BOTH, "batch_size=7");
    SCOPED_LOADER timm = fixture_with(
        images.ds, NULL, CROP ";mix like=timm mixup_alpha=1", "batch_size=7");
    feedline_batch *b = fixture_next(l), *c = fixture_next(timm);
    for (int32_t i = 0; i < 7; i++) {
        assert_int_equal(fixture_targets(b).mixes[i].partner, (i + 6) % 7);
        assert_int_equal(fixture_targets(c).mixes[i].partner, 6 - i);
    }
    assert_int_equal(fixture_targets(c).mixes[3].kind, FEEDLINE_MIX_NONE);
    feedline_batch_release(b);
    feedline_batch_release(c);
}

/* Each rank's batches have draws of their own. */
TEST_WITH(ranks_differ, setup, teardown)
{
    double share[2];
    for (int rank = 0; rank < 2; rank++) {
        SCOPED_LOADER l = fixture_with(images.ds, NULL, BOTH,
                                       "batch_size=8 world=2 rank=%d", rank);
        feedline_batch *b = fixture_next(l);
        share[rank] = fixture_targets(b).mixes[0].share;
        feedline_batch_release(b);
    }
    assert_true(share[0] < share[1] || share[0] > share[1]);
}

TEST_WITH(a_blank_sample_is_mixed_like_any_other, setup, teardown)
{
    images.data[3][2] = 0;
    SCOPED_LOADER l = fixture_with(images.ds, NULL, CROP ";mix mixup_alpha=1",
                                   "on_error=zero dtype=f32 batch_size=8");
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_info info = fixture_info(b);
    assert_true(info.sample_status[3] < 0);
    assert_int_equal(fixture_targets(b).mixes[3].kind, FEEDLINE_MIXUP);
    feedline_batch_release(b);
    SCOPED_LOADER strict = fixture_with(images.ds, NULL, BOTH, "batch_size=8");
    assert_int_equal(feedline_loader_next(strict, -1, &b), FEEDLINE_EDECODE);
}

TEST_WITH(targets_are_a_part, setup, teardown)
{
    void *tensor;
    struct feedline_batch_targets t = {.struct_size = sizeof(t)};
    SCOPED_LOADER l = fixture_with(images.ds, NULL, BOTH, "batch_size=8");
    feedline_batch *b = fixture_next(l);
    t = fixture_targets(b);
    assert_int_equal(t.classes, CLASSES);
    assert_int_equal(t.soft.shape[0], 8);
    assert_int_equal(t.soft.shape[1], CLASSES);
    assert_ok(feedline_batch_export(b, FEEDLINE_TARGETS, 0, &tensor));
    (*(void (**)(void *))((char *)tensor + 56))(tensor); /* its deleter */
    feedline_batch_release(b);
    SCOPED_LOADER plain = fixture_with(images.ds, NULL, CROP, "batch_size=8");
    b = fixture_next(plain);
    assert_error(feedline_batch_get_targets(b, &t), FEEDLINE_ESTATE,
                 "no operation mix");
    feedline_batch_release(b);
}

/* Behind the operations of the program's, of which there are none. */
TEST_WITH(mixing_is_a_stage, setup, teardown)
{
    SCOPED_LOADER l =
        fixture_with(images.ds, NULL, BOTH, "batch_size=8 epochs=1");
    SCOPED_LOADER plain = fixture_with(images.ds, NULL, CROP, "batch_size=8");
    uint32_t batches = 0;
    hash_rest(l, &batches);
    struct feedline_stage_stats s = fixture_stage(l, FEEDLINE_STAGE_COUNT);
    assert_string_equal(feedline_loader_stage_name(l, FEEDLINE_STAGE_COUNT),
                        "mix");
    assert_int_equal(s.items, N);
    assert_true(s.busy_ns > 0 && s.cpu_ns == 0);
    assert_int_equal(feedline_loader_stage_count(l), FEEDLINE_STAGE_COUNT + 1);
    assert_int_equal(feedline_loader_stage_count(plain), FEEDLINE_STAGE_COUNT);
    const char *costs = strstr(fixture_json(l), "\"operations\"");
    assert_true(costs && strstr(costs, "\"name\":\"mix\""));
}

TEST(wrong_arguments_are_refused)
{
    static const struct {
        const char *args, *words;
    } cases[] = {
        {"", "set mixup_alpha"},
        {"mixup_alpha=1 mode=elem", "like=timm"},
        {"like=timm cutmix_min=0.5 cutmix_max=0.2", "larger"},
    };
    feedline_pipeline *p;
    assert_ok(feedline_pipeline_create(NULL, &p));
    for (uint32_t i = 0; i < FDL_COUNT_OF(cases); i++)
        assert_error(feedline_pipeline_add(p, "mix", cases[i].args),
                     FEEDLINE_EINVAL, cases[i].words);
    assert_ok(feedline_pipeline_add(p, "mix", "mixup_alpha=1"));
    assert_error(feedline_pipeline_add(p, "random_erasing", ""),
                 FEEDLINE_EINVAL, "goes before");
    feedline_pipeline_destroy(p);
}

TEST_WITH(what_cannot_be_mixed_is_refused, setup, teardown)
{
    static const struct {
        const char *operations, *options, *words;
    } cases[] = {
        {CROP ";mix mixup_alpha=1 num_classes=2", "", "num_classes=2"},
        {CROP ";mix mixup_alpha=1", "dtype=f16", "dtype=f32 and u8"},
        {CROP ";mix mixup_alpha=1", "max_sample_bytes=1m", "different sizes"},
        {"resize size=64;five_crop size=32;mix mixup_alpha=1", "batch_size=10",
         "views"},
    };
    for (uint32_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        feedline_loader *l;
        assert_error(fixture_try(&l, images.ds, NULL, cases[i].operations, "%s",
                                 cases[i].options),
                     FEEDLINE_EINVAL, cases[i].words);
        assert_null(l);
    }
}

/* The mean and the variance of beta(a, a) are 1/2 and 1 / (4 (2 a + 1)). */
TEST(shares_have_the_beta_distribution)
{
    static const double alphas[] = {0.1, 0.2, 0.8, 1, 4};
    for (uint32_t a = 0; a < FDL_COUNT_OF(alphas); a++) {
        struct fdl_mix m = {.mixup_alpha = alphas[a], .p = 1};
        double sum = 0, squares = 0;
        const int n = 8000;
        for (int i = 0; i < n; i++) {
            struct fdl_mix_batch b = {
                .key = {.place = (uint64_t)i, .step = 1},
                .count = 1,
                .width = 8,
                .height = 8,
            };
            struct feedline_image_mix out = fdl_mix_draw(&m, &b, 0);
            assert_true(out.share >= 0 && out.share <= 1);
            sum += out.share - 0.5;
            squares += (out.share - 0.5) * (out.share - 0.5);
        }
        double variance = 1 / (4 * (2 * alphas[a] + 1));
        assert_true(fabs(sum / n) < 5 * sqrt(variance / n));
        assert_true(fabs(squares / n - variance) < 5 * 0.25 / sqrt(n));
    }
}

TEST_MAIN("mix")

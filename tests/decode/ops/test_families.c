/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AutoAugment family without a reference library: magnitudes that are known
 * of torchvision, timm's grammar, steps that a plan has room for, and how often
 * what is drawn. ops_parity.py has the pixels.
 */
#include "decode/ops/augment_tables.h"
#include "decode/ops/timm_config.h"
#include "tests/decode/rig.h"

#include <math.h>

/* ---- Magnitudes --------------------------------------------------------- */

static double magnitude(const struct fdl_space_row *space, enum fdl_augment op,
                        int32_t n, int32_t bin)
{
    return fdl_space_magnitude(&space[op], n, bin, 224, 32);
}

static void check_whole(const struct fdl_space_row *space, enum fdl_augment op,
                        int32_t n, const int32_t *wanted)
{
    for (int32_t bin = 0; bin < n; bin++)
        assert_int_equal((int32_t)magnitude(space, op, n, bin), wanted[bin]);
}

TEST(moves_are_torchvisions)
{
    static const int32_t width[] = {0, 11, 22, 33, 45, 56, 67, 78, 90, 101};
    static const int32_t height[] = {0, 1, 3, 4, 6, 8, 9, 11, 12, 14};
    check_whole(fdl_space_standard, FDL_AUGMENT_TRANSLATE_X, 10, width);
    check_whole(fdl_space_standard, FDL_AUGMENT_TRANSLATE_Y, 10, height);
    int32_t wide[31]; /* without 16 and 31 */
    for (int32_t i = 0; i < 31; i++)
        wide[i] = i + (i > 15) + (i > 29);
    check_whole(fdl_space_wide, FDL_AUGMENT_TRANSLATE_X, 31, wide);
}

TEST(bits_are_torchvisions)
{
    static const int32_t ten[] = {8, 8, 7, 7, 6, 6, 5, 5, 4, 4};
    static const int32_t of_31[9] = {[4] = 4, 8, 7, 8, 4};
    static const int32_t wide_31[9] = {[2] = 3, 5, 5, 5, 5, 5, 3};
    int32_t found[9] = {0}, wide[9] = {0};
    check_whole(fdl_space_standard, FDL_AUGMENT_POSTERIZE, 10, ten);
    for (int32_t i = 0; i < 31; i++) {
        found[(int)magnitude(fdl_space_standard, FDL_AUGMENT_POSTERIZE, 31,
                             i)]++;
        wide[(int)magnitude(fdl_space_wide, FDL_AUGMENT_POSTERIZE, 31, i)]++;
    }
    assert_memory_equal(found, of_31, sizeof(found));
    assert_memory_equal(wide, wide_31, sizeof(wide));
}

/* The smallest value that is inverted, with v2's thresholds, too. */
TEST(thresholds_are_torchvisions)
{
    static const int32_t v1[] = {255, 247, 238, 230, 221, 213, 204, 196,
                                 187, 179, 170, 162, 153, 145, 136, 128,
                                 119, 111, 102, 94,  85,  77,  68,  60,
                                 51,  43,  34,  26,  17,  9,   0};
    static const int32_t v2[] = {255, 247, 239, 230, 222, 213, 205, 196,
                                 188, 179, 170, 162, 153, 145, 136, 128,
                                 120, 111, 103, 94,  86,  77,  69,  60,
                                 52,  43,  35,  26,  18,  9,   0};
    struct fdl_space_row row = fdl_space_wide[FDL_AUGMENT_SOLARIZE];
    for (int32_t i = 0; i < 31; i++)
        assert_int_equal((int)ceil(fdl_space_magnitude(&row, 31, i, 1, 1)),
                         v1[i]);
    row.most = 1;
    for (int32_t i = 0; i < 31; i++)
        assert_int_equal(
            (int)ceil(255.0 * fdl_space_magnitude(&row, 31, i, 1, 1)), v2[i]);
}

TEST(the_usual_magnitudes)
{
    const struct fdl_space_row *s = fdl_space_standard;
    assert_true(magnitude(s, FDL_AUGMENT_SHEAR_X, 31, 9) ==
                0.09000000357627869);
    assert_true(magnitude(s, FDL_AUGMENT_COLOR, 31, 9) == 0.26999998092651367);
    assert_true(magnitude(s, FDL_AUGMENT_ROTATE, 31, 9) == 9);
    assert_true(magnitude(s, FDL_AUGMENT_SOLARIZE, 31, 9) == 178.5);
    assert_true(magnitude(s, FDL_AUGMENT_INVERT, 31, 9) == 0);
}

/* ---- Grammar ------------------------------------------------------------ */

static struct fdl_timm_config parse(const char *text)
{
    struct fdl_timm_config c;
    if (fdl_timm_parse(text, &c))
        fail_msg("%s: %s", text, fdl_last_error());
    return c;
}

TEST(grammar_is_timms)
{
    struct fdl_timm_config c = parse("rand-m9-mstd0.5-inc1");
    assert_true(c.set == fdl_choice_sets && !c.policy && c.increasing);
    assert_true(c.layers == 2 && c.probability == 0.5 && c.magnitude == 9 &&
                c.deviation == 0.5 && c.most == 10);
    c = parse("rand-n4-p0.25-mmax20");
    assert_true(c.layers == 4 && c.probability == 0.25 && c.magnitude == 10 &&
                c.deviation == 0 && c.most == 20 && !c.increasing);
    c = parse("rand-tweights-mstd101");
    assert_string_equal(c.set->name, "weights");
    assert_true(c.increasing && isinf(c.deviation));
    c = parse("originalr-mstd101");
    assert_string_equal(c.policy->name, "originalr");
    assert_true(c.deviation == 101 && !c.set);
    assert_int_equal(parse("3a").policy->n, 3);
    c = parse("augmix");
    assert_true(c.branches == 3 && c.layers == 0 && c.magnitude == 3 &&
                c.probability == 1 && c.increasing && isinf(c.deviation));
    c = parse("augmix-m5-w4-d2-mstd101");
    assert_true(c.branches == 4 && c.layers == 2 && c.deviation == 101);
}

TEST(other_grammar_is_refused_with_what_there_is)
{
    static const char *const bad[][2] = {
        {"", "there are rand"},
        {"randm9", "there are rand"},
        {"v1", "there are rand"},
        {"augmix-b1", "there are m, w, d"},
        {"augmix-w0", "w is 1"},
        {"augmix-w0-tweights", "there are m, w, d"},
        {"rand-x3", "there are m, n, p"},
        {"rand-inc", "whole number"},
        {"rand-m9.5", "whole number"},
        {"rand-mstd0.5x", "number"},
        {"rand--m9", "there are m, n, p"},
        {"rand-m9-", "there are m, n, p"},
        {"rand-n17", "takes 0 to 16"},
        {"rand-p1.5", "takes 0 to 1"},
        {"rand-m2000", "takes 0 to 1000"},
        {"rand-n16-t3aw", "at most 14"},
        {"rand-tall", "tweights"},
        {"v0-m9", "takes mstd"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        struct fdl_timm_config c = {.layers = 77};
        if (fdl_timm_parse(bad[i][0], &c) >= 0)
            fail_msg("'%s' was accepted", bad[i][0]);
        if (!strstr(fdl_last_error(), bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], fdl_last_error());
        assert_int_equal(c.layers, 77);
    }
}

/* ---- Pipelines ---------------------------------------------------------- */

/* As many as are full, and every plan of them fits. */
TEST(a_plan_has_room_for_every_step)
{
    SCOPED_PIPELINE p = rig_recipe(NULL);
    for (int i = 0; i < 4; i++)
        rig_add(p, "timm_augment", "config=rand-n16-p1");
    assert_int_equal(fdl_pipeline_add(p, "vertical_flip", NULL),
                     FEEDLINE_ERANGE);
    assert_non_null(strstr(fdl_last_error(), "64 steps"));
    for (uint64_t i = 0; i < 200; i++)
        assert_true(rig_plan(p, i, 33, 21).n_steps <= FDL_PLAN_STEPS);
}

/* ---- Draws -------------------------------------------------------------- */

#define DRAWS 4000

struct tally {
    uint32_t op[FDL_AUGMENTS], negative, all, none;
};

/* Counts {"op":"NAME","magnitude":X} of a sample's notes. */
static void count(const char *json, struct tally *t)
{
    uint32_t before = t->all;
    for (const char *at = strstr(json, "\"ops\":["); at;) {
        at = strstr(at, "{\"op\":\"");
        if (!at)
            break;
        at += strlen("{\"op\":\"");
        size_t n = strcspn(at, "\"");
        for (int op = 0; op < FDL_AUGMENTS; op++)
            t->op[op] += strlen(fdl_augment_names[op]) == n &&
                         memcmp(at, fdl_augment_names[op], n) == 0;
        static const char negative[] = "\",\"magnitude\":-";
        t->negative += strncmp(at + n, negative, strlen(negative)) == 0;
        t->all++;
    }
    t->none += t->all == before;
}

static struct tally draw(const char *op, const char *args)
{
    const char *const ops[][2] = {{op, args}, {NULL, NULL}};
    struct fdl_pipeline *p = rig_pipeline(ops);
    struct tally t = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        char text[4096];
        uint64_t needed;
        struct fdl_json j;
        struct fdl_draw_key key = {.seed = 5, .sample = i};
        fdl_json_init(&j, text, sizeof(text));
        fdl_json_begin_object(&j, NULL);
        assert_int_equal(fdl_pipeline_draw_json(p, &key, 50, 40, "draws", &j),
                         FEEDLINE_OK);
        fdl_json_end_object(&j);
        assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
        count(text, &t);
    }
    fdl_pipeline_destroy(p);
    return t;
}

/* Five sigma of a binomial distribution. */
static void check_share(uint32_t found, uint32_t n, double wanted)
{
    double off = 5 * sqrt(n * wanted * (1 - wanted));
    if (fabs(found - n * wanted) > off)
        fail_msg("%u of %u, not %g", found, n, wanted);
}

TEST(torchvisions_draws_are_even)
{
    struct tally t = draw("rand_augment", "num_ops=3 magnitude=30");
    assert_int_equal(t.all, 3 * DRAWS);
    for (int op = 0; op < FDL_SPACE_DRAWN; op++)
        check_share(t.op[op], t.all, 1.0 / 14);
    check_share(t.negative, t.all, 9.0 / 14 / 2);
    t = draw("trivial_augment_wide", NULL);
    assert_int_equal(t.all, DRAWS);
    for (int op = 0; op < FDL_SPACE_DRAWN; op++)
        check_share(t.op[op], t.all, 1.0 / 14);
}

TEST(timms_draws_are_timms)
{
    struct tally t = draw("timm_augment", "config=rand-m9-mstd0.5-inc1");
    check_share(t.none, DRAWS, 0.25);
    check_share(t.all, 2 * DRAWS, 0.5);
    for (uint32_t i = 0; i < fdl_choice_sets[0].n; i++)
        check_share(t.op[fdl_choice_sets[0].choices[i].op], t.all, 1.0 / 15);
    check_share(t.negative, t.all, 5.0 / 15 / 2);
}

/* Each chain has 1, 2 or 3 of 13, and its "mix_in". */
TEST(augmix_has_chains_of_up_to_three)
{
    struct tally t = draw("timm_augment", "config=augmix-w4");
    uint32_t all = t.all - 4 * DRAWS;
    assert_true(fabs(all / (4.0 * DRAWS) - 2) < 0.05);
    for (uint32_t i = 0; i < fdl_augmix_set.n; i++)
        check_share(t.op[fdl_augmix_set.choices[i].op], all, 1.0 / 13);
    t = draw("timm_augment", "config=augmix-w2-d5");
    assert_int_equal(t.all, 2 * (5 + 1) * DRAWS);
}

/* What it moves is blended with what did not move. */
TEST(augmix_leaves_masks_and_objects)
{
    static const char *const ops[][2] = {
        {"timm_augment", "config=augmix-m10-d3"}, {NULL, NULL}};
    SCOPED_PIPELINE p = rig_pipeline(ops);
    for (uint64_t i = 0; i < 50; i++) {
        float box[4] = {3, 4, 20, 30};
        uint32_t source = 0;
        struct fdl_objects objects = {.n = 1, .boxes = box, .source = &source};
        struct fdl_plan plan;
        struct fdl_draw_key key = {.seed = 5, .sample = i, .objects = &objects};
        assert_int_equal(fdl_pipeline_draw(p, &key, 50, 40, &plan), 0);
        assert_true(plan.n_pixel_steps >= 1 + 3);
        assert_true(box[0] == 3 && box[1] == 4 && box[2] == 20 && box[3] == 30);
        key = (struct fdl_draw_key){.seed = 5, .sample = i, .mask.on = true};
        assert_int_equal(fdl_pipeline_draw(p, &key, 50, 40, &plan), 0);
        assert_int_equal(plan.n_steps, 0);
    }
}

/* By weight without putting back: i first, or second behind any other. */
TEST(weights_count_once)
{
    const struct fdl_choice_set *set = &fdl_choice_sets[1];
    struct tally t = draw("timm_augment", "config=rand-p1-tweights");
    double sum = 0;
    for (uint32_t i = 0; i < set->n; i++)
        sum += set->choices[i].weight;
    assert_int_equal(t.all, 2 * DRAWS);
    for (uint32_t i = 0; i < set->n; i++) {
        double mine = set->choices[i].weight / sum, share = mine;
        for (uint32_t k = 0; k < set->n; k++) {
            double other = set->choices[k].weight / sum;
            share += k == i ? 0 : other * mine / (1 - other);
        }
        check_share(t.op[set->choices[i].op], DRAWS, share);
    }
}

TEST(policies_have_their_probabilities)
{
    struct tally t = draw("auto_augment", "policy=svhn");
    const struct fdl_policy *p = &fdl_policies[2];
    double all = 0, invert = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        for (int k = 0; k < 2; k++) {
            all += p->pairs[i][k].tenths / 10.0;
            if (p->pairs[i][k].op == FDL_AUGMENT_INVERT)
                invert += p->pairs[i][k].tenths / 10.0;
        }
    }
    check_share(t.all, 2 * DRAWS, all / (2 * p->n));
    check_share(t.op[FDL_AUGMENT_INVERT], 2 * DRAWS, invert / (2 * p->n));
}

TEST_MAIN("decode_families")

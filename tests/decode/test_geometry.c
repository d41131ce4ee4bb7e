/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composition of crops, one resampling and flips, against a model that applies
 * them one after the other to a grid of coordinates.
 */
#include "base/status.h"
#include "decode/pixels/geometry.h"
#include "dice.h"
#include "test.h"

static void check_box(struct fdl_box box, int32_t x, int32_t y, int32_t width,
                      int32_t height)
{
    assert_int_equal(box.x, x);
    assert_int_equal(box.y, y);
    assert_int_equal(box.width, width);
    assert_int_equal(box.height, height);
}

TEST(identity)
{
    struct fdl_geometry g;
    fdl_geometry_init(&g, 7, 5);
    check_box(g.box, 0, 0, 7, 5);
    check_box(g.window, 0, 0, 7, 5);
    assert_int_equal(fdl_geometry_width(&g), 7);
    assert_int_equal(fdl_geometry_height(&g), 5);
    assert_false(g.flip);
}

TEST(crop_before_resize_shrinks_the_box)
{
    struct fdl_geometry g;
    fdl_geometry_init(&g, 100, 80);
    fdl_geometry_crop(&g, (struct fdl_box){10, 20, 50, 40});
    fdl_geometry_crop(&g, (struct fdl_box){1, 2, 30, 20});
    assert_int_equal(fdl_geometry_resize(&g, 60, 10), FEEDLINE_OK);
    check_box(g.box, 11, 22, 30, 20);
    check_box(g.window, 0, 0, 60, 10);
}

TEST(crop_after_resize_shrinks_the_window)
{
    struct fdl_geometry g;
    fdl_geometry_init(&g, 100, 80);
    assert_int_equal(fdl_geometry_resize(&g, 50, 40), FEEDLINE_OK);
    fdl_geometry_crop(&g, (struct fdl_box){5, 6, 30, 20});
    fdl_geometry_crop(&g, (struct fdl_box){1, 1, 10, 10});
    check_box(g.box, 0, 0, 100, 80);
    check_box(g.window, 6, 7, 10, 10);
    assert_int_equal(g.resize_width, 50);
}

TEST(second_resampling_is_refused)
{
    struct fdl_geometry g, before;
    fdl_geometry_init(&g, 100, 80);
    assert_int_equal(fdl_geometry_resize(&g, 50, 40), FEEDLINE_OK);
    assert_int_equal(fdl_geometry_resize(&g, 50, 40), FEEDLINE_OK);
    before = g;
    assert_int_equal(fdl_geometry_resize(&g, 20, 20), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "two resamplings"));
    assert_memory_equal(&g, &before, sizeof(g));
}

TEST(flip_then_crop_takes_the_other_side)
{
    struct fdl_geometry g;
    fdl_geometry_init(&g, 100, 80);
    fdl_geometry_flip(&g);
    fdl_geometry_crop(&g, (struct fdl_box){10, 0, 20, 80});
    check_box(g.box, 70, 0, 20, 80);
    assert_true(g.flip);
    fdl_geometry_flip(&g);
    assert_false(g.flip);
}

TEST(vertical_flip_then_crop_takes_the_other_end)
{
    struct fdl_geometry g;
    fdl_geometry_init(&g, 100, 80);
    fdl_geometry_flip_vertical(&g);
    fdl_geometry_crop(&g, (struct fdl_box){10, 5, 20, 30});
    check_box(g.box, 10, 45, 20, 30);
    assert_true(g.flip_vertical);
    assert_false(g.flip);
    assert_int_equal(fdl_geometry_resize(&g, 40, 60), FEEDLINE_OK);
    fdl_geometry_crop(&g, (struct fdl_box){0, 0, 40, 10});
    check_box(g.window, 0, 50, 40, 10);
    fdl_geometry_flip_vertical(&g);
    assert_false(g.flip_vertical);
}

/* Where output pixel x comes from, in a width that is never resampled or is
 * doubled: the model of one axis. */
struct model {
    int32_t from[512]; /* resampled coordinate of each pixel */
    int32_t n;
};

static void model_crop(struct model *m, int32_t x, int32_t n)
{
    memmove(m->from, m->from + x, (size_t)n * sizeof(m->from[0]));
    m->n = n;
}

static void model_flip(struct model *m)
{
    for (int32_t i = 0; i < m->n / 2; i++) {
        int32_t t = m->from[i];
        m->from[i] = m->from[m->n - 1 - i];
        m->from[m->n - 1 - i] = t;
    }
}

static int32_t below(struct dice *d, int32_t n)
{
    return (int32_t)dice_below(d, (uint32_t)n);
}

/* Both axes in turn play the one that is cropped, flipped and resized. */
static struct fdl_box span_box(bool vertical, int32_t at, int32_t n)
{
    return vertical ? (struct fdl_box){0, at, 3, n}
                    : (struct fdl_box){at, 0, n, 3};
}

static void check_compositions(struct dice dice, bool vertical)
{
    for (int round = 0; round < 2000; round++) {
        int32_t width = 1 + below(&dice, 200);
        struct model m = {.n = width};
        for (int32_t i = 0; i < width; i++)
            m.from[i] = i;
        struct fdl_geometry g;
        fdl_geometry_init(&g, vertical ? 3 : width, vertical ? width : 3);
        bool resized = false;
        for (int step = 0; step < 6; step++) {
            int32_t n = 1 + below(&dice, m.n), x = below(&dice, m.n - n + 1);
            switch (below(&dice, 3)) {
            case 0:
                fdl_geometry_crop(&g, span_box(vertical, x, n));
                model_crop(&m, x, n);
                break;
            case 1:
                (vertical ? fdl_geometry_flip_vertical : fdl_geometry_flip)(&g);
                model_flip(&m);
                break;
            default:
                if (resized || g.flip || g.flip_vertical || m.n == 0)
                    break;
                resized = true;
                m.n *= 2;
                assert_int_equal(fdl_geometry_resize(&g, vertical ? 3 : m.n,
                                                     vertical ? m.n : 3),
                                 0);
                for (int32_t i = 0; i < m.n; i++)
                    m.from[i] = 2 * (vertical ? g.box.y : g.box.x) + i;
            }
        }
        int32_t scale = resized ? 2 : 1;
        assert_int_equal(
            vertical ? fdl_geometry_height(&g) : fdl_geometry_width(&g), m.n);
        bool flip = vertical ? g.flip_vertical : g.flip;
        int32_t box = vertical ? g.box.y : g.box.x;
        int32_t window = vertical ? g.window.y : g.window.x;
        for (int32_t i = 0; i < m.n; i++) {
            int32_t at = flip ? m.n - 1 - i : i;
            assert_int_equal(box * scale + window + at, m.from[i]);
        }
    }
}

TEST(random_compositions_match_the_model)
{
    struct dice dice = {test_seed()};
    check_compositions(dice, false);
    check_compositions(dice, true);
}

/* Filters that break ties take another pixel from the other end. */
TEST(resampling_knows_the_flips_before_it)
{
    struct fdl_geometry g;
    fdl_geometry_init(&g, 100, 80);
    fdl_geometry_flip(&g);
    fdl_geometry_flip_vertical(&g);
    fdl_geometry_flip_vertical(&g);
    assert_int_equal(fdl_geometry_resize(&g, 50, 40), FEEDLINE_OK);
    fdl_geometry_flip_vertical(&g);
    assert_true(g.flip && g.resize_mirrored);
    assert_true(g.flip_vertical && !g.resize_mirrored_vertical);
}

TEST_MAIN("decode_geometry")

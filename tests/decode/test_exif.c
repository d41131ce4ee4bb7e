/* SPDX-License-Identifier: Apache-2.0 */
/* The orientation tag in data of every kind, also none, and what it does to
 * coordinates. That pixels come upright is the business of reference_parity. */
#include "decode/exif.h"
#include "make_jpeg.h"
#include "test.h"

/* Two entries, little-endian: a resolution, then the orientation. */
static const uint8_t little[] = {
    'I',  'I', '*', 0, 8, 0, 0, 0, 2, 0,       /* header, count */
    0x1a, 1,   5,   0, 1, 0, 0, 0, 0, 0, 0, 0, /* resolution */
    0x12, 1,   3,   0, 1, 0, 0, 0, 6, 0, 0, 0,
    0,    0,   0,   0, /* orientation, end */
};
static const uint8_t big[] = {
    'M',  'M',  0, '*', 0, 0, 0, 8, 0, 1, /* header, count */
    0x01, 0x12, 0, 3,   0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0,
};
enum { ENTRY = 22 }; /* of the orientation in `little` */

static void both_byte_orders_are_read(void **state)
{
    (void)state;
    assert_int_equal(fdl_exif_orientation(little, sizeof(little)), 6);
    assert_int_equal(fdl_exif_orientation(big, sizeof(big)), 8);
    uint8_t prefixed[6 + sizeof(big)] = "Exif";
    memcpy(prefixed + 6, big, sizeof(big));
    assert_int_equal(fdl_exif_orientation(prefixed, sizeof(prefixed)), 8);
}

static int32_t changed(size_t at, uint8_t value)
{
    uint8_t copy[sizeof(little)];
    memcpy(copy, little, sizeof(little));
    copy[at] = value;
    return fdl_exif_orientation(copy, sizeof(copy));
}

static void odd_values_mean_nothing(void **state)
{
    (void)state;
    assert_int_equal(changed(ENTRY + 8, 8), 8);
    assert_int_equal(changed(ENTRY + 8, 0), 1);
    assert_int_equal(changed(ENTRY + 8, 9), 1);
    assert_int_equal(changed(ENTRY + 9, 1), 1); /* 262 */
    assert_int_equal(changed(ENTRY + 2, 4), 6); /* LONG */
    assert_int_equal(changed(ENTRY + 2, 1), 6); /* BYTE */
    assert_int_equal(changed(ENTRY + 2, 2), 1); /* ASCII */
    assert_int_equal(changed(ENTRY + 4, 2), 1); /* two values */
    assert_int_equal(changed(ENTRY, 0x13), 1);  /* another tag */
    assert_int_equal(changed(8, 1), 1);         /* one entry only */
    assert_int_equal(changed(8, 200), 6);       /* more than there are */
    assert_int_equal(changed(4, 200), 1);       /* directory outside */
    assert_int_equal(changed(7, 255), 1);
    assert_int_equal(changed(2, 0), 1);
}

/* With a sanitizer: nothing outside is read. */
static void any_bytes_are_survived(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (size_t n = 0; n <= sizeof(little); n++) {
        uint8_t *copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, little, n);
        copy = realloc(copy, n ? n : 1);
        int32_t got = fdl_exif_orientation(copy, n);
        assert_int_equal(got, n >= ENTRY + 12 ? 6 : 1);
        free(copy);
    }
    for (int round = 0; round < 100000; round++) {
        uint8_t copy[sizeof(little)];
        memcpy(copy, little, sizeof(little));
        for (int i = 0; i < 3; i++)
            copy[make_random(&seed) % sizeof(copy)] =
                (uint8_t)make_random(&seed);
        assert_in_range(fdl_exif_orientation(copy, sizeof(copy)), 1, 8);
    }
}

/* A pixel of the upright image is where Pillow's transposition took it from. */
static void turns_are_pillows(void **state)
{
    (void)state;
    enum { W = 5, H = 3 }; /* stored */
    static const struct {
        int32_t u, v; /* stored place of the upright (1, 0) */
    } wanted[9] = {
        [1] = {1, 0}, [2] = {W - 2, 0}, [3] = {W - 2, H - 1}, [4] = {1, H - 1},
        [5] = {0, 1}, [6] = {0, H - 2}, [7] = {W - 1, H - 2}, [8] = {W - 1, 1},
    };
    for (int32_t o = 1; o <= 8; o++) {
        struct fdl_turn turn = fdl_turn_of(o);
        assert_int_equal(turn.transposed, o >= 5);
        struct fdl_box one = {1, 0, 1, 1};
        struct fdl_box got = fdl_turn_box(&turn, &one, W, H);
        assert_int_equal(got.x, wanted[o].u);
        assert_int_equal(got.y, wanted[o].v);
        struct fdl_box all = {0, 0, o >= 5 ? H : W, o >= 5 ? W : H};
        got = fdl_turn_box(&turn, &all, W, H);
        assert_true(got.x == 0 && got.y == 0 && got.width == W &&
                    got.height == H);
    }
    assert_false(fdl_turn_of(0).transposed || fdl_turn_of(9).reverse_x);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(both_byte_orders_are_read),
    cmocka_unit_test(odd_values_mean_nothing),
    cmocka_unit_test(any_bytes_are_survived),
    cmocka_unit_test(turns_are_pillows),
};

TEST_MAIN("decode_exif", cases)

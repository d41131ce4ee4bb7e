/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libjpeg of the process is another than the library was compiled with, as
 * its number of messages tells: libjpeg is then given no module of ours. Our
 * own rows go on, as they do without libjpeg.
 */
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_pack.h"
#include "decode/formats/jpeg_transform.h"
#include "tests/decode/parts.h"
#include "tests/wrap.h"

static bool other;
static int attached;

WRAP(struct jpeg_error_mgr *, jpeg_std_error, struct jpeg_error_mgr *err)
{
    __real_jpeg_std_error(err);
    err->last_jpeg_message += other;
    return err;
}

WRAP(bool, fdl_jpeg_entropy_attach, struct fdl_jpeg_entropy *e,
     struct jpeg_decompress_struct *c, const uint8_t *end,
     void (*give_up)(struct jpeg_decompress_struct *c))
{
    bool done = __real_fdl_jpeg_entropy_attach(e, c, end, give_up);
    attached += done;
    return done;
}

/* The whole image, with the one or the other libjpeg. */
static int32_t decode(bool by_other, const void *data, size_t size,
                      uint8_t *out)
{
    other = by_other;
    attached = 0;
    SCOPED_DECODER d =
        rig_decoder((struct fdl_decode_limits){.max_pixels = 1u << 20});
    struct fdl_encoded bytes = file_of(data, size);
    struct fdl_image_info info;
    if (fdl_decoder_open(d, &bytes, &info))
        fail_msg("%s", fdl_last_error());
    struct fdl_box all = {0, 0, info.width, info.height};
    int32_t status = part_render(d, &info, &all, 1, out);
    other = false;
    return status;
}

enum { SIDE = 48 };
static uint8_t want[SIDE * SIDE * 3], got[SIDE * SIDE * 3];

/* 4:1:1, whose rows are libjpeg's, and 4:2:0, whose rows are ours if they can
 * be. */
TEST(libjpeg_gets_no_module_of_ours)
{
    for (int h = 2; h <= 4; h += 2) {
        struct make_jpeg m = {.width = SIDE,
                              .height = SIDE,
                              .components = 3,
                              .h = h,
                              .v = h == 2 ? 2 : 1};
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        assert_int_equal(decode(false, file, size, want), FEEDLINE_OK);
        assert_int_equal(attached > 0, fdl_jpeg_entropy_memory() > 0);
        assert_int_equal(decode(true, file, size, got), FEEDLINE_OK);
        assert_int_equal(attached > 0, h == 2 && fdl_jpeg_transform() &&
                                           fdl_jpeg_entropy_memory() > 0);
        assert_memory_equal(want, got, sizeof(want));
        free(file);
    }
}

TEST(packed_samples_that_need_it_are_refused)
{
    if (fdl_jpeg_entropy_memory() == 0)
        test_skip("built without jpegint.h");
    struct make_jpeg m = {
        .width = SIDE, .height = SIDE, .components = 3, .h = 4, .v = 1};
    size_t size;
    uint64_t n;
    uint8_t *file = make_jpeg(&m, &size), *packed;
    assert_int_equal(fdl_jpeg_pack(file, size, 1u << 20, &packed, &n),
                     FEEDLINE_OK);
    assert_int_equal(decode(false, packed, n, want), FEEDLINE_OK);
    assert_int_equal(decode(true, packed, n, got), FEEDLINE_ENOSYS);
    assert_non_null(strstr(fdl_last_error(), "build feedline anew"));
    free(packed);
    free(file);
}

TEST_MAIN("other_libjpeg")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes parts of JPEG files of every sampling and coding, and compares them
 * with the same parts of the whole image as plain libjpeg gives it, at full
 * size and at each of the smaller sizes. This is what stands between us and the
 * traps of cropping and skipping: rounding to blocks, chroma beyond the edge of
 * the crop, rows that come in groups.
 */
#include "tests/decode/kept_entries.h"
#include "tests/decode/parts.h"

#include <inttypes.h>
#include <stdio.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

#define ROUNDS 400

static const struct fdl_decode_limits limits = {.max_pixels = 1u << 20,
                                                .max_scans = 100};

/* At 1/2^shift of its size, RGB; width and height are of that. */
static uint8_t *decode_whole(const struct fdl_encoded *file, int32_t shift,
                             int32_t *width, int32_t *height)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr err;
    c.err = jpeg_std_error(&err);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, file->data, file->size);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = JCS_RGB;
    c.scale_num = 1;
    c.scale_denom = 1u << shift;
    jpeg_start_decompress(&c);
    *width = (int32_t)c.output_width;
    *height = (int32_t)c.output_height;
    size_t stride = (size_t)c.output_width * 3;
    uint8_t *pixels = rig_alloc(stride * c.output_height);
    while (c.output_scanline < c.output_height) {
        JSAMPROW rows[1] = {pixels + stride * c.output_scanline};
        jpeg_read_scanlines(&c, rows, 1);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
    return pixels;
}

/* Restarts are at the beginning of rows there. */
static void make_lossless(struct make_jpeg *m, uint64_t *state)
{
    m->lossless = make_within(state, 1, 7);
    m->h = m->v = 1;
    m->restart = m->restart ? m->width * make_within(state, 1, 3) : 0;
}

/* Small, of every coding; now and then of a size that decoders take other ways
 * for: large, and many bytes. */
static struct make_jpeg pick_kind(uint64_t *state, int round)
{
    int32_t width = make_within(state, 0, 1) ? 40 : 300;
    int32_t height = make_within(state, 0, 1) ? 40 : 300;
    struct make_jpeg m = make_any(state, width, height);
    m.components = m.components == 1 ? 1 : 3;
    if (round % 100 == 0) {
        m.width = make_within(state, 900, 1000);
        m.height = make_within(state, 900, 1000);
        m.components = 3;
        m.quality = 98;
        return m;
    }
    int32_t coding = make_within(state, 0, make_has_lossless() ? 6 : 5);
    m.progressive = coding == 1;
    m.arithmetic = coding == 2;
    m.separate = coding == 3;
    m.optimize &= !m.arithmetic;
    if (coding == 6) {
        make_lossless(&m, state);
        m.components = 3; /* libjpeg makes no RGB of lossless gray */
    }
    return m;
}

static void fail_part(const struct make_jpeg *m, const struct fdl_box *box,
                      const char *what)
{
    fail_msg("JPEG %" PRId32 "x%" PRId32 " of %" PRId32 "x%" PRId32
             ", components %" PRId32 ", restart %" PRId32
             ", progressive %d, arithmetic %d, separate %d, lossless %" PRId32
             ", part %" PRId32 "x%" PRId32 " at %" PRId32 ",%" PRId32 ": %s",
             m->width, m->height, m->h, m->v, m->components, m->restart,
             m->progressive, m->arithmetic, m->separate, m->lossless,
             box->width, box->height, box->x, box->y, what);
}

static void check_part(struct fdl_decoder *d, const struct make_jpeg *m,
                       const struct fdl_encoded *bytes, const uint8_t *whole,
                       uint64_t *state)
{
    struct fdl_box box = part_of(state, m->width, m->height);
    struct fdl_image_info info;
    size_t n = (size_t)box.width * 3;
    uint8_t *got = rig_alloc(n * (size_t)box.height);
    if (fdl_decoder_open(d, bytes, &info) ||
        part_render(d, &info, &box, 1, got))
        fail_part(m, &box, fdl_last_error());
    for (int32_t y = 0; y < box.height; y++) {
        size_t at = (size_t)(box.y + y) * (size_t)m->width + (size_t)box.x;
        if (memcmp(whole + at * 3, got + (size_t)y * n, n) != 0)
            fail_part(m, &box, "pixels differ");
    }
    free(got);
}

/* Reads what the source gives for `need` and compares the needed part. */
static bool same_part(void *j, const struct fdl_box *need, int32_t channels,
                      const uint8_t *whole, int32_t width)
{
    struct fdl_box have;
    if (fdl_format_jpeg.begin(j, need, &have))
        return false;
    size_t pixel = (size_t)channels;
    size_t stride = (size_t)have.width * pixel + 1;
    uint8_t *rows = rig_alloc(stride * (size_t)have.height);
    bool same = have.x <= need->x && have.y <= need->y &&
                have.x + have.width >= need->x + need->width &&
                have.y + have.height >= need->y + need->height &&
                !fdl_format_jpeg.read(j, rows, stride, have.height);
    for (int32_t y = need->y; same && y < need->y + need->height; y++) {
        for (int32_t x = need->x; x < need->x + need->width; x++) {
            const uint8_t *got = rows + (size_t)(y - have.y) * stride +
                                 (size_t)(x - have.x) * pixel;
            const uint8_t *want =
                whole + ((size_t)y * (size_t)width + (size_t)x) * 3;
            for (size_t c = 0; c < 3; c++)
                same = same && want[c] == got[channels == 3 ? c : 0];
        }
    }
    free(rows);
    return same;
}

/* Parts of the smaller image against the whole smaller image. */
static void check_shrunk(void *j, const struct make_jpeg *m,
                         const struct fdl_encoded *bytes, int32_t shift,
                         uint64_t *state)
{
    int32_t width, height;
    uint8_t *whole = decode_whole(bytes, shift, &width, &height);
    for (int part = 0; part < 4; part++) {
        struct fdl_image_info info;
        struct fdl_box need = part_of(state, width, height);
        fdl_entry_notes_begin(&kept_notes, kept_known, true);
        assert_false(fdl_format_jpeg.open(j, bytes, &info));
        fdl_format_jpeg.shrink(j, shift);
        if (!same_part(j, &need, info.channels, whole, width)) {
            print_message("at 1/%d: ", 1 << shift);
            fail_part(m, &need, "pixels differ");
        }
        if (bytes->notes)
            kept_add();
        fdl_format_jpeg.abort(j);
    }
    free(whole);
}

TEST(parts_of_smaller_images_are_those_of_the_whole)
{
    struct fdl_deadline deadline = {0};
    void *j;
    assert_false(fdl_format_jpeg.create(&limits, &deadline, &j));
    uint64_t state = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        struct make_jpeg m = pick_kind(&state, i);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.readable += make_within(&state, 0, 1) ? FDL_ENCODED_PADDING : 0;
        for (int32_t shift = 1; !m.lossless && shift <= FDL_SHRINK_MAX; shift++)
            check_shrunk(j, &m, &bytes, shift, &state);
        free(file);
    }
    fdl_format_jpeg.destroy(j);
}

/* Whatever may be left out to be fast: samples cannot. */
TEST(lossless_files_come_in_full_size)
{
    if (!make_has_lossless())
        test_skip("libjpeg-turbo before 3 has no lossless JPEG");
    struct fdl_decode_limits fast = limits;
    fast.fast = true;
    SCOPED_DECODER exact_decoder = rig_decoder(limits);
    SCOPED_DECODER fast_decoder = rig_decoder(fast);
    uint64_t state = test_seed();
    for (int i = 0; i < ROUNDS / 8; i++) {
        static uint8_t exact[3 * 60 * 60], quick[3 * 60 * 60];
        struct make_jpeg m = {.width = make_within(&state, 1, 300),
                              .height = make_within(&state, 1, 300),
                              .components = make_within(&state, 0, 1) ? 3 : 1,
                              .seed = make_random(&state)};
        make_lossless(&m, &state);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        struct fdl_box box = part_of(&state, m.width, m.height);
        struct fdl_image_info info;
        if (fdl_decoder_open(exact_decoder, &bytes, &info) ||
            part_render(exact_decoder, &info, &box, 5, exact) ||
            fdl_decoder_open(fast_decoder, &bytes, &info) ||
            part_render(fast_decoder, &info, &box, 5, quick))
            fail_part(&m, &box, fdl_last_error());
        assert_memory_equal(exact, quick,
                            (size_t)((box.width + 4) / 5) *
                                (size_t)((box.height + 4) / 5) * 3);
        free(file);
    }
}

/* Large enough for several entries in a row. */
static struct make_jpeg pick_entered(uint64_t *state)
{
    struct make_jpeg m = make_any(state, 400, 300);
    m.width = make_within(state, 250, 400);
    m.height = make_within(state, 100, 300);
    m.components = m.components == 1 ? 1 : 3;
    m.quality = make_within(state, 85, 98);
    return m;
}

/* Parts that are entered at what earlier ones noted, at every size. */
TEST(parts_from_entries_are_those_of_the_whole)
{
    struct fdl_deadline deadline = {0};
    void *j;
    assert_false(fdl_format_jpeg.create(&limits, &deadline, &j));
    uint64_t state = test_seed();
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct make_jpeg m = pick_entered(&state);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.notes = &kept_notes;
        kept_forget();
        for (int32_t shift = 0; shift <= FDL_SHRINK_MAX; shift++)
            check_shrunk(j, &m, &bytes, shift, &state);
        free(file);
    }
    assert_true(kept_jumped > 0 || !kept_is_possible());
    fdl_format_jpeg.destroy(j);
}

TEST(parts_are_those_of_the_whole)
{
    SCOPED_DECODER d = rig_decoder(limits);
    uint64_t state = test_seed();
    for (int i = 0; i < ROUNDS; i++) {
        struct make_jpeg m = pick_kind(&state, i);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        int32_t width, height;
        uint8_t *whole = decode_whole(&bytes, 0, &width, &height);
        bytes.readable += make_within(&state, 0, 1) ? FDL_ENCODED_PADDING : 0;
        for (int part = 0; part < 8; part++)
            check_part(d, &m, &bytes, whole, &state);
        free(whole);
        free(file);
    }
}

TEST_MAIN("decode_regions")

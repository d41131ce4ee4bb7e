/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG without libpng: filters against their definition, and files against the
 * same ones read by libpng.
 */
#include "decode/formats/png_chunks.h"
#include "decode/formats/png_whole.h"
#include "tests/decode/make_png.h"
#include "tests/decode/rig.h"
#include "tests/dice.h"

/* ---- Filters ------------------------------------------------------------ */

/* PNG 9.2 and 9.4. */
static uint8_t predicted(int filter, int a, int b, int c)
{
    int p = a + b - c, of_a = abs(p - a), of_b = abs(p - b), of_c = abs(p - c);
    switch (filter) {
    case FDL_PNG_SUB:
        return (uint8_t)a;
    case FDL_PNG_UP:
        return (uint8_t)b;
    case FDL_PNG_AVERAGE:
        return (uint8_t)((a + b) / 2);
    case FDL_PNG_PAETH:
        return (uint8_t)(of_a <= of_b && of_a <= of_c ? a
                         : of_b <= of_c               ? b
                                                      : c);
    default:
        return 0;
    }
}

static void unfilter_slowly(const struct fdl_png_rows *r, size_t n)
{
    size_t stride = r->row_bytes + 1;
    for (size_t y = 0; y < n; y++) {
        uint8_t *row = r->first + y * stride, *above = row - stride;
        for (size_t i = 0; i < r->row_bytes; i++) {
            bool edge = i < r->pixel;
            row[i] =
                (uint8_t)(row[i] +
                          predicted(row[-1], edge ? 0 : row[i - r->pixel],
                                    above[i], edge ? 0 : above[i - r->pixel]));
        }
    }
}

/* Bytes, or mostly small or extreme ones: differences that nearly meet. */
static void fill(struct dice *d, uint8_t *bytes, size_t n)
{
    uint32_t kind = dice_below(d, 3);
    for (size_t i = 0; i < n; i++) {
        uint8_t any = (uint8_t)dice_u64(d);
        bytes[i] = kind == 0   ? any
                   : kind == 1 ? (uint8_t)(any % 3)
                               : (uint8_t)(any % 2 * 255);
    }
}

TEST(filters_are_what_they_are_defined_to_be)
{
    struct dice d = {test_seed()};
    for (int round = 0; round < 400; round++) {
        size_t pixel = 1 + dice_below(&d, 4), n = 1 + dice_below(&d, 70);
        size_t row = pixel * (1 + dice_below(&d, 150));
        size_t bytes = row + n * (row + 1) + FDL_PNG_BEHIND_ROWS;
        uint8_t *got = rig_alloc(bytes);
        fill(&d, got, bytes);
        struct fdl_png_rows rows = {got + row + 1, row, pixel};
        uint32_t one = dice_below(&d, 10); /* else of two or all kinds */
        for (size_t y = 0; y < n; y++) {
            uint32_t any = dice_below(&d, FDL_PNG_FILTERS);
            if (one == 9)
                any = any % 2 ? FDL_PNG_UP : FDL_PNG_NONE;
            rows.first[y * (row + 1) - 1] =
                (uint8_t)(one < FDL_PNG_FILTERS ? one : any);
        }
        uint8_t *want = rig_copy(got, bytes);
        struct fdl_png_rows slow = {want + row + 1, row, pixel};
        unfilter_slowly(&slow, n);
        fdl_cpu_set_level((enum fdl_cpu_level)(round % FDL_CPU_LEVELS));
        fdl_png_unfilter(&rows, n);
        if (memcmp(got, want, bytes) != 0)
            fail_msg("round %d: %zu rows of %zu bytes, pixels of %zu", round, n,
                     row, pixel);
        free(got);
        free(want);
    }
}

/* ---- Files -------------------------------------------------------------- */

/* Where the first chunk of pixels begins, and where the first behind them. */
static void find_pixels(const uint8_t *data, size_t size, uint64_t *first,
                        uint64_t *behind)
{
    struct fdl_png_walk walk = {.data = data, .size = size};
    struct fdl_png_chunk c;
    *first = *behind = 0;
    while (fdl_png_next(&walk, &c)) {
        uint64_t at = (uint64_t)(c.name - data) - 4;
        if (fdl_png_is(&c, "IDAT"))
            *behind = at + 12 + c.size;
        if (fdl_png_is(&c, "IDAT") && *first == 0)
            *first = at;
    }
}

/* With a byte behind the compressed data, which libpng accepts, in a chunk of
 * its own. */
static uint8_t *with_more(const uint8_t *data, size_t *size, uint64_t at)
{
    static const uint8_t chunk[] = {0,   0, 0, 1, 'I', 'D', 'A',
                                    'T', 0, 0, 0, 0,   0};
    uint8_t *more = rig_alloc(*size + sizeof(chunk));
    memcpy(more, data, at);
    memcpy(more + at, chunk, sizeof(chunk));
    memcpy(more + at + sizeof(chunk), data + at, *size - at);
    *size += sizeof(chunk);
    return more;
}

static struct make_png any_kind(struct dice *d)
{
    static const struct {
        int depth, colour;
    } forms[] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {1, 3}, {2, 3},
                 {4, 3}, {8, 3}, {8, 4}, {8, 2}, {8, 6}};
    uint32_t form = dice_below(d, 11);
    return (struct make_png){.width = 1 + dice_below(d, 150),
                             .height = 1 + dice_below(d, 60),
                             .depth = forms[form].depth,
                             .colour = forms[form].colour,
                             .seed = dice_u64(d)};
}

static bool is_taken(const struct make_png *m, const uint8_t *data, size_t size,
                     uint64_t at)
{
    static const uint32_t channels[] = {1, 0, 3, 1, 2, 0, 4};
    struct fdl_png_whole w = {0};
    struct fdl_arena arena = {0};
    uint32_t n = channels[m->colour];
    struct fdl_png_form form = {m->width, m->height, (uint32_t)m->depth,
                                n,        n,         1};
    bool taken = fdl_png_whole_open(&w, &arena, &form, data, size, at);
    fdl_png_whole_fini(&w);
    fdl_arena_fini(&arena);
    return taken;
}

TEST(pixels_are_libpngs)
{
    enum { SIDE = 40 };
    static uint8_t got[SIDE * SIDE * 3], want[sizeof(got)];
    struct dice d = {test_seed()};
    SCOPED_DECODER decoder = rig_decoder((struct fdl_decode_limits){0});
    for (int round = 0; round < 200; round++) {
        struct make_png m = any_kind(&d);
        uint64_t first, behind;
        size_t size, more_size;
        uint8_t *file = make_png(&m, &size);
        find_pixels(file, size, &first, &behind);
        more_size = size;
        uint8_t *more = with_more(file, &more_size, behind);
        assert_true(is_taken(&m, file, size, first));
        assert_false(is_taken(&m, more, more_size, first));
        struct fdl_box box = {
            (int32_t)dice_below(&d, 100), (int32_t)dice_below(&d, 60),
            1 + (int32_t)dice_below(&d, 150), 1 + (int32_t)dice_below(&d, 60)};
        struct fdl_encoded whole = file_of(file, size);
        struct fdl_encoded slow = file_of(more, more_size);
        struct fdl_render_cost cost;
        assert_int_equal(rig_decode(decoder, &whole, box, SIDE, got, &cost), 0);
        assert_int_equal(rig_decode(decoder, &slow, box, SIDE, want, &cost), 0);
        if (memcmp(got, want, sizeof(got)) != 0)
            fail_msg("round %d: %ux%u, %d bits, type %d", round, m.width,
                     m.height, m.depth, m.colour);
        free(file);
        free(more);
    }
}

/* Whose window is too small for it: zlib, which gives libpng row after row, has
 * forgotten what is further back. */
TEST(a_stream_that_goes_back_beyond_its_window_is_libpngs)
{
    struct make_png m = {
        .width = 200, .height = 60, .depth = 8, .colour = 2, .seed = 3};
    uint64_t first, behind;
    size_t size;
    uint8_t *file = make_png(&m, &size);
    find_pixels(file, size, &first, &behind);
    uint8_t *header = file + first + 8;
    assert_true(is_taken(&m, file, size, first));
    header[0] = 0x18; /* 512 bytes; then the check of both bytes */
    header[1] = (uint8_t)(31 - (header[0] * 256) % 31);
    assert_false(is_taken(&m, file, size, first));
    free(file);
}

TEST_MAIN("decode_png_whole")

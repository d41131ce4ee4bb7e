/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with an image that is put together of others: of files that have no
 * place of their own, and of canvases. Beside them, each sample has the images
 * of the rig.
 */
#include "base/compiler.h"
#include "tests/loader/stream/recorded_rig.h"

#include <math.h>

#define SIDE  90
#define CUT   12 /* side of the second part */
#define ONE   0.3
#define OTHER 0.7
#define MINE  8u /* images of a sample, behind the rig's */

static struct recorded_rig rig;

static struct output {
    uint64_t index;
    uint8_t mosaic[SIDE * SIDE * 3];
    uint8_t moved[SIDE * SIDE * 3];  /* the same by a step */
    uint8_t mapped[SIDE * SIDE * 3]; /* and by one that takes lines */
    uint8_t turned[SIDE * SIDE * 3]; /* the first as BGR, and nothing else */
    float mixed[3 * SIDE * SIDE];
} outputs[RECORDED_TICKETS][RECORDED_BATCH];

static uint8_t mask[CUT * CUT];

/* The files of samples are whole images that the loader keeps; from the second
 * epoch on only it can have them. */
static bool keeps;

/* What a test changes of the images before they are read. */
static void (*spoil)(struct feedline_recorded_image *images, uint32_t first);

static struct feedline_canvas canvases[3];
static struct feedline_canvas_part parts[3][4];

static struct feedline_recorded_image plain(int32_t width, int32_t height,
                                            void *out)
{
    return (struct feedline_recorded_image){
        .struct_size = sizeof(struct feedline_recorded_image),
        .length = -1,
        .out = out,
        .out_bytes = (uint64_t)width * (uint64_t)height * 3,
        .dtype = FEEDLINE_U8,
        .nhwc = 1,
        .channels = 3,
        .height = height,
        .width = width,
    };
}

static const struct feedline_recorded_step cut = {
    .op = FEEDLINE_STEP_CROP, .n = 4, .value = {3, 2, 3 + CUT, 2 + CUT}};
static const struct feedline_recorded_step mixed_steps[] = {
    {.op = FEEDLINE_STEP_TRANSPOSE, .n = 1}, /* left-right */
    {.op = FEEDLINE_STEP_SCALE}};

/* Two pixels to the left, one up; what comes in is of one colour. */
static const struct feedline_recorded_step move = {
    .op = FEEDLINE_STEP_CV_WARP_AFFINE,
    .n = 14,
    .value = {SIDE, SIDE, 16, 0, 5, 1, 0, 2, 0, 1, 1, 7, 8, 9}};

static const struct feedline_recorded_step turn = {
    .op = FEEDLINE_STEP_CHANNELS, .n = 3, .value = {2, 1, 0}};

static const struct feedline_recorded_step map = {
    .op = FEEDLINE_STEP_CV_WARP_AFFINE,
    .n = 14,
    .value = {SIDE, SIDE, 17, 0, 5, 1, 0, 2, 0, 1, 1, 7, 8, 9}};

/* Numbers of images in canvases follow from `first`. */
static void set_canvases(uint32_t first)
{
    parts[0][0] =
        (struct feedline_canvas_part){.image = first, .left = 5, .top = 7};
    parts[0][1] = (struct feedline_canvas_part){
        .image = first + 1, .left = 20, .top = SIDE - CUT, .mask = mask};
    parts[0][2] = (struct feedline_canvas_part){
        .image = first + 1, .left = SIDE - CUT, .top = 10};
    parts[1][0] = (struct feedline_canvas_part){.image = first};
    parts[2][0] =
        (struct feedline_canvas_part){.image = first + 2, .weight = ONE};
    parts[2][1] =
        (struct feedline_canvas_part){.image = first + 3, .weight = OTHER};
    canvases[0] = (struct feedline_canvas){
        SIDE, SIDE, 3, FEEDLINE_CANVAS_PASTE, {1, 2, 3}, 3, parts[0]};
    canvases[1] = (struct feedline_canvas){
        SIDE, SIDE, 3, FEEDLINE_CANVAS_PASTE, {9, 9, 9}, 1, parts[1]};
    canvases[2] = (struct feedline_canvas){
        SIDE, SIDE, 3, FEEDLINE_CANVAS_SUM_F64, {0}, 2, parts[2]};
}

static uint32_t second_of(uint64_t index)
{
    return (uint32_t)((index + 7) % RECORDED_N);
}

static void keep_files(struct feedline_recorded_image *mine, uint32_t first,
                       const struct feedline_read_call *call)
{
    uint32_t index = (uint32_t)call->index, second = second_of(index);
    mine[1] = plain(rig.width[second], rig.height[second], NULL);
    mine[1].path = rig.paths[second];
    mine[0].kept = index + 1;
    mine[1].kept = second + 1;
    for (uint32_t k = 0; k < 3; k++) {
        if (parts[0][k].image == first + 1) {
            parts[0][k].x = 3;
            parts[0][k].y = 2;
            parts[0][k].width = parts[0][k].height = CUT;
        }
    }
    if (call->epoch > 0)
        mine[0].path = mine[1].path = "/proc/self/exe"; /* no image */
}

/* Reads are in order, so there is one at a time. */
static int32_t read_mosaic(struct feedline_read_call *call,
                           struct feedline_recorded_image *images, uint32_t n)
{
    struct feedline_recorded_image all[RECORDED_IMAGES + MINE];
    struct feedline_recorded_image *mine = &all[n];
    struct output *out = &outputs[call->ticket][call->place];
    uint32_t i = (uint32_t)call->index;
    out->index = call->index;
    for (uint32_t k = 0; k < n; k++)
        all[k] = images[k];
    set_canvases(n);
    mine[0] = plain(rig.width[i], rig.height[i], NULL);
    mine[0].path = rig.paths[i];
    mine[1] = plain(CUT, CUT, NULL);
    mine[1].path = rig.paths[second_of(i)];
    mine[1].n_steps = 1;
    mine[1].steps = &cut;
    mine[2] = plain(SIDE, SIDE, out->mosaic);
    mine[2].canvas = &canvases[0];
    mine[3] = plain(SIDE, SIDE, NULL);
    mine[3].canvas = &canvases[1];
    mine[4] = plain(SIDE, SIDE, out->mixed);
    mine[4].canvas = &canvases[2];
    mine[4].dtype = FEEDLINE_F32;
    mine[4].nhwc = 0;
    mine[4].out_bytes *= sizeof(float);
    mine[4].n_steps = FDL_COUNT_OF(mixed_steps);
    mine[4].steps = mixed_steps;
    mine[5] = plain(SIDE, SIDE, out->moved);
    mine[5].canvas = &canvases[0];
    mine[5].n_steps = 1;
    mine[5].steps = &move;
    mine[6] = plain(SIDE, SIDE, out->mapped);
    mine[6].canvas = &canvases[0];
    mine[6].n_steps = 1;
    mine[6].steps = &map;
    mine[7] = plain(SIDE, SIDE, out->turned);
    mine[7].canvas = &canvases[0];
    mine[7].n_steps = 1;
    mine[7].steps = &turn;
    if (keeps)
        keep_files(mine, n, call);
    if (spoil && call->index == 5)
        spoil(mine, n);
    return feedline_read_recorded(call, all, n + MINE);
}

static void setup(void)
{
    recorded_open(&rig);
    rig.read = read_mosaic;
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    spoil = NULL;
    keeps = false;
    for (int32_t i = 0; i < CUT * CUT; i++)
        mask[i] = (uint8_t)(i % 7 == 6 ? 0 : i % 3 + 1);
}

static void teardown(void)
{
    recorded_close(&rig);
}

/* ---- What is made -------------------------------------------------------- */

/* The pixel (x, y) of an image at (left, top); NULL: it is elsewhere. */
static const uint8_t *pixel_of(uint32_t image, int32_t x, int32_t y)
{
    if (x < 0 || y < 0 || x >= rig.width[image] || y >= rig.height[image])
        return NULL;
    return rig.pixels[image] + 3 * (y * rig.width[image] + x);
}

static bool is_in_cut(int32_t x, int32_t y)
{
    return x >= 0 && y >= 0 && x < CUT && y < CUT;
}

static void expect_pixel(uint64_t index, int32_t x, int32_t y, uint8_t p[3])
{
    static const uint8_t fill[3] = {1, 2, 3};
    uint32_t second = second_of(index);
    const uint8_t *from = pixel_of((uint32_t)index, x - 5, y - 7);
    int32_t mx = x - 20, my = y - (SIDE - CUT);
    if (is_in_cut(mx, my) && mask[my * CUT + mx])
        from = pixel_of(second, mx + 3, my + 2);
    if (is_in_cut(x - (SIDE - CUT), y - 10))
        from = pixel_of(second, x - (SIDE - CUT) + 3, y - 10 + 2);
    memcpy(p, from ? from : fill, 3);
}

static void check_output(const struct output *out)
{
    static const uint8_t fill[3] = {7, 8, 9};
    assert_memory_equal(out->moved + sizeof(out->moved) - 3, fill, 3);
    assert_memory_equal(out->moved, out->mapped, sizeof(out->moved));
    static const uint8_t gray[3] = {9, 9, 9};
    for (int32_t y = 0; y < SIDE; y++) {
        for (int32_t x = 0; x < SIDE; x++) {
            uint8_t p[3];
            expect_pixel(out->index, x, y, p);
            assert_memory_equal(out->mosaic + 3 * (y * SIDE + x), p, 3);
            for (int32_t c = 0; c < 3; c++)
                assert_int_equal(out->turned[3 * (y * SIDE + x) + c], p[2 - c]);
            if (x >= 2 && y >= 1)
                assert_memory_equal(out->moved + 3 * ((y - 1) * SIDE + x - 2),
                                    p, 3);
            const uint8_t *other = pixel_of((uint32_t)out->index, x, y);
            other = other ? other : gray;
            for (int32_t c = 0; c < 3; c++) {
                volatile double a = p[c] * ONE, b = other[c] * OTHER;
                uint8_t sum = (uint8_t)(a + b);
                float got = out->mixed[(c * SIDE + y) * SIDE + (SIDE - 1 - x)];
                if (got != (float)sum / 255.0f)
                    fail_msg("%g is not %u / 255", (double)got, sum);
            }
        }
    }
}

static void expect_mosaics(const char *options)
{
    uint32_t seen = 0;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = recorded_loader(ds, options);
    for (uint64_t ticket = 0; seen < 2; ticket++) {
        feedline_batch *b = fixture_next(l);
        if (!b) {
            seen++;
            ticket--;
            continue;
        }
        uint32_t count = fixture_info(b).count;
        assert_int_equal(recorded_check(&rig, b, ticket), 0);
        for (uint32_t i = 0; i < count; i++)
            check_output(&outputs[ticket][i]);
    }
    assert_ok(feedline_loader_stop(l));
    recorded_forget(&rig);
    feedline_dataset_close(ds);
}

TEST_WITH(parts_of_files_and_of_canvases, setup, teardown)
{
    expect_mosaics("reader=pread io_depth=3 workers=2 shuffle=true");
    expect_mosaics("reader=pread io_depth=1 workers=1");
    expect_mosaics("reader=memory workers=3 shuffle=true");
}

/* Of which a sample has one as it is made, and the store. */
TEST_WITH(images_that_are_kept_are_made_once, setup, teardown)
{
    keeps = true;
    expect_mosaics("reader=pread io_depth=1 workers=1 max_file_bytes=100000000 "
                   "drop_last=false");
    expect_mosaics("reader=pread io_depth=3 workers=3 shuffle=true "
                   "max_file_bytes=100000000 drop_last=false");
}

/* ---- Faults -------------------------------------------------------------- */

static struct feedline_canvas odd;
static struct feedline_canvas_part odd_parts[300];

/* The first canvas, to be changed. */
static void take(struct feedline_recorded_image *images)
{
    odd = canvases[0];
    memcpy(odd_parts, parts[0], sizeof(parts[0]));
    odd.parts = odd_parts;
    images[2].canvas = &odd;
}

#define FAULT(name, change)                                                    \
  static void name(struct feedline_recorded_image *images, uint32_t first)     \
  {                                                                            \
    (void)first;                                                               \
    take(images);                                                              \
    change;                                                                    \
  }

FAULT(is_kept_elsewhere, images[2].kept = 1)
FAULT(has_no_width, odd_parts[1].height = 3)
FAULT(begins_before, odd_parts[1].x = -1)
FAULT(ends_behind, (odd_parts[1].x = 2, odd_parts[1].width = CUT - 1,
                    odd_parts[1].height = CUT))
FAULT(is_missing, images[1].path = "/nowhere/to/be/found.jpg")
FAULT(is_no_image, images[1].path = "/proc/self/exe")
FAULT(is_cut_short, images[0].length = (int64_t)rig.fixture.sizes[5] / 2)
FAULT(is_itself, odd_parts[1].image = first + 2)
FAULT(comes_later, odd_parts[1].image = UINT32_MAX)
FAULT(is_outside, odd_parts[1].left = SIDE - CUT + 1)
FAULT(is_above, odd_parts[2].top = -1)
FAULT(overflows, odd_parts[1].top = INT32_MAX)
FAULT(is_too_wide, odd.width = INT32_MAX)
FAULT(is_empty, odd.height = 0)
FAULT(has_two_channels, odd.channels = 2)
FAULT(is_gray, odd.channels = 1)
FAULT(has_no_parts, odd.parts = NULL)
FAULT(has_too_many, odd.n_parts = 257)
FAULT(is_no_way, odd.how = 3)
FAULT(sums_parts, odd.how = FEEDLINE_CANVAS_SUM_F32)
FAULT(sums_nothing, (odd.how = FEEDLINE_CANVAS_SUM_F64, odd.n_parts = 0))
FAULT(has_a_path, images[2].path = rig.paths[0])
FAULT(has_data, images[2].data = "x")
FAULT(has_no_place, images[4].out = NULL)
FAULT(is_no_part, (odd.n_parts = 1, canvases[1].n_parts = 0,
                   canvases[2].n_parts = 1, images[2].out = NULL,
                   odd_parts[0].image = first, parts[2][0].image = first + 3))
FAULT(is_of_another_size, images[2].canvas = (odd.width++, &odd))
FAULT(has_a_bad_weight,
      (odd.how = FEEDLINE_CANVAS_SUM_F64, odd_parts[0].weight = NAN))
FAULT(is_planar, (images[0].nhwc = 0, images[0].out = outputs))

static const struct {
    void (*spoil)(struct feedline_recorded_image *images, uint32_t first);
    int32_t status;
    const char *reason;
} faults[] = {
    {is_kept_elsewhere, FEEDLINE_EINVAL, "kept is not 0, but it has an out"},
    {has_no_width, FEEDLINE_EINVAL, "its rectangle, 0x3 at 0, 0"},
    {begins_before, FEEDLINE_EINVAL, "its rectangle, 0x0 at -1, 0"},
    {ends_behind, FEEDLINE_EINVAL, "11x12 at 2, 0, is not inside of an image"},
    {is_missing, FEEDLINE_ENOENT, "/nowhere/to/be/found.jpg: open"},
    {is_no_image, FEEDLINE_EDECODE, "/proc/self/exe: offset 0"},
    {is_cut_short, FEEDLINE_EDECODE, "000005.jpg: "},
    {is_itself, FEEDLINE_EINVAL, "part 2 of the canvas: image "},
    {comes_later, FEEDLINE_EINVAL, "is not before this one"},
    {is_outside, FEEDLINE_EINVAL, "12x12 at 79, 78, which is not inside"},
    {is_above, FEEDLINE_EINVAL, "part 3 of the canvas: it is 12x12 at 78, -1"},
    {overflows, FEEDLINE_EINVAL, "not inside of a canvas of 90x90"},
    {is_too_wide, FEEDLINE_ERANGE, "sides up to"},
    {is_empty, FEEDLINE_ERANGE, "sides up to"},
    {has_two_channels, FEEDLINE_ERANGE, "a canvas of 2 channels"},
    {is_gray, FEEDLINE_EINVAL, "height, width, 1 channels"},
    {has_no_parts, FEEDLINE_EINVAL, "parts is NULL"},
    {has_too_many, FEEDLINE_ERANGE, "257 parts; a canvas has 256"},
    {is_no_way, FEEDLINE_EINVAL, "how is 3"},
    {sums_parts, FEEDLINE_EINVAL, "as large as the canvas"},
    {sums_nothing, FEEDLINE_EINVAL, "a sum of no parts"},
    {has_a_path, FEEDLINE_EINVAL, "a canvas, and a path or data"},
    {has_data, FEEDLINE_EINVAL, "a canvas, and a path or data"},
    {has_no_place, FEEDLINE_EINVAL, "out is NULL"},
    {is_no_part, FEEDLINE_EINVAL, "out is NULL, and it is no part"},
    {is_of_another_size, FEEDLINE_EINVAL, "the steps make this image 91x90"},
    {has_a_bad_weight, FEEDLINE_EINVAL, "the weight of part 1 is nan"},
    {is_planar, FEEDLINE_EINVAL, "is not of bytes in the order"},
};

static void expect_fault(feedline_loader *l, int32_t status, const char *reason)
{
    struct feedline_failure f = {.struct_size = sizeof(f)};
    assert_int_equal(recorded_run(&rig, l, 1), 1);
    assert_int_equal(feedline_loader_failure_count(l), 1);
    assert_ok(feedline_loader_get_failure(l, 0, &f));
    assert_int_equal(f.sample_index, 5);
    assert_int_equal(f.status, status);
    if (!strstr(f.reason, reason))
        fail_msg("\"%s\" lacks \"%s\"", f.reason, reason);
}

TEST_WITH(a_sample_fails_with_what_its_part_says, setup, teardown)
{
    for (size_t i = 0; i < FDL_COUNT_OF(faults); i++) {
        spoil = faults[i].spoil;
        feedline_dataset *ds = recorded_dataset(&rig);
        feedline_loader *l =
            recorded_loader(ds, "reader=pread on_error=zero epochs=1");
        expect_fault(l, faults[i].status, faults[i].reason);
        feedline_loader_destroy(l);
        feedline_dataset_close(ds);
        recorded_forget(&rig);
    }
}

/* Sides that are allowed, of more bytes than a sample may take. */
static void is_huge(struct feedline_recorded_image *images, uint32_t first)
{
    (void)first;
    take(images);
    odd.width = odd.height = 30000;
}

static void has_huge_parts(struct feedline_recorded_image *images,
                           uint32_t first)
{
    (void)first;
    images[3].width = images[3].height = 30000;
    images[3].out_bytes = 3 * UINT64_C(900000000);
    canvases[2].width = canvases[2].height = 30000;
    canvases[2].n_parts = 1;
    parts[2][0] = parts[2][1];
}

TEST_WITH(a_sample_takes_no_more_than_is_allowed, setup, teardown)
{
    void (*const each[])(struct feedline_recorded_image *,
                         uint32_t) = {is_huge, has_huge_parts};
    for (size_t i = 0; i < FDL_COUNT_OF(each); i++) {
        spoil = each[i];
        feedline_dataset *ds = recorded_dataset(&rig);
        feedline_loader *l = recorded_loader(ds, "on_error=zero epochs=1");
        expect_fault(l, FEEDLINE_ERANGE, "more than 1073741824 bytes");
        feedline_loader_destroy(l);
        feedline_dataset_close(ds);
        recorded_forget(&rig);
    }
}

TEST_MAIN("recorded_canvas")

/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of OpenCV on small images, at every level: values that OpenCV 4.10 and
 * 5.0 made of them; and crops behind a step, which are carried out by it.
 * opencv_parity.py compares more where there is OpenCV. */
#include "decode/recorded_image.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <math.h>
#include <string.h>

#define WIDTH  5
#define HEIGHT 4

static uint8_t value_at(int32_t i)
{
    return (uint8_t)((i * 97 + 13) % 256);
}

/* A plan for one step on an image of that size, and what comes out of it. */
struct bench {
    struct fdl_plan plan;
    struct fdl_canvas canvas;
    int32_t width, height;
    int32_t channels, made; /* of the image, of what comes out */
};

static void begin(struct bench *b, int32_t width, int32_t height,
                  int32_t channels)
{
    memset(b, 0, sizeof(*b));
    fdl_plan_init(&b->plan, width, height);
    b->width = width;
    b->height = height;
    b->channels = b->made = channels;
}

static void add(struct bench *b, const struct feedline_recorded_step *s)
{
    int32_t status = fdl_recorded_plan_cv(&b->plan, s, &b->made);
    if (status)
        fail_msg("%s", fdl_last_error());
}

/* Of an image whose pixels are value_at, one channel after the other, in the
 * part that the plan decodes. */
static void run(struct bench *b)
{
    struct fdl_canvas *c = &b->canvas;
    struct fdl_box box = b->plan.geometry.box;
    assert_int_equal(fdl_canvas_begin(c, box.width, box.height, b->channels),
                     FEEDLINE_OK);
    for (int32_t i = 0; i < b->channels; i++) {
        for (int32_t y = 0; y < box.height; y++) {
            for (int32_t x = 0; x < box.width; x++) {
                int32_t at = (i * b->height + box.y + y) * b->width + box.x + x;
                fdl_image_row(&c->image, i, y)[x] = value_at(at);
            }
        }
    }
    assert_int_equal(fdl_steps_run(b->plan.steps, b->plan.n_pixel_steps, c),
                     FEEDLINE_OK);
}

static void end(struct bench *b)
{
    fdl_canvas_fini(&b->canvas);
}

static void check(const struct feedline_recorded_step *s, int32_t channels,
                  const uint8_t *want, size_t n)
{
    enum fdl_cpu_level best = fdl_cpu_level();
    for (int level = 0; level <= (int)best; level++) {
        struct bench b;
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        begin(&b, WIDTH, HEIGHT, channels);
        add(&b, s);
        run(&b);
        const struct fdl_image *image = &b.canvas.image;
        assert_int_equal(image->plane * (size_t)image->channels, n);
        for (size_t i = 0; i < n; i++) {
            if (image->data[i] != want[i])
                fail_msg("level %d, value %zu: %d for %d", level, i,
                         image->data[i], want[i]);
        }
        end(&b);
    }
    fdl_cpu_set_level(best);
}

#define CHECK(step, channels, ...)                                             \
  do {                                                                         \
    static const uint8_t want[] = {__VA_ARGS__};                               \
    check(&(struct feedline_recorded_step){step}, channels, want,              \
          sizeof(want));                                                       \
  } while (0)

#define STEP(which, ...)                                                       \
  .op = FEEDLINE_STEP_CV_##which,                                              \
  .n = sizeof((double[]){__VA_ARGS__}) / sizeof(double),                       \
  .value = {__VA_ARGS__}

/* clang-format off */
TEST(resize_nearest)
{
#define NEAREST STEP(RESIZE, 7, 3, 0)
    CHECK(NEAREST, 1,
          13, 13, 110, 207, 207, 48, 145, 242, 242, 83, 180, 180, 21, 118,
          215, 215, 56, 153, 153, 250, 91);
}

TEST(resize_linear)
{
#define LINEAR STEP(RESIZE, 7, 3, 1)
#define LINEAR_LESS STEP(RESIZE, 2, 2, 1)
    CHECK(LINEAR, 1,
          51, 82, 133, 202, 89, 85, 140, 229, 138, 97, 167, 144, 122, 105,
          192, 101, 61, 130, 200, 159, 68);
    CHECK(LINEAR_LESS, 1, 104, 59, 82, 197);
}

TEST(resize_area)
{
#define AREA STEP(RESIZE, 3, 3, 3)
#define AREA_MORE STEP(RESIZE, 7, 3, 3)
    CHECK(AREA, 1, 83, 149, 99, 165, 141, 117, 131, 133, 134);
    CHECK(AREA_MORE, 1,
          70, 90, 123, 200, 73, 80, 138, 229, 133, 89, 167, 142, 123, 105,
          195, 99, 55, 133, 210, 166, 71);
}

TEST(resize_lanczos4)
{
#define LANCZOS4 STEP(RESIZE, 7, 3, 4)
    CHECK(LANCZOS4, 1,
          44, 59, 155, 204, 70, 54, 156, 255, 135, 73, 166, 160, 111, 104,
          200, 92, 25, 129, 241, 173, 52);
}

TEST(colours)
{
#define TO_GRAY  STEP(COLOUR, 7)
#define TO_YCRCB STEP(COLOUR, 37)
#define TO_RGB   STEP(COLOUR, 39)
#define TO_HSV   STEP(COLOUR, 41)
#define FULL     STEP(COLOUR, 66)
#define FROM_HSV STEP(COLOUR, 55)
    CHECK(TO_GRAY, 3,
          104, 51, 148, 139, 86, 154, 174, 121, 112, 59, 156, 147, 94, 162,
          182, 129, 120, 67, 135, 155);
    CHECK(TO_YCRCB, 3,
          104, 51, 148, 139, 86, 154, 174, 121, 112, 59, 156, 147, 94, 162,
          182, 129, 120, 67, 135, 155, 63, 170, 170, 63, 170, 191, 63, 170,
          63, 170, 170, 63, 170, 191, 63, 170, 63, 170, 191, 63, 99, 184, 184,
          99, 184, 56, 99, 184, 99, 184, 184, 99, 184, 56, 99, 184, 99, 184,
          56, 99);
    CHECK(TO_RGB, 3,
          59, 0, 166, 143, 17, 250, 228, 101, 79, 0, 186, 163, 37, 255, 247,
          121, 98, 0, 205, 182, 15, 192, 187, 13, 190, 255, 11, 188, 15, 192,
          186, 13, 190, 255, 11, 188, 14, 191, 255, 12, 0, 149, 255, 0, 246,
          61, 74, 255, 0, 171, 255, 0, 255, 83, 96, 255, 0, 193, 8, 21);
    CHECK(TO_HSV, 3,
          68, 142, 142, 68, 142, 15, 68, 142, 68, 142, 142, 68, 142, 15, 68,
          142, 68, 142, 15, 68, 234, 252, 153, 193, 204, 228, 163, 172, 223,
          239, 148, 185, 196, 220, 158, 166, 213, 227, 247, 178, 161, 150,
          247, 196, 185, 242, 231, 220, 169, 158, 255, 204, 193, 250, 239,
          228, 177, 166, 223, 212);
    CHECK(FULL, 3,
          74, 225, 225, 74, 225, 149, 74, 225, 74, 225, 225, 74, 225, 149, 74,
          225, 74, 225, 149, 74, 234, 252, 153, 193, 204, 228, 163, 172, 223,
          239, 148, 185, 196, 220, 158, 166, 213, 227, 247, 178, 161, 150,
          247, 196, 185, 242, 231, 220, 169, 158, 255, 204, 193, 250, 239,
          228, 177, 166, 223, 212);
    CHECK(FROM_HSV, 3,
          53, 149, 247, 47, 181, 12, 12, 220, 61, 152, 237, 29, 193, 15, 8,
          228, 69, 157, 6, 18, 34, 149, 237, 88, 158, 26, 123, 158, 49, 152,
          255, 96, 159, 34, 127, 176, 67, 154, 7, 104, 20, 150, 151, 20, 185,
          13, 97, 158, 21, 158, 148, 19, 190, 21, 131, 156, 21, 166, 4, 29);
}

TEST(lab)
{
#define TO_LAB   STEP(COLOUR, 45)
#define FROM_LAB STEP(COLOUR, 56)
    CHECK(TO_LAB, 3,
          148, 72, 155, 179, 101, 170, 209, 131, 155, 78, 162, 186, 107, 177,
          216, 138, 162, 85, 153, 193, 71, 188, 193, 67, 192, 163, 66, 193,
          70, 189, 192, 67, 193, 162, 66, 193, 69, 191, 165, 67, 173, 75, 72,
          171, 72, 196, 169, 72, 172, 74, 72, 170, 72, 196, 169, 72, 172, 73,
          194, 170);
    CHECK(FROM_LAB, 3,
          123, 61, 0, 106, 2, 255, 88, 0, 119, 54, 0, 102, 0, 255, 84, 0, 115,
          44, 255, 98, 14, 133, 213, 0, 167, 249, 0, 195, 6, 141, 218, 0, 174,
          251, 0, 201, 0, 149, 242, 0, 0, 0, 195, 107, 0, 0, 202, 103, 0, 0,
          220, 130, 0, 68, 223, 133, 30, 0, 0, 152);
}

TEST(hls)
{
#define TO_HLS   STEP(COLOUR, 53)
#define FROM_HLS STEP(COLOUR, 60)
    CHECK(TO_HLS, 3,
          68, 142, 142, 68, 142, 15, 68, 142, 68, 142, 142, 68, 142, 15, 68,
          142, 68, 142, 15, 68, 87, 76, 173, 122, 111, 134, 157, 146, 95,
          84, 181, 130, 119, 142, 165, 154, 103, 92, 115, 138, 217, 248,
          230, 155, 170, 228, 193, 173, 199, 225, 255, 151, 159, 244, 210,
          187, 183, 205, 239, 161);
    CHECK(FROM_HLS, 3,
          141, 3, 3, 176, 64, 123, 237, 10, 148, 16, 0, 185, 72, 137, 247,
          8, 156, 30, 112, 199, 158, 2, 176, 216, 10, 146, 243, 10, 177, 5,
          214, 223, 11, 157, 247, 47, 197, 6, 118, 230, 181, 1, 195, 192,
          55, 122, 219, 134, 190, 4, 178, 190, 79, 127, 231, 152, 198, 11,
          115, 194);
}

TEST(blurs)
{
#define GAUSS       STEP(GAUSSIAN_BLUR, 5, 3, 1.3, 0)
#define GAUSS_SIGMA STEP(GAUSSIAN_BLUR, 0, 0, 0.8, 0)
#define GAUSS_SIDES STEP(GAUSSIAN_BLUR, 9, 7, 0, 0)
#define BOX         STEP(BOX_BLUR, 3, 5)
#define MEDIAN      STEP(MEDIAN_BLUR, 3)
#define MEDIAN_WIDE STEP(MEDIAN_BLUR, 9)
    CHECK(GAUSS, 1,
          131, 125, 119, 100, 94, 128, 128, 129, 121, 120, 126, 129, 134, 137,
          143, 115, 126, 142, 158, 169);
    CHECK(GAUSS_SIGMA, 1,
          115, 123, 134, 99, 95, 137, 127, 134, 113, 105, 138, 117, 140, 155,
          138, 128, 106, 138, 169, 148);
    CHECK(GAUSS_SIDES, 1,
          127, 126, 124, 120, 119, 127, 128, 127, 125, 125, 128, 130, 132,
          135, 136, 127, 130, 135, 139, 142);
    CHECK(BOX, 1,
          114, 146, 123, 135, 116, 108, 140, 118, 130, 111, 103, 135, 130,
          141, 140, 114, 147, 124, 136, 134);
    CHECK(MEDIAN, 1,
          83, 110, 110, 145, 118, 110, 153, 110, 145, 118, 188, 153, 126, 126,
          91, 188, 126, 126, 126, 91);
    CHECK(MEDIAN_WIDE, 1,
          110, 110, 118, 118, 126, 126, 126, 118, 118, 118, 145, 126, 126,
          118, 110, 188, 145, 126, 118, 91);
}

TEST(warps)
{
#define MATRIX  0.9, 0.3, -1.25, -0.2, 1.1, 0.5
#define WARP_4  STEP(WARP_AFFINE, 6, 4, 1, 4, 4, MATRIX)
#define WARP_5  STEP(WARP_AFFINE, 6, 4, 1, 4, 5, MATRIX)
#define NEAR_4  STEP(WARP_AFFINE, 6, 4, 16, 0, 4, MATRIX, 7)
#define NEAR_5  STEP(WARP_AFFINE, 6, 4, 16, 0, 5, MATRIX, 7)
    CHECK(WARP_4, 1,
          147, 128, 98, 77, 137, 120, 107, 149, 56, 101, 137, 124, 89, 155,
          226, 93, 236, 128, 110, 104, 199, 105, 192, 150);
    CHECK(WARP_5, 1,
          149, 128, 96, 77, 135, 119, 108, 150, 54, 100, 137, 124, 88, 154,
          226, 92, 235, 129, 110, 103, 199, 107, 193, 151);
    CHECK(NEAR_4, 1,
          7, 13, 110, 110, 207, 48, 7, 242, 83, 180, 21, 118, 7, 188, 56, 153,
          250, 91, 7, 7, 29, 126, 223, 64);
    CHECK(NEAR_5, 1,
          7, 13, 110, 110, 207, 48, 7, 242, 83, 180, 21, 118, 7, 215, 56, 153,
          250, 91, 7, 7, 29, 126, 223, 64);
}

TEST(warps_with_data)
{
    static const double matrix[] = {0.9, 0.3, -1.25, -0.2, 1.1, 0.5,
                                    0.02, -0.03, 1.5};
    float maps[48];
    for (int i = 0; i < 24; i++) { /* of 6 x 4 pixels */
        maps[i] = rintf((float)(i % 6) * 7.2F - 5.6F) / 8;
        maps[24 + i] = rintf((float)(i / 6) * 8.8F - 3.2F) / 8 + 0.03125F;
    }
#define CUBIC_4 STEP(WARP_AFFINE, 6, 4, 2, 1, 4, MATRIX)
#define PERSP_4 STEP(WARP_PERSPECTIVE, 6, 4, 1, 2, 4), .data = matrix
#define PERSP_5 STEP(WARP_PERSPECTIVE, 6, 4, 1, 2, 5), .data = matrix
#define REMAP_4 STEP(REMAP, 6, 4, 1, 3, 4), .data = maps
#define REMAP_5 STEP(REMAP, 6, 4, 1, 3, 5), .data = maps
    CHECK(CUBIC_4, 1,
          180, 128, 84, 145, 132, 127, 104, 157, 35, 114, 106, 102, 81, 155,
          235, 84, 81, 76, 96, 81, 230, 105, 57, 61);
    CHECK(PERSP_4, 1,
          152, 55, 134, 108, 131, 206, 84, 136, 99, 234, 82, 196, 108, 152,
          110, 119, 126, 143, 148, 99, 185, 75, 204, 69);
    CHECK(PERSP_5, 1,
          154, 53, 134, 109, 129, 207, 83, 134, 99, 233, 82, 196, 108, 151,
          111, 117, 126, 142, 148, 99, 187, 75, 204, 68);
    CHECK(REMAP_4, 1,
          106, 75, 94, 179, 117, 115, 141, 166, 101, 186, 47, 100, 128, 181,
          74, 159, 195, 123, 98, 151, 44, 129, 213, 106);
    CHECK(REMAP_5, 1,
          106, 75, 94, 179, 117, 115, 141, 166, 101, 186, 47, 100, 128, 181,
          74, 159, 195, 123, 98, 151, 44, 129, 213, 106);
}

TEST(filters_and_equalizations)
{
    static const float kernel[] = {0, 0.5F, 0, -1, 2, -1, 0, 0.25F, 0.25F};
#define FILTER_4 STEP(FILTER2D, 3, 3, 4), .data = kernel
#define FILTER_5 STEP(FILTER2D, 3, 3, 5), .data = kernel
#define EQUAL    STEP(EQUALIZE, 0)
#define TILES    STEP(CLAHE, 0, 3, 2, 2)
    CHECK(FILTER_4, 1,
          8, 107, 255, 0, 255, 255, 0, 255, 0, 255, 255, 0, 177, 255, 0, 255,
          0, 177, 255, 0);
    CHECK(FILTER_5, 1,
          8, 107, 255, 0, 255, 255, 0, 255, 0, 255, 255, 0, 177, 255, 0, 255,
          0, 177, 255, 0);
    CHECK(EQUAL, 1,
          0, 107, 201, 40, 148, 242, 81, 174, 13, 121, 215, 54, 161, 255, 94,
          188, 27, 134, 228, 67);
    CHECK(TILES, 1,
          28, 113, 203, 56, 184, 255, 85, 180, 42, 160, 227, 57, 151, 255,
          132, 184, 28, 122, 227, 80);
}

TEST(borders_and_even_kernels)
{
    static const float kernel[] = {0, 0.5F, 0, -1, 2, -1, 0, 0.25F, 0.25F};
#define GAUSS_WRAPS STEP(GAUSSIAN_BLUR, 5, 3, 1.3, 0, 3)
#define GAUSS_ZEROS STEP(GAUSSIAN_BLUR, 5, 3, 1.3, 0, 0)
#define BOX_ZEROS   STEP(BOX_BLUR, 3, 5, 0)
#define BOX_PARTS   STEP(BOX_BLUR, 2, 4)
#define BOX_EVEN    STEP(BOX_BLUR, 6, 5, 1)
#define FILTER_EDGE STEP(FILTER2D, 3, 3, 5, 2), .data = kernel
    CHECK(GAUSS_WRAPS, 1,
          115, 120, 121, 120, 116, 129, 131, 129, 128, 127, 136, 133, 134,
          141, 144, 117, 120, 132, 139, 130);
    CHECK(GAUSS_ZEROS, 1,
          55, 76, 83, 71, 49, 91, 120, 129, 112, 79, 97, 124, 134, 120, 86,
          61, 82, 96, 91, 66);
    CHECK(BOX_ZEROS, 1,
          48, 84, 74, 81, 45, 62, 107, 99, 108, 64, 62, 107, 99, 108, 64,
          54, 85, 75, 82, 51);
    CHECK(BOX_PARTS, 1,
          131, 131, 132, 133, 102, 131, 131, 132, 133, 102, 117, 117, 118,
          151, 120, 136, 136, 105, 170, 139);
    CHECK(BOX_EVEN, 1,
          114, 111, 116, 121, 126, 132, 129, 125, 122, 118, 149, 147, 135,
          122, 110, 167, 165, 144, 123, 103);
    CHECK(FILTER_EDGE, 1,
          0, 121, 255, 0, 228, 233, 0, 255, 0, 215, 255, 0, 177, 255, 0,
          255, 0, 164, 255, 0);
}

TEST(separable_filters)
{
    static const float kernels[] = {0.1F, 0.25F, 0.3F, 0.25F, 0.1F,
                                    -0.5F, 2.1F, -0.5F};
#define SEP_4     STEP(SEP_FILTER2D, 5, 3, 4, 4), .data = kernels
#define SEP_5     STEP(SEP_FILTER2D, 5, 3, 4, 5), .data = kernels
#define SEP_ZEROS STEP(SEP_FILTER2D, 5, 3, 0, 5), .data = kernels
    CHECK(SEP_4, 1,
          61, 77, 131, 157, 147, 204, 174, 108, 49, 26, 135, 166, 200, 234,
          255, 79, 97, 112, 127, 144);
    CHECK(SEP_5, 1,
          61, 77, 131, 157, 147, 204, 174, 108, 49, 26, 135, 166, 200, 234,
          255, 79, 97, 112, 127, 144);
    CHECK(SEP_ZEROS, 1,
          54, 129, 189, 194, 131, 161, 165, 108, 60, 33, 103, 160, 200, 194,
          148, 113, 163, 188, 176, 131);
}

TEST(sums)
{
    uint8_t bytes[WIDTH * HEIGHT];
    int16_t shorts[WIDTH * HEIGHT];
    float floats[WIDTH * HEIGHT];
    double doubles[WIDTH * HEIGHT];
    for (int32_t i = 0; i < WIDTH * HEIGHT; i++) {
        shorts[i] = (int16_t)(i * 37 % 400 - 200);
        bytes[i] = (uint8_t)shorts[i];
        floats[i] = (float)shorts[i] / 3;
        doubles[i] = floats[i];
    }
#define ADD_BYTES  STEP(ADD, WIDTH, HEIGHT, 0, 0), .data = bytes
#define ADD_SHORTS STEP(ADD, WIDTH, HEIGHT, 3, 0), .data = shorts
#define ADD_FLOATS STEP(ADD, WIDTH, HEIGHT, 5, 0), .data = floats
#define ADD_CUT    STEP(ADD, WIDTH, HEIGHT, 5, 1), .data = floats
#define ADD_EXACT  STEP(ADD, WIDTH, HEIGHT, 6, 1), .data = doubles
#define ADD_GRAY   STEP(ADD_GRAY, 1.4, 1 - 1.4)
#define CONTRAST   STEP(CONTRAST, 1.6)
    CHECK(ADD_BYTES, 1,
          69, 203, 255, 215, 255, 255, 105, 239, 117, 251, 255, 119, 253,
          255, 255, 255, 255, 155, 255, 167);
    CHECK(ADD_SHORTS, 1,
          0, 0, 81, 0, 93, 227, 105, 239, 117, 251, 255, 0, 0, 131, 9, 143,
          21, 155, 255, 167);
    CHECK(ADD_FLOATS, 1,
          0, 56, 165, 18, 128, 237, 90, 200, 53, 162, 255, 0, 101, 210, 64,
          173, 26, 136, 245, 98);
    CHECK(ADD_CUT, 1,
          0, 55, 165, 18, 127, 237, 90, 199, 53, 162, 255, 0, 101, 210, 63,
          173, 26, 135, 245, 98);
    CHECK(ADD_EXACT, 1,
          0, 55, 165, 18, 127, 237, 90, 199, 53, 162, 255, 0, 101, 210, 63,
          173, 26, 135, 245, 98);
    CHECK(ADD_GRAY, 3,
          0, 134, 231, 12, 169, 255, 47, 204, 0, 142, 239, 20, 177, 255, 55,
          212, 0, 150, 255, 28, 184, 0, 79, 219, 17, 126, 254, 52, 192, 0,
          87, 227, 25, 134, 255, 60, 200, 0, 107, 235, 33, 190, 255, 68,
          225, 0, 103, 255, 41, 198, 255, 76, 233, 0, 111, 255, 49, 206, 0,
          84);
    CHECK(CONTRAST, 1,
          0, 99, 254, 0, 155, 255, 55, 211, 0, 111, 255, 12, 167, 255, 68,
          223, 0, 124, 255, 25);
    CHECK(CONTRAST, 3,
          0, 101, 255, 1, 157, 255, 57, 213, 0, 113, 255, 14, 169, 255, 70,
          225, 0, 126, 255, 27, 182, 0, 83, 238, 0, 139, 255, 40, 195, 0,
          96, 251, 0, 152, 255, 53, 208, 0, 109, 255, 9, 165, 255, 65, 221,
          0, 121, 255, 22, 177, 255, 78, 233, 0, 134, 255, 35, 190, 0, 91);
}

TEST(recompressed)
{
#define JPEG_90 STEP(RECOMPRESS, 90)
#define JPEG_20 STEP(RECOMPRESS, 20)
#define JPEG_75 STEP(RECOMPRESS, 75)
    CHECK(JPEG_90, 1,
          16, 111, 205, 51, 138, 235, 80, 185, 21, 119, 220, 56, 155, 248,
          89, 191, 28, 118, 224, 69);
    CHECK(JPEG_20, 1,
          63, 111, 212, 0, 160, 157, 110, 199, 80, 162, 223, 72, 155, 196,
          135, 207, 19, 105, 248, 73);
    CHECK(JPEG_75, 3,
          95, 79, 173, 165, 116, 125, 147, 171, 139, 85, 148, 166, 111, 128,
          170, 135, 154, 88, 101, 135, 112, 81, 146, 118, 60, 138, 147, 146,
          104, 56, 156, 163, 90, 115, 195, 140, 151, 66, 100, 189, 91, 75,
          166, 167, 143, 122, 141, 160, 138, 106, 149, 158, 89, 113, 185,
          138, 146, 60, 80, 146);
}
/* clang-format on */

TEST(what_does_not_fit_the_image_is_refused)
{
    const struct feedline_recorded_step refused[] = {
        {STEP(COLOUR, 8)},
        {STEP(COLOUR, 41)},
        {STEP(EQUALIZE, 1)},
        {STEP(CLAHE, 1, 3, 2, 2)},
        {STEP(WARP_AFFINE, 6, 4, 1, 4, 4, MATRIX, 1, 2, 3)},
        {STEP(GAUSSIAN_BLUR, 0, 3, 0, 0)},
        {STEP(GAUSSIAN_BLUR, 0, 3, 50, 0)},
        {STEP(ADD, WIDTH, HEIGHT + 1, 0, 0)},
        {STEP(ADD_GRAY, 1, 0)}};
    for (size_t i = 0; i < FDL_COUNT_OF(refused); i++) {
        struct bench b;
        begin(&b, WIDTH, HEIGHT, 1);
        int32_t status = fdl_recorded_plan_cv(&b.plan, &refused[i], &b.made);
        if (status != FEEDLINE_EINVAL && status != FEEDLINE_ERANGE)
            fail_msg("step %zu is taken", i);
        end(&b);
    }
}

/* What is said of a step before there is an image. */
static int32_t status_of(const struct feedline_recorded_step *s)
{
    uint8_t out[WIDTH * HEIGHT];
    struct feedline_recorded_image image = {.struct_size = sizeof(image),
                                            .n_steps = 1,
                                            .steps = s,
                                            .out = out,
                                            .out_bytes = sizeof(out),
                                            .dtype = FEEDLINE_U8,
                                            .channels = 1,
                                            .height = HEIGHT,
                                            .width = WIDTH};
    return fdl_recorded_check(&image);
}

TEST(what_opencv_does_otherwise_is_refused)
{
    static const float uneven[] = {1, 0.2F, 0.5F, 0.3F},
                       parts[] = {0.25F, 0.5F, 0.25F, 0.25F, 0.5F, 0.25F},
                       good[] = {1, 0.2F, 0.6F, 0.2F},
                       large[] = {9e6F, 0.2F, 0.6F, 0.2F},
                       not_a_number[] = {1, 0.2F, NAN, 0.2F};
    const struct feedline_recorded_step refused[] = {
        {STEP(BOX_BLUR, 3, 3, 3)},
        {STEP(BOX_BLUR, 18, 15)},
        {STEP(GAUSSIAN_BLUR, 4, 3, 1, 0)},
        {STEP(GAUSSIAN_BLUR, 3, 3, 1, 0, 5)},
        {STEP(FILTER2D, 3, 1, 4, 3), .data = good},
        {STEP(FILTER2D, 3, 1, 4), .data = large},
        {STEP(FILTER2D, 1, 3, 4), .data = not_a_number},
        {STEP(SEP_FILTER2D, 1, 3, 4, 4), .data = large},
        {STEP(SEP_FILTER2D, 1, 3, 4, 4), .data = not_a_number},
        {STEP(SEP_FILTER2D, 1, 3, 4, 4), .data = uneven},
        {STEP(SEP_FILTER2D, 3, 3, 4, 4), .data = parts},
        {STEP(SEP_FILTER2D, 2, 3, 4, 4), .data = good},
        {STEP(SEP_FILTER2D, 1, 3, 3, 4), .data = good},
        {STEP(SEP_FILTER2D, 1, 129, 4, 4), .data = good},
        {STEP(SEP_FILTER2D, 1, 3, 4, 4), .data = (const char *)good + 1},
        {STEP(SEP_FILTER2D, 1, 3, 4, 4)},
        {STEP(ADD, WIDTH, HEIGHT, 4, 0), .data = good},
        {STEP(ADD, WIDTH, HEIGHT, 6, 0), .data = good},
        {STEP(ADD, WIDTH, HEIGHT, 3, 0), .data = (const char *)good + 1},
        {STEP(ADD, WIDTH, HEIGHT, 0, 2), .data = good},
        {STEP(WARP_AFFINE, 6, 4, 3, 4, 4, MATRIX, 1, 2, 3)},
        {STEP(WARP_AFFINE, 6, 4, 2, 4, 5, MATRIX, 1, 2, 3)},
        {STEP(RESIZE, 6, 4, 1, 2)},
        {STEP(RESIZE, 6, 4, 2)},
        {STEP(RECOMPRESS, 101)},
        {STEP(RECOMPRESS, 7.5)},
        {STEP(CONTRAST, INFINITY)}};
    const struct feedline_recorded_step taken = {STEP(SEP_FILTER2D, 1, 3, 4, 4),
                                                 .data = good};
    assert_int_equal(status_of(&taken), FEEDLINE_OK);
    for (size_t i = 0; i < FDL_COUNT_OF(refused); i++) {
        int32_t status = status_of(&refused[i]);
        if (status != FEEDLINE_EINVAL && status != FEEDLINE_ERANGE)
            fail_msg("step %zu is taken", i);
    }
}

TEST(scales_have_to_make_the_size)
{
    struct bench b;
    struct feedline_recorded_step s = {STEP(RESIZE, 3, 8, 1, 0.5, 2)};
    begin(&b, WIDTH, HEIGHT, 1);
    assert_int_equal(fdl_recorded_plan_cv(&b.plan, &s, &b.made),
                     FEEDLINE_EINVAL);
    s.value[0] = 2;
    add(&b, &s);
    end(&b);
}

/* A random crop behind a random resize: what the whole result has there, made
 * of the pixels that are needed, and in the same step. */
static void check_crop(uint64_t *state)
{
    static const double filters[] = {0, 1, 3, 4};
    int32_t w = make_within(state, 1, 40), h = make_within(state, 1, 40);
    int32_t width = make_within(state, 1, 60);
    int32_t height = make_within(state, 1, 60);
    struct feedline_recorded_step s = {
        .op = FEEDLINE_STEP_CV_RESIZE,
        .n = 3,
        .value = {width, height, filters[make_within(state, 0, 3)]}};
    struct fdl_box box = {.x = make_within(state, 0, width - 1),
                          .y = make_within(state, 0, height - 1)};
    box.width = make_within(state, 1, width - box.x);
    box.height = make_within(state, 1, height - box.y);
    struct bench whole, part;
    begin(&whole, w, h, 3);
    begin(&part, w, h, 3);
    add(&whole, &s);
    add(&part, &s);
    fdl_plan_crop(&part.plan, box);
    assert_true(part.plan.n_pixel_steps <= 1);
    run(&whole);
    run(&part);
    for (int32_t c = 0; c < 3; c++) {
        for (int32_t y = 0; y < box.height; y++)
            assert_memory_equal(
                fdl_image_row(&part.canvas.image, c, y),
                fdl_image_row(&whole.canvas.image, c, box.y + y) + box.x,
                (size_t)box.width);
    }
    end(&whole);
    end(&part);
}

TEST(crops_are_made_by_the_resize_before_them)
{
    uint64_t state = test_seed();
    for (int i = 0; i < 500; i++)
        check_crop(&state);
}

/* Some step with random values. */
static struct feedline_recorded_step draw_step(uint64_t *state,
                                               const void *data)
{
    static const double filters[] = {0, 1, 3, 4};
    double odd = 1 + 2 * make_within(state, 0, 5);
    double width = make_within(state, 1, 90),
           height = make_within(state, 1, 90);
    double filter = filters[make_within(state, 0, 3)];
    double mix = make_within(state, 0, 1), border = make_within(state, 0, 4);
    double version = make_within(state, 4, 5);
    double zoom = make_within(state, 1, 400) / 100.0 - (odd > 7 ? 4 : 0);
    double left = make_within(state, -9000, 9000) / 100.0;
    const struct feedline_recorded_step steps[] = {
        {STEP(WARP_AFFINE, width, height, 17, 0, version, zoom, 0, left, 0,
              zoom * odd / 5, left / odd)},
        {STEP(WARP_AFFINE, width, height, 1, 0, version, zoom, 0, left, 0,
              zoom + 0.1, left / odd, 9, 77, 255)},
        {STEP(RESIZE, width, height, filter)},
        {STEP(RESIZE, width, height, filter)},
        {STEP(GAUSSIAN_BLUR, odd, 3, 1.5, 0.7)},
        {STEP(BOX_BLUR, 5, odd)},
        {STEP(BOX_BLUR, 4, odd, border == 3 ? 0 : border)},
        {STEP(GAUSSIAN_BLUR, odd, 5, 1.5, 0.7, border)},
        {STEP(MEDIAN_BLUR, odd)},
        {STEP(FILTER2D, odd, 3, version), .data = data},
        {STEP(WARP_AFFINE, width, height, mix, border, version, MATRIX)},
        {STEP(WARP_PERSPECTIVE, width, height, mix, border, version),
         .data = data},
        {STEP(REMAP, width, height, mix, border, version), .data = data},
        {STEP(SEP_FILTER2D, odd, odd, border == 3 ? 0 : border, version),
         .data = data},
        {STEP(ADD_GRAY, border / 3, height / 90)},
        {STEP(COLOUR, 53)},
        {STEP(COLOUR, 60)},
        {STEP(CONTRAST, width / 30)},
        {STEP(CONTRAST, width / 30, 1)}};
    return steps[make_within(state, 0, FDL_COUNT_OF(steps) - 1)];
}

/* A random one on an image of random size, now and then twice as large as its
 * result. */
static void check_levels(uint64_t *state, enum fdl_cpu_level best,
                         const void *data)
{
    struct feedline_recorded_step s = draw_step(state, data);
    int32_t w = make_within(state, 1, 70), h = make_within(state, 1, 70);
    if (s.op == FEEDLINE_STEP_CV_RESIZE && make_within(state, 0, 2) == 0) {
        w = 2 * (int32_t)s.value[0];
        h = 2 * (int32_t)s.value[1];
    }
    struct bench b[FDL_CPU_LEVELS];
    for (int level = 0; level <= (int)best; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        begin(&b[level], w, h, 3);
        add(&b[level], &s);
        run(&b[level]);
        const struct fdl_image *plain = &b[0].canvas.image;
        const struct fdl_image *image = &b[level].canvas.image;
        if (memcmp(plain->data, image->data, 3 * plain->plane) != 0)
            fail_msg("step %u of %dx%d differs at level %d", s.op, w, h, level);
    }
    for (int level = 0; level <= (int)best; level++)
        end(&b[level]);
}

TEST(levels_give_the_bytes_of_plain_c)
{
    static float data[2 * 90 * 90];
    uint64_t state = test_seed();
    enum fdl_cpu_level best = fdl_cpu_level();
    for (size_t i = 0; i < FDL_COUNT_OF(data); i++)
        data[i] = (float)make_within(&state, -100, 900) / 10;
    for (int i = 0; i < 1000; i++)
        check_levels(&state, best, data);
    fdl_cpu_set_level(best);
}

TEST(a_crop_of_half_needs_half_of_the_image)
{
    struct bench b;
    struct feedline_recorded_step s = {STEP(RESIZE, 50, 50, 1)};
    begin(&b, 100, 100, 1);
    add(&b, &s);
    fdl_plan_crop(&b.plan, (struct fdl_box){25, 0, 25, 50});
    assert_int_equal(b.plan.geometry.box.x, 50);
    assert_int_equal(b.plan.geometry.box.width, 50);
    end(&b);
}

TEST_MAIN("decode_recorded_cv")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for each sample. With a pipeline the engine draws what happens to
 * an image; here the program has drawn it, and a sample brings its bytes and
 * its own list of steps with every parameter:
 *
 *     read(call):  images[0] = the bytes of a file, crop 10 20 234 244,
 *                              transpose, scale, normalize -> memory of 3 x
 *                              224 x 224 floats
 *                  images[1] = the bytes of its mask, the same crop -> ...
 *                  return feedline_read_recorded(call, images, 2)
 *
 * A sample may have several images (an image and its mask, pairs, views) or
 * none. Each comes to lie in memory of the program's, where it is when next()
 * has delivered the sample's batch. Pixels are those of Pillow, torchvision or
 * OpenCV, step by step; what the steps do not need is not decoded, and
 * resampling, flips and crops are fused as they are in a pipeline. An image may
 * also have a pipeline, with which the engine draws the rest; and it may be put
 * together of other images of its sample, which then need no memory:
 *
 *     images[0] = the bytes of a file, crop                       -> NULL
 *     images[1] = the bytes of another one, resize                -> NULL
 *     images[2] = a canvas with both, warp, transpose             -> memory
 *
 * The data set is one of feedline_dataset_open_source with
 * FEEDLINE_SOURCE_RECORDED. Batches carry no pixels of their own, and the
 * loader's pipeline has no effect. Everything else is as for other sources:
 * order, resuming, on_error, statistics, what explain() says of the reader.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_RECORDED_H
#define FEEDLINE_RECORDED_H

#include <feedline/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Images of a sample, and steps of an image, at most. */
#define FEEDLINE_RECORDED_IMAGES_MAX 256
#define FEEDLINE_RECORDED_STEPS_MAX  64

/* Numbers that a step has. */
#define FEEDLINE_STEP_VALUES 16

/* In the order of these groups; within the first one any number of them, in any
 * order. Numbers are in value[0], value[1] and so on; whole where they count
 * something. fill: one number for each channel, 0 to 255, or none for 0.
 * filter: Pillow's number of it: 0 nearest, 1 lanczos, 2 bilinear, 3 bicubic, 4
 * box, 5 hamming.
 *
 * An image begins in the mode of its file: of P come the indices, and of 1 the
 * bytes 0 and 255; both are resampled by nearest, as in Pillow. Other modes
 * than these and L, LA, RGB and RGBA have to be converted before anything but
 * crops and flips, and a file with a transparent colour to LA or RGBA too.
 */
enum feedline_step_op {
    /* Of an image of Pillow's, as its method or torchvision's function does. */
    FEEDLINE_STEP_CONVERT = 1, /* channels: 1 "L", 2 "LA", 3 "RGB", 4 "RGBA"; 5:
                                  "YCbCr", which is moved and resampled, and has
                                  its CHANNELS taken, before the bytes are used
                                  as they are */
    FEEDLINE_STEP_CROP = 2,    /* left, top, right, bottom; 0 outside */
    FEEDLINE_STEP_RESIZE = 3,  /* width, height, filter; or behind these the box
                                  left, top, right, bottom that is resized */
    FEEDLINE_STEP_TRANSPOSE = 4, /* Pillow's number: 0 left-right, 1 top-bottom,
                                    2 to 4 rotate 90, 180, 270 counterclockwise,
                                    5 transpose, 6 transverse */
    FEEDLINE_STEP_PAD = 5,    /* left, top, right, bottom, mode (0 constant, 1
                                 edge, 2 reflect, 3 symmetric), fill */
    FEEDLINE_STEP_AFFINE = 6, /* width, height, filter (nearest, bilinear,
                                 bicubic), Pillow's six coefficients, fill */
    FEEDLINE_STEP_PERSPECTIVE = 7, /* the same with eight */
    FEEDLINE_STEP_BRIGHTNESS = 8,  /* factor of ImageEnhance; to 11 */
    FEEDLINE_STEP_CONTRAST = 9,
    FEEDLINE_STEP_COLOR = 10,
    FEEDLINE_STEP_SHARPNESS = 11,
    FEEDLINE_STEP_HUE = 12,       /* factor of torchvision's adjust_hue */
    FEEDLINE_STEP_GRAYSCALE = 13, /* channels that come out: 1, 3 */
    FEEDLINE_STEP_POSTERIZE = 14, /* bits; to 18: ImageOps */
    FEEDLINE_STEP_SOLARIZE = 15,  /* threshold */
    FEEDLINE_STEP_INVERT = 16,
    FEEDLINE_STEP_AUTOCONTRAST = 17,
    FEEDLINE_STEP_EQUALIZE = 18,
    FEEDLINE_STEP_GAUSSIAN_BLUR = 19, /* ImageFilter's radii along x and y */
    FEEDLINE_STEP_TENSOR_BLUR = 20,   /* torchvision's gaussian_blur: kernel
                                         width, height, sigma along x and y; in
                                         less than 5 of 100,000 values a level
                                         apart, as torch's library adds floats
                                         in an order of its own */
    FEEDLINE_STEP_POINT = 21, /* data: a uint8_t[256] table for each channel */

    /* Of an image that is a uint8 tensor, as torchvision's v2 does: its colours
       are computed in float, as torch does with AVX2. TENSOR_CONTRAST is exact
       up to 65793 pixels: how torch rounds greater sums depends on its threads.
       The others of v2 are those above. */
    FEEDLINE_STEP_TENSOR_RESIZE = 22,     /* width, height, filter (nearest,
                                         bilinear, bicubic; antialias) */
    FEEDLINE_STEP_TENSOR_BRIGHTNESS = 23, /* factor; to 27 */
    FEEDLINE_STEP_TENSOR_CONTRAST = 24,
    FEEDLINE_STEP_TENSOR_SATURATION = 25,
    FEEDLINE_STEP_TENSOR_HUE = 26,
    FEEDLINE_STEP_TENSOR_SHARPNESS = 27,
    FEEDLINE_STEP_TENSOR_GRAYSCALE = 28, /* channels that come out: 1, 3 */
    FEEDLINE_STEP_TENSOR_AUTOCONTRAST = 29,

    /* Of either. */
    FEEDLINE_STEP_CHANNELS = 30, /* for each channel that comes out the one that
                                    it is, from 0: of 1 an image L, of 2 LA, of
                                    3 RGB, of 4 RGBA */
    FEEDLINE_STEP_EXPECT = 31,   /* data: a uint8_t[256] for each channel. Of an
                                  image in which no byte has a 1 there the
                                  sample fails; any other stays as it is */

    /* As OpenCV does it, with its rounding, where an image is its channels and
       alpha is one of them. */
    FEEDLINE_STEP_CV_RESIZE = 70, /* width, height, OpenCV's number of the
                                     filter: 0 nearest, 1 linear, 3 area, 4
                                     lanczos4; or behind these fx, fy, if it
                                     was called with them and without a size */

    FEEDLINE_STEP_CV_COLOUR = 71, /* cvtColor's code, of 3 channels: of BGR or
                                     RGB to gray (6, 7), which makes one, to
                                     HSV_FULL (66, 67), or to and from YCrCb (36
                                     to 39), HSV (40, 41, 54, 55), Lab (44, 45,
                                     56, 57), HLS (52, 53, 60, 61) */
    FEEDLINE_STEP_CV_GAUSSIAN_BLUR = 72, /* the kernel's width and height, 0 for
                                     those that sigma asks for, and sigma along
                                     x and y, 0 as OpenCV has it; or behind
                                     these OpenCV's number of the border, as for
                                     CV_WARP_AFFINE, else reflect_101; constant
                                     is of zeros */
    FEEDLINE_STEP_CV_BOX_BLUR = 73,    /* width and height; or behind these the
                                     border, as before, but not 3: blur. With an
                                     even side up to 256 elements */
    FEEDLINE_STEP_CV_MEDIAN_BLUR = 74, /* the kernel's side */

    FEEDLINE_STEP_CV_WARP_AFFINE =
        75, /* width, height, flags (0 nearest, 1 linear, with 4 also 2 cubic,
               plus 16 for WARP_INVERSE_MAP), OpenCV's number of the border (0
               constant, 1 replicate, 2 reflect, 3 wrap, 4 reflect_101), 4 or 5:
               the arithmetic of that OpenCV, the six numbers of the matrix,
               fill */
    FEEDLINE_STEP_CV_EQUALIZE = 76, /* the channel that is equalized */
    FEEDLINE_STEP_CV_CLAHE = 77,    /* the channel, clipLimit, tiles along x and
                                       y */
    FEEDLINE_STEP_CV_FILTER2D = 78, /* width and height of a kernel, odd and up
                                       to 11, 4 or 5: the arithmetic of that
                                       OpenCV; or behind these the border, as
                                       for CV_BOX_BLUR; data: the kernel's
                                       floats, row by row */
    FEEDLINE_STEP_CV_WARP_PERSPECTIVE =
        79, /* the same without the matrix; data: its nine doubles */
    FEEDLINE_STEP_CV_REMAP = 80, /* the same, without WARP_INVERSE_MAP; data: of
                                    each pixel of the result a float, its x in
                                    the image, then of each its y */
    FEEDLINE_STEP_CV_SEP_FILTER2D =
        81, /* width and height of a kernel, odd and up to 127, the border (0
               constant zeros, 1 replicate, 2 reflect, 4 reflect_101), 4 or 5:
               the arithmetic of that OpenCV; data: the floats of kernelX, then
               those of kernelY, which are the same from both sides. Not if both
               kernels are whole parts of 1 / 256: such ones OpenCV sums in
               another way */
    FEEDLINE_STEP_CV_ADD =
        82, /* width and height of the image, OpenCV's number of a type (0
               uint8, 3 int16, 5 float32, 6 float64), and 1 if the sum of floats
               is cut off, as it is where NumPy adds; of float64 it is; data: an
               array [height][width][channels] that is added; sums end at 0 and
               255 */
    FEEDLINE_STEP_CV_ADD_GRAY = 83,   /* a, b: addWeighted of the image, of red,
                                       green and blue, and its gray one; gamma
                                       is 0 */
    FEEDLINE_STEP_CV_CONTRAST = 84,   /* factor: as albumentations' ColorJitter,
                                       by the mean of the gray image; of one
                                       channel, or red, green and blue; or
                                       behind it 1, where it computes in
                                       doubles, as its first versions do */
    FEEDLINE_STEP_CV_RECOMPRESS = 85, /* quality, 0 to 100: imencode as JPEG,
                                         and imdecode; of one channel, or of
                                         three, the first of which is blue */

    /* Then from bytes to elements, at most one of LOOKUP and SCALE. */
    FEEDLINE_STEP_SCALE = 40, /* none or 0: x / 255 in float32, as to_tensor; 1:
                                 x times 1 / 255, as to_dtype of v2 */
    FEEDLINE_STEP_NORMALIZE =
        41,                    /* after SCALE: mean and std, each per channel */
    FEEDLINE_STEP_LOOKUP = 42, /* data: for each channel a table of 256 elements
                                  of the output's, aligned to one */

    /* Of the finished elements. */
    FEEDLINE_STEP_ERASE =
        60, /* left, top, width, height, and an element's value for each
               channel; or no values, and data: the elements,
               [channels][height][width] of them */

    /* Of them, where the output is FEEDLINE_F32. */
    FEEDLINE_STEP_FLOAT_COLOUR =
        61, /* cvtColor's code of 3 channels: BGR or RGB to HSV (40, 41) and
               back (54, 55), as OpenCV converts float32 where it has AVX2 */
    FEEDLINE_STEP_FLOAT_VALUES =
        62, /* what is done, the channel or -1 for all, a, b: 0 x + a, 1 x * a,
               2 from a to b at most, 3 x + b where it is above a, 4 x + b where
               it is below a */
    FEEDLINE_STEP_FLOAT_CHANNELS = 63 /* for each channel, which it is */
};

struct feedline_recorded_step {
    uint32_t op;      /* enum feedline_step_op */
    uint32_t n;       /* values that are given */
    const void *data; /* of those that have some, else NULL */
    double value[FEEDLINE_STEP_VALUES];
};

/* Pixels that are put together of images before it in the sample, on a canvas:
 * mosaics, pasted objects, mixed images. */
enum feedline_canvas_how {
    FEEDLINE_CANVAS_PASTE = 0,   /* a later part lies on those before */
    FEEDLINE_CANVAS_SUM_F64 = 1, /* the sum of all parts, each times its weight
                                    and as large as the canvas, in doubles; then
                                    cut off to a whole number from 0 to 255 */
    FEEDLINE_CANVAS_SUM_F32 = 2  /* in floats, of weights that are rounded */
};

/* Parts of a canvas at most, and bytes of all images of a sample that have no
 * place of their own, and of its largest canvas. */
#define FEEDLINE_CANVAS_PARTS_MAX 256
#define FEEDLINE_CANVAS_BYTES_MAX 1073741824u

/* Pixels that a loader keeps of images of several samples. */
#define FEEDLINE_KEPT_BYTES_MAX 268435456u

struct feedline_canvas_part {
    uint32_t image;    /* its number in the sample, from 0 */
    int32_t left, top; /* where it lies, all of it inside of the canvas */
    int32_t x, y, width, height; /* the rectangle of it that is put there; width
                                    and height 0: all of it */
    uint32_t reserved;           /* 0 */
    double weight;               /* of a sum */
    const uint8_t *mask; /* [height][width] of the part, which is pasted where
                            this is not 0; or NULL. Stays, as `out` does. */
};

struct feedline_canvas {
    int32_t width, height, channels; /* 1 or 3, as its parts have */
    uint32_t how;                    /* enum feedline_canvas_how */
    uint8_t fill[4];                 /* by channel, where nothing is pasted */
    uint32_t n_parts;
    const struct feedline_canvas_part *parts; /* copied */
};

/* One image: where its bytes are, what is done, where it goes. What is copied
 * may go when the read has returned; data of steps and `out` have to stay until
 * the sample's batch is delivered, or next() has failed, or the loader is
 * stopped or destroyed. From then on nothing is written to `out`; before, and
 * where the sample fails, anything may be in it. */
struct feedline_recorded_image {
    uint32_t struct_size; /* the same in all images of a sample */
    uint32_t n_steps;
    const struct feedline_recorded_step *steps; /* copied, not their data */

    const char *path; /* the file, copied; NULL: the bytes are in data */
    const void *data; /* [length], copied; see data_stays */
    uint64_t offset;  /* in the file, of its first byte */
    int64_t length;   /* of it; -1: to the end of the file */

    void *out;          /* dense, aligned to an element; NULL: it has no place
                           but in canvases behind it */
    uint64_t out_bytes; /* of all of it: what follows says so, too */
    int32_t dtype;      /* FEEDLINE_U8, F32, F16, BF16; LOOKUP: any */
    int32_t nhwc;       /* 0: channels, height, width; 1: height, width,
                           channels */
    int32_t channels, height, width;
    uint32_t element_bytes; /* 1, 2, 4 or 8; 0: the dtype's */

    /* The file as the program saw it when it drew the steps, by stat(): one
     * that is another when it is read fails the sample with EIO. Inode 0: it is
     * not compared. */
    uint64_t seen_inode, seen_bytes;
    int64_t seen_ctime_ns; /* of its last change, since 1970 */

    /* NULL, or operations that the engine draws, behind the steps on pixels: as
     * a loader with this pipeline and option seed=draw_seed does them to copy
     * draw_copy of sample draw_sample in epoch draw_epoch, bit for bit.
     * draw_view: as for that view of feedline_pipeline_add_views; else 0. The
     * pipeline is not copied: it has to stay, unchanged, as long as `out`.
     *
     * It makes one image of a sample, without operations of the program's, and
     * none that mix or are about objects. Steps on pixels may be CONVERT, CROP
     * inside of the image, and TRANSPOSE: flips, and any where it comes first,
     * as for EXIF. With them the image is L, LA, RGB or RGBA, and has the
     * output's channels. Floats need no SCALE: it says how they are rounded, in
     * place of the loader's option. NORMALIZE and LOOKUP are for pipelines that
     * neither normalize nor erase. */
    const feedline_pipeline *pipeline;
    uint64_t draw_seed, draw_epoch;
    uint64_t draw_sample; /* below 2^48 */
    uint32_t draw_copy;   /* below 2^16 */
    uint32_t draw_view;   /* below FEEDLINE_VIEWS_MAX */

    /* NULL, or in place of a file and data, whose members are 0: an image L or
     * RGB. Parts are images before this one, of bytes in the order height,
     * width, channels, with or without an `out`. Copied. */
    const struct feedline_canvas *canvas;

    /* Of a part without an `out` that more samples will have, in whatever
     * canvas: a number of the program's, not 0, which no other bytes or steps
     * have as long as the data set is open. The loader keeps such pixels, up to
     * FEEDLINE_KEPT_BYTES_MAX, those that were used last, and makes others
     * again. The file is read and compared each time. */
    uint64_t kept;

    /* 1: data is not copied when the sample is told of, and has to stay as it
     * is, as long as `out`; it is read as a file is, outside of the call. */
    uint32_t data_stays;
    uint32_t reserved; /* 0 */
};

/* Inside read of a source with FEEDLINE_SOURCE_RECORDED, once: these are the
 * images of the sample; n may be 0. Copies them, does not wait, and returns a
 * status, which read returns. EINVAL, ERANGE, ENOMEM: an image or a step that
 * is none, as the reason of the failure says.
 *
 * When read has returned, on the same thread, the files are read, each once,
 * and the next read begins meanwhile. ENOENT, EIO, ENOMEM, ERANGE as for other
 * files; max_file_bytes holds for all images of a sample together. That an
 * image does not fit its steps is seen when they are carried out. All of it
 * fails this sample alone, as on_error says. */
FEEDLINE_API int32_t feedline_read_recorded(
    struct feedline_read_call *call,
    const struct feedline_recorded_image *images, uint32_t n);

/* Behind it, once, of a source that has FEEDLINE_SOURCE_IN_ORDER, too: the
 * images of the next samples of the stream, which read is not called for. For
 * programs that make the samples of a batch together: the stream goes on with
 * the next place of the same batch, as the calls would have said. counts: of
 * each sample, whose images stand behind those of the one before. All of them
 * or, with a status below 0, none: then read is called as ever. Bytes that
 * do not stay are copied at once, and max_file_bytes holds for each sample. */
FEEDLINE_API int32_t
feedline_read_recorded_ahead(struct feedline_read_call *call,
                             const struct feedline_recorded_image *images,
                             const uint32_t *counts, uint32_t samples);

#ifdef __cplusplus
}
#endif

#endif

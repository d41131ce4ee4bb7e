/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From encoded bytes to finished pixels in their final place.
 *
 *   open(bytes) -> image size      (the caller makes the plan from it)
 *   render(plan) -> pixels         decode rows -> resample -> finish
 *
 * One decoder per worker thread: it owns the libjpeg state and every scratch
 * buffer, which grow to the largest image seen and are then reused; in the
 * steady state nothing is allocated but by libwebp, by libjpeg for progressive
 * files, and for what one image takes beyond the 4 MiB that are kept. One
 * thread at a time per decoder, and the same thread from open to the end of
 * render (libjpeg-turbo 2.1.5 keeps its SIMD state per thread).
 */
#ifndef FDL_DECODE_DECODER_H
#define FDL_DECODE_DECODER_H

#include "base/choice.h"
#include "decode/pipeline.h"

#include <stdatomic.h>
#include <stdint.h>

struct fdl_format; /* decode/formats/format.h: fdl_format_jpeg, ... */

/* u8 rows, channels interleaved, of a size known outside. */
extern const struct fdl_format fdl_format_raw;

/* Bytes of one sample. The decoder only reads. `readable` >= size bytes may be
 * read (those past size are zero padding); size if that is unknown. */
struct fdl_encoded {
    const uint8_t *data;
    uint64_t size;
    uint64_t readable;
    const struct fdl_format *format;             /* NULL: told by content */
    int32_t raw_width, raw_height, raw_channels; /* of fdl_format_raw only */
};

struct fdl_image_info {
    const struct fdl_format *format;
    int32_t width, height; /* upright, where the orientation is applied */
    int32_t channels; /* that its rows have, without alpha: 1, 3 or 4 (CMYK) */
    int32_t orientation; /* that is applied, as in EXIF: 1 to 8 */
};

/* How floats are rounded, the choices of option rounding: once, or after each
 * step as in torchvision: its ToTensor and Normalize, which divide by 255, or
 * its v2.ToDtype, which multiplies. */
#define FDL_ROUNDING_CHOICES(C)                                                \
  C(FDL_ROUNDING_ONCE, "once")                                                 \
  C(FDL_ROUNDING_DIVIDE, "divide")                                             \
  C(FDL_ROUNDING_MULTIPLY, "multiply")
enum fdl_rounding { FDL_CHOICE_VALUES(FDL_ROUNDING_CHOICES) };

/* Limits, and how imperfect files are treated. */
struct fdl_decode_limits {
    uint64_t max_pixels;   /* width * height; checked before memory is taken */
    uint32_t max_scans;    /* of a progressive JPEG */
    uint32_t max_image_ms; /* from open to the last row; 0: no limit */

    /* A JPEG or PNG that ends early is an error if this is 0. Else it is
     * decoded if at least this fraction of its rows is there: a row is, if all
     * its bytes are; in a file of several scans, those of the first scan of
     * each component; in an interlaced PNG, those of every pass. A cut in a
     * header or table remains an error. The other rows come as Pillow makes
     * them: gray, guessed from coarse scans, or black in a PNG. */
    double accept_truncated;

    /* May omit detail that the output does not show: an image that is resampled
     * to half its size or less is decoded at 1/2, 1/4 or 1/8 if its format can
     * do that cheaply. docs/pixels.md has the distance from the exact pixels.
     */
    bool fast;

    /* Resampling passes in the order of Pillow 13, which begins with the
     * columns if they become much shorter, instead of Pillow 12's
     * (docs/pixels.md). */
    bool columns_first;

    /* Huffman decoding is left to libjpeg, to compare
     * (decode/formats/jpeg_entropy.h). Pixels and errors are the same. */
    bool libjpeg_huffman;
    enum fdl_rounding rounding;
    bool apply_exif; /* images come upright, as by Pillow's exif_transpose */
};

#define FDL_CHANNELS_MAX 4

/* Of the sample in the slot: contiguous, NCHW or NHWC without the N. */
struct fdl_output_format {
    int32_t width, height;
    int32_t channels; /* gray, gray and alpha, RGB, or RGB and alpha: 1 to 4 */
    int32_t dtype;    /* FEEDLINE_U8, F16, BF16 or F32 */
    bool nhwc;
};

/* What is being done for a sample. For a custom operation, CUSTOM plus its
 * number in the pipeline. */
enum fdl_render_step {
    FDL_STEP_NONE = 0,
    FDL_STEP_READ, /* by others */
    FDL_STEP_DECODE,
    FDL_STEP_AUGMENT, /* on pixels, after resampling */
    FDL_STEP_CUSTOM
};

/* Of a custom operation, by its number in the pipeline. */
struct fdl_custom_cost {
    int64_t wall_ns, cpu_ns;
    int64_t lock_ns; /* of wall_ns, as its run function said */
    uint32_t runs, errors;
};

/* Cost of the last render, for the profiler. */
struct fdl_render_cost {
    int64_t decode_ns;  /* in the image library                */
    int64_t augment_ns; /* resample, flip, normalise, layout   */
    uint64_t pixels;    /* decoded                             */
    uint32_t clock_reads;
    bool truncated; /* the file ends early, and that was accepted */
    struct fdl_custom_cost custom[FDL_CUSTOM_MAX]; /* also on error */
};

struct fdl_decoder;

int32_t fdl_decoder_create(const struct fdl_decode_limits *limits,
                           struct fdl_decoder **out);
void fdl_decoder_destroy(struct fdl_decoder *d);

/* Sniffs and reads the header. EDECODE: names what it is instead, and the
 * offset; ERANGE: above a limit. After an error the decoder is ready for the
 * next open. */
int32_t fdl_decoder_open(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                         struct fdl_image_info *info);

/* Completes an open, also on error. The plan's window must have the size of
 * `format`. dst: fdl_output_bytes(format) for each of the plan's views,
 * consecutively, aligned to the element; undefined on error. EDECODE, with the
 * library's message, if the part of the file that the pixels need is truncated,
 * or damaged beyond what libjpeg recovers from (as in Pillow); what follows
 * that part is not checked. ERANGE for too many scans or too much time; EINVAL
 * if the sizes do not match; ENOMEM. cost is untouched on error. */
int32_t fdl_decoder_render(struct fdl_decoder *d, const struct fdl_plan *plan,
                           const struct fdl_output_format *format, void *dst,
                           struct fdl_render_cost *cost);

/* Ends an open that is not rendered. */
void fdl_decoder_abort(struct fdl_decoder *d);

/* From now on renders store their current step in *step, one of enum
 * fdl_render_step, for an observer of this thread. */
void fdl_decoder_tell(struct fdl_decoder *d, _Atomic uint32_t *step);

/* Scratch memory held now. */
uint64_t fdl_decoder_memory(const struct fdl_decoder *d);

/* Of one element; 0: not a type of pixels. */
uint64_t fdl_dtype_bytes(int32_t dtype);
uint64_t fdl_output_bytes(const struct fdl_output_format *format);

/* Bytes that a reader should zero past the end of a file, so that the decoder's
 * fast paths work to its end: 10 blocks of 512 bytes, the most that
 * libjpeg-turbo's fast Huffman path asks for. */
#define FDL_ENCODED_PADDING 5120

#endif

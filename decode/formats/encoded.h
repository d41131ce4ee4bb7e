/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decoder is given: the bytes of one sample, and limits. What it knows
 * about an image that is open.
 */
#ifndef FDL_DECODE_ENCODED_H
#define FDL_DECODE_ENCODED_H

#include "base/checksum.h"
#include "base/choice.h"
#include "decode/pixels/output_format.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_format; /* format.h: fdl_format_jpeg, ... */
struct fdl_entry_notes;

/* Bytes of one sample. The decoder only reads. `readable` >= size bytes may be
 * read (those past size are zero padding); size if that is unknown. */
struct fdl_encoded {
    const uint8_t *data;
    uint64_t size;
    uint64_t readable;
    const struct fdl_format *format;             /* NULL: told by content */
    int32_t raw_width, raw_height, raw_channels; /* of fdl_format_raw only */
    struct fdl_entry_notes *notes; /* of fdl_format_jpeg, or NULL */
    bool verified; /* its checksums were compared, as fdl_format_verify does */
};

/* Bytes that a reader should zero past the end of a file, so that the decoder's
 * fast paths work to its end: 10 blocks of 512 bytes, the most that
 * libjpeg-turbo's fast Huffman path asks for. */
#define FDL_ENCODED_PADDING 5120

/* Which of Pillow's modes images have in their files, the choices of option
 * stored_mode. A mode says what the operations of a pipeline mean: Pillow
 * resamples the indices of P, and alpha with the rest of RGBA. */
#define FDL_STORED_CHOICES(C)                                                  \
  C(FDL_STORED_ANY, "any")                                                     \
  C(FDL_STORED_L, "L")                                                         \
  C(FDL_STORED_RGB, "RGB")
enum fdl_stored { FDL_CHOICE_VALUES(FDL_STORED_CHOICES) };

struct fdl_image_info {
    const struct fdl_format *format;
    const char *mode;      /* Pillow's, as in the file: "L", "P", "I;16" */
    int32_t width, height; /* upright, where the orientation is applied */
    int32_t channels; /* that its rows have, without alpha: 1, 3 or 4 (CMYK) */
    int32_t orientation; /* that is applied, as in EXIF: 1 to 8 */
    bool keyed; /* a colour, or some of the palette, means transparent */
    bool
        unscaled; /* it comes in its full size alone, whatever its format can */
};

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

    /* Huffman decoding is left to libjpeg, and so is all that follows it, to
     * compare (decode/formats/jpeg_entropy.h, jpeg_rows.h). Pixels and errors
     * are the same. */
    bool libjpeg_huffman;
    enum fdl_rounding rounding;
    enum fdl_checksums checksums; /* whether those in the bytes count */
    bool masks; /* images are masks: of one channel, in which an index into a
                   palette, or a bit, is what it is in the file */
    enum fdl_stored stored_mode; /* images of any other mode are refused */
    bool apply_exif; /* images come upright, as by Pillow's exif_transpose */

    /* Formats are decoded in a process that may do nothing else
     * (decode/isolate/); pixels and errors are the same. */
    bool isolate;
};

#endif

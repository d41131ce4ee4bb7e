/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image formats. A format is one table: what its files are called, how they
 * begin, and how one decoder after the other gives rows of them, from top to
 * bottom, into the caller's strip buffer:
 *
 *     open(bytes) -> info        reads the header
 *     alpha(channels)            before begin: give alpha too, if there is any
 *     indices()                  before begin, in its place: do not look up
 *                                indices in the palette
 *     shrink(shift)              before begin: give 1/2^shift of the image
 *     begin(need) -> have        what is needed; what will be given: at least
 *                                that, rounded to what the format can do
 *     device(need) -> job        in its place, and up to abort: what a device
 *                                is told to do it
 *     read(rows, n) ...          have.height rows in all, of have.width pixels
 *     truncated()                whether rows were made up for a file that
 *                                ends early
 *     doubtful()                 whether damage was passed over: only asked
 *                                where whole files are checked
 *     parts()                    how long parts of it took so far
 *     abort()                    at any time; ready for the next image
 *
 * To add one, write decode/formats/NAME.c, which defines fdl_format_NAME, and
 * add its line to FDL_FORMATS.
 */
#ifndef FDL_DECODE_FORMAT_H
#define FDL_DECODE_FORMAT_H

#include "decode/device/device_job.h"
#include "decode/formats/encoded.h"
#include "decode/formats/limits.h"
#include "decode/pixels/decode_parts.h"
#include "decode/pixels/geometry.h"
#include "decode/pixels/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CMakeLists.txt reads it too. */
#define FDL_FORMATS(FORMAT)                                                    \
  FORMAT(jpeg)                                                                 \
  FORMAT(jpeg_packed)                                                          \
  FORMAT(png)                                                                  \
  FORMAT(webp)                                                                 \
  FORMAT(raw)

/* Most that shrink takes: an eighth. */
#define FDL_SHRINK_MAX 3

#define FDL_FORMAT_ENDINGS 6

/* How names of its files end, in lower case. */
struct fdl_ending {
    const char *text;
    bool listed; /* as images by a data set that lists folders */
};

struct fdl_format {
    const char *name; /* NULL: has no files (raw pixels) */
    struct fdl_ending endings[FDL_FORMAT_ENDINGS + 1]; /* up to a NULL */

    /* Whether a file that begins so is one; NULL: never. */
    bool (*matches)(const uint8_t *data, uint64_t size);

    /* The library that this build lacks for it; all below is NULL then. */
    const char *missing;

    /* deadline: of the open image; it outlives the decoder. */
    int32_t (*create)(const struct fdl_decode_limits *limits,
                      const struct fdl_deadline *deadline, void **out);
    void (*destroy)(void *self); /* NULL is fine */

    /* EDECODE: checksums in the bytes, which open compares if it is asked to,
     * say that they are damaged. NULL: there are none. */
    int32_t (*verify)(const uint8_t *data, uint64_t size);
    uint64_t (*memory)(const void *self); /* held between images */

    /* All of info but its format. An orientation of 0 is 1. */
    int32_t (*open)(void *self, const struct fdl_encoded *bytes,
                    struct fdl_image_info *info);

    /* From here to abort rows have alpha as one more channel, the last one, as
     * Pillow's convert gives it to an image of that many channels. false: it
     * would be 255 all over, and rows are as before. NULL: always false. */
    bool (*alpha)(void *self, int32_t channels);

    /* From here to abort rows have indices in place of colours. The palette is
     * there until the next open. NULL, and rows are as before: it has none.
     * NULL: no image has. */
    const struct fdl_palette *(*indices)(void *self);

    /* From here to abort the sides of the image are divided by 2^shift and
     * rounded up, and so are need and have. NULL: it cannot; nor can what is
     * `unscaled`. */
    void (*shrink)(void *self, int32_t shift);
    int32_t (*begin)(void *self, const struct fdl_box *need,
                     struct fdl_box *have);

    /* All of a job but its resampling, with its payload; its kind is
     * FDL_DEVICE_NONE if that is nothing for a device, or too much. Only for
     * what begin and read could do. NULL: never. */
    int32_t (*device)(void *self, const struct fdl_box *need,
                      struct fdl_device_payload *to,
                      struct fdl_device_job *job);

    /* Channels interleaved; rows are `stride` bytes apart. */
    int32_t (*read)(void *self, uint8_t *rows, size_t stride, int32_t n);
    bool (*truncated)(const void *self); /* NULL: never */
    bool (*doubtful)(const void *self);  /* after the last row; NULL: never */
    void (*parts)(const void *self,
                  struct fdl_decode_parts *out); /* NULL: not known */
    void (*abort)(void *self);
};

#define FDL_FORMAT_DECLARE(name)                                               \
  extern const struct fdl_format fdl_format_##name;
FDL_FORMATS(FDL_FORMAT_DECLARE)

#define FDL_FORMAT_NUMBER(name) FDL_FORMAT_##name,
enum fdl_format_number { FDL_FORMATS(FDL_FORMAT_NUMBER) FDL_FORMAT_COUNT };

extern const struct fdl_format *const fdl_formats[FDL_FORMAT_COUNT];

/* Its place among them; it is one. */
uint32_t fdl_format_number(const struct fdl_format *f);

/* Detects the format by content, whatever the file's name. EDECODE: nothing
 * that this build decodes; the error says what it seems to be, or which library
 * is missing. */
int32_t fdl_format_find(const uint8_t *data, uint64_t size,
                        const struct fdl_format **out);

/* The checksums in an image of whatever format, if that has any. EDECODE. */
int32_t fdl_format_verify(const uint8_t *data, uint64_t size);

/* Whether a data set that lists folders takes a file of that name for an image,
 * as torchvision's ImageFolder does. */
bool fdl_format_lists(const char *file_name);

/* All file extensions in turn; NULL past the end. *decoded: in this build, as
 * far as the name tells. */
const struct fdl_ending *fdl_format_ending(uint32_t index, bool *decoded);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebP through libwebp, with the pixels of Pillow's convert(): alpha that is
 * not asked for is dropped, not blended. The library decodes with memory of its
 * own, all in one call, so an image is decoded into a buffer, and rows are
 * copied out of it. The time limit of an image is checked when it is done: what
 * it can take is bounded by max_pixels. Feeding libwebp the file in pieces
 * would not help, as one small piece may hold all the pixels. A file that ends
 * early is always refused, and so is one whose container is damaged anywhere.
 *
 * Colours are made from the first row needed on, of the columns needed; and to
 * the last row, as libwebp would not read on behind it: whether a file is
 * damaged must not depend on the crop. It interpolates chroma, and takes the
 * edges of a crop for those of the image; so some more is taken.
 *
 * As in Pillow every file is taken for an animation, of which the first frame
 * counts: libwebpdemux checks the container, to its end, and says where that
 * frame is; what it does not cover is transparent black.
 */
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/formats/arena.h"
#include "decode/formats/exif.h"
#include "decode/formats/format.h"
#include "decode/formats/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#if FDL_FEATURES & FEEDLINE_FEATURE_WEBP

#  include <webp/decode.h>
#  include <webp/demux.h>

#  define SIZE_AT      4 /* in the header; 32 bits */
#  define HEADER_BYTES 8 /* that are not counted by it */

/* Columns and rows around a crop that make its pixels those of the image. */
#  define AROUND 2

/* Bytes that libwebp takes beside the pixels, about. */
#  define TABLES (1u << 20)

struct fdl_webp {
    struct fdl_decode_limits limits;
    struct fdl_encoded bytes;
    int32_t width, height;
    bool has_alpha;
    WebPData frame; /* in bytes */
    struct fdl_box frame_box;
    size_t pixel; /* bytes of one */
    struct fdl_arena arena;
    struct fdl_box part; /* of the frame, and in it: what is decoded */
    uint8_t *pixels;     /* of that; in the arena */
    struct fdl_box have;
    int32_t next; /* row of have */
};

/* ---- Header ------------------------------------------------------------- */

static uint64_t little_endian_32(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
           (uint64_t)p[3] << 24;
}

/* As in Pillow, XMP is only asked where EXIF has no orientation. */
static int32_t orientation_of(const WebPDemuxer *demux)
{
    WebPChunkIterator chunk;
    int32_t found = 1;
    bool told = false;
    if (WebPDemuxGetChunk(demux, "EXIF", 1, &chunk))
        told = fdl_exif_find(chunk.chunk.bytes, chunk.chunk.size, &found);
    WebPDemuxReleaseChunkIterator(&chunk);
    if (!told && WebPDemuxGetChunk(demux, "XMP ", 1, &chunk))
        found = fdl_xmp_orientation(chunk.chunk.bytes, chunk.chunk.size);
    WebPDemuxReleaseChunkIterator(&chunk);
    return found;
}

static int32_t fail_status(const struct fdl_webp *w, VP8StatusCode code)
{
    static const char *const words[] = {
        [VP8_STATUS_INVALID_PARAM] = "invalid parameter",
        [VP8_STATUS_BITSTREAM_ERROR] = "damaged",
        [VP8_STATUS_UNSUPPORTED_FEATURE] = "uses an unsupported feature",
        [VP8_STATUS_SUSPENDED] = "truncated",
        [VP8_STATUS_USER_ABORT] = "interrupted",
        [VP8_STATUS_NOT_ENOUGH_DATA] = "truncated",
    };
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return fdl_fail(FEEDLINE_ENOMEM, "WebP: out of memory");
    const char *text = NULL;
    if ((size_t)code < FDL_COUNT_OF(words))
        text = words[code];
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset 0 to %" PRIu64 ": WebP image file is %s",
                    w->bytes.size, text ? text : "not understood");
}

static bool find_frame(struct fdl_webp *w, const WebPDemuxer *demux)
{
    WebPIterator i;
    bool found = WebPDemuxGetFrame(demux, 1, &i) != 0;
    if (found) {
        w->frame = i.fragment;
        w->frame_box =
            (struct fdl_box){i.x_offset, i.y_offset, i.width, i.height};
    }
    WebPDemuxReleaseIterator(&i);
    return found && w->frame_box.width > 0 && w->frame_box.height > 0 &&
           w->frame_box.x + w->frame_box.width <= w->width &&
           w->frame_box.y + w->frame_box.height <= w->height;
}

/* The first frame, and which way up it is. */
static int32_t read_container(struct fdl_webp *w, struct fdl_image_info *info)
{
    WebPData file = {w->bytes.data, w->bytes.size};
    WebPDemuxer *demux = WebPDemux(&file);
    bool good = demux && find_frame(w, demux);
    if (good && w->limits.apply_exif)
        info->orientation = orientation_of(demux);
    WebPDemuxDelete(demux);
    if (good)
        return FEEDLINE_OK;
    uint64_t size = HEADER_BYTES + little_endian_32(w->bytes.data + SIZE_AT);
    return fail_status(w, size > w->bytes.size ? VP8_STATUS_NOT_ENOUGH_DATA
                                               : VP8_STATUS_BITSTREAM_ERROR);
}

/* ---- The row source ----------------------------------------------------- */

static void end_image(void *self)
{
    struct fdl_webp *w = self;
    fdl_arena_reset(&w->arena);
    w->pixels = NULL;
}

static int32_t create(const struct fdl_decode_limits *limits,
                      const struct fdl_deadline *deadline, void **out)
{
    (void)deadline; /* a whole image comes out of one call */
    struct fdl_webp *w = calloc(1, sizeof(*w));
    if (!w)
        return fdl_fail_memory(sizeof(*w), "the WebP decoder");
    w->limits = *limits;
    *out = w;
    return FEEDLINE_OK;
}

static void destroy(void *self)
{
    struct fdl_webp *w = self;
    if (!w)
        return;
    end_image(w);
    fdl_arena_fini(&w->arena);
    free(w);
}

static int32_t open_image(void *self, const struct fdl_encoded *bytes,
                          struct fdl_image_info *info)
{
    struct fdl_webp *w = self;
    WebPBitstreamFeatures f;
    end_image(w);
    w->bytes = *bytes;
    VP8StatusCode code = WebPGetFeatures(bytes->data, bytes->size, &f);
    if (code != VP8_STATUS_OK)
        return fail_status(w, code);
    int32_t status = fdl_limits_check_size(
        &w->limits, 0, "WebP", (uint32_t)f.width, (uint32_t)f.height);
    if (status)
        return status;
    w->width = f.width;
    w->height = f.height;
    w->has_alpha = f.has_alpha != 0;
    w->pixel = 3;
    *info = (struct fdl_image_info){.mode = w->has_alpha ? "RGBA" : "RGB",
                                    .width = f.width,
                                    .height = f.height,
                                    .channels = 3,
                                    .orientation = 1};
    return read_container(w, info);
}

static uint64_t memory(const void *self)
{
    const struct fdl_webp *w = self;
    return sizeof(*w) + w->arena.size;
}

static bool keep_alpha(void *self, int32_t channels)
{
    struct fdl_webp *w = self;
    (void)channels;
    if (w->has_alpha)
        w->pixel = 4;
    return w->has_alpha;
}

/* Where `size` pixels have one at `at`, or the nearest; even, as libwebp makes
 * the beginning of a crop. */
static int32_t begin_of(int32_t at, int32_t size)
{
    return FDL_MIN(FDL_MAX(at - AROUND, 0), size - 1) & ~1;
}

/* Of a frame, for a part of the image. Alpha that is stored as it is, filtered,
 * comes out wrong in libwebp unless it begins with the first row. */
static struct fdl_box part_of(const struct fdl_webp *w,
                              const struct fdl_box *need)
{
    const struct fdl_box *frame = &w->frame_box;
    int32_t x = begin_of(need->x - frame->x, frame->width);
    int32_t y = begin_of(need->y - frame->y, frame->height);
    if (w->pixel == 4)
        y = 0;
    int32_t right = need->x + need->width - frame->x + AROUND;
    right = FDL_MIN(FDL_MAX(right, x + 1), frame->width);
    return (struct fdl_box){x, y, right - x, frame->height - y};
}

/* From 1.4 on, libwebp says of some damaged alpha channels that memory ran out
 * (VP8DecompressAlphaRows). It is asked again, and believed where there is no
 * memory: a whole image of its own is the most that it takes. */
static VP8StatusCode decode_again(const struct fdl_webp *w,
                                  WebPDecoderConfig *config)
{
    size_t most = (size_t)w->frame_box.width * (size_t)w->frame_box.height * 4;
    VP8StatusCode code = WebPDecode(w->frame.bytes, w->frame.size, config);
    if (code != VP8_STATUS_OUT_OF_MEMORY)
        return code;
    void *volatile as_much = malloc(most + TABLES);
    bool there = as_much != NULL;
    free(as_much);
    return there ? VP8_STATUS_BITSTREAM_ERROR : code;
}

static int32_t decode_part(struct fdl_webp *w)
{
    const struct fdl_box *part = &w->part;
    size_t stride = (size_t)part->width * w->pixel, bytes;
    if (!fdl_mul_size(stride, (size_t)part->height, &bytes))
        return fdl_fail_memory(UINT64_MAX, "a WebP image");
    w->pixels = fdl_arena_take(&w->arena, bytes);
    if (!w->pixels)
        return fdl_fail_memory(bytes, "a WebP image");
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return fdl_fail(FEEDLINE_EABI, "libwebp is of another version than "
                                       "its header");
    config.options.use_cropping = 1;
    config.options.crop_left = part->x;
    config.options.crop_top = part->y;
    config.options.crop_width = part->width;
    config.options.crop_height = part->height;
    config.output.colorspace = w->pixel == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = w->pixels;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = bytes;
    VP8StatusCode code = WebPDecode(w->frame.bytes, w->frame.size, &config);
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        code = decode_again(w, &config);
    return code == VP8_STATUS_OK ? FEEDLINE_OK : fail_status(w, code);
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_webp *w = self;
    w->part = part_of(w, need);
    int32_t status = decode_part(w);
    if (status)
        return status;
    w->next = 0;
    w->have = *have = *need;
    return FEEDLINE_OK;
}

/* Columns from `x` on of row y, both of the image. */
static void copy_row(const struct fdl_webp *w, int32_t x, int32_t y,
                     uint8_t *row)
{
    const struct fdl_box *part = &w->part;
    int32_t left = w->frame_box.x + part->x, end = x + w->have.width;
    int32_t from = FDL_MAX(x, left), to = FDL_MIN(end, left + part->width);
    int32_t line = y - w->frame_box.y - part->y;
    bool there = line >= 0 && line < part->height && from < to;
    if (!there || from > x || to < end)
        memset(row, 0, (size_t)w->have.width * w->pixel);
    if (!there)
        return;
    size_t at = (size_t)line * (size_t)part->width + (size_t)(from - left);
    memcpy(row + (size_t)(from - x) * w->pixel, w->pixels + at * w->pixel,
           (size_t)(to - from) * w->pixel);
}

static int32_t read_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_webp *w = self;
    for (int32_t i = 0; i < n; i++, w->next++)
        copy_row(w, w->have.x, w->have.y + w->next, rows + (size_t)i * stride);
    return FEEDLINE_OK;
}

#endif /* FEEDLINE_FEATURE_WEBP */

static bool matches(const uint8_t *data, uint64_t size)
{
    return size >= 12 && memcmp(data, "RIFF", 4) == 0 &&
           memcmp(data + 8, "WEBP", 4) == 0;
}

const struct fdl_format fdl_format_webp = {
    .name = "WebP",
    .endings = {{".webp", true}},
    .matches = matches,
#if FDL_FEATURES & FEEDLINE_FEATURE_WEBP
    .create = create,
    .destroy = destroy,
    .memory = memory,
    .open = open_image,
    .alpha = keep_alpha,
    .begin = begin,
    .read = read_rows,
    .abort = end_image,
#else
    .missing = "libwebp",
#endif
};

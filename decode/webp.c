/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole image in a buffer that is given back after it; rows are copied out of
 * it. A WebP file is a row of chunks: four letters, a length, and that many
 * bytes, rounded up to even.
 */
#include "decode/webp.h"

#include "base/memory.h"
#include "base/status.h"
#include "decode/exif.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>

#define RIFF_HEADER  12
#define CHUNK_HEADER 8

struct fdl_webp {
    struct fdl_decode_limits limits;
    struct fdl_encoded bytes;
    int32_t width, height;
    bool has_alpha;
    size_t pixel;    /* bytes of one */
    uint8_t *pixels; /* of the open image */
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
static int32_t orientation_of(const struct fdl_encoded *bytes)
{
    uint64_t at = RIFF_HEADER;
    int32_t exif = 0, xmp = 0; /* of the first chunk of each; 0: none yet */
    while (at < bytes->size && bytes->size - at >= CHUNK_HEADER) {
        const uint8_t *chunk = bytes->data + at;
        uint64_t n = little_endian_32(chunk + 4);
        uint64_t left = bytes->size - at - CHUNK_HEADER;
        if (n > left)
            break;
        if (!exif && memcmp(chunk, "EXIF", 4) == 0)
            fdl_exif_find(chunk + CHUNK_HEADER, n, &exif);
        else if (!xmp && memcmp(chunk, "XMP ", 4) == 0)
            xmp = fdl_xmp_orientation(chunk + CHUNK_HEADER, n);
        at += CHUNK_HEADER + n + (n & 1);
    }
    if (exif)
        return exif;
    return xmp ? xmp : 1;
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

static int32_t check_features(const struct fdl_webp *w,
                              const WebPBitstreamFeatures *f)
{
    uint64_t pixels = (uint64_t)f->width * (uint64_t)f->height;
    if (f->has_animation)
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset 0: this is an animated WebP image");
    if (pixels > w->limits.max_pixels)
        return fdl_fail(FEEDLINE_ERANGE,
                        "offset 0: WebP of %dx%d is above the limit of "
                        "%" PRIu64 " pixels",
                        f->width, f->height, w->limits.max_pixels);
    return FEEDLINE_OK;
}

/* ---- The row source ----------------------------------------------------- */

static void end_image(struct fdl_webp *w)
{
    free(w->pixels);
    w->pixels = NULL;
}

int32_t fdl_webp_create(const struct fdl_decode_limits *limits,
                        struct fdl_webp **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fdl_fail_memory(sizeof(**out), "the WebP decoder");
    (*out)->limits = *limits;
    return FEEDLINE_OK;
}

void fdl_webp_destroy(struct fdl_webp *w)
{
    if (!w)
        return;
    end_image(w);
    free(w);
}

int32_t fdl_webp_open(struct fdl_webp *w, const struct fdl_encoded *bytes,
                      struct fdl_image_info *info)
{
    WebPBitstreamFeatures f;
    end_image(w);
    w->bytes = *bytes;
    VP8StatusCode code = WebPGetFeatures(bytes->data, bytes->size, &f);
    if (code != VP8_STATUS_OK)
        return fail_status(w, code);
    int32_t status = check_features(w, &f);
    if (status)
        return status;
    w->width = f.width;
    w->height = f.height;
    w->has_alpha = f.has_alpha != 0;
    w->pixel = 3;
    *info = (struct fdl_image_info){
        .format = FDL_FORMAT_WEBP,
        .width = f.width,
        .height = f.height,
        .channels = 3,
        .orientation = w->limits.apply_exif ? orientation_of(bytes) : 1};
    return FEEDLINE_OK;
}

uint64_t fdl_webp_memory(const struct fdl_webp *w)
{
    return sizeof(*w);
}

static bool keep_alpha(void *self, int32_t channels)
{
    struct fdl_webp *w = self;
    (void)channels;
    if (w->has_alpha)
        w->pixel = 4;
    return w->has_alpha;
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_webp *w = self;
    size_t stride = (size_t)w->width * w->pixel, bytes;
    if (!fdl_mul_size(stride, (size_t)w->height, &bytes))
        return fdl_fail_memory(UINT64_MAX, "a WebP image");
    w->pixels = malloc(bytes);
    if (!w->pixels)
        return fdl_fail_memory(bytes, "a WebP image");
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return fdl_fail(FEEDLINE_EABI, "libwebp is of another version than "
                                       "its header");
    config.output.colorspace = w->pixel == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = w->pixels;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = bytes;
    VP8StatusCode code = WebPDecode(w->bytes.data, w->bytes.size, &config);
    if (code != VP8_STATUS_OK)
        return fail_status(w, code);
    w->next = 0;
    w->have = *have = *need;
    return FEEDLINE_OK;
}

static int32_t read_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_webp *w = self;
    for (int32_t i = 0; i < n; i++, w->next++) {
        size_t y = (size_t)w->have.y + (size_t)w->next;
        size_t at = y * (size_t)w->width + (size_t)w->have.x;
        memcpy(rows + (size_t)i * stride, w->pixels + at * w->pixel,
               (size_t)w->have.width * w->pixel);
    }
    return FEEDLINE_OK;
}

static void abort_image(void *self)
{
    end_image(self);
}

const struct fdl_source fdl_webp_source = {
    .alpha = keep_alpha,
    .begin = begin,
    .read = read_rows,
    .abort = abort_image,
};

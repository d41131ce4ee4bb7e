/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoding a photo so that its file has a given size. The tables of the JPEG
 * standard are scaled by a percentage out of a list whose neighbours differ by
 * about a sixth, which is 5 to 10 % in bytes: the best entry is within 5 %, and
 * the errors are even on both sides. From the first encoding the distance to
 * the right entry is estimated; three encodings are typical, MAX_TRIES are the
 * most.
 */
#include "tools/loaderbench/gen/gen_photo.h"

/* clang-format off */
#include <stdio.h> /* jpeglib.h needs FILE before it */
#include <stdlib.h>
#include <jpeglib.h>
/* clang-format on */

#define MAX_TRIES 5

static const uint16_t scales[] = {2,  3,  4,  5,  6,   7,   8,   10,  12,
                                  14, 16, 19, 22, 26,  30,  35,  41,  48,
                                  56, 66, 77, 90, 105, 125, 150, 180, 220};
#define SCALES ((int)(sizeof(scales) / sizeof(*scales)))

/* The encoder has no input that it could find fault with; what is left is a
 * lack of memory, after which a generator cannot go on. */
static void encoder_fails(j_common_ptr info)
{
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    fprintf(stderr, "loaderbench: JPEG encoder: %s\n", text);
    exit(4);
}

static void set_sampling(struct jpeg_compress_struct *info,
                         enum photo_kind kind)
{
    if (kind == PHOTO_GRAY)
        return;
    info->comp_info[0].h_samp_factor = kind == PHOTO_444 ? 1 : 2;
    info->comp_info[0].v_samp_factor = kind == PHOTO_420 ? 2 : 1;
    for (int c = 1; c < 3; c++) {
        info->comp_info[c].h_samp_factor = 1;
        info->comp_info[c].v_samp_factor = 1;
    }
}

static void write_rows(struct jpeg_compress_struct *info, const struct photo *p,
                       unsigned char *row)
{
    int gray = info->input_components == 1;
    while (info->next_scanline < info->image_height) {
        size_t at = (size_t)info->next_scanline * p->width;
        JSAMPROW line = gray ? p->plane[0] + at : row;
        for (uint32_t x = 0; !gray && x < p->width; x++) {
            row[3 * x] = p->plane[0][at + x];
            row[3 * x + 1] = p->plane[1][at + x];
            row[3 * x + 2] = p->plane[2][at + x];
        }
        jpeg_write_scanlines(info, &line, 1);
    }
}

static int encode(const struct photo *p, const struct photo_plan *plan,
                  int scale, unsigned char **data, uint64_t *size)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *row = malloc((size_t)p->width * 3);
    if (!row)
        return -1;
    info.err = jpeg_std_error(&errors);
    errors.error_exit = encoder_fails;
    jpeg_create_compress(&info);
    unsigned long bytes = 0;
    *data = NULL;
    jpeg_mem_dest(&info, data, &bytes);
    int gray = plan->kind == PHOTO_GRAY;
    info.image_width = p->width;
    info.image_height = p->height;
    info.input_components = gray ? 1 : 3;
    info.in_color_space = gray ? JCS_GRAYSCALE : JCS_YCbCr;
    jpeg_set_defaults(&info);
    jpeg_set_linear_quality(&info, scale, TRUE);
    info.dct_method = JDCT_ISLOW; /* the same in C and in every SIMD variant */
    info.optimize_coding = plan->optimised_huffman ? TRUE : FALSE;
    set_sampling(&info, plan->kind);
    jpeg_start_compress(&info, TRUE);
    write_rows(&info, p, row);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    free(row);
    *size = bytes;
    return 0;
}

/* How many entries of the list lie between `size` and `target` at 7 % each;
 * positive: a coarser quantisation is needed. */
static int entries_between(uint64_t size, uint64_t target)
{
    int n = 0;
    for (; size * 100 > target * 104 && n < SCALES; n++)
        size = size * 100 / 107;
    for (; size * 104 < target * 100 && n > -SCALES; n--)
        size = size * 107 / 100 + 1;
    return n;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

int photo_encode(const struct photo *p, const struct photo_plan *plan,
                 unsigned char **data, uint64_t *size)
{
    int at = 0, low = -1, high = SCALES; /* the answer is in (low, high) */
    while (at + 1 < SCALES && scales[at] < plan->scale)
        at++;
    unsigned char *best = NULL;
    uint64_t best_size = 0;
    for (int try = 0; try < MAX_TRIES && low < at && at < high; try++) {
        unsigned char *bytes;
        uint64_t n;
        if (encode(p, plan, scales[at], &bytes, &n)) {
            free(best);
            return -1;
        }
        int off = entries_between(n, plan->target_bytes);
        if (!best || distance(n, plan->target_bytes) <
                         distance(best_size, plan->target_bytes)) {
            free(best);
            best = bytes;
            best_size = n;
        } else {
            free(bytes);
        }
        if (off == 0)
            break;
        if (off > 0)
            low = at;
        else
            high = at;
        at += off;
        if (at >= high)
            at = high - 1;
        if (at <= low)
            at = low + 1;
    }
    *data = best;
    *size = best_size;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values go as far as a Huffman code, or a table, can say. */
#include "make_blocks.h"

#include "base/compiler.h"
#include "make_jpeg.h"

#include <stdio.h>

/* clang-format off: jpeglib.h wants stdio.h before it */
#include <jpeglib.h>
/* clang-format on */

/* The kinds of blocks, then how far values go. */
static void fill_block(JCOEF *block, uint64_t *seed, int32_t *dc, int32_t most,
                       bool mild)
{
    static const uint8_t corner[] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24};
    int32_t next = *dc + make_within(seed, -FDL_MIN(most, 1000), 1000);
    int32_t limit = mild ? 1500 : 32767;
    if (next >= -limit && next <= limit && make_within(seed, 0, 9))
        *dc = next;
    block[0] = (JCOEF)*dc;
    int32_t kind = make_within(seed, 0, 3);
    for (int32_t n = kind ? make_within(seed, 1, 20) : 0; n > 0; n--) {
        int32_t at = kind == 1   ? corner[make_within(seed, 1, 9)]
                     : kind == 2 ? make_within(seed, 1, 7)
                                 : make_within(seed, 1, 63);
        block[at] = (JCOEF)make_within(seed, -most, most);
    }
}

static void fill(struct jpeg_compress_struct *c, jvirt_barray_ptr *arrays,
                 uint64_t *seed, int32_t most, bool mild)
{
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        int32_t dc = 0;
        for (JDIMENSION y = 0; y < info->height_in_blocks; y++) {
            JBLOCKARRAY row = c->mem->access_virt_barray((j_common_ptr)c,
                                                         arrays[i], y, 1, TRUE);
            for (JDIMENSION x = 0; x < info->width_in_blocks; x++)
                fill_block(row[0][x], seed, &dc, most, mild);
        }
    }
}

/* Factors of one, of photos, of bytes, or of 16 bits; some are zero, as they
 * are in damaged files. */
static void set_tables(struct jpeg_compress_struct *c, uint64_t *seed,
                       bool mild)
{
    static const int32_t most[] = {1, 40, 255, 32767};
    int32_t top = most[mild ? 0 : make_within(seed, 0, 3)];
    int32_t zeros = mild ? 0 : make_within(seed, 0, 5);
    for (int i = 0; i < 2; i++) {
        unsigned table[DCTSIZE2];
        for (int k = 0; k < DCTSIZE2; k++)
            table[k] = (unsigned)make_within(seed, 1, top);
        jpeg_add_quant_table(c, i, table, 100, FALSE); /* makes 1 of 0 */
        for (int k = 1; k < DCTSIZE2; k++)
            if (make_within(seed, 1, 6) <= zeros)
                c->quant_tbl_ptrs[i]->quantval[k] = 0;
    }
}

/* Of tables that are too coarse for the oldest decoders. */
static void no_message(j_common_ptr c)
{
    (void)c;
}

uint8_t *make_blocks(uint64_t *seed, int32_t width, int32_t height, bool mild,
                     size_t *size)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    unsigned char *file = NULL;
    unsigned long length = 0;
    c.err = jpeg_std_error(&err);
    err.output_message = no_message;
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &file, &length);
    c.image_width = (JDIMENSION)make_within(seed, 1, width);
    c.image_height = (JDIMENSION)make_within(seed, 1, height);
    c.input_components = make_within(seed, 0, 5) ? 3 : 1;
    c.in_color_space = c.input_components == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    set_tables(&c, seed, mild);
    const struct make_sampling *s = &make_samplings[make_within(seed, 0, 4)];
    int h = c.comp_info[0].h_samp_factor = c.input_components == 3 ? s->h : 1;
    int v = c.comp_info[0].v_samp_factor = c.input_components == 3 ? s->v : 1;
    c.restart_interval = make_within(seed, 0, 3) ? 0 : 3;

    jvirt_barray_ptr arrays[3];
    for (int i = 0; i < c.num_components; i++)
        arrays[i] = c.mem->request_virt_barray(
            (j_common_ptr)&c, JPOOL_IMAGE, TRUE,
            (c.image_width + 7) / 8 + (JDIMENSION)h,
            (c.image_height + 7) / 8 + (JDIMENSION)v, (JDIMENSION)v);
    jpeg_write_coefficients(&c, arrays);
    fill(&c, arrays, seed, make_within(seed, 0, 1) && !mild ? 1000 : 30, mild);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *size = length;
    return file;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of libjpeg and libpng, which report errors by leaving; see
 * inject.h. */
#include "inject.h"
#include "test.h" /* jpeglib.h needs what it includes */
#include "tests/wrap.h"

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#define LEAVE_JPEG(d)                                                          \
  if (MUST_FAIL(DECODER))                                                      \
  ERREXIT(d, JERR_BAD_HUFF_TABLE)

WRAP(int, jpeg_read_header, j_decompress_ptr d, boolean image)
{
    LEAVE_JPEG(d);
    return __real_jpeg_read_header(d, image);
}

WRAP(boolean, jpeg_start_decompress, j_decompress_ptr d)
{
    LEAVE_JPEG(d);
    return __real_jpeg_start_decompress(d);
}

WRAP(JDIMENSION, jpeg_read_scanlines, j_decompress_ptr d, JSAMPARRAY rows,
     JDIMENSION n)
{
    LEAVE_JPEG(d);
    return __real_jpeg_read_scanlines(d, rows, n);
}

WRAP(JDIMENSION, jpeg_skip_scanlines, j_decompress_ptr d, JDIMENSION n)
{
    LEAVE_JPEG(d);
    return __real_jpeg_skip_scanlines(d, n);
}

WRAP(void, jpeg_crop_scanline, j_decompress_ptr d, JDIMENSION *left,
     JDIMENSION *width)
{
    LEAVE_JPEG(d);
    __real_jpeg_crop_scanline(d, left, width);
}

WRAP(boolean, jpeg_finish_decompress, j_decompress_ptr d)
{
    LEAVE_JPEG(d);
    return __real_jpeg_finish_decompress(d);
}

WRAP(jvirt_barray_ptr *, jpeg_read_coefficients, j_decompress_ptr d)
{
    LEAVE_JPEG(d);
    return __real_jpeg_read_coefficients(d);
}

#define LEAVE_PNG(p)                                                           \
  if (MUST_FAIL(DECODER))                                                      \
  png_error(p, "bad data")

WRAP(void, png_read_info, png_structrp p, png_inforp info)
{
    LEAVE_PNG(p);
    __real_png_read_info(p, info);
}

WRAP(void, png_read_update_info, png_structrp p, png_inforp info)
{
    LEAVE_PNG(p);
    __real_png_read_update_info(p, info);
}

WRAP(void, png_read_row, png_structrp p, png_bytep row, png_bytep display)
{
    LEAVE_PNG(p);
    __real_png_read_row(p, row, display);
}

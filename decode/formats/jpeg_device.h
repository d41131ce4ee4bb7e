/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device needs of a JPEG, or of a packed sample, to decode a part of it
 * (decode/device/device_job.h): the segments that the part reaches into, copied
 * to a payload with what is known of each, tables, and where the blocks lie.
 *
 * Of a JPEG only where the index knows the file (jpeg_entries.h), up to the
 * part's end: then it was decoded soundly before.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_DEVICE_H
#define FDL_DECODE_JPEG_DEVICE_H

#include "decode/device/device_job.h"
#include "decode/formats/jpeg_blocks.h"
#include "decode/formats/jpeg_entries.h"
#include "decode/packed/container.h"
#include "decode/pixels/geometry.h"

#include <stdbool.h>
#include <stdint.h>

/* c is prepared by fdl_jpeg_rows_prepare; its data goes to `end`. Writes all of
 * job but what follows resampling, its kind last; false: not a file for a
 * device, or more than the payload holds. */
bool fdl_jpeg_device_chains(const struct jpeg_decompress_struct *c,
                            const uint8_t *end, uint64_t file_bytes,
                            const struct fdl_entries *known,
                            const struct fdl_box *need,
                            struct fdl_device_payload *to,
                            struct fdl_device_job *job);
bool fdl_jpeg_device_packed(const struct jpeg_decompress_struct *c,
                            const struct fdl_packed *p,
                            const struct fdl_box *need,
                            struct fdl_device_payload *to,
                            struct fdl_device_job *job);

#endif

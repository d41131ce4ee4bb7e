/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding by a device: its job (decode/device/device_job.h), in place of
 * rendering. */
#ifndef FDL_DECODE_MAKE_JOB_H
#define FDL_DECODE_MAKE_JOB_H

#include "decode/decoder.h"
#include "decode/device/device_job.h"

/* Completes an open, as fdl_decoder_render does, but tells a device how to make
 * the same bytes: fdl_output_bytes(format), of u8; nhwc is what the finishing
 * of floats begins with. The payload goes to to->data; the caller then
 * sets where payload, scratch and out begin.
 *
 * The kind of job is FDL_DEVICE_NONE where the host has to open the image again
 * and render it: it is no JPEG that jpeg_rows.h can do, or one whose bytes are
 * not known to the index up to there; it is stored on its side; the plan has
 * steps of pixels, or views; or the payload does not fit.
 *
 * Errors are those of the first pixels of a file: what lies behind them is the
 * index's to know. */
int32_t fdl_decoder_make_job(struct fdl_decoder *d, const struct fdl_plan *plan,
                             const struct fdl_output_format *format,
                             struct fdl_device_payload *to,
                             struct fdl_device_job *job);

#endif

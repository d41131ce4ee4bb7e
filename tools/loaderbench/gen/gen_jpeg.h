/* SPDX-License-Identifier: Apache-2.0 */
/* A photo as a JPEG file of about the planned size. */
#ifndef LOADERBENCH_GEN_JPEG_H
#define LOADERBENCH_GEN_JPEG_H

#include "tools/loaderbench/gen/gen_photo.h"

/* Searches the quantisation for plan->target_bytes, a few encodings. *data is
 * the caller's to free(). 0, or -1 without memory. */
int photo_encode(const struct photo *p, const struct photo_plan *plan,
                 unsigned char **data, uint64_t *size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed samples: a JPEG's coefficients in a form that is decoded several times
 * as fast, to the same pixels (docs/packed.md). A loader takes them wherever it
 * takes a JPEG; here they are made, and JPEGs made of them.
 *
 * Statuses as in feedline.h; any thread.
 */
#ifndef FEEDLINE_PACKED_H
#define FEEDLINE_PACKED_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *packed is for free(). EDECODE: it stays a JPEG, and why. ERANGE: it has
 * 2^28 pixels or more. ENOMEM. */
FEEDLINE_API int32_t feedline_jpeg_pack(const void *jpeg, uint64_t bytes,
                                        void **packed, uint64_t *packed_bytes);

/* *jpeg is for free(). *same: 1 if it is what was packed, to the byte, or 0:
 * a JPEG of the same headers, tables and coefficients. EDECODE: not a packed
 * sample, or a damaged one. ERANGE, ENOMEM. */
FEEDLINE_API int32_t feedline_jpeg_unpack(const void *packed, uint64_t bytes,
                                          void **jpeg, uint64_t *jpeg_bytes,
                                          int32_t *same);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_PACKED_H */

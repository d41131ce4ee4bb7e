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

/* Packs a JPEG of `bytes` bytes. The caller frees *packed with free(). EDECODE:
 * it cannot be packed, with the reason in the detail; use the JPEG as it is.
 * ERANGE: it has 2^28 pixels or more. ENOMEM. On an error outputs are left as
 * they were. */
FEEDLINE_API int32_t feedline_jpeg_pack(const void *jpeg, uint64_t bytes,
                                        void **packed, uint64_t *packed_bytes);

/* Makes a JPEG of a packed sample of `bytes` bytes. The caller frees *jpeg with
 * free(). *same: 1 if it is the JPEG that was packed, to the byte; 0 if it is
 * another with the same headers, tables and coefficients. EDECODE: not a packed
 * sample, or a damaged one; ERANGE: it has 2^28 pixels or more; ENOMEM. On an
 * error outputs are left as they were. */
FEEDLINE_API int32_t feedline_jpeg_unpack(const void *packed, uint64_t bytes,
                                          void **jpeg, uint64_t *jpeg_bytes,
                                          int32_t *same);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_PACKED_H */

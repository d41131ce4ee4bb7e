/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass by tables: what each byte of a channel becomes, of any type.
 * Arithmetic of NumPy's is known by what it makes of 256 numbers alone.
 */
#ifndef FDL_DECODE_FINISH_LOOKUP_H
#define FDL_DECODE_FINISH_LOOKUP_H

#include "decode/kernels/finish.h"

/* By affine->split, elements of four or eight bytes; NULL: as plain C. That for
 * nhwc takes 3 channels. */
struct fdl_lookup_kernels {
    fdl_finish_fn nchw_4, nhwc_4, nchw_8;
};

/* By tables that were set for the same format and size. */
fdl_finish_fn fdl_finish_lookup(const struct fdl_lookup_kernels *k,
                                const struct fdl_output_format *format,
                                uint32_t element_bytes);

/* lookup: a table for each channel of the format, which stay. Elements are of
 * 1, 2, 4 or 8 bytes. */
void fdl_finish_set_lookup(const struct fdl_lookup_kernels *k,
                           const struct fdl_output_format *format,
                           const void *lookup, uint32_t element_bytes,
                           struct fdl_affine *affine);

/* Of each level; levels.h has them all. */
extern const struct fdl_lookup_kernels fdl_lookup_none, fdl_lookup_512;

#endif

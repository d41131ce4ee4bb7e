/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums that stored data comes with: what a container says that some of its
 * bytes have. Whoever has read the bytes compares.
 */
#ifndef FDL_BASE_CHECKSUM_H
#define FDL_BASE_CHECKSUM_H

#include "base/choice.h"

#include <stdint.h>

enum fdl_sum_kind {
    FDL_SUM_NONE = 0, /* the container has none */
    FDL_SUM_CRC32,    /* zip */
    FDL_SUM_CRC32C,   /* packed samples */
    FDL_SUM_MASKED    /* CRC-32C, rotated and added to, of TFRecord */
};

struct fdl_sum {
    uint32_t kind; /* enum fdl_sum_kind */
    uint32_t value;
};

/* Of an image's bytes and of some around them, such as its record. */
struct fdl_image_sum {
    struct fdl_sum sum;
    uint32_t before, after; /* bytes */
};

/* The choices of option `checksums`; auto: where that costs next to nothing. */
#define FDL_CHECKSUMS_CHOICES(C)                                               \
  C(FDL_CHECKSUMS_FALSE, "false")                                              \
  C(FDL_CHECKSUMS_TRUE, "true")                                                \
  C(FDL_CHECKSUMS_AUTO, "auto")
enum fdl_checksums { FDL_CHOICE_VALUES(FDL_CHECKSUMS_CHOICES) };

/* Of a kind that is not NONE. */
uint32_t fdl_sum_of(enum fdl_sum_kind kind, const void *data, uint64_t bytes);

/* How a sample with a wrong checksum is left out, found when it is read. */
#define FDL_SUM_QUARANTINE "loaderbench scan --quarantine"

/* EDECODE: the bytes are not those that `sum` is of, with both values and what
 * to do. at: where they begin, of: in what, "the file"; leave_out: what leaves
 * the sample out. */
int32_t fdl_sum_check(const struct fdl_sum *sum, const void *data,
                      uint64_t bytes, uint64_t at, const char *of,
                      const char *leave_out);

#endif

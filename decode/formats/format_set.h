/* SPDX-License-Identifier: Apache-2.0 */
/* One decoder of each format, and the choice between them. */
#ifndef FDL_DECODE_FORMAT_SET_H
#define FDL_DECODE_FORMAT_SET_H

#include "decode/formats/format.h"

#include <stdint.h>

/* Zeroed memory is an empty one. */
struct fdl_format_set {
    void *self[FDL_FORMAT_COUNT];
};

/* deadline: of the open image; it outlives them. ENOMEM: fini is for what is
 * there. */
int32_t fdl_format_set_init(struct fdl_format_set *s,
                            const struct fdl_decode_limits *limits,
                            const struct fdl_deadline *deadline);
void fdl_format_set_fini(struct fdl_format_set *s);

/* Reads the header of whatever it is. *format, *self: of the one that is to be
 * aborted, on error too; NULL: none is. EDECODE, ERANGE, ENOMEM. */
int32_t fdl_format_set_open(struct fdl_format_set *s,
                            const struct fdl_encoded *bytes,
                            const struct fdl_format **format, void **self,
                            struct fdl_image_info *info);

/* Held between images. */
uint64_t fdl_format_set_memory(const struct fdl_format_set *s);

#endif

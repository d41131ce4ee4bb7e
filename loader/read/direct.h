/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct reads (O_DIRECT): from the device to the buffer, past the page cache.
 * For data that the cache cannot hold they cost a third of the CPU time and
 * reach the speed of the device, which read-ahead and copies do not.
 *
 * They begin and end at multiples of what the file system asks for. Where one
 * refuses, be it the flag or a read, that file goes through the page cache.
 */
#ifndef FDL_LOADER_DIRECT_H
#define FDL_LOADER_DIRECT_H

#include "base/choice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define FDL_DIRECT_CHOICES(C)                                                  \
  C(FDL_DIRECT_FALSE, "false")                                                 \
  C(FDL_DIRECT_TRUE, "true")                                                   \
  C(FDL_DIRECT_AUTO, "auto")
enum fdl_direct_choice { FDL_CHOICE_VALUES(FDL_DIRECT_CHOICES) };

struct fdl_direct {
    int32_t mode;      /* enum fdl_direct_choice; auto: where statx tells how */
    _Atomic bool told; /* that it was refused */
};

/* Makes reads from fd direct. Returns the alignment, a power of two that serves
 * offsets, lengths and memory, or 0: they stay as they are. st: of fd. */
uint32_t fdl_direct_open(struct fdl_direct *d, int fd, const struct stat *st,
                         const char *path);

/* A read was refused with err: those that follow are not direct. */
void fdl_direct_close(struct fdl_direct *d, int fd, const char *path, int err);

#endif

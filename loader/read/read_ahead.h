/* SPDX-License-Identifier: Apache-2.0 */
/* Read-ahead by order: the kernel is told what will be read. */
#ifndef FDL_LOADER_READ_AHEAD_H
#define FDL_LOADER_READ_AHEAD_H

#include "loader/read/window.h"

/* Has a part of a file brought into the page cache, in the background; nothing
 * for whole files. Any thread; may wait for a disk that has much to do. Errors
 * are those of the read that follows. */
void fdl_read_ahead(struct fdl_window *w, const struct fdl_source *source);

#endif

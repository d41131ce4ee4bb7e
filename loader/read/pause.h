/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before something that may pass by itself is tried again. */
#ifndef FDL_LOADER_READ_PAUSE_H
#define FDL_LOADER_READ_PAUSE_H

#include <stdint.h>

/* 1 ms, doubled with each try up to 64 ms. */
int64_t fdl_file_pause_ns(uint32_t tries);
void fdl_file_pause(uint32_t tries);

#endif

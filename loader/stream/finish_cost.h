/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs a worker to finish a sample. */
#ifndef FDL_LOADER_FINISH_COST_H
#define FDL_LOADER_FINISH_COST_H

#include "decode/decoder.h"

/* ns of CPU time that an image takes more as `delivered` than as `wire`, the
 * bytes of the same size; 0: none, or no memory to find out. Any thread. */
double fdl_finish_cost_ns(const struct fdl_output_format *delivered,
                          const struct fdl_output_format *wire);

#endif

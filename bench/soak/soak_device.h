/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on a GPU, which is the double of the CUDA driver. */
#ifndef SOAK_SOAK_DEVICE_H
#define SOAK_SOAK_DEVICE_H

#include "again.h"

#include <stdbool.h>

/* Whether the library and this program were built with it. Before the first
 * loader. */
bool device_is_there(void);

/* The batch's pixels where the host can read them, until the thread's next
 * call: info's pointer is changed. */
bool device_fetch(feedline_batch *b, struct feedline_batch_info *info,
                  struct ends *ends);

#endif

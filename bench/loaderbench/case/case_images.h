/* SPDX-License-Identifier: Apache-2.0 */
/* Images that cost nothing to read or decode: an IDX data set in memory. */
#ifndef LOADERBENCH_CASE_IMAGES_H
#define LOADERBENCH_CASE_IMAGES_H

#include <feedline/feedline.h>

#include <stdint.h>

/* n images of side x side pixels, of 1 or 3 channels. An exit status; close the
 * data set, which keeps the memory. */
int case_images_open(uint32_t n, uint32_t side, uint32_t channels,
                     feedline_dataset **out);

#endif

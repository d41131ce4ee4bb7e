/* SPDX-License-Identifier: Apache-2.0 */
/* Images that cost nothing to read or decode: pixels in memory. */
#ifndef LOADERBENCH_CASE_IMAGES_H
#define LOADERBENCH_CASE_IMAGES_H

#include <feedline/feedline.h>

#include <stdint.h>

struct case_images {
    unsigned char *pixels;
    feedline_dataset *dataset; /* of these */
};

/* n images of side x side pixels, of 1 or 3 channels. An exit status; fini in
 * any case, once the loaders are gone. */
int case_images_make(struct case_images *s, uint32_t n, uint32_t side,
                     uint32_t channels);
void case_images_fini(struct case_images *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A few photos in memory that cost a decoder what photographs cost it. */
#ifndef LOADERBENCH_CASE_PHOTOS_H
#define LOADERBENCH_CASE_PHOTOS_H

#include <feedline/feedline.h>

#include <stdint.h>

#define CASE_PHOTOS 24u

/* JPEG files, as loaderbench gen makes them. */
struct case_photos {
    unsigned char *data[CASE_PHOTOS];
    uint64_t sizes[CASE_PHOTOS];
};

/* An exit status; fini in any case. */
int case_photos_make(struct case_photos *p);
void case_photos_fini(struct case_photos *p);

/* Borrows the photos. An exit status. */
int case_photos_open(const struct case_photos *p, feedline_dataset **out);

#endif

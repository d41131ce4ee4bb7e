/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that draws the crops of its samples itself: each has 0 to 3 images,
 * of files, of parts of one file, and of bytes in memory, each cropped and
 * perhaps mirrored into memory of its own. What comes of it is compared with
 * the whole images.
 */
#ifndef FDL_TESTS_RECORDED_RIG_H
#define FDL_TESTS_RECORDED_RIG_H

#include "tests/loader/fixture.h"

#include <feedline/recorded.h>

#define RECORDED_N       23u /* samples, and images */
#define RECORDED_BATCH   4u
#define RECORDED_TICKETS 64u /* of one run */
#define RECORDED_IMAGES  3u  /* of a sample */

/* Where an image comes from and what is done to it. */
struct recorded_image {
    uint32_t image;
    int32_t left, top, width, height;
    bool mirrored, scaled, nhwc;
    void *out;
    uint64_t bytes;
};

struct recorded_sample {
    uint64_t index, epoch;
    uint32_t copy;
    bool read;
    uint32_t n;
    struct recorded_image images[RECORDED_IMAGES];
};

struct recorded_rig {
    struct fixture fixture;
    char paths[RECORDED_N][96];
    char pack[96]; /* a file of all of them, one behind the other */
    uint64_t pack_at[RECORDED_N];
    uint8_t *pixels[RECORDED_N]; /* [height][width][3] */
    int32_t width[RECORDED_N], height[RECORDED_N];

    struct feedline_source source; /* of the rig; flags may be changed */
    uint64_t compared;             /* images, so far */
    struct recorded_sample samples[RECORDED_TICKETS][RECORDED_BATCH];

    /* NULL, or does the reading of a sample that the rig has drawn. */
    int32_t (*read)(struct feedline_read_call *call,
                    struct feedline_recorded_image *images, uint32_t n);
};

void recorded_open(struct recorded_rig *rig);

/* The image's file is to be the one that it is now. */
void recorded_see(struct feedline_recorded_image *image);
void recorded_close(struct recorded_rig *rig);

/* Opens its source. */
feedline_dataset *recorded_dataset(struct recorded_rig *rig);

/* A loader of such a data set, batch_size RECORDED_BATCH. */
feedline_loader *recorded_loader(feedline_dataset *ds, const char *options);

/* No run is on: what it left behind is freed, and the next one begins with
 * ticket 0. */
void recorded_forget(struct recorded_rig *rig);

/* The batch with this ticket has what its samples' reads said, but for those
 * that failed; frees their memory and the batch. Returns how many failed. */
uint32_t recorded_check(struct recorded_rig *rig, feedline_batch *b,
                        uint64_t ticket);

/* Checks the batches of so many epochs, from the first ticket on. Returns how
 * many samples failed. */
uint32_t recorded_run(struct recorded_rig *rig, feedline_loader *l,
                      uint32_t epochs);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files made in memory, of every kind that libjpeg writes. */
#ifndef FDL_TESTS_MAKE_JPEG_H
#define FDL_TESTS_MAKE_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct make_jpeg {
    int32_t width, height;
    int32_t components; /* 1: gray, 3: YCbCr, 4: YCCK, as Adobe writes it */
    int32_t h, v;       /* sampling of the first component; others 1x1 */
    int32_t quality;
    int32_t restart; /* MCUs between markers; 0: none */
    bool progressive, optimize, arithmetic;
    bool separate;    /* one component per scan */
    uint64_t scans;   /* of progressive files: seed of which; 0: libjpeg's */
    bool lacking;     /* and some are left out */
    int32_t lossless; /* its predictor, 1 to 7, where make_has_lossless(), and
                         gray or RGB of full chroma; 0: none */
    uint64_t seed;    /* of the picture */
};

/* The samplings that cameras and programs use, then some that they do not. */
struct make_sampling {
    const char *name;
    int32_t h, v;
};
#define MAKE_SAMPLINGS 8
extern const struct make_sampling make_samplings[MAKE_SAMPLINGS];

/* The file, with FDL_ENCODED_PADDING zeros behind it; free() it. Never NULL:
 * what goes wrong ends the program. */
uint8_t *make_jpeg(const struct make_jpeg *m, size_t *size);

/* Whether libjpeg writes, and so reads, lossless files. */
bool make_has_lossless(void);

/* The next random number; a seed gives the same ones on every machine. */
uint64_t make_random(uint64_t *state);

/* A random number from low to high, both included. */
int32_t make_within(uint64_t *state, int32_t low, int32_t high);

/* A sequential file of any sampling, at most of that size; now and then gray or
 * of four components. */
struct make_jpeg make_any(uint64_t *state, int32_t width, int32_t height);

/* That, or a progressive file of any scans, or one with a scan for each
 * component. */
struct make_jpeg make_any_coding(uint64_t *state, int32_t width,
                                 int32_t height);

#endif

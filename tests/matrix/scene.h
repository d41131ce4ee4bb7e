/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scene: one real loader, one consumer, and what is done to them. Everything
 * in it is real: threads that sleep or compute, storage that is late
 * (slow_reads.h), a quota of the kernel's, the doubles of CUDA and NVML.
 *
 * Work is mostly sleep, so that a scene plays the same on two busy cores as on
 * a hundred idle ones. Where a core is what matters, the process confines
 * itself to one.
 */
#ifndef FDL_TESTS_SCENE_H
#define FDL_TESTS_SCENE_H

#include "dice.h"
#include "nap.h"
#include "slow_reads.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stddef.h>

struct scene {
    struct dice dice;    /* what the seed varies */
    const char *why_not; /* it cannot be played here; NULL: it can */

    /* The loader. */
    char options[384];   /* "key=value key=value", behind the common ones */
    bool device;         /* cuda:0 */
    const char *cuda;    /* settings of the double */
    const char *nvml;    /* what NVML says: lines of its double */
    bool packed;         /* images are, and no work is done on them */
    uint32_t side;       /* of the images delivered, pixels */
    uint32_t file_bytes; /* 0: images are in memory */
    struct slow_reads storage;

    /* What a sample costs its worker. */
    int64_t sleep_ns, burn_ns;
    int64_t turn_ns; /* asleep, one worker after the other */
    int64_t (*more_ns)(const struct scene *s, uint32_t batch, uint32_t place);
    int64_t late_ns; /* of the consumer, each time that it is woken */

    /* The consumer. */
    uint32_t warm;     /* batches before the statistics are reset */
    uint32_t batches;  /* then */
    int64_t step_ns;   /* asleep with each batch */
    int64_t kernel_ns; /* of work queued on the GPU for each */
    bool synchronise;  /* waits for the GPU before the next batch */
    uint32_t hold;     /* batches kept beyond the one in hand */
    const char *phase; /* around the step */
    void (*before)(struct scene *s, feedline_loader *l, uint32_t batch);
};

#define SCENE_BATCH  4u /* images */
#define SCENE_IMAGES 64u
#define SCENE_CODES  8u

struct scene_end {
    char codes[SCENE_CODES][32]; /* the verdict, and the others that hold */
    uint32_t n_codes;
    double stall; /* wait / wall */
    char sentence[384];
    char evidence[512];
};

/* A quiet loader: in memory, nothing is slow. */
void scene_init(struct scene *s, uint64_t seed);

/* Ends the process with status 1 and a line on stderr if the loader refuses
 * anything. */
void scene_play(struct scene *s, struct scene_end *out);

/* A tenth more or less. */
int64_t scene_vary(struct scene *s, int64_t ns);

/* printf into options, behind what is there. */
void scene_option(struct scene *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif

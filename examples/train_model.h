/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trains, as train_cuda.c sees it: a table of functions for each kind of
 * machine. train_cpu.c is always there, train_gpu.cu where the program was
 * built with a CUDA compiler (TRAIN_WITH_CUDA).
 *
 * Functions return 0, or -1 with a line in error().
 */
#ifndef EXAMPLES_TRAIN_MODEL_H
#define EXAMPLES_TRAIN_MODEL_H

#include <stdint.h>

#define TRAIN_SIDE     32 /* images are [count, 3, 32, 32] of float */
#define TRAIN_CHANNELS 3

struct train_config {
    int device; /* number of the GPU */
    int batch_size, classes;
    float rate; /* of learning */
    uint32_t seed;
};

/* Memory of the device; read by work that step queues. */
struct train_batch {
    const float *images;
    const int64_t *labels;
    int count;
    int learn; /* 0: the batch is looked at only */
};

/* Sums over the images since the last time they were read. */
struct train_tally {
    double loss, hits;
};

struct trainer;

struct train_backend {
    int (*create)(const struct train_config *config, struct trainer **out);
    void (*destroy)(struct trainer *t); /* NULL is accepted */

    /* The cudaStream_t that steps are queued on; NULL on the host. */
    void *(*stream)(const struct trainer *t);

    /* One step. On a GPU it is queued, and nothing waits for it. */
    int (*step)(struct trainer *t, const struct train_batch *b);

    /* Waits for all steps. */
    int (*read)(struct trainer *t, struct train_tally *out);
    const char *(*error)(void);
};

extern const struct train_backend train_cpu;
#ifdef TRAIN_WITH_CUDA
extern const struct train_backend train_gpu;
#  define TRAIN_GPU (&train_gpu)
#else
#  define TRAIN_GPU NULL
#endif

#endif

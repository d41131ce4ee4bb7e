/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom operations: functions of the program's own on the pixels of a sample.
 *
 * An operation runs for every sample, between two other operations, on the
 * worker that runs those. Handing each image to the caller and back would cost
 * two thread switches per sample and hide the work from the statistics.
 *
 * A run function
 * - is called on several worker threads at once: it must be thread-safe, and
 *   `user` is the same pointer in all of them;
 * - may sleep or wait: this delays one worker only, and wall and CPU time are
 *   measured separately (stop waits until it returns);
 * - changes the pixels in place; width, height and channels stay the same;
 * - takes its random numbers only from call->rng;
 * - calls no feedline function but feedline_rng_* and feedline_op_waited, keeps
 *   no pointer from the call, and lets no C++ exception or longjmp escape;
 * - returns FEEDLINE_OK or a FEEDLINE_E* code, which becomes the status of this
 *   sample, handled according to option on_error; any other value counts as
 *   FEEDLINE_EUSER;
 * - does not end its thread (pthread_exit, cancellation): feedline_loader_next
 *   then returns FEEDLINE_EUSER, names the operation, and the run is over.
 *
 * In the statistics it is a separate stage, under its name. A function made by
 * an FFI works, but if it needs an interpreter lock its calls run one at a
 * time; stop the loader before that interpreter ends.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_CUSTOM_OP_H
#define FEEDLINE_CUSTOM_OP_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* uint8 pixels, rows top to bottom, channels interleaved (HWC): channel c of
 * pixel (x, y) is data[y * row_bytes + x * channels + c]. */
struct feedline_image {
    uint8_t *data;
    int64_t row_bytes; /* from row to row; at least width * channels */
    int32_t width, height;
    int32_t channels; /* as option channels: 1 to 4; alpha is the last of 2
                         and of 4 */
    int32_t reserved;
};

/* Random state of one sample at one place in the pipeline. Its numbers depend
 * on seed, epoch, sample and place only, so a run repeats exactly with any
 * number of workers. */
typedef struct feedline_rng feedline_rng;

/* The next random number: of all 32 bits, or in [0, 1). */
FEEDLINE_API uint32_t feedline_rng_u32(feedline_rng *rng);
FEEDLINE_API double feedline_rng_uniform(feedline_rng *rng);

/* The next random number in [0, n), without bias; 0 if n is 0. */
FEEDLINE_API uint32_t feedline_rng_below(feedline_rng *rng, uint32_t n);

/* One call. A struct, not a parameter list, so that later versions can append
 * fields; valid until run returns. */
struct feedline_op_call {
    uint32_t struct_size;
    uint32_t place; /* of this operation in the pipeline, from 0 */
    uint64_t epoch;
    int64_t sample_index; /* position in the data set */
    uint32_t copy; /* which copy of the sample, from 0 (option repeats) */
    uint32_t view; /* which image of the sample, from 0 (five_crop,
                             ten_crop) */
    struct feedline_image image;
    feedline_rng *rng;
    void *scratch;    /* scratch_bytes of the definition, for this call; NULL if
                      that is 0 */
    void *user;       /* of the definition */
    int64_t begin_ns; /* CLOCK_MONOTONIC, right before run was called */
};

/* Inside run: reports that ns of the call's time so far were spent waiting for
 * a lock that all calls share, such as an interpreter's. It becomes lock_ns of
 * the operation's stage, and evidence for the verdict LOCK_BOUND. */
FEEDLINE_API void feedline_op_waited(const struct feedline_op_call *call,
                                     int64_t ns);

struct feedline_op_def {
    uint32_t struct_size;
    uint32_t flags;         /* must be 0 (EABI) */
    uint64_t scratch_bytes; /* memory that each call gets, 64-byte aligned, of
                               any content */
    const char *name;       /* lower_snake; unlike any other operation of p */
    int32_t (*run)(const struct feedline_op_call *call);
    void *user;        /* handed to run; may be NULL */
    const char *label; /* what verdicts and costs call it, "python (`blur`)";
                          NULL: name */
};

/* Makes def->name known to feedline_pipeline_add(p, name, NULL). def, name and
 * label are copied; run and user must outlive every loader created from p. At
 * most 8 in a pipeline (ERANGE). EINVAL: a name that is taken or invalid. */
FEEDLINE_API int32_t feedline_pipeline_register(
    feedline_pipeline *p, const struct feedline_op_def *def);

/* Operations from a shared object. It exports
 *     int32_t feedline_op_register(feedline_pipeline *p);
 * which calls feedline_pipeline_register for each and returns FEEDLINE_OK or an
 * error, which is passed on. The object stays loaded until the process ends.
 * ENOENT: no such file, or no such function in it; EINVAL: dlopen refuses it,
 * for the reason in the detail. */
FEEDLINE_API int32_t feedline_pipeline_load(feedline_pipeline *p,
                                            const char *path);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_CUSTOM_OP_H */

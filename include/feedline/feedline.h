/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feedline - image loading for GPU training that explains where time goes.
 *
 *   config + dataset + pipeline --create--> loader --next--> batch --release-->
 *
 * Five rules hold for every function in this header:
 *
 * 1. An int32_t result is a status: 0 = done; > 0 = a note, nothing is wrong
 *    (FEEDLINE_END); < 0 = an error. After an error, feedline_last_error() has
 *    one line of detail, on the thread that got the error. Functions ending in
 *    _count return the count, or an error.
 * 2. Receiver first, inputs next, outputs last. On error a handle output is
 *    set to NULL and a struct output is left as it was.
 * 3. A typedef'd name is an opaque handle: the caller of _create, _open or
 *    _next owns it and passes it to exactly one _destroy, _close or _release
 *    (which return void and accept NULL). A name spelled with `struct` is
 *    plain data; a struct that is an output starts with its own size: set
 *    struct_size = sizeof before the call, and the library fills no more than
 *    that, so programs built against an older header keep working.
 * 4. Strings are UTF-8, NUL-terminated and borrowed for the call. Returned
 *    `const char *` are static unless the comment says otherwise.
 * 5. Nothing here is inline and nothing calls back into the caller, so all of
 *    it can be used through an FFI. Functions of the program's own are in
 *    custom_op.h (operations) and source.h (reading).
 *
 * A handle belongs to the process that made it. After fork() every call on it
 * in the child returns FEEDLINE_EFORK and every _destroy does nothing.
 */
#ifndef FEEDLINE_H
#define FEEDLINE_H

#include <stdint.h>

#define FEEDLINE_VERSION_MAJOR 0
#define FEEDLINE_VERSION_MINOR 1
#define FEEDLINE_VERSION_PATCH 0

#ifndef FEEDLINE_API
#  if defined(__GNUC__)
#    define FEEDLINE_API __attribute__((visibility("default")))
#  else
#    define FEEDLINE_API
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and features (any thread) ---------------------------------- */

/* The version of the loaded library: "0.1.0", and as the number 0x00MMmmpp. */
FEEDLINE_API const char *feedline_version(void);
FEEDLINE_API uint32_t feedline_version_number(void);

#define FEEDLINE_FEATURE_URING 0x1u /* the io_uring reader is built in   */
#define FEEDLINE_FEATURE_CUDA  0x2u /* the CUDA transfer is built in     */
#define FEEDLINE_FEATURE_WEBP  0x4u /* WebP images are decoded           */
FEEDLINE_API uint32_t feedline_features(void);

/* ---- Status: values are pinned, never renumbered, never reused ---------- */

/* clang-format off */
#define FEEDLINE_STATUS_MAP(X)                                          \
    X(REPLACED,     4, "sample replaced by another one")                \
    X(INTERRUPTED,  3, "the wait was interrupted")                      \
    X(END,          2, "end of epoch")                                  \
    X(TIMEOUT,      1, "nothing ready before the timeout")              \
    X(OK,           0, "ok")                                            \
    X(EINVAL,      -1, "invalid argument")                              \
    X(ENOMEM,      -2, "out of memory")                                 \
    X(EIO,         -3, "input/output error")                            \
    X(ENOENT,      -4, "no such file, option or operation")             \
    X(EDECODE,     -5, "image could not be decoded")                    \
    X(EDEVICE,     -6, "device error")                                  \
    X(ENOSYS,      -7, "not built in, or not supported here")           \
    X(ESTATE,      -8, "not allowed in this state or after an error")   \
    X(EFORK,       -9, "handle belongs to another process")             \
    X(ERANGE,     -10, "value out of range")                            \
    X(EABI,       -11, "layout not understood by this library")         \
    X(EUSER,      -12, "custom operation reported an error")

enum feedline_status {
#define FEEDLINE_STATUS_ENUM(name, value, text) FEEDLINE_##name = value,
    FEEDLINE_STATUS_MAP(FEEDLINE_STATUS_ENUM)
#undef FEEDLINE_STATUS_ENUM
    FEEDLINE_STATUS_FORCE_INT32 = 0x7fffffff
};
/* clang-format on */

/* "EINVAL" and "invalid argument"; "UNKNOWN" for any other number. */
FEEDLINE_API const char *feedline_status_name(int32_t status);
FEEDLINE_API const char *feedline_status_text(int32_t status);

/* Detail of the last error on this thread, "" if none; valid until the next
 * feedline call on this thread. Check the status to learn whether it failed. */
FEEDLINE_API const char *feedline_last_error(void);

/* ---- Options: one table behind C, job files, environment and --help ----- */

enum feedline_option_type {
    FEEDLINE_T_INT = 1, /* "12"; "auto" is 0 where the flag AUTO is set    */
    FEEDLINE_T_SIZE,    /* bytes: "64k", "2m", "1g" (powers of 1024)        */
    FEEDLINE_T_TIME,    /* nanoseconds: "250us", "10ms", "1.5s"             */
    FEEDLINE_T_DOUBLE,
    FEEDLINE_T_BOOL, /* true false yes no on off 1 0                        */
    FEEDLINE_T_ENUM, /* one of `choices`; as a number its index, from 0     */
    FEEDLINE_T_STRING,
    FEEDLINE_T_DOUBLES /* one to 16 numbers: "0.08:1" or "0.1,0.2,0.3"    */
};

#define FEEDLINE_OPT_LIVE 0x1u /* may change while a loader runs           */
#define FEEDLINE_OPT_AUTO 0x2u /* "auto" (0) lets the library choose       */

struct feedline_option_info {
    uint32_t struct_size;
    uint32_t flags; /* FEEDLINE_OPT_* */
    int32_t type;   /* enum feedline_option_type */
    int32_t reserved;
    int64_t min, max; /* of INT, SIZE and TIME, inclusive, in base units */
    double double_min, double_max; /* of DOUBLE and each of DOUBLES */
    const char *name;
    const char *default_text; /* as typed */
    const char *unit;         /* "bytes", "pixels"; "" if none */
    const char *choices;      /* "a|b|c", ENUM, or BOOL with more; or NULL */
    const char *help;         /* one line */
};

/* Any thread. scope: "loader", an operation such as "resize", or a scheme of
 * shards such as "tar:". ENOENT for an unknown scope, ERANGE for an index past
 * the end. */
FEEDLINE_API int32_t feedline_option_count(const char *scope);
FEEDLINE_API int32_t feedline_option_get_info(const char *scope, uint32_t index,
                                              struct feedline_option_info *out);

/* ---- Config (one thread at a time per handle) --------------------------- */

typedef struct feedline_config feedline_config;

/* Starts from the defaults, then applies the environment:
 * FEEDLINE_BATCH_SIZE=128 sets batch_size. A variable with an invalid value is
 * an error that names it. */
FEEDLINE_API int32_t feedline_config_create(feedline_config **out);
FEEDLINE_API void feedline_config_destroy(feedline_config *cfg);

/* An unknown key is FEEDLINE_ENOENT, and the detail names the closest known
 * key. A value that does not parse is EINVAL; one out of range is ERANGE. A
 * dash in a key stands for an underscore. set_int takes INT, SIZE, TIME, BOOL
 * and ENUM options, in base units. */
FEEDLINE_API int32_t feedline_config_set(feedline_config *cfg, const char *key,
                                         const char *text);
FEEDLINE_API int32_t feedline_config_set_int(feedline_config *cfg,
                                             const char *key, int64_t value);
FEEDLINE_API int32_t feedline_config_get_int(const feedline_config *cfg,
                                             const char *key, int64_t *out);

/* Read [global] and then [section] (NULL: only [global]) of an ini-style job
 * file. Errors name file, line and key; then nothing is set. */
FEEDLINE_API int32_t feedline_config_load(feedline_config *cfg,
                                          const char *path,
                                          const char *section);

/* All *_json() write at most `capacity` bytes, including the terminating NUL,
 * and always set `*needed` to the size of the whole text with its NUL. Pass
 * (NULL, 0) first to learn it. ERANGE if the text did not fit and capacity was
 * not 0. */
FEEDLINE_API int32_t feedline_config_json(const feedline_config *cfg, char *buf,
                                          uint64_t capacity, uint64_t *needed);

/* ---- Dataset: what to read (immutable, any thread, may be shared) ------- */

typedef struct feedline_dataset feedline_dataset;

/* uri: "folder:/data/train" (one folder per class, ordered and labelled as
 * torchvision's ImageFolder), "list:/data/train.tsv" (path, blank, label on
 * each line; paths relative to the list; for parts of files path, label, offset
 * and length with TABs between, under a first line of these words; columns that
 * ?fields= chooses: feedline/fields.h), "coco:a.json?images=train2017" (boxes,
 * feedline/objects.h), "idx:/data/mnist" (or "idx:IMAGES,LABELS"), shards such
 * as "zip:/data/{000..146}.zip" (docs/options.md, "Shards"), or a bare path,
 * whose kind is detected; "?quarantine=FILE": feedline/files.h. Errors name it:
 * ENOENT: missing, or an empty class; EIO: not readable; EINVAL: not clear. */
FEEDLINE_API int32_t feedline_dataset_open(const char *uri,
                                           feedline_dataset **out);

/* Paths are copied; labels NULL: all 0. */
FEEDLINE_API int32_t feedline_dataset_open_paths(const char *const *paths,
                                                 const int64_t *labels,
                                                 uint64_t count,
                                                 feedline_dataset **out);

/* Encoded images in memory. The arrays are copied, the bytes they point to are
 * borrowed: they must stay unchanged until the data set and every loader made
 * from it are gone. Sample i is called "memory:i" in messages. */
FEEDLINE_API int32_t feedline_dataset_open_memory(const void *const *data,
                                                  const uint64_t *sizes,
                                                  const int64_t *labels,
                                                  uint64_t count,
                                                  feedline_dataset **out);

/* Decoded images in memory, all alike: count x height x width x channels of
 * uint8, dense, channels interleaved (1: gray, 3: RGB). Borrowed as above.
 * labels NULL means all 0; they are copied. EINVAL: other channels, or 0. */
FEEDLINE_API int32_t feedline_dataset_open_pixels(
    const uint8_t *pixels, const int64_t *labels, uint64_t count,
    int32_t height, int32_t width, int32_t channels, feedline_dataset **out);
FEEDLINE_API int32_t feedline_dataset_get_count(const feedline_dataset *ds,
                                                uint64_t *out);

struct feedline_sample_info {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t label;
    const char *path; /* for messages; lives as long as the data set */
    const char *file; /* where its bytes are; NULL: in memory */
    uint64_t offset;  /* of its first byte in that file */
    uint64_t bytes;   /* UINT64_MAX: all of the file from there on */
    const char *name; /* path, but below the folder of the data set */
};
FEEDLINE_API int32_t
feedline_dataset_get_sample(const feedline_dataset *ds, uint64_t index,
                            struct feedline_sample_info *out);

/* Classes in label order; 0 classes where labels have no names. The name
 * (NULL past the end) lives as long as the data set. */
FEEDLINE_API int32_t feedline_dataset_class_count(const feedline_dataset *ds);
FEEDLINE_API const char *feedline_dataset_class_name(const feedline_dataset *ds,
                                                     uint32_t label);

/* Loaders that were made of the data set keep it alive until they are gone. */
FEEDLINE_API void feedline_dataset_close(feedline_dataset *ds);

/* ---- Pipeline: what to do with each image (one thread at a time) -------- */

typedef struct feedline_pipeline feedline_pipeline;

/* recipe: "train" (random_resized_crop 224, horizontal_flip, normalize), "none"
 * or NULL (no operation), or another of docs/recipes.md, such as "timm-a1".
 * With "_u8" behind its name it does not normalize, for dtype=u8. */
FEEDLINE_API int32_t feedline_pipeline_create(const char *recipe,
                                              feedline_pipeline **out);
FEEDLINE_API void feedline_pipeline_destroy(feedline_pipeline *p);

/* Adds an operation at the end, e.g. (p, "random_resized_crop", "size=224
 * scale=0.08:1"). An operation on pixels (color_jitter, pad, a custom one) goes
 * before the normalize of a recipe, as it needs uint8 pixels; after a normalize
 * that was added explicitly it is an error. Arguments are checked here, not
 * when the first image arrives; NULL is "". */
FEEDLINE_API int32_t feedline_pipeline_add(feedline_pipeline *p, const char *op,
                                           const char *args);
FEEDLINE_API int32_t feedline_pipeline_json(const feedline_pipeline *p,
                                            char *buf, uint64_t capacity,
                                            uint64_t *needed);

/* Names of the built-in operations; NULL past the end. Their options:
 * feedline_option_get_info(name, ...). */
FEEDLINE_API const char *feedline_op_name(uint32_t index);

/* ---- Loader ------------------------------------------------------------- */

/* create, start, next, set_stream, restore, stop and destroy: one consumer
 * thread at a time. interrupt, statistics, options and failures: any thread. */
typedef struct feedline_loader feedline_loader;
typedef struct feedline_batch feedline_batch;

/* Copies cfg and p and keeps ds alive; the caller may destroy all three. cfg
 * NULL means the defaults. */
FEEDLINE_API int32_t feedline_loader_create(const feedline_config *cfg,
                                            feedline_dataset *ds,
                                            const feedline_pipeline *p,
                                            feedline_loader **out);

/* Makes the next batch the first of `epoch`. If the stream is already there
 * (after FEEDLINE_END of epoch - 1), nothing restarts and prefetched batches
 * are used; otherwise they are discarded. Batches still held stay valid. After
 * an error, start restarts the loader. */
FEEDLINE_API int32_t feedline_loader_start(feedline_loader *l, uint64_t epoch);

/* The next batch in order. timeout_ns: 0 polls, < 0 waits. Returns OK; END,
 * once after the last batch of each epoch (the next call continues with the
 * next epoch, until option "epochs" of them have been delivered, then END
 * forever); TIMEOUT; INTERRUPTED; or an error. With on_error=raise the error of
 * a failed sample is returned in place of its batch and names the file; after
 * an error only statistics, start, stop and destroy work. ESTATE if the caller
 * holds every batch that memory allows: release one first, or set held=grow,
 * which gives ENOMEM only when memory runs out, until one is released. A loader
 * that was not started starts with epoch 0; one whose restart failed, at its
 * last position. With device=cuda:N a batch is returned once its copy is
 * queued; EDEVICE if the GPU fails. */
FEEDLINE_API int32_t feedline_loader_next(feedline_loader *l,
                                          int64_t timeout_ns,
                                          feedline_batch **out);

/* Tells a loader with device=cuda:N on which stream the program computes, so
 * that the idle time in the device statistics is that stream's: each next()
 * marks where the work queued on it ends. stream: a cudaStream_t of the GPU, as
 * a pointer; NULL is the legacy default stream. It must exist until another one
 * is set (NULL always exists) or the loader is destroyed.
 *
 * Without this call the mark is set on the stream that waited for the previous
 * batch: in next() if that batch is still held, otherwise when it is released,
 * so queue all work on a batch before you release it. A batch that was copied
 * (feedline_batch_copy) and released has no such mark; then only waits for
 * copies in flight count as idle, a lower bound.
 *
 * Before next(), on its thread; repeated calls cost nothing. Does nothing with
 * device=host. */
FEEDLINE_API int32_t feedline_loader_set_stream(feedline_loader *l,
                                                void *stream);

/* Any thread, also from a signal handler: the next() now waiting, or else the
 * following one, returns INTERRUPTED. */
FEEDLINE_API int32_t feedline_loader_interrupt(feedline_loader *l);

/* stop joins every worker; start may follow. Batches the caller holds stay
 * valid after stop and destroy, until released. On a device stop frees the
 * device's memory of all others, and the next start makes it again; pinned
 * memory stays. */
FEEDLINE_API int32_t feedline_loader_stop(feedline_loader *l);
FEEDLINE_API void feedline_loader_destroy(feedline_loader *l);

/* Options with the flag LIVE, on a running loader: workers, depth, io_depth
 * (ESTATE for others). They never change what is delivered, only when. The
 * number is kept from then on; 0 hands the option to the tuner (ERANGE with
 * tuner=off). */
FEEDLINE_API int32_t feedline_loader_set_int(feedline_loader *l,
                                             const char *key, int64_t value);

/* The value in force: for an option that was "auto", what was chosen. */
FEEDLINE_API int32_t feedline_loader_get_int(const feedline_loader *l,
                                             const char *key, int64_t *out);
FEEDLINE_API int32_t feedline_loader_config_json(const feedline_loader *l,
                                                 char *buf, uint64_t capacity,
                                                 uint64_t *needed);

/* One epoch, for this rank. */
struct feedline_epoch_info {
    uint32_t struct_size;
    uint32_t views;   /* images of each sample: 5 or 10 with five_crop or
                         ten_crop, else 1 */
    uint64_t samples; /* of this rank in an epoch, after shard_tail */
    uint64_t batches; /* after drop_last */
    int64_t shape[4]; /* of a full batch of images, as in the tensor: H and W
                         are 0 with max_sample_bytes */
    uint64_t batch_bytes; /* of its slot, with labels; with max_sample_bytes,
                             if all images had that size; if the device finishes
                             batches, of what crosses the bus */
};
FEEDLINE_API int32_t feedline_loader_get_epoch_info(
    const feedline_loader *l, struct feedline_epoch_info *out);

/* The stream's position: `position` samples of `epoch` were delivered, over all
 * ranks together; copies count, views do not. save writes it as a line of JSON
 * of less than 256 bytes that is valid for another number of workers, depth,
 * batch size or ranks; restore makes next() continue from there. A state of
 * another data set, seed, shuffle (block, lanes), repeats or epoch_samples is
 * refused (EINVAL). */
FEEDLINE_API int32_t feedline_loader_get_position(const feedline_loader *l,
                                                  uint64_t *epoch,
                                                  uint64_t *position);
FEEDLINE_API int32_t feedline_loader_set_position(feedline_loader *l,
                                                  uint64_t epoch,
                                                  uint64_t position);
FEEDLINE_API int32_t feedline_loader_save(const feedline_loader *l, char *buf,
                                          uint64_t capacity, uint64_t *needed);
FEEDLINE_API int32_t feedline_loader_restore(feedline_loader *l,
                                             const char *state);

/* ---- Batch: a lease on one slot of the output ring ---------------------- */

enum feedline_device {
    FEEDLINE_CPU = 1,
    FEEDLINE_CPU_PINNED = 2,
    FEEDLINE_CUDA = 3 /* device memory of GPU device_id */
};

enum feedline_dtype {
    FEEDLINE_U8 = 1,
    FEEDLINE_F16 = 2, /* IEEE 754 binary16 */
    FEEDLINE_F32 = 3,
    FEEDLINE_I64 = 4,
    FEEDLINE_BF16 = 5 /* the upper half of an f32 */
};

struct feedline_tensor {
    void *data;
    int32_t device, device_id;
    int32_t dtype, ndim;
    int64_t shape[4];
    int64_t stride[4]; /* in elements, as in DLPack */
};

/* Image i is view i % views of this rank's sample n = position + i / views of
 * the epoch. That has place n * world + rank of the epoch over all ranks (past
 * the end, as shard_tail says), and is copy place % repeats of its sample.
 * Views of a sample have the same label, sample_index and status. Arrays are
 * the batch's memory, which with device=cuda:N a child of fork() lacks. */
struct feedline_batch_info {
    uint32_t struct_size;
    uint32_t count; /* images; the last batch of an epoch may be short */
    uint64_t epoch, sequence;      /* sequence: of the batch in its epoch */
    struct feedline_tensor images; /* [count, C, H, W] or [count, H, W, C] */
    struct feedline_tensor labels; /* [count] of int64 */
    const int64_t *sample_index;   /* [count] position in the data set     */
    const int32_t *sample_status;  /* [count] OK, REPLACED, or the error of
                                      a sample that is zero (on_error) */
    int64_t wait_ns;               /* time this call of next() waited */
    uint64_t position;             /* of the first sample in the epoch, counted
                                      on this rank, copies included */
    uint32_t views;                /* images of each sample, in a row */
    uint32_t reserved;             /* 0 */

    /* Of a ragged batch (option max_sample_bytes): H and W of images.shape and
     * all strides are 0, and image i is dense, as C, H, W or H, W, C, at
     * images.data + image_offset[i], a multiple of 64. These arrays are in host
     * memory even if images.data is not; NULL if all images have one size.
     *
     *     const uint8_t *pixels = info.images.data;
     *     for (uint32_t i = 0; i < info.count; i++)
     *         show(pixels + info.image_offset[i], info.image_size[i][0],
     *              info.image_size[i][1]);
     *
     * To copy all images, copy image_bytes from images.data. Offsets may differ
     * between runs; pixels do not.
     */
    const int64_t *image_offset;    /* [count] bytes */
    const int32_t (*image_size)[2]; /* [count] height, width; 0, 0 of a sample
                                        that failed (on_error=zero) */
    uint64_t image_bytes;           /* in use from images.data on */
};

/* Any thread that holds the batch. Pointers in *out are valid until its
 * release. With device=cuda:N, images.data and labels.data are memory of that
 * GPU, and the copy may still be in flight: see feedline_batch_wait. Everything
 * else is host memory. images.data is NULL where feedline_batch_copy finishes
 * the images (option handover=copy). */
FEEDLINE_API int32_t feedline_batch_get_info(const feedline_batch *b,
                                             struct feedline_batch_info *out);

/* Makes `stream` wait for the copy of the batch before any work queued on it
 * after this call; the host does not wait. stream: a cudaStream_t of the
 * batch's GPU, as a pointer; NULL is the legacy default stream. At most 4
 * streams may wait for a batch (ERANGE), none that is captured into a graph
 * (ESTATE). Does nothing for host batches. EDEVICE: an error of the driver. */
FEEDLINE_API int32_t feedline_batch_wait(feedline_batch *b, void *stream);

/* Returns the slot; any thread. The slot of a device batch is reused only after
 * the work queued so far on each stream that waited for it; no synchronisation
 * is needed before the call. */
FEEDLINE_API void feedline_batch_release(feedline_batch *b);

/* feedline_batch_release, and the slot is reused only after the work queued so
 * far on `stream`, too, which waited for a stream that waited for the batch. */
FEEDLINE_API void feedline_batch_release_on(feedline_batch *b, void *stream);

/* ---- Failed samples ------------------------------------------------------ */

struct feedline_failure {
    uint32_t struct_size;
    int32_t status; /* EIO, ENOENT, EDECODE, ERANGE */
    uint64_t epoch;
    int64_t sample_index;
    const char *path;   /* lives as long as the loader, as does reason: */
    const char *reason; /* offset and the decoder's message, one line */
};

/* Any thread. The first 1000 are kept; the statistics count all. */
FEEDLINE_API int32_t feedline_loader_failure_count(const feedline_loader *l);
FEEDLINE_API int32_t feedline_loader_get_failure(const feedline_loader *l,
                                                 uint32_t index,
                                                 struct feedline_failure *out);

/* ---- Statistics (any thread; counters grow until reset_stats) ----------- */

struct feedline_stats {
    uint32_t struct_size;
    uint32_t workers; /* active now */
    uint64_t wall_ns; /* since start or reset_stats */
    uint64_t wait_ns; /* time next() kept the consumer waiting */
    uint64_t user_ns; /* time the consumer spent between calls of next() */
    uint64_t api_ns;  /* rest of next(): wall = wait + user + api */
    uint64_t batches, samples;        /* delivered */
    uint64_t failed_samples;          /* including batches not yet delivered */
    uint64_t bytes_read, profiler_ns; /* cost of measuring, all threads */
    uint64_t memory_bytes;      /* batch slots, read buffers, worker scratch */
    uint64_t first_batch_ns;    /* from start to the first delivery */
    uint64_t truncated_samples; /* also of batches not yet delivered */
    double mixing; /* of shuffle=block: feedline_mixing.variance; 0: unknown */
    uint64_t jpeg_mcus, jpeg_mcus_jumped, jpeg_index_bytes; /* jpeg_index */
};
FEEDLINE_API int32_t feedline_loader_get_stats(const feedline_loader *l,
                                               struct feedline_stats *out);
FEEDLINE_API int32_t feedline_loader_reset_stats(feedline_loader *l);

/* The consumer's waits, attributed to the state of the awaited batch. The parts
 * sum to wait_ns. See docs/profiling.md. */
struct feedline_wait_stats {
    uint32_t struct_size;
    uint32_t waits;          /* how many batches next() had to wait for */
    uint64_t not_issued_ns;  /* before the batch was scheduled           */
    uint64_t slot_ns;        /* no free slot: the consumer held them all */
    uint64_t fetch_queue_ns; /* reads not submitted: I/O depth reached   */
    uint64_t fetch_ns;       /* reads in flight                          */
    uint64_t worker_wait_ns; /* bytes ready, workers busy elsewhere      */
    uint64_t prep_ns;        /* decode and augment                       */
    uint64_t transfer_queue_ns, transfer_ns;
    uint64_t wake_ns; /* ready, until the consumer ran again */
    uint64_t residual_ns;

    /* prep_ns, by what its workers were doing; these sum to it. Each fraction
     * of a second is divided as the workers' time was; the last fraction is
     * still in prep_cpu_ns. */
    uint64_t prep_cpu_ns;      /* on a core */
    uint64_t prep_runq_ns;     /* runnable, but no core was free */
    uint64_t prep_throttle_ns; /* runnable, but the CPU quota was used up */
    uint64_t prep_sleep_ns;    /* slept: in custom operations, page faults */

    /* worker_wait_ns, divided as prep_ns is. */
    uint64_t worker_wait_cpu_ns, worker_wait_runq_ns;
    uint64_t worker_wait_throttle_ns, worker_wait_sleep_ns;
    int64_t fetch_cold_ns; /* of fetch_ns: storage delivers; -1: not known */
};
FEEDLINE_API int32_t feedline_loader_get_wait_stats(
    const feedline_loader *l, struct feedline_wait_stats *out);

/* Stages: 0 read, 1 decode, 2 augment, 3 transfer, 4 consume, and from
 * FEEDLINE_STAGE_COUNT on the custom operations of the loader's pipeline, in
 * the order they were registered in, then "mix", if it mixes. Times of one
 * stage over all of its threads: busy + starved + blocked. */
enum feedline_stage {
    FEEDLINE_STAGE_READ = 0,
    FEEDLINE_STAGE_DECODE,
    FEEDLINE_STAGE_AUGMENT,
    FEEDLINE_STAGE_TRANSFER,
    FEEDLINE_STAGE_CONSUME,
    FEEDLINE_STAGE_COUNT
};

struct feedline_stage_stats {
    uint32_t struct_size, threads;
    uint64_t items, bytes, errors;
    uint64_t busy_ns;                        /* doing work                 */
    uint64_t starved_ns;                     /* no input to take           */
    uint64_t blocked_ns;                     /* no room for output         */
    uint64_t p50_ns, p90_ns, p99_ns, max_ns; /* of one item; error <= 3 % */
    uint64_t cpu_ns;       /* of busy_ns, on a core; 0 if not a custom one   */
    uint64_t lock_ns;      /* of busy_ns, as reported by feedline_op_waited  */
    int64_t storage_bytes; /* that storage delivered to reads; -1: not known */
    int64_t unpack_ns, transform_ns; /* of decode's busy_ns; -1: not decode */
};
FEEDLINE_API const char *feedline_stage_name(uint32_t stage);

/* Of a loader, custom operations included; NULL past the end. A name lives as
 * long as the loader. */
FEEDLINE_API int32_t feedline_loader_stage_count(const feedline_loader *l);
FEEDLINE_API const char *feedline_loader_stage_name(const feedline_loader *l,
                                                    uint32_t stage);
FEEDLINE_API int32_t feedline_loader_get_stage_stats(
    const feedline_loader *l, uint32_t stage, struct feedline_stage_stats *out);

/* The time of all workers: wall = cpu + runq + throttle + sleep + read +
 * blocked + starved + parked + residual. */
struct feedline_worker_stats {
    uint32_t struct_size;
    uint32_t threads;     /* started, parked ones included */
    uint64_t wall_ns;     /* of all threads, since the last reset */
    uint64_t cpu_ns;      /* decoding and augmenting, on a core */
    uint64_t runq_ns;     /* at that work, but no core was free (schedstat) */
    uint64_t throttle_ns; /* at that work, but the CPU quota was used up */
    uint64_t sleep_ns;    /* at that work, asleep */
    uint64_t read_ns;     /* reading, where workers read (reader=memory) */
    uint64_t blocked_ns;  /* no room for output: depth batches are ready */
    uint64_t starved_ns;  /* no bytes to work on */
    uint64_t parked_ns;   /* more threads than workers */
    uint64_t residual_ns;
    uint64_t voluntary_switches, involuntary_switches;
};
FEEDLINE_API int32_t feedline_loader_get_worker_stats(
    const feedline_loader *l, struct feedline_worker_stats *out);

/* ---- Phases: the consumer's own time, by name (consumer's thread) ------- */

/* Marks what the consumer does between two batches: "forward", "backward",
 * "optimizer". Phases nest, up to 8 deep, and appear in the statistics and in
 * the trace. Waits and calls of next() inside a phase do not count.
 * name: up to 31 bytes, copied; 32 different ones (ERANGE). end without begin
 * is ESTATE. Only the host's clock is read. */
FEEDLINE_API int32_t feedline_loader_phase_begin(feedline_loader *l,
                                                 const char *name);
FEEDLINE_API int32_t feedline_loader_phase_end(feedline_loader *l);

struct feedline_phase_stats {
    uint32_t struct_size;
    uint32_t reserved;
    const char *name;  /* lives as long as the loader */
    uint64_t count;    /* times it ended */
    uint64_t total_ns; /* of user_ns, inner phases included */
    uint64_t self_ns;  /* without inner phases */
    uint64_t max_ns;   /* the longest, inner phases included */
};

/* In the order of their first begin; any thread. user_ns less the sum of
 * self_ns was in no phase. */
FEEDLINE_API int32_t feedline_loader_phase_count(const feedline_loader *l);
FEEDLINE_API int32_t feedline_loader_get_phase(
    const feedline_loader *l, uint32_t index, struct feedline_phase_stats *out);

/* ---- Outliers: gaps, periods, slow samples (any thread) ----------------- */

/* Steps in which the consumer itself took far longer than usual: more than 5
 * times its median and 10 ms longer. Checkpoints, logging, evaluation; no
 * loader can help. */
struct feedline_gap_stats {
    uint32_t struct_size;
    uint32_t period;         /* steps between two gaps; 0: irregular */
    uint64_t count;          /* gaps */
    uint64_t total_ns;       /* in excess of the usual step */
    uint64_t longest_ns;     /* of one step */
    uint64_t median_ns;      /* of a step, of the last 256 */
    uint32_t stall_period;   /* batches between two long waits; 0: irregular */
    uint32_t stall_strength; /* of that period, 1e6 is perfect: peak of the
                                autocorrelation of the last 512 waits */
};
FEEDLINE_API int32_t feedline_loader_get_gaps(const feedline_loader *l,
                                              struct feedline_gap_stats *out);

/* The 32 slowest samples since the last reset, the slowest first. */
struct feedline_slow_sample {
    uint32_t struct_size;
    uint32_t stage; /* that took longest; see feedline_loader_stage_name */
    uint64_t epoch, sequence; /* of the batch it was in */
    int64_t sample_index;
    uint64_t total_ns; /* read and prepared, queueing excluded */
    uint64_t read_ns, decode_ns, augment_ns, custom_ns;
    uint64_t bytes;         /* of the file */
    uint32_t width, height; /* of the image in it, in pixels; 0: not opened */
    uint64_t stall_ns; /* the consumer waited for this sample alone: the rest
                           of its batch was done */
    const char *path;  /* lives as long as the loader */
};
FEEDLINE_API int32_t feedline_loader_slow_count(const feedline_loader *l);
FEEDLINE_API int32_t feedline_loader_get_slow(const feedline_loader *l,
                                              uint32_t index,
                                              struct feedline_slow_sample *out);

/* Predicted gains, as fractions of today's throughput: 0.25 is a quarter more.
 * Upper bounds; the formulas are in docs/profiling.md. A loop that uses one
 * batch over and over measures the first of them. */
struct feedline_headroom {
    uint32_t struct_size;
    uint32_t reserved;
    double batches_per_second;           /* now */
    double fed;                          /* an infinitely fast loader */
    double two_workers;                  /* two more workers */
    double storage;                      /* storage of twice the speed */
    double transfer;                     /* a bus of twice the speed */
    double stages[FEEDLINE_STAGE_COUNT]; /* batches per second that each stage
                                            could deliver alone; 0: unknown */
};
FEEDLINE_API int32_t feedline_loader_get_headroom(
    const feedline_loader *l, struct feedline_headroom *out);

/* ---- Verdict ------------------------------------------------------------ */

/* What the numbers mean. Texts are valid until the next call of this function
 * on the same loader. */
struct feedline_verdict {
    uint32_t struct_size;
    uint32_t confidence_ppm;
    double predicted_gain; /* fraction of throughput, 0 if none */
    const char *code;      /* "FED", "PREP_BOUND_CPU_SATURATED", ... */
    const char *level;     /* "FED" "MINOR" "MODERATE" "HIGH" "UNKNOWN" */
    const char *sentence;  /* the finding, with numbers */
    const char *action;    /* what to do about it */
    const char *evidence;  /* the deciding numbers, as one JSON object */
    uint32_t tuner;        /* 1: the action concerns workers, depth or io_depth,
                              which can change while the loader runs */
    uint32_t reserved;
};
FEEDLINE_API int32_t feedline_loader_get_verdict(feedline_loader *l,
                                                 struct feedline_verdict *out);

/* Everything above as one object: stats, stall, transfer, stages, workers,
 * phases, gaps, slow_samples, outliers, headroom, signals (of machine and GPU),
 * verdict, verdicts (the others that apply, largest first). */
FEEDLINE_API int32_t feedline_loader_stats_json(feedline_loader *l, char *buf,
                                                uint64_t capacity,
                                                uint64_t *needed);

/* Stages and phases as a human-readable table. sort_by:
 * "busy", "items", "bytes", "mean", "p50", "p90", "p99", "max", "name", or NULL
 * for processing order; EINVAL names the columns. row_limit 0: all rows.
 * Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_stats_table(feedline_loader *l,
                                                 const char *sort_by,
                                                 uint32_t row_limit, char *buf,
                                                 uint64_t capacity,
                                                 uint64_t *needed);

/* ---- Transfer to a device (any thread) ---------------------------------- */

/* Times are by the device's clock. ESTATE for a loader with device=host. */
struct feedline_device_stats {
    uint32_t struct_size;
    int32_t finish;        /* 0: batches are finished on the host now, 1: on
                              the device (option finish) */
    uint64_t batches;      /* whose copy is done */
    uint64_t finished;     /* of them, by the device, or to be, by
                              feedline_batch_copy (option handover=copy) */
    uint64_t copies;       /* from host to device: one a batch, or a few */
    uint64_t copied_bytes; /* by them */
    uint64_t queue_ns;     /* from submission to start, of the first copy of
                              each batch */
    uint64_t copy_ns;      /* from start to end */
    uint64_t overlap_ns;   /* of copy_ns, while the consumer's stream worked */
    uint64_t finish_ns;    /* of the kernel that finishes batches, where
                              the loader's own stream runs it */
    uint64_t steps;        /* batches that a stream waited for */
    uint64_t span_ns;      /* from the end of the first of these waits to the
                              end of the last, without pauses between epochs */
    uint64_t idle_ns; /* of span_ns, the stream (feedline_loader_set_stream)
                              was idle because its batch had not arrived */
    uint64_t pinned_bytes; /* host memory that the GPU reads from, now */
    uint64_t device_bytes; /* device memory that the loader owns now */

    /* A copy of n bytes takes latency_us + n / gigabytes_per_second on this
     * machine, as measured when the loader was created; 0: not measured. */
    double latency_us, gigabytes_per_second;
    const char *regime; /* of this loader's batches: "bandwidth", "latency",
                           or "" if unknown; static */
    const char *finish_reason; /* why `finish` is what it is; lives as long as
                                  the loader */
    uint64_t device_memory_budget; /* in force; 0: auto, and no run began yet */
};
FEEDLINE_API int32_t feedline_loader_get_device_stats(
    const feedline_loader *l, struct feedline_device_stats *out);

/* ---- Devices, and how fast they are reached ------------------------------ */

/* A process that has started CUDA cannot use it in children that it forks. So
 * where one only looks, NVML answers, NVIDIA's management library, which starts
 * nothing. It cannot tell if it is missing, a GPU is split (MIG), GPUs differ
 * and CUDA_DEVICE_ORDER is not PCI_BUS_ID, or CUDA_VISIBLE_DEVICES repeats one.
 */

/* Number of usable GPUs, or ENOSYS; the detail says what is missing, the driver
 * or a device, and what to do. Starts CUDA only where NVML cannot tell. Any
 * thread. */
FEEDLINE_API int32_t feedline_device_count(void);

struct feedline_device_info {
    uint32_t struct_size;
    int32_t id;
    int32_t runtime_version, driver_version; /* 0; 12040 for CUDA 12.4 */
    int32_t numa_node;                       /* -1: not known, or only one */
    int32_t copy_engines;                    /* 0: not known without CUDA */
    char name[64];
    char pci[16]; /* "0000:1b:00.0" */
};

/* What NVML knows of a device, or, if this library has started CUDA, what CUDA
 * knows. Never starts it. device: "cuda" or "cuda:N". ENOSYS: only CUDA can
 * tell, see feedline_device_get_info; EINVAL. Any thread. */
FEEDLINE_API int32_t feedline_device_look(const char *device,
                                          struct feedline_device_info *out);

/* All that CUDA knows of "cuda" or "cuda:N". Starts it, but creates no context.
 * ENOSYS as feedline_device_count; EINVAL; EDEVICE. Any thread. */
FEEDLINE_API int32_t feedline_device_get_info(const char *device,
                                              struct feedline_device_info *out);

/* ---- Machine: what this process may use (any thread) -------------------- */

struct feedline_machine_info {
    uint32_t struct_size;
    uint32_t cpus_online;
    uint32_t cpus_allowed;       /* affinity and cpuset */
    uint32_t cpus_usable;        /* for workers: cpus_allowed and quota, >= 1 */
    double cpu_quota;            /* cores per cgroup quota; 0: no limit */
    uint64_t memory_limit_bytes; /* the smaller of RAM and cgroup limit */
};
FEEDLINE_API int32_t
feedline_machine_get_info(struct feedline_machine_info *out);
FEEDLINE_API int32_t feedline_machine_json(char *buf, uint64_t capacity,
                                           uint64_t *needed);

/* Anything in this environment that will hurt a training run, each finding with
 * its remedy: {"findings": [{"id", "level", "text", "remedy"}], "facts":
 * {...}}. level: "ok", "note", "warning", "error". device: "host", or "cuda:N"
 * to check a GPU too. Takes up to about a second. */
FEEDLINE_API int32_t feedline_doctor_json(const char *device, char *buf,
                                          uint64_t capacity, uint64_t *needed);

/* ---- Log: polled, no callback (any thread) ------------------------------- */

/* 0 off, 1 error, 2 warning (default), 3 info, 4 debug. */
FEEDLINE_API int32_t feedline_log_set_level(int32_t level);

/* The oldest unread line, without its newline; END if there is none. The ring
 * holds 256 lines; a line reports how many were lost. */
FEEDLINE_API int32_t feedline_log_read(char *buf, uint64_t capacity,
                                       uint64_t *needed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_H */

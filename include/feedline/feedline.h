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
 *    one line of detail, on the thread that got the error. A function whose
 *    name ends in _count and that has no output returns the count instead, or
 *    an error.
 * 2. The handle comes first, then the inputs, then the outputs. Unless the
 *    status is OK, a handle output is NULL; on error, a struct output is left
 *    as it was.
 * 3. A typedef'd name is an opaque handle: the caller of _create, _open or
 *    _next owns it and passes it to exactly one _destroy, _close or _release
 *    (which return void and accept NULL). A name spelled with `struct` is
 *    plain data. Where its first field is struct_size, set that to sizeof the
 *    struct before the call, for an input as for an output (EINVAL without):
 *    the library reads and fills no more than that, so programs built against
 *    an older header keep working. Fields named `reserved` are 0.
 * 4. Strings are UTF-8 and end with a NUL. The library does not keep a string
 *    that it is given; one that it returns is static, and not for free(),
 *    unless the comment says otherwise.
 * 5. Nothing here is inline and nothing calls back into the caller, so all of
 *    it can be used through an FFI. Functions of the program's own are in
 *    custom_op.h (operations) and source.h (reading).
 *
 * Names ending in _ns are nanoseconds. Indices count from 0; a function that
 * returns a struct by index reports ERANGE past the end.
 *
 * What most programs need is in this header, the rest in others beside it:
 *
 *   data         files.h fields.h masks.h objects.h source.h recorded.h
 *   order        order.h shuffle.h elsewhere.h job.h (ranks)
 *   pixels       custom_op.h views.h targets.h draws.h packed.h
 *   batches      exchange.h (DLPack, copies, lent memory)
 *   measuring    statistics.h traces.h live.h tuning.h watch.h bench.h
 *
 * A handle belongs to the process that made it. After fork() every call on it
 * in the child returns FEEDLINE_EFORK and every _destroy does nothing.
 */
#ifndef FEEDLINE_H
#define FEEDLINE_H

#include <stdint.h>

#define FEEDLINE_VERSION_MAJOR 0
#define FEEDLINE_VERSION_MINOR 2
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

/* The version of the library that the program runs with: "0.2.0", and as the
 * number 0x00MMmmpp (major, minor, patch). */
FEEDLINE_API const char *feedline_version(void);
FEEDLINE_API uint32_t feedline_version_number(void);

#define FEEDLINE_FEATURE_URING  0x1u /* the io_uring reader is built in */
#define FEEDLINE_FEATURE_CUDA   0x2u /* the CUDA transfer is built in */
#define FEEDLINE_FEATURE_WEBP   0x4u /* WebP images are decoded */
#define FEEDLINE_FEATURE_PACKED 0x8u /* packed JPEGs are decoded, and others */
                                     /* by a Huffman decoder of its own */

/* What this library was built with: FEEDLINE_FEATURE_*, or'ed. */
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

/* Detail of the last call on this thread if that failed, else ""; valid until
 * the next feedline call on this thread. Whether a call failed, its status
 * says. */
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
    int64_t min, max; /* of INT, SIZE (bytes) and TIME (ns), inclusive */
    double double_min, double_max; /* of DOUBLE and of each of DOUBLES,
                                      inclusive; may be infinite */
    const char *name;
    const char *default_text; /* as a user would type it */
    const char *unit;         /* "bytes", "pixels"; "" if none */
    const char *choices;      /* "a|b|c" of an ENUM; "false|true|a" of a BOOL
                                 with further choices; else NULL */
    const char *help;         /* one line */
};

/* Any thread. scope: "loader", an operation such as "resize", or a scheme of
 * shards such as "tar:". ENOENT: an unknown scope. */
FEEDLINE_API int32_t feedline_option_count(const char *scope);
FEEDLINE_API int32_t feedline_option_get_info(const char *scope, uint32_t index,
                                              struct feedline_option_info *out);

/* ---- Config (one thread at a time per handle) --------------------------- */

typedef struct feedline_config feedline_config;

/* A set of the loader's options (docs/options.md): the defaults, then what the
 * environment sets, such as FEEDLINE_BATCH_SIZE=128 for batch_size. A variable
 * with an invalid value is an error that names it. */
FEEDLINE_API int32_t feedline_config_create(feedline_config **out);
FEEDLINE_API void feedline_config_destroy(feedline_config *cfg);

/* Sets or reads one option. A dash in a key stands for an underscore. An
 * unknown key is ENOENT, and the detail names the closest known one. A value
 * that does not parse is EINVAL; one out of range is ERANGE. set_int and
 * get_int are for INT, SIZE (bytes), TIME (nanoseconds), BOOL (0 or 1) and ENUM
 * (the index of the choice); EINVAL for others. */
FEEDLINE_API int32_t feedline_config_set(feedline_config *cfg, const char *key,
                                         const char *text);
FEEDLINE_API int32_t feedline_config_set_int(feedline_config *cfg,
                                             const char *key, int64_t value);
FEEDLINE_API int32_t feedline_config_get_int(const feedline_config *cfg,
                                             const char *key, int64_t *out);

/* Sets what a job file says: lines of key=value, those under [global] and then
 * those under [section] (NULL: only [global]). On an error, which names file,
 * line and key, nothing is set. ENOENT: no such file or section. */
FEEDLINE_API int32_t feedline_config_load(feedline_config *cfg,
                                          const char *path,
                                          const char *section);

/* The options and their values as a JSON object.
 *
 * This holds for every function with buf, capacity and needed: it writes at
 * most `capacity` bytes, including the terminating NUL, and sets *needed to the
 * size of the whole text with its NUL. Pass (NULL, 0) first to learn that size.
 * ERANGE: the text did not fit, and capacity was not 0. */
FEEDLINE_API int32_t feedline_config_json(const feedline_config *cfg, char *buf,
                                          uint64_t capacity, uint64_t *needed);

/* ---- Dataset: what to read (immutable, any thread, may be shared) ------- */

typedef struct feedline_dataset feedline_dataset;

/* uri says what to read:
 * - "folder:/data/train": one folder per class, ordered and labelled as
 *   torchvision's ImageFolder;
 * - "list:/data/train.tsv": a path, a space and a label on each line; paths are
 *   relative to the list. With a first line that names columns, separated by
 *   TABs, samples can be parts of files (path, label, offset, length) and have
 *   further fields (feedline/fields.h);
 * - "coco:a.json?images=train2017": with its boxes (feedline/objects.h);
 * - "idx:/data/mnist", or "idx:IMAGES,LABELS": MNIST's format;
 * - shards, such as "zip:/data/{000..146}.zip" (docs/options.md, "Shards");
 * - a path without a scheme, whose kind is detected.
 * Shards, and paths in a list, may be on other machines: "https://host/...",
 * "s3://bucket/key"; so may folders in stores ("s3://bucket/train/",
 * docs/remote.md). "?quarantine=FILE" leaves samples out (feedline/files.h).
 *
 * Errors name the file. ENOENT: it does not exist, or a class has no images;
 * EIO: it cannot be read; EINVAL: its content, or the uri, is not valid. */
FEEDLINE_API int32_t feedline_dataset_open(const char *uri,
                                           feedline_dataset **out);

/* One image file per sample, in this order. paths and labels, each [count], are
 * copied; labels NULL: all are 0. No file is opened before it is needed. */
FEEDLINE_API int32_t feedline_dataset_open_paths(const char *const *paths,
                                                 const int64_t *labels,
                                                 uint64_t count,
                                                 feedline_dataset **out);

/* Encoded images in memory: sample i is the sizes[i] bytes at data[i]. The
 * arrays, each [count], are copied; labels NULL: all are 0. The bytes are
 * borrowed: they must stay unchanged until the data set and every loader made
 * from it are gone. Messages call sample i "memory:i". */
FEEDLINE_API int32_t feedline_dataset_open_memory(const void *const *data,
                                                  const uint64_t *sizes,
                                                  const int64_t *labels,
                                                  uint64_t count,
                                                  feedline_dataset **out);

/* Decoded images in memory, all of one size: count x height x width x channels
 * of uint8, dense, channels interleaved (1: gray, 3: RGB). The pixels are
 * borrowed: they must stay unchanged until the data set and every loader made
 * from it are gone. labels is copied; NULL: all are 0. EINVAL: another number
 * of channels, no images, or a side that is not 1 to 65535. */
FEEDLINE_API int32_t feedline_dataset_open_pixels(
    const uint8_t *pixels, const int64_t *labels, uint64_t count,
    int32_t height, int32_t width, int32_t channels, feedline_dataset **out);

/* *out: the number of samples. */
FEEDLINE_API int32_t feedline_dataset_get_count(const feedline_dataset *ds,
                                                uint64_t *out);

struct feedline_sample_info {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t label;
    const char *path; /* what messages call it; lives as long as the data set */
    const char *file; /* where its bytes are; NULL: not in a file. Lives as long
                         as the data set */
    uint64_t offset;  /* of its first byte in that file */
    uint64_t bytes;   /* UINT64_MAX: all of the file from there on */
    const char *name; /* path without the data set's folder; lives as long as
                         the data set */
};
FEEDLINE_API int32_t
feedline_dataset_get_sample(const feedline_dataset *ds, uint64_t index,
                            struct feedline_sample_info *out);

/* The number of classes, 0 where labels have no names, and the name of the
 * class of a label: NULL past the end; it lives as long as the data set. */
FEEDLINE_API int32_t feedline_dataset_class_count(const feedline_dataset *ds);
FEEDLINE_API const char *feedline_dataset_class_name(const feedline_dataset *ds,
                                                     uint32_t label);

/* The caller is done with the data set. Loaders made from it go on using it. */
FEEDLINE_API void feedline_dataset_close(feedline_dataset *ds);

/* ---- Pipeline: what to do with each image (one thread at a time) -------- */

typedef struct feedline_pipeline feedline_pipeline;

/* recipe: "train" (random_resized_crop 224, horizontal_flip, normalize), "none"
 * or NULL (no operation), or another of docs/recipes.md, such as "timm-a1".
 * With "_u8" after its name ("train_u8") it does not normalize, for batches of
 * uint8 (option dtype=u8). ENOENT: no such recipe. */
FEEDLINE_API int32_t feedline_pipeline_create(const char *recipe,
                                              feedline_pipeline **out);
FEEDLINE_API void feedline_pipeline_destroy(feedline_pipeline *p);

/* Adds an operation at the end, e.g. (p, "random_resized_crop", "size=224
 * scale=0.08:1"). args: options as name=value with spaces between; NULL is "".
 * They are checked here, not when the first image arrives. An operation on
 * pixels (color_jitter, pad, a custom one) needs uint8 and so goes before the
 * normalize of a recipe; after a normalize that was added by this function it
 * is EINVAL. ENOENT: no such operation or option. */
FEEDLINE_API int32_t feedline_pipeline_add(feedline_pipeline *p, const char *op,
                                           const char *args);

/* The operations and their options as a JSON array, in their order. */
FEEDLINE_API int32_t feedline_pipeline_json(const feedline_pipeline *p,
                                            char *buf, uint64_t capacity,
                                            uint64_t *needed);

/* Names of the built-in operations; NULL past the end. Any thread. Their
 * options: feedline_option_get_info(name, ...). */
FEEDLINE_API const char *feedline_op_name(uint32_t index);

/* ---- Loader ------------------------------------------------------------- */

/* A loader delivers batches to its consumer: the thread that calls next, start,
 * set_stream, get_position, set_position, save, restore, stop and destroy, one
 * thread at a time. interrupt, options, draws, failures and statistics: any
 * thread.
 *
 * It makes one endless stream of samples, epoch after epoch. A run is the time
 * from its start until stop or an error, during which its threads exist. */
typedef struct feedline_loader feedline_loader;
typedef struct feedline_batch feedline_batch;

/* Copies cfg and p and keeps ds alive; the caller may destroy all three right
 * after the call. cfg NULL: what feedline_config_create gives. */
FEEDLINE_API int32_t feedline_loader_create(const feedline_config *cfg,
                                            feedline_dataset *ds,
                                            const feedline_pipeline *p,
                                            feedline_loader **out);

/* Makes the next batch the first of `epoch`. Where that is the next batch
 * anyway (after FEEDLINE_END of epoch - 1), batches prepared ahead are used;
 * otherwise they are discarded, and a new run begins, also after an error or
 * stop. Batches that the caller holds stay valid. */
FEEDLINE_API int32_t feedline_loader_start(feedline_loader *l, uint64_t epoch);

/* The next batch in order, which the caller then holds until it releases it.
 * timeout_ns: 0 polls, < 0 waits as long as it takes. A loader that was not
 * started starts with epoch 0; one whose restart failed, at its last position.
 * With device=cuda:N a batch is returned once its copy is queued. Returns
 *
 * - OK;
 * - END, once after the last batch of each epoch. The next call continues with
 *   the next epoch; after as many epochs as option epochs has, it is END again;
 * - TIMEOUT, or INTERRUPTED (feedline_loader_interrupt);
 * - the error of a failed sample, which names the file, in place of its batch
 *   (option on_error=raise). This ends the run: only start, set_position or
 *   restore begin another; statistics, stop and destroy work;
 * - ESTATE: the caller holds every batch that memory allows; release one first.
 *   With held=grow another is allocated, and ENOMEM is returned where there is
 *   no memory for it. The run goes on. Or: stop was called, or the run ended
 *   with an error, and there was no start since;
 * - EDEVICE: the GPU failed, which ends the run. */
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

/* Any thread, also from a signal handler: the call of next() that is waiting,
 * or else the following one, returns INTERRUPTED. */
FEEDLINE_API int32_t feedline_loader_interrupt(feedline_loader *l);

/* stop ends the run and joins its threads; start may follow. Batches that the
 * caller holds stay valid after stop and destroy, until released. With
 * device=cuda:N, stop frees the device memory of all others, and the next start
 * allocates it again; pinned memory stays. */
FEEDLINE_API int32_t feedline_loader_stop(feedline_loader *l);
FEEDLINE_API void feedline_loader_destroy(feedline_loader *l);

/* Changes an option with the flag LIVE, during a run or not: workers, depth or
 * io_depth (ESTATE for others). They never change what is delivered, only when.
 * The number is kept from then on; 0 hands the option to the tuner (ERANGE with
 * tuner=off). */
FEEDLINE_API int32_t feedline_loader_set_int(feedline_loader *l,
                                             const char *key, int64_t value);

/* The value in force: for an option that was "auto", what was chosen. Numbers
 * as in feedline_config_get_int. */
FEEDLINE_API int32_t feedline_loader_get_int(const feedline_loader *l,
                                             const char *key, int64_t *out);
FEEDLINE_API int32_t feedline_loader_config_json(const feedline_loader *l,
                                                 char *buf, uint64_t capacity,
                                                 uint64_t *needed);

/* One epoch, as the options rank and world divide it: what this loader
 * delivers of it. */
struct feedline_epoch_info {
    uint32_t struct_size;
    uint32_t views;   /* images of each sample: 5 or 10 with five_crop or
                         ten_crop, else 1 */
    uint64_t samples; /* with option shard_tail applied; views not counted */
    uint64_t batches; /* with option drop_last applied */
    int64_t shape[4]; /* of the images of a full batch, as in
                         feedline_batch_info; H and W are 0 with
                         max_sample_bytes */
    uint64_t batch_bytes; /* memory of a full batch, labels included. With
                             max_sample_bytes: if all images had that size. If
                             the device finishes batches: what is copied to
                             it */
};
FEEDLINE_API int32_t feedline_loader_get_epoch_info(
    const feedline_loader *l, struct feedline_epoch_info *out);

/* The position of the next batch: `position` samples of `epoch` were delivered,
 * over all ranks together; copies count, views do not. set_position begins a
 * run there.
 *
 * save writes the position as a line of JSON of less than 256 bytes, which
 * stays valid where the number of workers, depth, batch size or number of ranks
 * change: what was not delivered is shared among the ranks that are there now,
 * in the same order. restore begins a run there. A state of another data set,
 * seed, shuffle (block, lanes), repeats or epoch_samples is EINVAL, one of a
 * newer version EABI. */
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
 * the epoch. That has place p = place + (i / views) * world of the epoch over
 * all ranks (past the end, as shard_tail says), and is copy p % repeats of its
 * sample. p is n * world + rank, but for an epoch that other ranks had begun:
 * there the remainder of the position that it went on at, by world, is added.
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

    uint64_t place; /* of the first sample in the epoch, over all ranks */
};

/* Any thread, while the caller holds the batch; pointers in *out are valid
 * until it is released. With device=cuda:N, images.data and labels.data are
 * memory of that GPU, and the copy may still be in flight: see
 * feedline_batch_wait. Everything else is host memory. With handover=copy,
 * images.data is NULL: feedline_batch_copy (exchange.h) makes the images. */
FEEDLINE_API int32_t feedline_batch_get_info(const feedline_batch *b,
                                             struct feedline_batch_info *out);

/* Makes `stream` wait for the copy of the batch before any work queued on it
 * after this call; the host does not wait. stream: a cudaStream_t of the
 * batch's GPU, as a pointer; NULL is the legacy default stream. At most 4
 * streams may wait for a batch (ERANGE), none that is captured into a graph
 * (ESTATE). Does nothing for host batches. EDEVICE: an error of the driver. */
FEEDLINE_API int32_t feedline_batch_wait(feedline_batch *b, void *stream);

/* Gives the batch back, so that its memory (slot) can be used for another; any
 * thread. With device=cuda:N it is reused only after the work that was queued
 * so far on each stream that waited for the batch, so no synchronisation is
 * needed before the call. */
FEEDLINE_API void feedline_batch_release(feedline_batch *b);

/* Releases a batch that `stream` also reads, although it did not wait for the
 * batch itself, but for a stream that did: the slot is reused only after the
 * work queued so far on `stream`, too. Otherwise as feedline_batch_release. */
FEEDLINE_API void feedline_batch_release_on(feedline_batch *b, void *stream);

/* ---- Failed samples ------------------------------------------------------ */

struct feedline_failure {
    uint32_t struct_size;
    int32_t status; /* EIO, ENOENT, EDECODE, ERANGE, or what a custom operation
                       or a source returned */
    uint64_t epoch;
    int64_t sample_index;
    const char *path;   /* lives as long as the loader */
    const char *reason; /* offset and the decoder's message, one line; lives as
                           long as the loader */
};

/* Samples that failed, in the order they did. The first 1000 are kept; the
 * statistics count all. Any thread. */
FEEDLINE_API int32_t feedline_loader_failure_count(const feedline_loader *l);
FEEDLINE_API int32_t feedline_loader_get_failure(const feedline_loader *l,
                                                 uint32_t index,
                                                 struct feedline_failure *out);

/* ---- Statistics (any thread; counters grow until reset_stats) ----------- */

struct feedline_stats {
    uint32_t struct_size;
    uint32_t workers; /* active now */
    uint64_t wall_ns; /* wait_ns + user_ns + api_ns */
    uint64_t wait_ns; /* time next() kept the consumer waiting */
    uint64_t user_ns; /* time the consumer spent between calls of next() */
    uint64_t api_ns;  /* rest of the time in next(), or in a binding's hands */
    uint64_t batches, samples;  /* delivered */
    uint64_t failed_samples;    /* including batches not yet delivered */
    uint64_t bytes_read;        /* of files */
    uint64_t profiler_ns;       /* cost of measuring, on all threads */
    uint64_t memory_bytes;      /* batch slots, read buffers, worker scratch */
    uint64_t first_batch_ns;    /* from start to the first delivery */
    uint64_t truncated_samples; /* used though their file ends early, including
                                   batches not yet delivered */
    double mixing;      /* with shuffle=block: variance of feedline_mixing
                      (feedline/shuffle.h); 0: not known */
    uint64_t jpeg_mcus; /* with option jpeg_index: blocks of pixels (MCUs)
                                  that JPEG decoders decoded, */
    uint64_t jpeg_mcus_jumped; /* blocks that the index spared them, */
    uint64_t jpeg_index_bytes; /* and the index's size */

    /* Of data on other machines (docs/remote.md). */
    uint64_t requests;
    uint64_t requests_failed;  /* no answer, or not what was asked for */
    uint64_t requests_retried; /* after that, sent again */
    uint64_t requests_hedged;  /* sent beside one that was late */
    uint64_t hedges_won;       /* of those */
    uint64_t network_bytes;    /* received, also those that nobody needed */
    uint64_t cached_bytes;     /* of samples, from the folder remote_cache */
    uint64_t cache_errors;     /* there: damaged, or not written */
};
FEEDLINE_API int32_t feedline_loader_get_stats(const feedline_loader *l,
                                               struct feedline_stats *out);

/* Counters and times start again from 0. */
FEEDLINE_API int32_t feedline_loader_reset_stats(feedline_loader *l);

/* The consumer's waits, divided by what the awaited batch was doing. The parts
 * down to residual_ns sum to wait_ns of feedline_stats. See docs/profiling.md.
 */
struct feedline_wait_stats {
    uint32_t struct_size;
    uint32_t waits;             /* how many batches next() had to wait for  */
    uint64_t not_issued_ns;     /* before the batch was scheduled           */
    uint64_t slot_ns;           /* no free slot: the consumer held them all */
    uint64_t fetch_queue_ns;    /* reads not submitted: I/O depth reached   */
    uint64_t fetch_ns;          /* reads in flight                          */
    uint64_t worker_wait_ns;    /* bytes ready, workers busy elsewhere      */
    uint64_t prep_ns;           /* decode and augment                       */
    uint64_t transfer_queue_ns; /* prepared, the copy to the device queued  */
    uint64_t transfer_ns;       /* copied to the device                     */
    uint64_t wake_ns;           /* ready, until the consumer ran again      */
    uint64_t residual_ns;       /* none of these                            */

    /* prep_ns, divided by what the workers did meanwhile; the parts sum to it.
     * The division is made four times a second; what came since the last one
     * counts as prep_cpu_ns. */
    uint64_t prep_cpu_ns;      /* on a core */
    uint64_t prep_runq_ns;     /* runnable, but no core was free */
    uint64_t prep_throttle_ns; /* runnable, but the CPU quota was used up */
    uint64_t prep_sleep_ns;    /* slept: in custom operations, page faults */

    /* worker_wait_ns, divided as prep_ns is. */
    uint64_t worker_wait_cpu_ns, worker_wait_runq_ns;
    uint64_t worker_wait_throttle_ns, worker_wait_sleep_ns;
    int64_t fetch_cold_ns; /* of fetch_ns: for reads that storage delivered, not
                              the page cache; -1: not known */
};
FEEDLINE_API int32_t feedline_loader_get_wait_stats(
    const feedline_loader *l, struct feedline_wait_stats *out);

/* Stages of a sample. Those of this enum are in every loader; from
 * FEEDLINE_STAGE_COUNT on there are the custom operations of its pipeline, in
 * the order in which they were registered, then "mix" if it mixes. */
enum feedline_stage {
    FEEDLINE_STAGE_READ = 0,
    FEEDLINE_STAGE_DECODE,
    FEEDLINE_STAGE_AUGMENT,
    FEEDLINE_STAGE_TRANSFER,
    FEEDLINE_STAGE_CONSUME,
    FEEDLINE_STAGE_COUNT
};

/* Times are summed over all threads of the stage: each is busy, starved or
 * blocked. */
struct feedline_stage_stats {
    uint32_t struct_size;
    uint32_t threads;                /* that worked in the stage */
    uint64_t items, bytes;           /* that left the stage */
    uint64_t errors;                 /* items that failed in it */
    uint64_t busy_ns;                /* doing work */
    uint64_t starved_ns;             /* no input to take */
    uint64_t blocked_ns;             /* no room for output */
    uint64_t p50_ns, p90_ns, p99_ns; /* percentiles of the time of one item, at
                                        most 3.1 % too high */
    uint64_t max_ns;                 /* the longest time of one item */
    uint64_t cpu_ns;       /* of busy_ns, on a core; 0 unless the stage is a
                               custom operation */
    uint64_t lock_ns;      /* of busy_ns, as reported by feedline_op_waited */
    int64_t storage_bytes; /* of reads: bytes that storage delivered, not the
                               page cache; -1: not known */
    int64_t unpack_ns;     /* of decode's busy_ns, from bytes to coefficients,
                               and */
    int64_t transform_ns;  /* from coefficients to pixels; -1: another stage */
};

/* The name of a stage of the enum; NULL for others. */
FEEDLINE_API const char *feedline_stage_name(uint32_t stage);

/* The stages of a loader, custom operations included. A name lives as long as
 * the loader; NULL past the end. */
FEEDLINE_API int32_t feedline_loader_stage_count(const feedline_loader *l);
FEEDLINE_API const char *feedline_loader_stage_name(const feedline_loader *l,
                                                    uint32_t stage);
FEEDLINE_API int32_t feedline_loader_get_stage_stats(
    const feedline_loader *l, uint32_t stage, struct feedline_stage_stats *out);

/* The time of all worker threads, divided by what they did: the parts from
 * cpu_ns to residual_ns sum to wall_ns. */
struct feedline_worker_stats {
    uint32_t struct_size;
    uint32_t threads;     /* started, parked ones included */
    uint64_t wall_ns;     /* summed over the threads, since the last reset */
    uint64_t cpu_ns;      /* decoding and augmenting, on a core */
    uint64_t runq_ns;     /* at that work, but no core was free (schedstat) */
    uint64_t throttle_ns; /* at that work, but the CPU quota was used up */
    uint64_t sleep_ns;    /* at that work, asleep */
    uint64_t read_ns;     /* reading, where workers read (reader=memory) */
    uint64_t blocked_ns;  /* no room for output: depth batches are ready */
    uint64_t starved_ns;  /* no bytes to work on */
    uint64_t parked_ns;   /* kept but not used: fewer workers are wanted */
    uint64_t residual_ns; /* none of these */
    uint64_t voluntary_switches;   /* times a worker gave up its core */
    uint64_t involuntary_switches; /* times the system took it away */
};
FEEDLINE_API int32_t feedline_loader_get_worker_stats(
    const feedline_loader *l, struct feedline_worker_stats *out);

/* ---- Phases: the consumer's own time, by name (consumer's thread) ------- */

/* Marks what the consumer does between two batches: "forward", "backward",
 * "optimizer". Phases nest and appear in the statistics and in the trace. Time
 * in next() does not count. name: 1 to 31 bytes, copied (EINVAL). ERANGE: more
 * than 8 phases inside each other, or more than 32 different names. ESTATE: an
 * end without a begin, or a thread other than the one that calls next(). Only
 * the host's clock is read: what a GPU does in a phase is not known. */
FEEDLINE_API int32_t feedline_loader_phase_begin(feedline_loader *l,
                                                 const char *name);
FEEDLINE_API int32_t feedline_loader_phase_end(feedline_loader *l);

/* For bindings: what they did with a batch since next() returned it was no work
 * of the program's, but e.g. that of a collate function. It counts in api_ns,
 * and a verdict says so if it takes much of the time. Consumer's thread, behind
 * each such batch. by: what did it, "train.py:12 in collate", copied up to 63
 * bytes; NULL: nobody to be named. ESTATE: another thread than the one that
 * calls next(), or no batch was delivered since the last call. */
FEEDLINE_API int32_t feedline_loader_handed_over(feedline_loader *l,
                                                 const char *by);

struct feedline_phase_stats {
    uint32_t struct_size;
    uint32_t reserved;
    const char *name;  /* lives as long as the loader */
    uint64_t count;    /* times it ended */
    uint64_t total_ns; /* of user_ns, inner phases included */
    uint64_t self_ns;  /* without inner phases */
    uint64_t max_ns;   /* the longest, inner phases included */
};

/* Phases, in the order of their first begin; any thread. user_ns of
 * feedline_stats less the sum of self_ns was in no phase. */
FEEDLINE_API int32_t feedline_loader_phase_count(const feedline_loader *l);
FEEDLINE_API int32_t feedline_loader_get_phase(
    const feedline_loader *l, uint32_t index, struct feedline_phase_stats *out);

/* ---- Outliers: gaps, periods, slow samples (any thread) ----------------- */

/* Gaps: steps in which the consumer itself took far longer than usual, more
 * than 3 times its median and 10 ms above it, for checkpoints, logging or
 * evaluation. No loader can help there. */
struct feedline_gap_stats {
    uint32_t struct_size;
    uint32_t period;         /* steps between two gaps; 0: irregular */
    uint64_t count;          /* gaps */
    uint64_t total_ns;       /* of all gaps, in excess of the usual step */
    uint64_t longest_ns;     /* the longest step with a gap */
    uint64_t median_ns;      /* of the last 256 steps */
    uint32_t stall_period;   /* batches between two long waits; 0: irregular */
    uint32_t stall_strength; /* how regular those are, in millionths: peak of
                                the autocorrelation of the last 512 waits */
};
FEEDLINE_API int32_t feedline_loader_get_gaps(const feedline_loader *l,
                                              struct feedline_gap_stats *out);

/* One of the 32 slowest samples since the last reset; index 0 is the slowest.
 */
struct feedline_slow_sample {
    uint32_t struct_size;
    uint32_t stage; /* that took longest; see feedline_loader_stage_name */
    uint64_t epoch, sequence; /* of its batch, as in feedline_batch_info */
    int64_t sample_index;
    uint64_t total_ns; /* the sum of the next four; waits in queues excluded */
    uint64_t read_ns, decode_ns, augment_ns;
    uint64_t custom_ns;     /* in custom operations */
    uint64_t bytes;         /* encoded, as read */
    uint32_t width, height; /* of the source image; 0: it was not opened */
    uint64_t stall_ns; /* the consumer waited for this sample alone, as the rest
                          of its batch was done */
    const char *path;  /* lives as long as the loader */
};
FEEDLINE_API int32_t feedline_loader_slow_count(const feedline_loader *l);
FEEDLINE_API int32_t feedline_loader_get_slow(const feedline_loader *l,
                                              uint32_t index,
                                              struct feedline_slow_sample *out);

/* What would be gained at most if one cause of waiting were gone, as a fraction
 * of the present throughput: 0.25 is a quarter more. docs/profiling.md has the
 * formulas. */
struct feedline_headroom {
    uint32_t struct_size;
    uint32_t reserved;
    double batches_per_second;           /* at present */
    double fed;                          /* with an infinitely fast loader; a
                                            loop that uses one batch over and
                                            over measures it */
    double two_workers;                  /* with two more workers */
    double storage;                      /* with storage of twice the speed */
    double transfer;                     /* with a bus of twice the speed */
    double stages[FEEDLINE_STAGE_COUNT]; /* batches per second that each stage
                                            could deliver alone; 0: unknown */
    double huffman; /* of the workers' time, for Huffman codes of JPEGs */
    double packing; /* with packed images, which have none (packed.h) */
};
FEEDLINE_API int32_t feedline_loader_get_headroom(
    const feedline_loader *l, struct feedline_headroom *out);

/* ---- Verdict ------------------------------------------------------------ */

/* What the numbers mean. sentence, action and evidence are valid until the next
 * call of this function on the same loader, from whatever thread. */
struct feedline_verdict {
    uint32_t struct_size;
    uint32_t confidence_ppm; /* 1000000: certain */
    double predicted_gain;   /* if the action is taken, as a fraction of the
                                throughput; 0: none */
    const char *code;        /* "FED", "PREP_BOUND_CPU_SATURATED", ... */
    const char *level;       /* "FED" "MINOR" "MODERATE" "HIGH" "UNKNOWN" */
    const char *sentence;    /* the finding, with numbers */
    const char *action;      /* what to do about it */
    const char *evidence;    /* the deciding numbers, as one JSON object */
    uint32_t tuner; /* 1: the action concerns workers, depth or io_depth,
                              which can change while the loader runs */
    uint32_t reserved;
};
FEEDLINE_API int32_t feedline_loader_get_verdict(feedline_loader *l,
                                                 struct feedline_verdict *out);

/* All statistics as one JSON object: stats, stall, transfer, stages, workers,
 * phases, gaps, slow_samples, outliers, headroom, signals (of machine and GPU),
 * verdict, verdicts (the others that apply, largest first). docs/statistics.md
 * lists the members. Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_stats_json(feedline_loader *l, char *buf,
                                                uint64_t capacity,
                                                uint64_t *needed);

/* Stages and phases as a table for people. sort_by: "busy", "items", "bytes",
 * "mean", "p50", "p90", "p99", "max", "name" (EINVAL: none of these), or NULL
 * for the order in which samples pass. row_limit: rows at most; 0: all. Buffers
 * as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_stats_table(feedline_loader *l,
                                                 const char *sort_by,
                                                 uint32_t row_limit, char *buf,
                                                 uint64_t capacity,
                                                 uint64_t *needed);

/* The statistics of this moment in Prometheus' text format, as option metrics
 * writes them to its file: docs/live.md. Any thread; buffers as in
 * feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_metrics(const feedline_loader *l,
                                             char *buf, uint64_t capacity,
                                             uint64_t *needed);

/* ---- Transfer to a device (any thread) ---------------------------------- */

/* Copies of batches to the device, in times of the device's clock. ESTATE for a
 * loader with device=host. "Finishing" is the last pass over the pixels, which
 * casts, normalizes and lays them out (option finish). */
struct feedline_device_stats {
    uint32_t struct_size;
    int32_t finish;        /* 0: batches are finished on the host, 1: on the
                              device */
    uint64_t batches;      /* whose copy is done */
    uint64_t finished;     /* of `batches`: by the device, or left to
                              feedline_batch_copy (option handover=copy) */
    uint64_t copies;       /* from host to device: one a batch, or a few */
    uint64_t copied_bytes; /* by these copies */
    uint64_t queue_ns;     /* from submission to start, of the first copy of
                              each batch */
    uint64_t copy_ns;      /* from start to end of the copies */
    uint64_t overlap_ns;   /* of copy_ns, while the consumer's stream worked */
    uint64_t finish_ns;    /* of the kernel that finishes batches, where
                              the loader's own stream runs it */
    uint64_t steps;        /* batches that a stream waited for */
    uint64_t span_ns;      /* from the end of the first of these waits to the
                              end of the last, without pauses between epochs */
    uint64_t idle_ns;      /* of span_ns, while the consumer's stream was idle
                              because its batch had not arrived (see
                              feedline_loader_set_stream) */
    uint64_t pinned_bytes; /* host memory that the GPU reads from, now */
    uint64_t device_bytes; /* device memory that the loader owns now */

    /* A copy of n bytes takes latency_us + n / (1000 * gigabytes_per_second)
     * microseconds on this machine, as measured when the loader was created; 0:
     * not measured. */
    double latency_us, gigabytes_per_second;
    const char *regime; /* of this loader's batches: "bandwidth", "latency",
                           or "" if unknown; static */
    const char *finish_reason; /* why `finish` is what it is; lives as long as
                                  the loader */
    uint64_t device_memory_budget; /* in bytes, in force; 0: auto, and no run
                                      began yet */
    int32_t decode;                /* 0: images are decoded on the host, 1: on
                                      the device, as far as it can */
    int32_t reserved;
    const char *decode_reason; /* why `decode` is what it is; lives as long as
                                  the loader */
    uint64_t decoded;        /* samples whose decoding was left to the device */
    uint64_t decode_ns;      /* of the kernels that decode, from the first one's
                             start to the last one's end */
    uint64_t decode_batches; /* in that time */
};
FEEDLINE_API int32_t feedline_loader_get_device_stats(
    const feedline_loader *l, struct feedline_device_stats *out);

/* ---- Devices, and how fast they are reached ------------------------------ */

/* A process that has started CUDA cannot use it in children that it forks. So
 * for a mere look NVML, NVIDIA's management library, is asked, which starts
 * nothing. NVML cannot tell where it is missing, where a GPU is split (MIG),
 * where GPUs differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID, and where
 * CUDA_VISIBLE_DEVICES repeats one. */

/* Number of usable GPUs, or ENOSYS; the detail says what is missing, the driver
 * or a device, and what to do. Starts CUDA only where NVML cannot tell. Any
 * thread. */
FEEDLINE_API int32_t feedline_device_count(void);

struct feedline_device_info {
    uint32_t struct_size;
    int32_t id;              /* N of "cuda:N" */
    int32_t runtime_version; /* 0: the library uses no CUDA runtime */
    int32_t driver_version;  /* newest CUDA that the driver supports: 12040 for
                                CUDA 12.4 */
    int32_t numa_node;       /* -1: not known, or only one */
    int32_t copy_engines;    /* 0: not known without CUDA */
    char name[64];
    char pci[16]; /* "0000:1b:00.0" */
};

/* What NVML knows of a device, or, if this library has started CUDA, what CUDA
 * knows; never starts CUDA. device: "cuda" (the first) or "cuda:N" (EINVAL:
 * neither, or there is no such GPU). ENOSYS: only CUDA can tell, so call
 * feedline_device_get_info. Any thread. */
FEEDLINE_API int32_t feedline_device_look(const char *device,
                                          struct feedline_device_info *out);

/* All that CUDA knows of a device, "cuda" (the first) or "cuda:N" (EINVAL:
 * neither, or there is no such GPU). Starts CUDA, but creates no context.
 * ENOSYS: no driver or no GPU; EDEVICE: the driver failed. Any thread. */
FEEDLINE_API int32_t feedline_device_get_info(const char *device,
                                              struct feedline_device_info *out);

/* ---- Machine: what this process may use (any thread) -------------------- */

struct feedline_machine_info {
    uint32_t struct_size;
    uint32_t cpus_online;
    uint32_t cpus_allowed;       /* affinity and cpuset */
    uint32_t cpus_usable;        /* cpus_allowed within cpu_quota; at least 1 */
    double cpu_quota;            /* cores that the cgroup allows; 0: no limit */
    uint64_t memory_limit_bytes; /* the smaller of RAM and cgroup limit */
};
FEEDLINE_API int32_t
feedline_machine_get_info(struct feedline_machine_info *out);

/* The machine as a JSON object. Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_machine_json(char *buf, uint64_t capacity,
                                           uint64_t *needed);

/* Whatever in this environment will hurt a training run, each finding with its
 * remedy: {"findings": [{"id", "level", "text", "remedy"}], "facts": {...}}.
 * level: "ok", "note", "warning", "error". device: "host", or "cuda:N" to check
 * a GPU too. Takes up to about a second. Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_doctor_json(const char *device, char *buf,
                                          uint64_t capacity, uint64_t *needed);

/* ---- Log: polled, no callback (any thread) ------------------------------- */

/* Which lines are kept: 0 none, 1 errors, 2 also warnings (the default), 3 also
 * information, 4 all. ERANGE: another number. */
FEEDLINE_API int32_t feedline_log_set_level(int32_t level);

/* The oldest line that was not read yet, without its newline; END if there is
 * none. 256 unread lines are kept; where older ones were lost, a line reports
 * how many. Buffers as in feedline_config_json; a line stays unread until it
 * was copied whole. */
FEEDLINE_API int32_t feedline_log_read(char *buf, uint64_t capacity,
                                       uint64_t *needed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_H */

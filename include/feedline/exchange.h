/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches for other libraries: as DLPack tensors, which share a batch's memory
 * and keep it alive, or copied into the caller's memory.
 *
 * A batch is reference-counted. feedline_loader_next returns one reference,
 * which feedline_batch_release drops; each exported tensor holds another. The
 * slot is reused only when the last one is dropped, on any thread, so no tensor
 * ever shows the pixels of another batch. A deleter is plain C and needs no
 * interpreter lock. After fork() it does nothing in the child.
 *
 * Streams that waited for a batch, or on which it was copied, must live until
 * its last reference is dropped: the slot waits for the work queued on them by
 * then. It knows of no other stream, and torch's record_stream() does nothing
 * for memory that is not torch's: call feedline_batch_wait for every stream
 * that reads the batch. The batch may be released on any thread, also if the
 * per-thread default stream (2) of another one reads it. Or avoid all of this:
 * feedline_batch_copy into memory of the library that uses the images.
 *
 * Statuses and strings as in feedline.h. DLPack: github.com/dmlc/dlpack.
 */
#ifndef FEEDLINE_EXCHANGE_H
#define FEEDLINE_EXCHANGE_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum feedline_part {
    FEEDLINE_IMAGES = 0, /* feedline_batch_info.images */
    FEEDLINE_LABELS = 1, /* feedline_batch_info.labels; views: views.h */
    FEEDLINE_TARGETS = 2 /* feedline_batch_targets.soft, of mixed batches */
};

#define FEEDLINE_DLPACK_VERSIONED 0x1u /* a DLManagedTensorVersioned, 1.0 */

/* *out: a DLManagedTensor, or with FEEDLINE_DLPACK_VERSIONED a
 * DLManagedTensorVersioned, which the caller frees by calling its deleter once,
 * on any thread. Pinned host memory is exported as plain host memory. A
 * CUDA batch: call feedline_batch_wait for the stream that will use it first.
 * EINVAL: an invalid part or flag, or images of a ragged batch
 * (max_sample_bytes), which are not one tensor; ENOMEM. Any thread that holds
 * the batch. */
FEEDLINE_API int32_t feedline_batch_export(feedline_batch *b, uint32_t part,
                                           uint32_t flags, void **out);

/* What an owner's destructor for PyCapsule objects needs of an interpreter, as
 * plain pointers, so that this library does not link one: PyCapsule_IsValid and
 * PyCapsule_GetPointer. Before the first use of feedline_capsule_destructor;
 * once, or again with the same. EINVAL: one is NULL; ESTATE: others are in use.
 * Any thread. */
FEEDLINE_API int32_t
feedline_capsule_init(int (*is_valid)(void *, const char *),
                      void *(*get_pointer)(void *, const char *));

/* A PyCapsule_Destructor: deletes the tensor of a capsule "dltensor" or
 * "dltensor_versioned" that was not consumed. Capsules with other names are
 * left alone. */
FEEDLINE_API void feedline_capsule_destructor(void *capsule);

/* Copies images (batch_info.image_bytes of them) and labels into the caller's
 * memory on the batch's device; NULL skips a part. On the host, complete on
 * return. On a GPU both copies are queued on `stream` after the batch's own
 * copy, as after feedline_batch_wait; the batch may be released at once, and
 * `images` and `labels` used by later work on `stream`. ERANGE, ESTATE
 * and EDEVICE as feedline_batch_wait. With handover=copy the images may be
 * finished in this call, by a kernel on `stream`. Any thread that holds the
 * batch. */
FEEDLINE_API int32_t feedline_batch_copy(feedline_batch *b, void *images,
                                         void *labels, void *stream);

/* Shows a batch before its next(): the one `ahead` batches behind the next. It
 * may be read and exported, not released, and is the caller's only with the
 * next() that returns it, as the same handle. Until then it is valid as long as
 * the run; what was exported of it stays valid. So tensors can be made ahead,
 * of several batches while code and caches are warm.
 *
 * Returns OK, or TIMEOUT: it is not complete, or has an error. The consumer's
 * thread. ENOSYS: batches are on a device; ESTATE: no run. */
FEEDLINE_API int32_t feedline_loader_peek(feedline_loader *l, uint32_t ahead,
                                          feedline_batch **out);

/* Delivers the batch that was shown as the next one, and releases it: next()
 * and release in one call, for a batch that was exported. Does nothing for one
 * that was delivered and is still held, so a program that was interrupted
 * behind the call may repeat it.
 *
 * Returns as feedline_loader_next with a timeout of 0. EINVAL: another batch is
 * the next one. The consumer's thread. */
FEEDLINE_API int32_t feedline_loader_deliver(feedline_loader *l,
                                             feedline_batch *b);

/* Memory that may be lent and not taken yet. */
#define FEEDLINE_LENT_MAX 2048

/* Lends memory for the images of one batch: `bytes` of it, at a multiple of 64,
 * at least what a full batch takes (shape of feedline_epoch_info). Batches that
 * are begun from now on are written into lent memory, in any order, as long as
 * there is some, and into the loader's else; batch_info.images.data tells. So
 * batches are made where the program wants them, in pinned memory of another
 * library for instance, and nothing is copied. Labels stay in the loader's
 * memory.
 *
 * The caller keeps the memory until the batch in it is released, and every
 * tensor exported from that deleted; or, if no batch came in it, until the run
 * has ended: feedline_loader_stop, _destroy, an error of next(), or a start or
 * begin that discards batches. What was not taken is forgotten then.
 *
 * The consumer's thread, after start or begin. EINVAL: NULL, or not aligned;
 * ERANGE: too little memory, or FEEDLINE_LENT_MAX are lent already; ENOSYS:
 * batches are on a device, or ragged (max_sample_bytes); ESTATE: no run;
 * ENOMEM. */
FEEDLINE_API int32_t feedline_loader_lend(feedline_loader *l, void *images,
                                          uint64_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_EXCHANGE_H */

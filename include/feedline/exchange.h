/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches for other libraries: as DLPack tensors, which share a batch's memory
 * and keep it alive, or copied into the caller's memory.
 *
 * A batch is reference-counted. feedline_loader_next returns one reference,
 * which feedline_batch_release drops; each exported tensor holds another, which
 * its deleter drops. The batch's memory (its slot) is reused only when the last
 * one is dropped, on any thread, so no tensor ever shows the pixels of another
 * batch. A deleter is plain C and needs no interpreter lock. After fork() it
 * does nothing in the child.
 *
 * With device=cuda:N, a slot waits for the CUDA streams that waited for its
 * batch (feedline_batch_wait) or onto which it was copied, for the work queued
 * on them when the last reference is dropped; these streams must exist until
 * then. The slot knows of no other stream, and torch's record_stream() does
 * nothing for memory that is not torch's: call feedline_batch_wait for every
 * stream that reads the batch. The batch may be released on any thread, also if
 * the per-thread default stream (2) of another one reads it. A copy
 * (feedline_batch_copy) into memory of the library that uses the images needs
 * none of this care.
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
    FEEDLINE_LABELS = 1, /* feedline_batch_info.labels */
    FEEDLINE_TARGETS = 2 /* feedline_batch_targets.soft (targets.h) */
    /* FEEDLINE_VIEW + v: view v (views.h) */
};

#define FEEDLINE_DLPACK_VERSIONED 0x1u /* a DLManagedTensorVersioned, 1.0 */

/* Exports a part (enum feedline_part) of a batch. *out: a DLManagedTensor, or
 * with FEEDLINE_DLPACK_VERSIONED a DLManagedTensorVersioned, which the caller
 * frees by calling its deleter once, on any thread. Pinned host memory is
 * exported as plain host memory. With device=cuda:N, first call
 * feedline_batch_wait for the stream that will use the tensor. EINVAL: an
 * invalid part or flag, or images of a ragged batch (max_sample_bytes), which
 * are not one tensor; ENOMEM. Any thread, while the caller holds the batch. */
FEEDLINE_API int32_t feedline_batch_export(feedline_batch *b, uint32_t part,
                                           uint32_t flags, void **out);

/* For Python: gives the library PyCapsule_IsValid and PyCapsule_GetPointer of
 * the interpreter, which feedline_capsule_destructor calls, so that it need not
 * be linked with one. Call it before that destructor is first used; calling it
 * again with the same functions does nothing. EINVAL: one is NULL; ESTATE:
 * other functions are in use. Any thread. */
FEEDLINE_API int32_t
feedline_capsule_init(int (*is_valid)(void *, const char *),
                      void *(*get_pointer)(void *, const char *));

/* A PyCapsule_Destructor: deletes the tensor of a capsule "dltensor" or
 * "dltensor_versioned" that was not consumed. Capsules with other names are
 * left alone. */
FEEDLINE_API void feedline_capsule_destructor(void *capsule);

/* Copies the images (image_bytes of feedline_batch_info) and the labels (count
 * of them, int64) into the caller's memory on the batch's device; NULL skips a
 * part. On the host the copies are complete on return, and `stream` is not
 * used. On a GPU they are queued on `stream` (a cudaStream_t), after the copy
 * of the batch itself; the batch may be released at once, and later work on
 * `stream` may use `images` and `labels`. ERANGE, ESTATE and EDEVICE as
 * feedline_batch_wait. With handover=copy the images may be finished in this
 * call, by a kernel on `stream`. Any thread, while the caller holds the batch.
 */
FEEDLINE_API int32_t feedline_batch_copy(feedline_batch *b, void *images,
                                         void *labels, void *stream);

/* Shows a batch before feedline_loader_next returns it: the next one if `ahead`
 * is 0, the one after it if 1, and so on. The batch may be read and exported,
 * but not released: the caller holds it only once next() has returned it, as
 * the same handle. Until then it is valid as long as the run; tensors exported
 * from it stay valid. So tensors of several batches can be made in one go,
 * while code and caches are warm.
 *
 * Returns OK; or TIMEOUT, if the batch is not complete yet or has an error.
 * ENOSYS: batches are on a device; ESTATE: no run. The consumer's thread. */
FEEDLINE_API int32_t feedline_loader_peek(feedline_loader *l, uint32_t ahead,
                                          feedline_batch **out);

/* feedline_loader_next and feedline_batch_release in one call, for a batch of
 * feedline_loader_peek that was exported and is the next one (EINVAL: it is
 * not). For a batch that was delivered and is still held by a tensor it does
 * nothing, so a program that was interrupted after the call may repeat it.
 *
 * Returns what feedline_loader_next returns with a timeout of 0. The consumer's
 * thread. */
FEEDLINE_API int32_t feedline_loader_deliver(feedline_loader *l,
                                             feedline_batch *b);

/* Pieces of memory that may be lent at once, before a batch is begun in them.
 */
#define FEEDLINE_LENT_MAX 2048

/* Lends memory for the images of one batch: `bytes` of it, at an address that
 * is a multiple of 64, at least as many as the images of a full batch take
 * (shape of feedline_epoch_info). Batches that are begun from now on are
 * written into lent memory, in any order, as long as there is some, and
 * otherwise into the loader's; images.data of feedline_batch_info says where.
 * So batches are made where the program wants them, in pinned memory of another
 * library for instance, and nothing is copied. Labels stay in the loader's
 * memory.
 *
 * The memory must stay valid until the batch in it is released and every tensor
 * exported from it is deleted; or, if no batch was delivered in it, until the
 * run has ended: feedline_loader_stop, _destroy, an error of next(), or a start
 * or begin that discards batches. The loader then forgets memory that it did
 * not use.
 *
 * The consumer's thread, after feedline_loader_start or _begin. EINVAL: NULL,
 * or not aligned; ERANGE: too little memory, or FEEDLINE_LENT_MAX pieces are
 * lent already; ENOSYS: batches are on a device, or ragged (max_sample_bytes);
 * ESTATE: no run; ENOMEM. */
FEEDLINE_API int32_t feedline_loader_lend(feedline_loader *l, void *images,
                                          uint64_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_EXCHANGE_H */

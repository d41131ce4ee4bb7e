/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches made elsewhere: by another process or machine, for a loader that
 * delivers them in their place among its own. With option order=given
 * (feedline/order.h):
 *
 *     append(4 17 9)   expect(3)   append(8 5)
 *                        |
 *                        +-- bring(images, labels ...), from any thread
 *     next() -> [4 17 9]    next() -> what was brought    next() -> [8 5]
 *
 * A loader that is given the same samples, seed and epoch makes the same bytes
 * on any machine, so whoever gets no answer can ask another one, or itself.
 * feedline_loader_plan says which samples a loader's own order has where.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_ELSEWHERE_H
#define FEEDLINE_ELSEWHERE_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a batch of `count` samples (views not counted) that somebody else
 * makes. *ticket: its number for bring, valid until its batch is delivered or
 * the run ends. The consumer's thread. ERANGE and ESTATE as
 * feedline_loader_append. ENOSYS: batches of this loader are more than images
 * of one size and labels (fields, objects, masks, soft targets, recorded
 * samples), or their pixels are decoded or finished on a device. */
FEEDLINE_API int32_t feedline_loader_expect(feedline_loader *l, uint32_t count,
                                            uint64_t *ticket);

/* What a loader of the same pipeline and options delivers on the host. */
struct feedline_brought {
    uint32_t struct_size;
    int32_t status;        /* OK, or why there is no batch: next() returns it */
    const char *reason;    /* of that: one line, or NULL */
    const void *images;    /* image_bytes of them, dense */
    uint64_t image_bytes;  /* as in feedline_batch_info */
    const int64_t *labels; /* [images]; and so are these: */
    const int64_t *sample_index;  /* as in feedline_batch_info */
    const int32_t *sample_status; /* the same; NULL: all are OK */
};

/* Brings it: copies everything, and sends the batch on its way. Any thread.
 * TIMEOUT: there is no memory for it yet, as others come before it: try again
 * when one was delivered. EINVAL: another number of bytes, or a NULL; ESTATE:
 * no such batch is expected, or it was brought already. */
FEEDLINE_API int32_t feedline_loader_bring(feedline_loader *l, uint64_t ticket,
                                           const struct feedline_brought *what);

/* A batch of an order, see below. */
struct feedline_planned {
    uint32_t struct_size;
    uint32_t count;           /* samples; views not counted */
    uint64_t epoch, sequence; /* these four as in feedline_batch_info */
    uint64_t position, place;
    int32_t last; /* 1: of its epoch */
    int32_t reserved;
};

/* Which samples batch number `batch` has of a run that begins at `position`
 * (over all ranks) of `epoch`, in the loader's own order; nothing is begun.
 * indices, copies: of its samples, for feedline_loader_append, room for as many
 * as batch_size says. Any thread. ESTATE: order=given; ERANGE: no run comes to
 * that batch. */
FEEDLINE_API int32_t feedline_loader_plan(const feedline_loader *l,
                                          uint64_t epoch, uint64_t position,
                                          uint64_t batch, uint64_t *indices,
                                          uint32_t *copies,
                                          struct feedline_planned *out);

#ifdef __cplusplus
}
#endif

#endif

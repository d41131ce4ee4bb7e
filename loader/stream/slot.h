/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot: the memory of one batch, which the public handle points to. What its
 * columns are and where they lie says layout.h; how it comes to be filled and
 * delivered, ring.h. Fields, objects and mixed images have files of their own,
 * slot_fields.h, slot_objects.h and slot_mix.h, which stand on this one.
 */
#ifndef FDL_LOADER_SLOT_H
#define FDL_LOADER_SLOT_H

#include "base/field_set.h"
#include "base/lock.h"
#include "decode/plan/mix.h"
#include "loader/order/sampler.h"
#include "loader/read/window.h"
#include "loader/stream/layout.h"
#include "transfer/backend.h"

#include <feedline/exchange.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fdl_slot_state {
    FDL_SLOT_FREE = 0,
    FDL_SLOT_ISSUED,
    FDL_SLOT_FILLING,
    FDL_SLOT_MOVING,
    FDL_SLOT_READY,
    FDL_SLOT_HELD,
    FDL_SLOT_LEAVING
};

#define FDL_SLOT_REASON_BYTES 512
#define FDL_PARTS_MAX         4u

struct fdl_field_spill;

/* Masks, where a ring has them, are in the same slab: one behind the other at
 * its front if images have one size, and among the fields if not. Their table
 * follows those of the fields. */
struct fdl_slot_masks {
    bool on;
    uint64_t bytes; /* of each; 0: images differ */
    int32_t width, height;
};

/* Of the sample at a place: n objects, in memory that was for `room`. */
struct fdl_placed_objects {
    uint64_t at; /* in the slab */
    uint32_t n, room;
};

/* Memory for the bytes of fields: whole pages. Zeroed: none. */
struct fdl_field_slab {
    uint8_t *data;
    uint64_t capacity;
};

/* Of a slot; zeroed: none. */
struct fdl_slot_fields {
    uint64_t *offset, *bytes;          /* [cells of a sample][batch_size] */
    struct fdl_placed_objects *placed; /* [batch_size], or NULL */
    uint64_t joined_at;                /* objects of them all */
    struct fdl_field_slab slab;        /* while the slot has memory */
    _Atomic uint64_t used;             /* may be more, until gather */
    _Atomic(struct fdl_field_spill *) spills;
};

/* What all slots of a ring have in common: constant once there are slots, but
 * for what says otherwise. */
struct fdl_slot_kind {
    struct fdl_layout layout;
    int32_t device, device_id;   /* where the consumer reads */
    struct fdl_field_set fields; /* of each batch */
    struct fdl_slot_masks masks; /* only with fields */
    bool has_objects;            /* each batch, */
    uint32_t keypoints;          /* so many of each object */
    struct fdl_mix mix;          /* where layout.classes > 0 */
    struct fdl_affine *affine;   /* of the last pass; NULL: none */

    const struct fdl_sampler *sampler; /* of the run that is on; else NULL */
    _Atomic uint64_t field_memory;     /* bytes of fields, of all slots, */
    _Atomic uint64_t field_most;       /* and the most that a batch had */
};

/* What a slot has from the first sample of a batch on, until that is given
 * back. */
struct fdl_slot_memory {
    struct fdl_slab slab;
    struct fdl_field_slab fields;
};

/* Batches have a slab of fields, for these or for objects. */
static inline bool fdl_slot_kind_has_fields(const struct fdl_slot_kind *k)
{
    return k->fields.n > 0 || k->has_objects;
}

/* An image's part of the slab, if images differ. */
struct fdl_room {
    uint64_t at, bytes; /* bytes 0: none yet */
};

struct fdl_ring;

/* A slot is what the public handle points to. */
struct feedline_batch {
    struct fdl_ring *ring;
    struct fdl_slot_kind *kind;
    _Atomic uint32_t state;     /* enum fdl_slot_state */
    _Atomic uint32_t refs;      /* while HELD, or READY and peeked at: the
                                   consumer's, and one of each tensor that was
                                   exported; else 0 */
    _Atomic uint32_t remaining; /* samples not done */
    uint64_t ticket;
    struct fdl_ticket_range range;
    const struct fdl_layout *layout; /* the kind's */
    struct fdl_slab slab;            /* host NULL: none now */
    void *lent; /* the program's memory for its images; NULL: the slab's */
    struct fdl_sample_times *times; /* [batch_size] */
    struct fdl_transfer transfer;
    struct fdl_room *rooms; /* [batch_size], of images of different sizes */
    _Atomic uint64_t used;  /* bytes of images, of different sizes */
    _Atomic uint64_t jobs_taken;    /* of their room, see slot_jobs.c */
    _Atomic uint64_t scratch_taken; /* of the device's, for jobs */
    struct fdl_slot_fields fields;
    int64_t issued_ns;
    int64_t wait_ns; /* of the next() that delivered it */
    uint32_t reads;  /* of its samples, once all are done; those from memory */
    int64_t read_ns; /* are none; and how long they took */
    bool slots_held; /* issued late because the consumer held every slot */
    _Atomic uint32_t part_left[FDL_PARTS_MAX]; /* samples not done */
    _Atomic bool parts_sent;
    bool landed; /* the slab may be written; guarded by the ring's lock
                    once the batch is submitted */

    /* The worst error; read after READY. The lowest failed place wins, so the
     * error does not depend on which worker was first. */
    struct fdl_lock error_lock; /* guards the three below */
    int32_t error;
    uint32_t error_place;
    char reason[FDL_SLOT_REASON_BYTES];
};

/* Images in b: those of its samples. */
uint32_t fdl_slot_images(const feedline_batch *b);

/* For each view of the sample whose first image is at `place`. */
void fdl_slot_describe(const feedline_batch *b, uint32_t place, int64_t label,
                       uint64_t index, int32_t status);

/* The destination of the image of `place`; f has its size. May be called again
 * for a sample that failed. ERANGE: it is larger than max_sample_bytes. */
int32_t fdl_slot_claim(feedline_batch *b, uint32_t place,
                       const struct fdl_output_format *f, void **out);

/* Before the first sample of a ticket: no image has a place or a size. */
void fdl_slot_forget(feedline_batch *b);

/* The images of the sample at `place` become zeros, or of size 0x0. */
void fdl_slot_blank(feedline_batch *b, uint32_t place);

/* Bytes of the images of a batch that is done, and of one sample. */
uint64_t fdl_slot_image_bytes(const feedline_batch *b);
uint64_t fdl_slot_sample_bytes(const feedline_batch *b, uint32_t place);

/* The consumer's pointers to images and labels of a batch that is done; images
 * that are finished late have none. */
void *fdl_slot_delivered_images(const feedline_batch *b);
void *fdl_slot_delivered_labels(const feedline_batch *b);
uint64_t fdl_slot_delivered_bytes(const feedline_batch *b); /* of images */

/* The images, or the labels, of such a batch as a tensor. */
void fdl_slot_tensor(const feedline_batch *b, uint32_t part,
                     struct feedline_tensor *out);

/* Where images are written: the program's memory if that is lent. */
uint8_t *fdl_slot_images_at(const feedline_batch *b);

/* A column in the slot's host memory; places are those of images. */
void *fdl_slot_column(const feedline_batch *b, enum fdl_column c);

static inline int64_t *fdl_slot_labels(const feedline_batch *b)
{
    return fdl_slot_column(b, FDL_COLUMN_LABELS);
}

static inline int64_t *fdl_slot_index(const feedline_batch *b)
{
    return fdl_slot_column(b, FDL_COLUMN_INDEX);
}

static inline int32_t *fdl_slot_status(const feedline_batch *b)
{
    return fdl_slot_column(b, FDL_COLUMN_STATUS);
}

#endif

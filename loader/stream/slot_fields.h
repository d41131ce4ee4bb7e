/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a batch: their bytes in one slab on the host, and tables of
 * where each one is.
 *
 *     slab    | caption of 7 | JSON of 7 | caption of 2 | JSON of 2 | ...
 *     offset  by field and place in the batch; of numbers, the number, or as
 *             many as there are
 *
 * Like images of different sizes, a sample takes the next bytes once it knows
 * how many. How many all take is known when the last one is there, and a bound
 * would be that of the largest sample times the batch, most of which nobody
 * ever needs. So whoever finds the slab full gets a block of its own, with its
 * place in the slab all the same, and the last one joins them: the slab grows
 * to what batches need, in the first few, and then nothing is allocated. A slab
 * goes from batch to batch with the memory of pixels (ring_slots.c), so there
 * are as many as batches were being filled, ready or held at once.
 *
 * Masks and objects (slot_objects.h) are in it, too.
 */
#ifndef FDL_LOADER_SLOT_FIELDS_H
#define FDL_LOADER_SLOT_FIELDS_H

#include "loader/stream/slot.h"

#include <feedline/fields.h>
#include <feedline/masks.h>

/* The tables of b, where batches have fields or objects. ENOMEM. */
int32_t fdl_slot_fields_init(feedline_batch *b);
void fdl_slot_fields_fini(feedline_batch *b);

/* The slab of a slot in its kind's count of memory; data NULL: nothing. */
void fdl_field_slab_free(struct fdl_slot_kind *kind,
                         struct fdl_field_slab *slab);

/* Before the first sample of a batch, with the memory that it was given: room
 * for as much as any batch had so far. Without it, fields find none and are
 * gathered, which then fails. */
void fdl_slot_fields_reserve(feedline_batch *b);

/* Before the first sample of a ticket, where batches have fields: none has. */
void fdl_slot_fields_forget(feedline_batch *b);

/* Memory for the next `bytes`, aligned to 8, and where in the slab they are.
 * ENOMEM. */
int32_t fdl_slot_fields_claim(feedline_batch *b, uint64_t bytes, uint64_t *at,
                              uint8_t **out);

/* Bytes of the sample whose first image is at `place`. */
void fdl_slot_field_set(const feedline_batch *b, uint32_t field, uint32_t place,
                        uint64_t offset, uint64_t bytes);

/* A field that is a number or several, of the sample at `place`: their bits;
 * NULL: it has none. */
void fdl_slot_field_numbers(const feedline_batch *b, uint32_t field,
                            uint32_t place, const uint64_t *words);

/* The sample at `place` has no fields, and zeros for a mask. */
void fdl_slot_fields_blank(const feedline_batch *b, uint32_t place);

/* Memory for the mask of the image at `place`. ENOMEM. */
int32_t fdl_slot_mask_claim(feedline_batch *b, uint32_t place, uint64_t bytes,
                            uint8_t **out);

void fdl_slot_masks_get(const feedline_batch *b,
                        struct feedline_batch_masks *out);

/* After the last sample: all bytes are in the slab. ENOMEM. */
int32_t fdl_slot_fields_gather(feedline_batch *b);

void fdl_slot_field_get(const feedline_batch *b, uint32_t field,
                        struct feedline_batch_field *out);

#endif

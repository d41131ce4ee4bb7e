/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images of a batch that a device makes: a record of each, and one room
 * that all of them share (layout.h), of as many bytes as their pixels take.
 *
 * A payload takes the bytes that it has, be they more than those of the pixels:
 * most have fewer. But the share of each image that has no place yet stays
 * free, so whatever came before, the host can always decode it there.
 *
 * Any number of threads, each with a place of its own, and no lock.
 */
#ifndef FDL_LOADER_SLOT_JOBS_H
#define FDL_LOADER_SLOT_JOBS_H

#include "decode/device/device_job.h"
#include "loader/stream/slot.h"

/* Before the first sample of a ticket: no image has a job. */
void fdl_slot_jobs_forget(feedline_batch *b);

/* The job of the image at `place`, with its payload. false: there is no room,
 * or the place has one: the host decodes it. */
bool fdl_slot_put_job(feedline_batch *b, uint32_t place,
                      const struct fdl_device_job *job, const uint8_t *payload);

/* Where the host decodes it to; again the same, for a sample that failed. */
uint8_t *fdl_slot_claim_pixels(feedline_batch *b, uint32_t place);

/* The image becomes zeros. */
void fdl_slot_blank_job(const feedline_batch *b, uint32_t place);

/* Of the room, bytes in use. */
uint64_t fdl_slot_jobs_bytes(const feedline_batch *b);

/* After the device's work, its records being back: the first image of which it
 * lost data; the batch has `images`: none. */
uint32_t fdl_slot_damaged_job(const feedline_batch *b);

#endif

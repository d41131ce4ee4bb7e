/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JPEG index of a data set: what decodes noted of its files
 * (jpeg_entries.h), by number of the sample, for the next epochs, and in a file
 * beside the index cache for other processes and runs.
 *
 *     slots    [count] of pointers         into records or the file
 *     records  in turn, up to the budget   of this process; append only
 *     file     mapped, read-only           of earlier ones
 *
 * Any thread, without a lock: a slot is replaced by a compare and swap, and
 * nothing is freed before the end. Entries are for the bytes whose hash they
 * have, so those of a sample that changed are of no use and do no harm.
 *
 * Nothing here fails: without memory nothing is learned; a file that is
 * missing, damaged, another data set's or version's is none.
 */
#ifndef FDL_LOADER_ENTRY_STORE_H
#define FDL_LOADER_ENTRY_STORE_H

#include "decode/formats/encoded.h"
#include "decode/formats/jpeg_entries.h"
#include "decode/plan/render_cost.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_entry_store;

/* Of the data set with this fingerprint. budget: bytes of records. The file is
 * read now and written at the end and by keep(), if there are
 * FDL_CACHE_LEAST_SAMPLES or `always`. NULL: no memory. */
struct fdl_entry_store *fdl_entry_store_create(uint64_t count, uint64_t budget,
                                               uint64_t fingerprint,
                                               bool always);

/* Replaces the file if much was learned that it has not. No other call is in
 * progress. NULL is fine. */
void fdl_entry_store_destroy(struct fdl_entry_store *s);

/* The same while others decode, for a process that may be killed; one thread at
 * a time. entry_keeper.h calls it. */
void fdl_entry_store_keep(struct fdl_entry_store *s);

/* Whether a file is kept, and whether there was one. */
bool fdl_entry_store_is_kept(const struct fdl_entry_store *s);
bool fdl_entry_store_is_old(const struct fdl_entry_store *s);

/* Valid until the end; NULL: nothing is known. */
const struct fdl_entries *fdl_entry_store_get(struct fdl_entry_store *s,
                                              uint64_t index);

/* Keeps what a decode of the sample noted, if it is valid. */
void fdl_entry_store_put(struct fdl_entry_store *s, uint64_t index,
                         const struct fdl_entry_notes *notes);

/* Both for a decode of the sample's bytes. begin: what is known of them goes to
 * the decoder, which notes more. end: that is kept, and counted in *cost. notes
 * NULL: neither does anything. */
void fdl_entry_store_begin(struct fdl_entry_store *s, uint64_t index,
                           struct fdl_entry_notes *notes,
                           struct fdl_encoded *bytes);
void fdl_entry_store_end(struct fdl_entry_store *s, uint64_t index,
                         const struct fdl_entry_notes *notes,
                         struct fdl_render_cost *cost);

/* Of records. */
uint64_t fdl_entry_store_memory(const struct fdl_entry_store *s);

#endif

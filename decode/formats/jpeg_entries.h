/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places where the Huffman data of a JPEG can be entered: Huffman codes are a
 * chain from the first to the last, but whoever went along once and noted where
 * he was can begin there the next time.
 *
 *     MCU   0 ........ s ........ 2s ....... 3s .......      s = spacing
 *     entries          [0]        [1]        [2]
 *
 * A crop is entered at the last entry before each of its rows, so what lies
 * above it and beside it is not decoded. One entry for each
 * FDL_ENTRIES_EVERY bytes of the file: 2 % of them.
 *
 * Entries are noted of data that was decoded soundly, up to where a decode got,
 * and only if the markers of the rest were sound too; the last one a file can
 * have only if what follows it was, too: a device has all that lies between two
 * entries, or behind the last, for sound. They are used for the
 * same bytes: a hash of the whole file is compared, which takes as long as the
 * search for markers that is left out then. So an image fails or not, whatever
 * part of it is wanted, as if there were no entries.
 */
#ifndef FDL_DECODE_JPEG_ENTRIES_H
#define FDL_DECODE_JPEG_ENTRIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FDL_ENTRIES_EVERY 448u
#define FDL_ENTRIES_MOST  8192u /* further apart in files of 3.6 MB or more */

/* Of one file, as they are kept, in memory and in files. */
struct fdl_entries {
    uint64_t hash;      /* of the file */
    _Atomic uint32_t n; /* they are appended to and never changed; with
                           FDL_ENTRIES_BUSY while somebody does */
    uint32_t capacity;
    uint64_t at[]; /* bits from the start of the data, and values of DC */
};
#define FDL_ENTRIES_BUSY (1u << 31)

static inline uint32_t fdl_entries_count(const struct fdl_entries *e)
{
    /* acquire: pairs with who appends. */
    return atomic_load_explicit(&e->n, memory_order_acquire) &
           ~FDL_ENTRIES_BUSY;
}

/* What one decode is told, and what it tells. */
struct fdl_entry_notes {
    const struct fdl_entries *known; /* of what seems to be this file, or NULL
                                      */
    bool learn;
    bool whole; /* up to the end of the file, wherever the crop ends */

    bool valid;        /* the decode succeeded, and what follows is true */
    bool same;         /* known is of these bytes */
    uint64_t hash;     /* of the file */
    uint64_t spacing;  /* MCUs from one entry to the next */
    uint64_t jumped;   /* MCUs that were not decoded, before its last one */
    uint64_t decoded;  /* MCUs; some twice, between an entry and a crop */
    uint32_t capacity; /* entries that the file can have */
    uint32_t first, n; /* at[0] to at[n - 1] are entries first, first + 1 ... */
    uint64_t at[FDL_ENTRIES_MOST];
};

/* For another decode, not of the whole file: forgets what the last one told. */
void fdl_entry_notes_begin(struct fdl_entry_notes *notes,
                           const struct fdl_entries *known, bool learn);

/* The decode has succeeded, and was past that many MCUs then. to_end: and the
 * rest of the file was gone over. */
void fdl_entry_notes_end(struct fdl_entry_notes *notes, uint64_t passed,
                         bool to_end);

uint64_t fdl_entries_hash(const uint8_t *file, uint64_t size);

/* bytes: of the file. */
uint64_t fdl_entries_spacing(uint64_t mcus, uint64_t bytes);

/* An entry: 28 bits of place, 12 of each component's DC. 0: it cannot be said
 * so, of which there is none in usual files. */
#define FDL_ENTRY_COMPONENTS 3
uint64_t fdl_entry_pack(uint64_t bit, const int32_t *dc, int components);
uint64_t fdl_entry_unpack(uint64_t entry, int32_t dc[FDL_ENTRY_COMPONENTS]);

#endif

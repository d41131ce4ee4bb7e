/* SPDX-License-Identifier: Apache-2.0 */
/* What decodes of a file noted, kept as an index does. */
#ifndef FDL_TESTS_DECODE_KEPT_ENTRIES_H
#define FDL_TESTS_DECODE_KEPT_ENTRIES_H

#include "decode/formats/jpeg_entries.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_transform.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Entries of a file, as of several decodes. */
static struct fdl_entries *kept_known;
static struct fdl_entry_notes kept_notes;
static uint64_t kept_jumped;

/* Whether entries are of use: the rows of usual files are our own. */
static inline bool kept_is_possible(void)
{
    return fdl_jpeg_transform() && fdl_jpeg_entropy_memory() > 0;
}

static inline void kept_forget(void)
{
    const size_t bytes =
        sizeof(*kept_known) + FDL_ENTRIES_MOST * sizeof(kept_known->at[0]);
    if (!kept_known)
        kept_known = malloc(bytes);
    assert_non_null(kept_known);
    memset(kept_known, 0, bytes);
    fdl_entry_notes_begin(&kept_notes, kept_known, true);
}

static inline void kept_add(void)
{
    if (!kept_notes.valid)
        return;
    if (!kept_notes.same)
        kept_known->n = 0;
    assert_int_equal(kept_notes.first, kept_known->n);
    assert_true(kept_notes.first + kept_notes.n <= kept_notes.capacity);
    kept_known->hash = kept_notes.hash;
    memcpy(kept_known->at + kept_known->n, kept_notes.at,
           kept_notes.n * sizeof(kept_notes.at[0]));
    kept_known->n += kept_notes.n;
    kept_jumped += kept_notes.jumped;
}

#endif

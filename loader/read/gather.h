/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours are read together. Where the order goes through a file as it lies
 * there, the samples that come next are claimed with the first one and ride in
 * its read and its buffer:
 *
 *     file      | header | 7 ..... | header | 8 ... | header | 9 ........ |
 *     one read           ^-------------------------------------------------^
 *     samples            7 -- mate --> 8 -- mate --> 9
 *     zeroed                       ^------^        ^------^              ^--
 *
 * Until it has finished, the first one's `span` says what is read, and it alone
 * has a buffer; then each has its part of that buffer, whose last user returns
 * it. A read that fails is taken apart, and each sample read by itself, so that
 * only the one that is damaged fails, with its own reason.
 *
 * Of samples of 8 KB 30 come at once, for a thirtieth of the system calls,
 * completions and wake-ups; samples of more than half of FDL_GATHER_BYTES are
 * read as ever.
 */
#ifndef FDL_LOADER_GATHER_H
#define FDL_LOADER_GATHER_H

#include "loader/read/window.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_GATHER_BYTES ((uint64_t)256 << 10) /* of a read, at most */
#define FDL_GATHER_GAP   ((uint64_t)8 << 10)   /* between two samples */

/* Of objects. A request takes as long as some hundred kilobytes more do. */
#define FDL_GATHER_REMOTE_BYTES ((uint64_t)2 << 20)
#define FDL_GATHER_REMOTE_GAP   ((uint64_t)64 << 10)

/* Whether a sample of `next` may ride behind `last` in the read of `first`. */
bool fdl_gather_accepts(const struct fdl_keep *keep,
                        const struct fdl_read *first,
                        const struct fdl_read *last,
                        const struct fdl_source *next);

/* r, which was accepted, does. */
void fdl_gather_add(struct fdl_read *first, struct fdl_read *last,
                    struct fdl_read *r);

/* first's buffer holds all of them: each gets its bytes and padding. */
void fdl_gather_hand_out(struct fdl_read *first);

/* Of all of them, once they have theirs. */
uint64_t fdl_gather_bytes(const struct fdl_read *first);

/* The samples behind r, which from now on is read by itself; NULL: none. */
struct fdl_read *fdl_gather_detach(struct fdl_read *r);

#endif

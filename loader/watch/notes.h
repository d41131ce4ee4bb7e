/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's notes for the trace: waits, steps, phases and counters. Like
 * all notes (see fdl_watch_ring) they are always written, and read when what
 * led to this moment is requested, or while a trace is recorded.
 */
#ifndef FDL_LOADER_NOTES_H
#define FDL_LOADER_NOTES_H

#include <stdint.h>

struct fdl_books;
struct fdl_ledger;

/* The consumer's thread: next() was called; it waited from begin to end,
 * `before` being the ledger without that wait; it returned at `now` with a
 * batch. */
void fdl_notes_called(struct fdl_books *c, int64_t called);
void fdl_notes_waited(struct fdl_books *c, uint64_t ticket, int64_t begin,
                      int64_t end, const struct fdl_ledger *before);
void fdl_notes_returned(struct fdl_books *c, uint64_t ticket, int64_t now,
                        int64_t wait);

#endif

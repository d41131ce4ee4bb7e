/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are claimed in the order of the stream, but by many threads, which
 * then run as the system lets them. Where calls of the program have to begin in
 * that order (FEEDLINE_SOURCE_IN_ORDER), each thread waits for its sample's
 * turn:
 *
 *     sample 7    wait(7) ---> callback ... pass(7)
 *     sample 8    wait(8) ......................... ---> callback
 *
 * It waits before it has a buffer, so that whoever's turn it is gets one. All
 * samples before it have been claimed by a thread that passes its turn on, so
 * none waits for ever. There is no lock: the thread whose turn it is alone
 * moves it on.
 */
#ifndef FDL_LOADER_CALL_TURNS_H
#define FDL_LOADER_CALL_TURNS_H

#include "base/event.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Threads that wait for different turns wake each other up only if there are
 * more of them. */
#define FDL_TURN_EVENTS 64

struct fdl_turns {
    _Atomic uint64_t next; /* sample whose turn it is */
    _Atomic bool closed;
    struct fdl_event come[FDL_TURN_EVENTS]; /* by sample: its turn may have */
};

/* Sample 0 comes next. No thread is using it. */
void fdl_turns_open(struct fdl_turns *t);

/* From now on nobody waits. */
void fdl_turns_close(struct fdl_turns *t);

/* Waits for the turn of `sample`; false: it was closed first. */
bool fdl_turns_wait(struct fdl_turns *t, uint64_t sample);

/* It was the turn of `sample`, and is that of the next one. */
void fdl_turns_pass(struct fdl_turns *t, uint64_t sample);

#endif

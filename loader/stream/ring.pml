/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slot ring: ring.c and ring_slots.c, with the workers of worker.c and
 * pool.c, next() of consumer.c, a thread that drops references, and with
 * -DMOVES one that changes workers, or depth where there is one worker. With
 * -DGROW next() makes a slot where all are held.
 *
 * Workers read for themselves (reader=memory): so a wake-up for the next sample
 * goes from worker to worker, past those that are parked meanwhile. What the
 * window promises is taken for granted here: window.pml shows it.
 *
 *     safe   batches come in order; all samples of one are in it when it is
 *            delivered and nothing is written to it while it is held; no slot
 *            has two tickets, no two slots one slab; each sample is made once
 *     live   all batches are delivered, and all threads end: whatever sleeps on
 *            would be an end that no process may stop in
 *
 * What is done under the ring's lock is one step, but for the wake-up that it
 * ends with, and what threads look at without the lock is a step of its own.
 * Of free slots the first is taken; they differ in nothing but their number.
 *
 * Not here: parts of batches, batches made elsewhere, peeks, orders of memory.
 * Stopping a run is in stop.pml.
 */
#include "base/event_steps.pml"

#ifndef TICKETS
#  define TICKETS 3
#endif
#ifndef BATCH
#  define BATCH 2
#endif
#ifndef DEPTH
#  define DEPTH 2 /* at most; with -DMOVES the run begins with 1 */
#endif
#define SPARE   1 /* FDL_SPARE_SLOTS: with fewer, slots are scarcer */
#define SLOTS   (DEPTH + SPARE + KEPT)
#define LATER   2 /* LATER_FRACTION, for a depth of 2 instead of 4 */
#ifndef WORKERS
#  define WORKERS 2
#endif
#define NONE    255
#ifdef GROW
#  define KEPT 1
#else
#  define KEPT 0
#endif

mtype = { NOWHERE, FREE, ISSUED, FILLING, MOVING, READY, HELD, LEAVING }

/* feedline_batch; NOWHERE: the slot is not made, or freed again. */
mtype state[SLOTS] = NOWHERE;
byte ticket[SLOTS], remaining[SLOTS], refs[SLOTS];
bit landed[SLOTS], has_slab[SLOTS];

/* struct fdl_ring */
byte n_slots, n_held, n_slabs, depth;
byte by_ticket[TICKETS];
byte next_issue, next_deliver;
event ready;
bit growing;

/* The window: samples below `end` are issued, those below `next` claimed. */
byte end, next;
byte complete; /* bits of samples that are READY */
bit closed;
event work; /* fdl_window_ready() */

/* The pool. */
byte n_active;
event unpark;

/* What must hold. */
byte written[SLOTS]; /* bits of places */
byte exported;       /* bits of slots: references of the other thread */
byte kept;           /* bits of slots: those of the consumer */
bit done;            /* the consumer takes no more */

/* ---- Under the ring's lock, so within one step --------------------------- */

/* take_free_locked() and slot_begin() for the next ticket: b is free. */
inline begin_slot(b)
{
    assert(state[b] == FREE && refs[b] == 0 && !has_slab[b]);
    state[b] = ISSUED;
    ticket[b] = next_issue;
    remaining[b] = BATCH;
    landed[b] = 1;
    written[b] = 0;
    by_ticket[next_issue] = b;
    next_issue++;
    end = end + BATCH /* in C after the loop, as nobody sees in between */
}

/* issue_locked() */
inline issue(delivers, b)
{
    b = 0;
    do
    :: b == SLOTS || next_issue == TICKETS ||
       next_issue - next_deliver >= depth -> break
    :: b == 0 && next_issue != next_deliver &&
       (depth - (next_issue - next_deliver) + 1 - delivers) * LATER <= depth &&
       state[by_ticket[next_issue - 1]] == READY -> break /* left for later */
    :: else ->
        if
        :: state[b] == FREE -> begin_slot(b)
        :: else
        fi;
        b++
    od;
    b = 0
}

/* make_free_locked() */
inline make_free(b)
{
    state[b] = FREE;
    if
    :: has_slab[b] ->
        has_slab[b] = 0;
#ifndef BUG_HELD_SLAB_KEPT
        n_slabs++
#endif
    :: else
    fi
}

/* fdl_window_issue(): its waker is wake_worker(). It may also wake when nothing
 * was issued; that is left out. */
inline wake_worker()
{
    if
    :: next < end -> event_notify_one(work)
    :: else
    fi
}

/* ---- Slots --------------------------------------------------------------- */

/* add_slot(), as far as others see it */
inline add_slot(b)
{
    d_step {
        b = 0;
        do
        :: state[b] != NOWHERE -> b++
        :: else -> break
        od;
        state[b] = FREE;
        n_slots++;
        n_slabs++;
        b = 0
    }
}

/* fdl_ring_trim(): take_surplus() until there is none. */
inline trim(b)
{
    do
    :: d_step {
            n_slots > depth + SPARE + (n_held > SPARE -> n_held - SPARE : 0) ->
            b = 0;
            do
            :: b < SLOTS && state[b] != FREE -> b++
            :: else -> break
            od;
            if
            :: b < SLOTS ->
                assert(n_slabs > 0);
                state[b] = NOWHERE;
                n_slots--;
                n_slabs--;
                b = 0
            :: else -> b = NONE
            fi
        }
        if
        :: b == NONE ->
            b = 0;
            break
        :: else
        fi
    :: else -> break
    od
}

/* fdl_ring_set_depth() */
inline set_depth(to, b)
{
    d_step {
        !growing ->
        growing = 1
    }
    do
    :: n_slots < to + SPARE -> add_slot(b)
    :: else -> break
    od;
    skip;
    d_step {
        depth = to;
        issue(0, b)
    }
    wake_worker();
    trim(b);
    growing = 0
}

/* fdl_ring_grow() */
inline grow(grew, b)
{
    d_step {
        !growing ->
        growing = 1
    }
    d_step { grew = n_slots < SLOTS && n_slots < depth + n_held }
    if
    :: grew -> add_slot(b)
    :: else
    fi;
    growing = 0;
#ifndef BUG_GROW_ISSUES_NOTHING
    if
    :: grew -> /* fdl_ring_more() */
        d_step { issue(0, b) }
        wake_worker()
    :: else
    fi
#endif
}

/* ---- Workers ------------------------------------------------------------- */

/* submit() to the host's backend: done, then landed. */
inline submit(b)
{
    state[b] = READY; /* make_ready() */
    event_notify_all(ready);
    d_step { /* transfer_landed() */
        assert(ticket[b] == t && state[b] != FREE && state[b] != NOWHERE);
        landed[b] = 1;
        if
        :: state[b] == LEAVING ->
            make_free(b);
            issue(0, i)
        :: else
        fi;
        t = 0
    }
    wake_worker();
    event_notify_all(ready)
}

/* fdl_ring_sample_done() */
inline sample_done(b)
{
#ifdef BUG_COUNT_IN_TWO_STEPS
    left = remaining[b] - 1;
    remaining[b] = left;
#else
    d_step {
        assert(remaining[b] > 0);
        remaining[b]--;
        left = remaining[b];
        if
        :: left == 0 -> /* submit(); nobody tells MOVING from FILLING */
            landed[b] = 0;
            state[b] = MOVING;
            t = ticket[b]
        :: else
        fi
    }
#endif
    if
    :: left == 0 -> submit(b)
    :: else
    fi;
    left = 0
}

/* What work_on() writes, step by step with what others do to the slot. */
inline write_sample(b, s)
{
    d_step {
        assert(state[b] == FILLING && ticket[b] == s / BATCH);
        assert(!(written[b] & BIT(s % BATCH)));
        written[b] = written[b] | BIT(s % BATCH)
    }
}

/* take(): from the window, or after read_one(). */
inline take(got)
{
    got = NONE;
    do
    :: d_step {
            complete != 0 ->
            got = 0;
            do
            :: !(complete & BIT(got)) -> got++
            :: else -> break
            od;
            complete = complete & ~BIT(got)
        }
        break
    :: else ->
        atomic { /* read_one(), to the end of wake_next() */
            if
            :: next < end && !closed ->
                got = next;
                next++;
                b = by_ticket[got / BATCH];
                wake_worker()
            :: else -> got = NONE
            fi
        }
        if
        :: got == NONE -> break
        :: else
        fi;
#ifdef BUG_OPENED_TWICE
        i = state[b] == ISSUED;
#endif
        d_step { /* fdl_ring_open(), by whoever describes the sample */
            if
#ifdef BUG_OPENED_TWICE
            :: i ->
                i = 0;
#else
            :: state[b] == ISSUED ->
#endif
                assert(n_slabs > 0 && !has_slab[b]);
                n_slabs--;
                has_slab[b] = 1;
                state[b] = FILLING
            :: else
            fi
        }
        d_step { /* fdl_window_publish() */
            complete = complete | BIT(got);
            got = NONE;
            b = 0
        }
        event_notify_one(work)
    od
}

proctype worker(byte me)
{
    byte got, b, i, t, left;
    do
#ifdef MOVES
    :: me >= n_active && !closed -> /* park() */
        event_notify_one(work);
        event_prepare(unpark, me);
        if
#ifdef BUG_MOVES_PARK_UNSEEN
        :: true -> event_wait(unpark, me)
#else
        :: me >= n_active && !closed -> event_wait(unpark, me)
        :: else -> event_cancel(unpark, me)
#endif
        fi
    :: me < n_active || closed ->
#else
    ::
#endif
        event_prepare(work, me); /* wait_for_work() */
        take(got);
        if
        :: got != NONE -> /* work_on() */
            d_step {
                event_cancel(work, me);
                b = by_ticket[got / BATCH]
            }
#ifdef BUG_COUNTED_BEFORE_WRITTEN
            sample_done(b);
            write_sample(b, got)
#else
            write_sample(b, got);
            sample_done(b)
#endif
        :: got == NONE && closed -> break
#ifdef MOVES
        :: got == NONE && me >= n_active && !closed -> event_cancel(work, me)
#endif
        :: else -> event_wait(work, me)
        fi;
        skip;
        d_step {
            got = 0;
            b = 0;
            t = 0
        }
    od
}

/* fdl_pool_set_active(), of threads that exist */
inline set_active(to)
{
    n_active = to;
    event_notify_all(unpark);
    event_notify_all(work)
}

/* ---- The consumer, and who else holds batches ---------------------------- */

/* fdl_ring_release() */
inline release(b, last, i)
{
    d_step {
        assert(state[b] == HELD && refs[b] > 0);
        assert(written[b] == BIT(BATCH) - 1);
        refs[b]--;
#ifdef BUG_FIRST_RELEASE_FREES
        last = 1;
        refs[b] = 0
#else
        last = refs[b] == 0
#endif
    }
    if
    :: last ->
        d_step { /* give_back() */
            n_held--;
            last = 0;
            if
#ifndef BUG_FREE_BEFORE_LANDED
            :: !landed[b] -> state[b] = LEAVING
#endif
            :: else ->
                make_free(b);
                issue(0, i)
            fi
        }
        wake_worker()
    :: else
    fi
}

/* Tensors that were exported go when they like. */
proctype exporter()
{
    byte b, i;
    bit last;
    do
    :: exported != 0 ->
        d_step {
            do
            :: !(exported & BIT(b)) -> b++
            :: else -> break
            od;
            exported = exported & ~BIT(b)
        }
        release(b, last, i);
        b = 0
    :: done && exported == 0 -> break
    od
}

/* look(): b is the awaited slot; NONE: it is not issued. */
inline look(b, all_held)
{
    d_step { /* fdl_ring_awaited() */
        if
        :: next_deliver < next_issue -> b = by_ticket[next_deliver]
        :: else -> b = NONE
        fi;
        all_held = b == NONE && n_held == n_slots
    }
    if
    :: b != NONE ->
        if
        :: state[b] == READY -> is_ready = 1
        :: else
        fi
    :: else
    fi
}

/* fdl_ring_deliver(); the program keeps the batch, exports it, or both. */
inline deliver(b)
{
    atomic {
        assert(state[b] == READY && ticket[b] == next_deliver);
        assert(written[b] == BIT(BATCH) - 1);
        state[b] = HELD;
        n_held++;
        next_deliver++;
        if
        :: refs[b] = 1;
            kept = kept | BIT(b)
        :: refs[b] = 1;
            exported = exported | BIT(b)
        :: refs[b] = 2;
            kept = kept | BIT(b);
            exported = exported | BIT(b)
        fi;
        d_step { issue(1, i) }
    }
    wake_worker()
}

inline release_one()
{
    d_step {
        b = 0;
        do
        :: !(kept & BIT(b)) -> b++
        :: else -> break
        od;
        kept = kept & ~BIT(b)
    }
    release(b, last, i);
    b = 0
}

proctype consumer()
{
    byte b, i;
    bit all_held, is_ready, last, grew;
    do
    :: next_deliver == TICKETS -> break
    :: next_deliver < TICKETS ->
#ifdef BUG_LOOK_BEFORE_PREPARE
        look(b, all_held);
        event_prepare(ready, 0);
#else
        event_prepare(ready, 0);
        look(b, all_held);
#endif
        if
        :: is_ready || all_held -> event_cancel(ready, 0)
        :: else -> event_wait(ready, 0)
        fi;
        if
        :: is_ready ->
            is_ready = 0;
            deliver(b)
        :: all_held -> /* make_way() */
#ifdef GROW
            grow(grew, b)
#else
            if
            :: kept != 0 -> release_one()
            :: else -> kept != 0 || n_held < n_slots /* ESTATE until then */
            fi
#endif
        :: else
        fi;
        b = 0;
        all_held = 0
    :: kept != 0 -> release_one()
    od;
    do
    :: kept != 0 -> release_one()
    :: else -> break
    od;
    done = 1;
    closed = 1; /* fdl_window_close(), fdl_pool_stop() */
    event_notify_all(work);
    event_notify_all(unpark)
}

#ifdef MOVES
/* Settings, or the tuner. */
proctype tuner()
{
#if WORKERS > 1
    set_active(1);
    set_active(WORKERS)
#else
    byte b;
    set_depth(DEPTH, b);
    set_depth(1, b)
#endif
}
#endif

init
{
    byte i;
    d_step {
        n_active = WORKERS;
#if defined(MOVES) && WORKERS == 1
        depth = 1;
#else
        depth = DEPTH;
#endif
        n_slots = depth + SPARE;
        n_slabs = n_slots;
        do
        :: i < n_slots ->
            state[i] = FREE;
            i++
        :: else -> break
        od;
        i = 0
    }
    atomic {
        d_step { issue(0, i) } /* fdl_ring_start(): the workers look first */
        do
        :: i < WORKERS ->
            run worker(i);
            i++
        :: else -> break
        od;
        run consumer();
        run exporter();
#ifdef MOVES
        run tuner();
#endif
    }
}

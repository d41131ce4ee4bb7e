/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read window: window.c, with the readers of reader_pread.c, or with
 * -DURING the thread of reader_uring.c, and workers that take and free.
 *
 *     safe   samples are claimed once each, in order; an entry has one owner at
 *            a time and is not claimed before its last one has let go of it; no
 *            more reads are held than the largest limit allows; each sample is
 *            taken once
 *     live   no thread sleeps on while there is work for it, and all end after
 *            close: else there were an end that no process may stop in
 *
 * With -DMOVES limit and depth change while samples are under way, with -DSTOPS
 * the window is closed at any time, with -DGATHER an odd sample rides in the
 * read of the one before it. Readers are woken only once all that is held is
 * free (WAKE_FRACTION 1), the latest that the argument in window.c covers.
 *
 * Each access to freed, next, an entry's word and head is a step, in the order
 * of C. Seen together with the step before are: end, closed and limit, which a
 * thread moves that wakes all afterwards; the load of a word that a compare and
 * swap repeats; READING, which tells others no more than FREE did. A thread
 * that finds nothing looks again after prepare: only that look is here.
 *
 * Not here: buffers and their allowance, what is read, orders of memory.
 */
#include "base/event_steps.pml"

#ifndef SAMPLES
#  define SAMPLES 5
#endif
#ifndef READERS
#  define READERS 2
#endif
#ifndef WORKERS
#  define WORKERS 2
#endif
#ifndef MOST_LIMIT
#  define MOST_LIMIT 2
#endif
#define CAPACITY      (2 * MOST_LIMIT)
#define WAKE_FRACTION 1
#ifdef LATE
#  define MOST_LANDED 2
#else
#  define MOST_LANDED 1
#endif

#define FREE    0
#define READING 1
#define READY   2
#define TAKEN   3

#define WORD(s, state) ((s) << 2 | (state))
#define AT(s)          ((s) & (CAPACITY - 1))
#define NONE           255

mtype = { NOTHING, FULL, ROOM }

/* struct fdl_window */
byte word[CAPACITY];
byte next, end, freed, head;
byte limit = MOST_LIMIT;
bit closed;
event ready;
bit rides[CAPACITY]; /* struct fdl_read */

/* Of the readers. */
byte io_depth = READERS;
event work, parked;

/* What must hold. */
bit owned[CAPACITY]; /* some thread may touch the entry */
byte reads;          /* claimed, not freed, without those that ride */
byte through;        /* samples freed */

inline own(s)
{
    assert(!owned[AT(s)]);
    owned[AT(s)] = 1
}

inline disown(s)
{
    assert(owned[AT(s)]);
    owned[AT(s)] = 0
}

/* look_beyond() */
inline look(more)
{
    do
    :: f = freed;
        d_step {
            s = next;
            assert(s >= f);
            if
            :: s >= end || closed -> out = NOTHING
            :: s < end && !closed && s - f >= limit + more -> out = FULL
            :: else -> out = ROOM
            fi;
            f = 0
        }
        if
        :: out != ROOM -> break
        :: else
        fi;
#ifdef BUG_WORKERS_NO_LOOK_AT_ENTRY
        break
#else
        if
        :: word[AT(s)] == WORD(s, FREE) -> break
        :: word[AT(s)] < WORD(s, FREE) ->
            out = FULL;
            break
        :: else /* another reader has claimed it since */
        fi
#endif
    od
}

/* win() and begin_read() */
inline win(riding)
{
#ifdef BUG_CLAIM_IN_TWO_STEPS
    won = next == s;
#endif
    d_step {
#ifndef BUG_CLAIM_IN_TWO_STEPS
        won = next == s;
#endif
        if
        :: won ->
            next = s + 1;
            own(s);
            word[AT(s)] = WORD(s, READING);
            rides[AT(s)] = riding;
            reads = reads + 1 - riding;
            assert(reads <= MOST_LIMIT)
        :: else
        fi
    }
}

/* fdl_window_claim(): got is NONE or the sample, and mate the one that rides in
 * its read. */
inline claim()
{
    do
    :: look(0);
        if
        :: out != ROOM ->
            got = NONE;
            break
        :: else
        fi;
        win(0);
        if
        :: won ->
            got = s;
            break
        :: else
        fi
    od;
#ifdef GATHER
    mate = NONE;
    if
    :: got != NONE && !(got & 1) ->
        look(1);
        if
        :: out == ROOM && s == got + 1 ->
            win(1);
            if
            :: won ->
                mate = s;
                freed++
            :: else
            fi
        :: else
        fi
    :: else
    fi;
#endif
    skip;
    d_step {
        s = 0;
        out = 0;
        won = 0
    }
}

/* publish_one() */
inline publish(s)
{
    d_step {
        assert(word[AT(s)] == WORD(s, READING));
        disown(s);
        word[AT(s)] = WORD(s, READY);
        landed++
    }
}

/* fdl_window_announce(): for one sample or more. */
inline announce()
{
    if
    :: landed == 1 -> event_notify_one(ready)
    :: landed > 1 -> event_notify_all(ready)
    :: else
    fi;
    landed = 0
}

#ifdef URING
/* ---- reader_uring.c ------------------------------------------------------ */

bit asleep;
bit eventfd;
byte flying, landing; /* bits of samples: under way; complete, not reaped */
bit gone;             /* the thread has ended */

/* wake(): the exchange, then the write. */
inline wake_readers()
{
    if
    :: atomic { asleep -> asleep = 0 };
        eventfd = 1
    :: else
    fi
}

inline set_depth(to)
{
    io_depth = to;
    wake_readers()
}

/* A request completes, whichever, and then its eventfd tells. */
proctype kernel()
{
    byte s;
    do
    :: atomic {
            flying != 0 ->
            if
            :: flying & BIT(0) -> s = 0
            :: flying & BIT(1) -> s = 1
            :: flying & BIT(2) -> s = 2
            :: flying & BIT(3) -> s = 3
            :: flying & BIT(4) -> s = 4
            fi;
            flying = flying & ~BIT(s);
            landing = landing | BIT(s);
            s = 0
        }
        eventfd = 1
    :: gone -> break
    od
}

proctype reader()
{
    byte got, mate, s, f, landed, n;
    bit won, idle;
    mtype out;
    do
    :: /* fill() */
        do
        :: n >= io_depth -> break
        :: else ->
#ifdef BUG_URING_SLEEPS_UNTOLD
            claim();
            asleep = 1;
#else
            asleep = 1; /* the exchange of claim_or_announce() */
            claim();
#endif
            if
            :: got == NONE -> break
            :: else
            fi;
            d_step {
                asleep = 0;
                n++;
                flying = flying | BIT(got);
                got = 0
            }
        od;
        got = 0;
        if
        :: n == 0 && closed -> break
        :: else
        fi;
        idle = landing == 0; /* reap() */
        do
        :: landing != 0 ->
            d_step {
                s = 0;
                do
                :: !(landing & BIT(s)) -> s++
                :: else -> break
                od;
                landing = landing & ~BIT(s);
                n--
            }
            publish(s);
            s = 0
        :: else -> break
        od;
        announce();
        if
        :: idle ->
            eventfd == 1; /* read() */
            d_step {
                eventfd = 0;
                idle = 0
            }
            asleep = 0
        :: else
        fi
    od;
    gone = 1
}

#else
/* ---- reader_pread.c ------------------------------------------------------ */

/* wake(), as the window's waker */
inline wake_readers()
{
    if
    :: !closed -> event_notify_one(work)
    :: else ->
        event_notify_all(work);
        event_notify_all(parked)
    fi
}

/* apply_depth_locked(), of threads that exist */
inline set_depth(to)
{
    io_depth = to;
    event_notify_all(work);
    event_notify_all(parked)
}

proctype reader(byte me)
{
    byte got, mate, s, f, landed;
    bit won;
    mtype out;
    do
#ifdef MOVES
    :: me >= io_depth && !closed -> /* is_parked() */
        announce();
        event_prepare(parked, me);
        if
#ifdef BUG_MOVES_PARK_UNSEEN
        :: true -> event_wait(parked, me)
#else
        :: me >= io_depth && !closed -> event_wait(parked, me)
        :: else -> event_cancel(parked, me)
#endif
        fi
    :: me < io_depth || closed -> /* claim_or_sleep() */
#else
    :: /* claim_or_sleep() */
#endif
#ifdef BUG_CLAIM_BEFORE_PREPARE
        claim();
        event_prepare(work, me);
#else
        event_prepare(work, me);
        claim();
#endif
        if
        :: got != NONE -> /* serve() */
            atomic {
                event_cancel(work, me);
                if /* fdl_window_has_room() */
                :: next < end && next - freed < limit && !closed &&
                   word[AT(next)] == WORD(next, FREE) ->
                    event_notify_one(work)
                :: else
                fi
            }
#ifdef LATE
            if /* the read may have to wait, or not */
            :: landed > 0 -> announce()
            :: landed < MOST_LANDED
            fi;
#endif
            publish(got);
#ifdef GATHER
            if
            :: mate != NONE -> publish(mate)
            :: else
            fi;
            mate = 0;
#endif
            if
            :: landed >= MOST_LANDED -> announce()
            :: else
            fi
#ifdef LATE
#ifndef BUG_LATE_NO_ANNOUNCE
        :: got == NONE && landed > 0 ->
            event_cancel(work, me);
            announce()
#endif
#endif
        :: else ->
            if
            :: closed -> break
#ifdef MOVES
            :: me >= io_depth && !closed -> event_cancel(work, me)
#endif
            :: else -> event_wait(work, me)
            fi
        fi;
        got = 0
    od
}
#endif

/* ---- Workers and the loader ---------------------------------------------- */

/* fdl_window_take() */
inline take()
{
    d_step {
        got = NONE;
        from = head;
        n = next;
        s = from;
        passed = from
    }
    do
    :: s < n && got == NONE ->
#ifdef BUG_WORKERS_TAKE_IN_TWO_STEPS
        w = word[AT(s)];
#endif
        d_step {
#ifndef BUG_WORKERS_TAKE_IN_TWO_STEPS
            w = word[AT(s)];
#endif
            if
            :: w == WORD(s, READY) ->
                w = WORD(s, TAKEN);
                word[AT(s)] = w;
                own(s);
                got = s
            :: else
            fi;
            if
            :: passed == s && w >= WORD(s, TAKEN) -> passed = s + 1
            :: else
            fi;
            w = 0;
            s++
        }
    :: else -> break
    od;
    skip;
    d_step {
        if
        :: passed > from && head == from -> head = passed
        :: else
        fi;
        s = 0;
        n = 0;
        from = 0;
        passed = 0
    }
}

/* fdl_window_free() */
inline free(s)
{
    d_step { /* fdl_read_release(): nobody looks before the word says so */
        rode = rides[AT(s)];
        disown(s);
        word[AT(s)] = WORD(s + CAPACITY, FREE)
    }
#ifdef BUG_HELD_BEFORE_FREED
    held = next - freed;
#endif
    d_step {
        freed = freed + 1 - rode;
        f = freed;
        reads = reads - 1 + rode;
        rode = 0;
        through++
    }
#ifndef BUG_HELD_BEFORE_FREED
    d_step {
        held = next - f;
        f = 0
    }
#endif
    if
    :: held < limit && (limit - held) * WAKE_FRACTION >= limit ->
        held = 0;
        wake_readers()
    :: else -> held = 0
    fi
}

/* work_until_stopped() */
proctype worker(byte me)
{
    byte got, s, n, w, from, passed, f, held;
    bit rode;
    do
    ::
#ifdef BUG_TAKE_BEFORE_PREPARE
        take();
        event_prepare(ready, me);
#else
        event_prepare(ready, me);
        take();
#endif
        if
        :: got != NONE ->
progress:   event_cancel(ready, me);
            free(got)
        :: got == NONE && closed -> break
        :: else -> event_wait(ready, me)
        fi;
        got = 0
    od
}

/* fdl_window_issue() */
inline issue(to)
{
    end = to;
    wake_readers()
}

/* fdl_window_close() */
inline close()
{
#ifdef BUG_CLOSE_WAKES_FIRST
    wake_readers();
    event_notify_all(ready);
    closed = 1
#else
    closed = 1;
    wake_readers();
    event_notify_all(ready)
#endif
}

init
{
    byte i;
    atomic {
        do
        :: i < CAPACITY ->
            word[i] = WORD(i, FREE);
            i++
        :: else -> break
        od;
        i = 0;
#ifdef URING
        run kernel();
        run reader();
#else
        do
        :: i < READERS ->
            run reader(i);
            i++
        :: else -> break
        od;
        i = 0;
#endif
        do
        :: i < WORKERS ->
            run worker(i);
            i++
        :: else -> break
        od;
        i = 0
    }
#ifdef MOVES
    issue(1);
    set_depth(1);
    limit = 1;
    wake_readers();
    issue(SAMPLES);
    set_depth(READERS);
    limit = MOST_LIMIT;
    wake_readers();
#else
    issue(SAMPLES);
#endif
#ifndef STOPS
    through == SAMPLES;
#endif
    close()
}

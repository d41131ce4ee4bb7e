/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that begin and end: engine_run.c, fdl_pool_stop() of pool.c,
 * fdl_ring_stop() of ring.c and fdl_window_set_waker() of window.c, while other
 * threads release batches and a device's copies land.
 *
 *     consumer   begin, next() as often as it likes, stop; again; destroy
 *     worker     with -DEXITS it may end in the middle of a sample
 *     reader     one thread of reader_pread.c
 *     backend    copies: done, then landed, later
 *     holder     has batches of any run and releases them, also after destroy
 *
 *     safe   nothing of a run touches what was reset, given to another ticket
 *            or freed: no waker is called whose reader is gone, no sample is
 *            written to a slot that has others, no copy lands in one, none is
 *            issued to a window between runs; the last one frees the ring
 *     live   stop returns, next() returns, and all threads end
 *
 * What is done under the ring's lock is one step, but where it wakes readers:
 * then the lock is held until that is over, as in C.
 *
 * Not here: what window.pml and ring.pml show; parts; orders of memory.
 */
#include "base/event_steps.pml"

#ifndef RUNS
#  define RUNS 2
#endif
#ifndef TICKETS
#  define TICKETS 2 /* of a run; one sample each */
#endif
#define SLOTS   2
#define DEPTH   1
#ifndef WORKERS
#  define WORKERS 2
#endif
#define NONE    255

mtype = { FREE, FILLING, MOVING, READY, HELD, LEAVING, UNBORN, LIVING, DONE }

/* struct fdl_engine */
bit running;
byte run_number;

/* The window. A sample is that of its ticket. */
bit closed = 1;
bit window_gone;
byte end, next;
byte complete; /* bits of samples that are READY */
event work;    /* fdl_window_ready() */
bit waker;
byte wakers;

/* The reader. */
bit reader_there; /* its memory */
mtype reader_life = UNBORN;
event read_work;

/* The pool. */
mtype life[WORKERS] = UNBORN;
bit joinable[WORKERS]; /* the thread has ended */
bit exited;
#ifdef EXITS
bit may_exit = 1;
#endif
event ended;

/* The ring. */
bit ring_lock, ring_gone;
byte refs; /* of the ring */
bit stream;
mtype state[SLOTS] = FREE;
byte ticket[SLOTS], in_run[SLOTS]; /* in_run: that nothing is of another */
bit landed[SLOTS];
byte by_ticket[TICKETS];
byte next_issue, next_deliver, n_held, in_transfer;
event ready;

/* The backend. */
byte queue; /* bits of slots */
bit backend_ends, backend_gone;

byte given; /* bits of slots that the holder has */
bit over;   /* the consumer gives no more */

inline lock(l)
{
    d_step {
        !l ->
        l = 1
    }
}

/* ---- The window ---------------------------------------------------------- */

/* wake_readers(), and wake() of reader_pread.c */
inline wake_readers()
{
    assert(!window_gone);
    wakers++;
    if
    :: waker ->
        assert(reader_there);
        if
        :: closed -> event_notify_all(read_work)
        :: else -> event_notify_one(read_work)
        fi;
        assert(reader_there)
    :: else
    fi;
    wakers--
}

/* fdl_window_close() */
inline close_window()
{
    closed = 1;
    wake_readers();
    event_notify_all(work)
}

proctype reader()
{
    byte got;
    do
    :: reader_life == LIVING ->
        do
        :: closed -> break
        :: else ->
            d_step {
                if
                :: next < end && !closed ->
                    got = next;
                    next++
                :: else -> got = NONE
                fi
            }
            if
            :: got == NONE ->
                event_prepare(read_work, 0);
                if
                :: next < end || closed -> event_cancel(read_work, 0)
                :: else -> event_wait(read_work, 0)
                fi
            :: else ->
                d_step {
                    complete = complete | BIT(got);
                    got = 0
                }
                event_notify_one(work)
            fi;
            got = 0
        od;
        reader_life = DONE
    :: over && refs == 0 -> break
    od
}

/* ---- The ring ------------------------------------------------------------ */

/* issue_locked(), up to fdl_window_issue() */
inline issue(b)
{
    b = 0;
    do
    :: b == SLOTS || !stream || next_issue == TICKETS ||
       next_issue - next_deliver >= DEPTH -> break
    :: else ->
        if
        :: state[b] == FREE ->
            state[b] = FILLING;
            ticket[b] = next_issue;
            in_run[b] = run_number;
            by_ticket[next_issue] = b;
            next_issue++;
            end = next_issue;
            assert(running || !closed)
        :: else
        fi;
        b++
    od;
    b = 0
}

/* The lock is held. */
inline issue_and_wake(b)
{
    d_step { issue(b) }
    if
    :: stream -> wake_readers()
    :: else
    fi
}

/* fdl_ring_unref() */
inline unref(last)
{
    d_step {
        assert(refs > 0 && !ring_gone);
        refs--;
        last = refs == 0
    }
    if
    :: last ->
        backend_ends = 1; /* the backend's destroy joins its thread */
        backend_gone;
        d_step {
            ring_gone = 1;
            last = 0
        }
    :: else
    fi
}

/* fdl_ring_release(), of the last reference */
inline release(b, i, last)
{
    lock(ring_lock);
    d_step {
        assert(!ring_gone && state[b] == HELD);
        n_held--;
        if
        :: landed[b] -> state[b] = FREE
        :: else -> state[b] = LEAVING
        fi
    }
    if
    :: state[b] == FREE ->
#ifdef BUG_WAKES_WITHOUT_LOCK
        d_step { issue(i) }
        ring_lock = 0;
        wake_readers()
#else
        issue_and_wake(i)
#endif
    :: else
    fi;
    ring_lock = 0;
    unref(last)
}

/* transfer_done() and transfer_landed() */
proctype backend()
{
    byte b, i, t, r;
    do
    :: queue != 0 ->
        d_step {
            b = 0;
            do
            :: !(queue & BIT(b)) -> b++
            :: else -> break
            od;
            queue = queue & ~BIT(b);
            assert(state[b] == MOVING);
            t = ticket[b];
            r = in_run[b];
            state[b] = READY /* make_ready() */
        }
        event_notify_all(ready);
#ifdef BUG_COUNTED_BEFORE_LANDED
        in_transfer--;
#endif
        lock(ring_lock);
        d_step {
            assert(!ring_gone && state[b] != FREE);
            assert(ticket[b] == t && in_run[b] == r);
            landed[b] = 1
        }
        if
        :: state[b] == LEAVING ->
            state[b] = FREE;
            issue_and_wake(i)
        :: else
        fi;
        ring_lock = 0;
#ifndef BUG_COUNTED_BEFORE_LANDED
        in_transfer--;
#endif
        assert(!ring_gone);
        event_notify_all(ready);
        d_step {
            b = 0;
            t = 0;
            r = 0
        }
    :: queue == 0 && backend_ends -> break
    od;
    backend_gone = 1
}

/* fdl_ring_stop() */
inline stop_ring()
{
#ifndef BUG_STOPS_BEFORE_LANDED
    do /* wait_for_transfers() */
    :: event_prepare(ready, 0);
        if
        :: in_transfer == 0 ->
            event_cancel(ready, 0);
            break
        :: else -> event_wait(ready, 0)
        fi
    od;
#endif
    lock(ring_lock);
    d_step {
#ifndef BUG_STREAM_IS_KEPT
        stream = 0;
#endif
        i = 0;
        do
        :: i < SLOTS ->
            if
            :: state[i] != FREE && state[i] != HELD -> state[i] = FREE
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        next_issue = next_deliver;
        ring_lock = 0
    }
}

/* ---- Workers ------------------------------------------------------------- */

/* end_thread() */
inline end_thread()
{
#ifdef BUG_ENDED_BEFORE_DONE
    event_notify_all(ended);
    life[me] = DONE
#else
    life[me] = DONE;
    event_notify_all(ended)
#endif
}

#ifdef EXITS
/* exit_early() */
inline exit_early()
{
    end_thread();
#ifdef BUG_EXITS_TOLD_FIRST
    event_notify_all(ready);
    exited = 1
#else
    exited = 1;
    event_notify_all(ready)
#endif
}

#endif

inline take()
{
    d_step {
        got = NONE;
        b = 0;
        do
        :: b < TICKETS && got == NONE ->
            if
            :: complete & BIT(b) ->
                got = b;
                complete = complete & ~BIT(b)
            :: else
            fi;
            b++
        :: else -> break
        od;
        b = 0
    }
}

/* work_on(): may_exit: the program's operation calls pthread_exit. */
inline work_on()
{
    d_step {
        b = by_ticket[got];
        t = run_number
    }
#ifdef EXITS
    if
    :: atomic { may_exit -> may_exit = 0 };
        exit_early();
        goto gone
    :: true
    fi;
#endif
    d_step { /* the sample is written and counted */
        assert(state[b] == FILLING && ticket[b] == got);
        assert(in_run[b] == t && t == run_number && !window_gone);
        landed[b] = 0; /* submit() */
        state[b] = MOVING;
        in_transfer++;
        queue = queue | BIT(b)
    }
}

proctype worker(byte me)
{
    byte got, b, t;
    do
    :: life[me] == LIVING && !joinable[me] ->
        do
        :: closed -> break
        :: else ->
            event_prepare(work, me);
            take();
            if
            :: got != NONE ->
                event_cancel(work, me);
                work_on()
            :: got == NONE && closed ->
                event_cancel(work, me)
            :: else -> event_wait(work, me)
            fi;
            d_step {
                got = 0;
                b = 0;
                t = 0
            }
        od;
        end_thread();
#ifdef EXITS
gone:
#endif
        skip;
        d_step {
            got = 0;
            b = 0;
            t = 0
        }
        joinable[me] = 1
    :: over && refs == 0 -> break
    od
}

/* fdl_pool_set_active() */
inline set_active(to)
{
    i = 0;
    do
    :: i < to ->
        if
        :: life[i] == UNBORN ->
            d_step {
                joinable[i] = 0;
                life[i] = LIVING
            }
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    event_notify_all(work)
}

/* fdl_pool_stop() */
inline stop_pool()
{
    event_notify_all(work);
    i = 0;
    do
    :: i < WORKERS ->
        if
        :: life[i] != UNBORN ->
            do /* wait_for_end() */
            :: event_prepare(ended, 0);
                if
                :: life[i] != LIVING ->
                    event_cancel(ended, 0);
                    break
                :: else -> event_wait(ended, 0)
                fi
            od;
            joinable[i]; /* join() */
            life[i] = UNBORN
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    exited = 0
}

/* ---- The engine ---------------------------------------------------------- */

/* start_threads_locked() and fdl_ring_start() */
inline start_run()
{
    d_step {
        assert(wakers == 0 && !stream && !reader_there);
        run_number++;
        end = 0; /* fdl_window_reset() */
        next = 0;
        complete = 0;
        closed = 0;
        reader_there = 1
    }
    waker = 1; /* fdl_window_set_waker(), before the thread looks */
    reader_life = LIVING;
    set_active(workers);
    lock(ring_lock);
    d_step {
        next_issue = 0;
        next_deliver = 0;
        stream = 1
    }
    issue_and_wake(i);
    ring_lock = 0;
    running = 1
}

/* stop() of reader_pread.c */
inline stop_reader()
{
    if
    :: reader_there ->
        reader_life == DONE;
        reader_life = UNBORN;
        waker = 0; /* fdl_window_set_waker(NULL) */
#ifndef BUG_WAKER_IS_NOT_AWAITED
        wakers == 0;
#endif
        reader_there = 0
    :: else
    fi
}

/* stop_threads_locked() */
inline stop_run()
{
    close_window();
#ifdef BUG_RING_STOPS_FIRST
    stop_ring();
    stop_pool();
    stop_reader();
#else
    stop_pool();
    stop_reader();
    stop_ring();
#endif
    running = 0
}

/* look() of consumer.c: got_batch, or why none will come */
inline look()
{
    lock(ring_lock);
    d_step {
        if
        :: next_deliver < next_issue -> b = by_ticket[next_deliver]
        :: else -> b = NONE
        fi;
        all_held = b == NONE && n_held == SLOTS;
        is_end = next_deliver == TICKETS;
        ring_lock = 0
    }
    d_step {
        is_ready = 0;
        if
        :: b != NONE -> is_ready = state[b] == READY
        :: else
        fi
    }
    finished = is_ready || is_end || all_held || exited
}

/* next(); the batch is the holder's. */
inline next_batch()
{
    do
    :: event_prepare(ready, 0);
        look();
        if
        :: finished ->
            event_cancel(ready, 0);
            break
        :: else -> event_wait(ready, 0)
        fi
    od;
    if
    :: is_ready ->
        lock(ring_lock);
        d_step { /* fdl_ring_deliver() */
            assert(state[b] == READY && in_run[b] == run_number);
            assert(ticket[b] == next_deliver);
            state[b] = HELD;
            refs++;
            n_held++;
            next_deliver++
        }
        issue_and_wake(i);
        ring_lock = 0;
        given = given | BIT(b)
    :: else
    fi
}

proctype consumer()
{
    byte b, i, workers;
    bit all_held, is_end, is_ready, finished, last;
    do
    :: run_number < RUNS ->
        workers = WORKERS;
        start_run();
        do
        :: next_batch();
            if
            :: !is_ready -> break /* the end, an error, or all are held */
            :: else
            fi
        :: break /* stops when it likes */
        od;
        skip;
        d_step {
            b = 0;
            all_held = 0;
            is_end = 0;
            is_ready = 0;
            finished = 0
        }
        stop_run()
    :: else -> break
    od;
    over = 1; /* fdl_engine_destroy() */
    window_gone = 1;
    unref(last)
}

proctype holder()
{
    byte b, i;
    bit last;
    do
    :: given != 0 ->
        d_step {
            b = 0;
            do
            :: !(given & BIT(b)) -> b++
            :: else -> break
            od;
            given = given & ~BIT(b)
        }
        release(b, i, last);
        b = 0
    :: over && given == 0 -> break
    od
}

init
{
    byte i;
    atomic {
        refs = 1;
        run consumer();
        run reader();
        do
        :: i < WORKERS ->
            run worker(i);
            i++
        :: else -> break
        od;
        run backend();
        run holder();
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JPEG index within a process: get, put, publish and append of
 * entry_store.c by threads that decode the same sample again and again, whose
 * bytes change once, with a record of it in the mapped file.
 *
 *     safe   what a thread is told of a sample is what was noted of the bytes
 *            whose hash it has: no entry is read before it is written, none
 *            changes once it was published, none is of other bytes; the file's
 *            records are never written
 *     live   nobody waits for anybody
 *
 * Between processes: entry_file.pml. Not here: orders of memory.
 */
#ifndef THREADS
#  define THREADS 2
#endif
#ifndef DECODES
#  define DECODES 2 /* by each */
#endif
#define ENTRIES 3
#define MAPPED  1 /* the record in the file */
#define RECORDS 4 /* with it; then the budget is used up */
#define NONE    0

/* struct fdl_entries: entry i of record e is at[e * ENTRIES + i], and has the
 * hash of the bytes that it was noted of. */
byte hash[RECORDS + 1], n[RECORDS + 1];
bit busy[RECORDS + 1];
byte at[(RECORDS + 1) * ENTRIES];

bit has_map; /* there was a file */
byte slot;
byte used = MAPPED;
byte bytes = 1; /* hash of the file as it is */

/* fdl_entry_store_get() */
inline get(e)
{
    e = slot;
    if
    :: e == NONE && has_map ->
        d_step { /* the compare and swap: the mapped record, or what is there */
            if
            :: slot == NONE -> slot = MAPPED
            :: else
            fi;
            e = slot
        }
    :: else
    fi
}

/* What fdl_entry_notes_begin() gets, and the decoder enters by. */
inline see(e, count)
{
    count = n[e];
    i = 0;
    do
    :: i < count ->
        assert(at[e * ENTRIES + i] == hash[e]);
        i++
    :: else -> break
    od;
    i = 0
}

/* take_record(), and publish() up to its swap. */
inline fill_record(e, sum, from)
{
    d_step {
        hash[e] = sum;
        if
        :: from != NONE ->
            n[e] = n[from];
            i = 0;
            do
            :: i < n[from] ->
                at[e * ENTRIES + i] = at[from * ENTRIES + i];
                i++
            :: else -> break
            od;
            i = 0
        :: else
        fi
    }
}

inline publish(e, old, sum, from)
{
    d_step {
        if
        :: used < RECORDS ->
            used++;
            e = used
        :: else -> e = NONE
        fi
    }
    if
    :: e != NONE ->
        fill_record(e, sum, from);
        d_step {
            if
            :: slot == old -> slot = e
            :: else -> e = NONE /* another worker has noted the same */
            fi
        }
    :: else
    fi
}

/* append(): of what was noted, entries `first` to ENTRIES - 1 or fewer. */
inline append(e, first, to, sum)
{
    count = n[e];
    if
    :: count < first || count >= to -> skip
    :: else ->
        d_step { /* the compare and swap of n with its BUSY bit */
            if
#ifdef BUG_APPEND_TOGETHER
            :: true
#else
            :: n[e] == count && !busy[e]
#endif
                -> busy[e] = 1;
                won = 1
            :: else -> won = 0
            fi
        }
        if
        :: won ->
            assert(e != MAPPED);
#ifdef BUG_COUNTED_FIRST
            d_step {
                n[e] = to;
                busy[e] = 0
            }
#endif
            do
            :: count < to ->
                d_step {
                    assert(at[e * ENTRIES + count] == 0);
                    at[e * ENTRIES + count] = sum
                }
                count++
            :: else -> break
            od;
            skip;
#ifndef BUG_COUNTED_FIRST
            d_step {
                n[e] = to;
                busy[e] = 0
            }
#endif
            won = 0
        :: else
        fi
    fi;
    count = 0
}

/* begin, a decode that gets as far as it likes, put */
proctype worker()
{
    byte d, i, known, first, to, sum, e, old, from, count;
    bit won, same;
    do
    :: d == DECODES -> break
    :: d < DECODES ->
        d++;
        get(known);
        see(known, first);
        d_step {
            sum = bytes; /* what was read of the sample */
            if
            :: hash[known] != sum -> first = 0
            :: else
            fi
        }
        if
        :: to = first + 1
        :: to = ENTRIES
        fi;
        if
        :: to > ENTRIES || to <= first -> goto next /* nothing was noted */
        :: else
        fi;
        old = slot; /* fdl_entry_store_put(): get, with nothing left to map */
#ifdef BUG_ANY_HASH
        same = 1;
#else
        same = hash[old] == sum;
#endif
#ifdef BUG_APPENDS_TO_FILE
        if
        :: same -> append(old, first, to, sum)
#else
        if
        :: same && old != MAPPED -> append(old, first, to, sum)
#endif
        :: else ->
            from = (same -> old : NONE);
            publish(e, old, sum, from);
            if
            :: e != NONE -> append(e, first, to, sum)
            :: else
            fi
        fi;
next:
        skip;
        d_step {
            known = 0;
            first = 0;
            to = 0;
            sum = 0;
            e = 0;
            old = 0;
            from = 0;
            same = 0;
            count = 0
        }
    od
}

proctype changer()
{
    bytes = 2
}

init
{
    byte t;
    atomic {
        hash[MAPPED] = 1;
        n[MAPPED] = 1;
        at[MAPPED * ENTRIES] = 1;
        if
        :: has_map = 1
        :: has_map = 0
        fi;
        do
        :: t < THREADS ->
            run worker();
            t++
        :: else -> break
        od;
        run changer()
    }
}

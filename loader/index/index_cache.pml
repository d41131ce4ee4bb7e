/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index between processes: index.c, which lists a shard or takes what
 * index_cache.c kept of it, in several processes that start when they like, of
 * which any may be killed after any step, while somebody changes the shard.
 *
 *     safe   what is taken from the cache is what the shard holds at the moment
 *            that it is compared; whoever opens the cache finds a whole file
 *     live   nobody waits for anybody: each start ends, whoever was killed
 *
 * A shard's contents are a version, and reading them takes two steps, so that a
 * listing may be half of one and half of the next. Times are ticks of the file
 * system's clock, which several changes may share. LEAST_AGE_NS is one of them.
 *
 * Not here: hashes of contents, for storage whose stamps lie; a clock that is
 * set back.
 */
#ifndef STARTERS
#  define STARTERS 2
#endif
#ifndef STARTS
#  define STARTS 2 /* of each */
#endif
#ifndef CHANGES
#  define CHANGES 2
#endif
#ifndef TICKS
#  define TICKS 3
#endif
#define LEAST_AGE 1
#define FILES     (STARTERS * STARTS + 1)
#define HALVES    (CHANGES + 1) /* no version: parts of two */
#define NONE      255

#include "base/replace.pml"

/* The shard, and the clock. */
byte version;
byte changed = 1; /* st_ctim */
byte clock = LEAST_AGE + 2;

/* What a cache file has. */
byte listed[FILES], stamps[FILES];

/* fdl_stamp_of(); 0: none */
inline stamp_of(stamp)
{
    d_step {
#ifdef BUG_YOUNG_STAMPS_ARE_KEPT
        stamp = changed
#else
        stamp = (changed >= clock - LEAST_AGE -> 0 : changed)
#endif
    }
}

proctype starter()
{
    byte n, cache, stamp, list, beside;
    do
    :: n == STARTS -> break
    :: n < STARTS ->
        n++;
        cache = name; /* fdl_cache_open() */
        d_step {
            assert(cache == 0 || whole[cache]);
            list = NONE
        }
        d_step { /* take_cached(): the stat, and fdl_cache_find() */
            if
            :: cache != 0 && stamps[cache] != 0 && stamps[cache] == changed ->
                assert(listed[cache] == version);
                list = listed[cache]
            :: else
            fi
        }
        if
        :: list != NONE -> goto next
        :: else
        fi;
#ifndef BUG_STAMP_AFTER_LISTING
        stamp_of(stamp); /* list_shard() */
#endif
        list = version;
        d_step {
            if
            :: list != version -> list = HALVES
            :: else
            fi
        }
#ifdef BUG_STAMP_AFTER_LISTING
        stamp_of(stamp);
#endif
        if
        :: stamp == 0 -> goto next /* is_worth_keeping() */
        :: else
        fi;
        if
        :: true
        :: goto killed
        fi;
        replace_begin(beside); /* keep() */
        d_step {
            listed[beside] = list;
            stamps[beside] = stamp
        }
        if
        :: true
        :: goto killed
        fi;
        replace_end(beside);
next:
        skip;
        d_step {
            cache = 0;
            stamp = 0;
            list = 0;
            beside = 0
        }
    od;
killed:
    skip
}

proctype changer()
{
    do
    :: version < CHANGES ->
        d_step {
            version++;
            changed = clock
        }
    :: break
    od
}

proctype time()
{
    byte ticks;
    do
    :: ticks < TICKS ->
        d_step {
            clock++;
            ticks++
        }
    :: break
    od
}

init
{
    byte i;
    atomic {
        do
        :: i < STARTERS ->
            run starter();
            i++
        :: else -> break
        od;
        run changer();
        run time()
    }
}

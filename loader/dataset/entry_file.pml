/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of the JPEG index between processes: create, destroy and save of
 * entry_store.c, as ranks of a job do it that learn each something else and end
 * at about the same time, and of which any may be killed after any step.
 *
 *     safe   whoever opens the file finds a whole one; what one process has
 *            kept no other one takes away, and without kills all is kept
 *     live   each process ends, whoever was killed
 *
 * Each keeps what it has learned while it goes on to learn, as entry_keeper.c
 * does, and at its end. What is known is a set: bits 2p and 2p + 1 are what
 * process p learned before and after that. A lock of a killed process is free,
 * as the kernel sees to it.
 */
#ifndef RANKS
#  define RANKS 3
#endif
#define SAVES 2 /* of each */
#define FILES (RANKS * SAVES + 1)

#include "base/replace.pml"

byte known_by[FILES]; /* what a file has */
bit lock;
byte kept;   /* what was kept, ever */
byte killed; /* bits of processes */
byte ended;

inline save()
{
#ifndef BUG_SAVES_WITHOUT_LOCK
    d_step {
        !lock ->
        lock = 1
    }
#endif
    now = name;
    d_step {
        assert(now == 0 || whole[now]);
        written = known;
#ifndef BUG_KEEPS_OWN_ALONE
        written = written | known_by[now];
#endif
        now = 0
    }
    replace_begin(beside);
    d_step { known_by[beside] = written }
    if
    :: true
    :: d_step {
            killed = killed | (1 << me);
            lock = 0
        }
        goto end
    fi;
    replace_end(beside);
    d_step {
        kept = kept | known;
        assert((known_by[name] & kept) == kept)
    }
    lock = 0
}

proctype rank(byte me)
{
    byte known, written, now, beside, saves;
    now = name; /* fdl_entry_store_create() */
    d_step {
        assert(now == 0 || whole[now]);
        known = known_by[now] | (1 << (2 * me));
        now = 0
    }
    do
    :: saves < SAVES ->
        save();
        d_step {
            saves++;
            if
            :: saves < SAVES -> known = known | (2 << (2 * me))
            :: else
            fi
        }
    :: else -> break
    od;
end:
    skip;
    d_step {
        ended++;
        assert(ended < RANKS || killed != 0 ||
               known_by[name] == (1 << (2 * RANKS)) - 1)
    }
}

init
{
    byte i;
    atomic {
        do
        :: i < RANKS ->
            run rank(i);
            i++
        :: else -> break
        od
    }
}

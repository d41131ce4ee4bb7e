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
 * What is known is a set: bit p is what process p learned. A lock of a killed
 * process is free, as the kernel sees to it.
 */
#ifndef RANKS
#  define RANKS 3
#endif
#define FILES (RANKS + 1)

#include "base/replace.pml"

byte known_by[FILES]; /* what a file has */
bit lock;
byte kept;   /* what was kept, ever */
byte killed; /* bits of processes */
byte ended;

proctype rank(byte me)
{
    byte known, now, beside;
    now = name; /* fdl_entry_store_create() */
    d_step {
        assert(now == 0 || whole[now]);
        known = known_by[now] | (1 << me);
        now = 0
    }
#ifndef BUG_SAVES_WITHOUT_LOCK
    d_step { /* save() */
        !lock ->
        lock = 1
    }
#endif
    now = name;
    d_step {
        assert(now == 0 || whole[now]);
#ifndef BUG_KEEPS_OWN_ALONE
        known = known | known_by[now];
#endif
        now = 0
    }
    replace_begin(beside);
    d_step { known_by[beside] = known }
    if
    :: true
    :: d_step {
            killed = killed | (1 << me);
            lock = 0
        }
        goto end
    fi;
    replace_end(beside);
    d_step { kept = kept | (1 << me) }
    d_step {
        assert((known_by[name] & kept) == kept)
    }
    lock = 0;
end:
    skip;
    d_step {
        ended++;
        assert(ended < RANKS || killed != 0 ||
               known_by[name] == (1 << RANKS) - 1)
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

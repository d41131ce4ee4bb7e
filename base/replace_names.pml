/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names beside a file that is replaced: open_beside, remove_left and
 * fdl_replace_end of replace.c, step by step, in processes of which any may be
 * killed after any step. What has a lock is being written; what has none was
 * left, and goes.
 *
 *     safe   nobody's file is removed or renamed by another one while it is
 *            written; the file is always whole
 *     live   each process ends; once all have, and one more has written, there
 *            is nothing beside the file
 *
 * A file is a number, never used twice, that stands for its inode; a lock has
 * the number of its process, and ends with it. replace.pml has what is in it,
 * for the models of what is kept in one.
 */
#ifndef WRITERS
#  define WRITERS 3
#endif
#ifndef NAMES
#  define NAMES 4
#endif
#define FILES (WRITERS * NAMES + 2)

byte name; /* what the file's own name is of; 0: nothing */
byte files;
byte beside[NAMES];
byte locked[FILES];
bit whole[FILES];
byte ended;

inline let_go(f)
{
    d_step {
        if
        :: f != 0 && locked[f] == me -> locked[f] = 0
        :: else
        fi
    }
}

/* flock(), which does not wait */
inline take(f, got)
{
    d_step {
        if
        :: locked[f] == 0 ->
            locked[f] = me;
            got = 1
        :: else -> got = 0
        fi
    }
}

inline remove_left(n)
{
    f = beside[n]; /* open() */
    if
    :: f != 0 ->
        take(f, got);
        if
#ifdef BUG_THREE_REMOVES_BY_NAME_ALONE
        :: got
#else
        :: got && beside[n] == f
#endif
            -> beside[n] = 0 /* unlink(), by name */
        :: else
        fi;
        let_go(f)
    :: else
    fi;
    f = 0
}

inline may_be_killed()
{
    if
    :: true
    :: !last -> goto killed
    fi
}

proctype writer(byte me; bit last)
{
    byte n, own, f;
    bit got;
    do
    :: n < NAMES ->
        remove_left(n);
        n++
    :: else -> break
    od;
    n = 0;
next:
    if
    :: n == NAMES -> goto killed /* a name of its own, not here */
    :: else
    fi;
    d_step { /* O_EXCL */
        if
        :: beside[n] == 0 ->
            files++;
            own = files;
            beside[n] = own
        :: else -> own = 0
        fi
    }
    may_be_killed();
    if
    :: own == 0 ->
        n++;
        goto next
    :: else
    fi;
    take(own, got);
    if
#ifdef BUG_TRUSTS_ITS_LOCK
    :: got
#else
    :: got && beside[n] == own
#endif
    :: else -> /* somebody took it for one that was left */
        let_go(own);
        n++;
        goto next
    fi;
    may_be_killed();
    whole[own] = 1;
#ifdef BUG_CLOSED_BEFORE_ITS_NAME
    let_go(own);
#endif
    d_step { /* rename(), by name */
        assert(beside[n] == own);
        name = own;
        beside[n] = 0
    }
    assert(whole[name]);
    may_be_killed();
    let_go(own);
killed:
    let_go(own);
    ended++
}

init
{
    byte i;
    atomic {
        do
        :: i < WRITERS ->
            i++;
            run writer(i, 0)
        :: else -> break
        od
    }
    ended == WRITERS;
    run writer(WRITERS + 1, 1);
    ended == WRITERS + 1;
    d_step {
        assert(name != 0 && whole[name]);
        i = 0;
        do
        :: i < NAMES ->
            assert(beside[i] == 0);
            i++
        :: else -> break
        od
    }
}

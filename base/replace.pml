/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that processes replace whole, as replace.c does, for the models of
 * what is kept in one. A file is a number, never used twice, that stands for
 * its inode: who has opened it reads it to its end, whatever has its name then.
 *
 * A model defines FILES and what is in a file, sets that of `beside` after
 * replace_begin(), and may let a process end after any step: it was killed.
 * What the disk still has after a loss of power is not here (fsync).
 */
byte name;         /* of the file: 0, or what it is of */
byte files;        /* made so far */
bit whole[FILES];  /* to its end */
byte shared;       /* BUG_ONE_NAME_BESIDE: the file with that name */

/* fdl_replace_begin(), and the first part of what is written */
inline replace_begin(beside)
{
#ifdef BUG_WRITES_IN_PLACE
    d_step {
        if
        :: name == 0 ->
            files++;
            name = files
        :: else
        fi;
        beside = name;
        whole[beside] = 0
    }
#else
#ifdef BUG_ONE_NAME_BESIDE
    d_step {
        if
        :: shared == 0 ->
            files++;
            shared = files
        :: else
        fi;
        beside = shared;
        whole[beside] = 0
    }
#else
    d_step { /* O_EXCL: nobody else has it */
        files++;
        beside = files
    }
#endif
#endif
}

/* fdl_replace_end(), and the rest of what is written */
inline replace_end(beside)
{
    whole[beside] = 1;
    d_step { /* rename() */
        name = beside;
        if
        :: shared == beside -> shared = 0
        :: else
        fi;
        beside = 0
    }
}

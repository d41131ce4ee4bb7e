/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event count of event.c and its futex: waiters that each take a token,
 * notifiers that each put one down and wake one waiter or, with -DALL, all. A
 * step here is a step there: W1 to W4 and N1 to N4 of its first comment.
 *
 *     live   no waiter sleeps on while there is a token for it
 *
 * The sequence is a 32-bit number in C and none here: `current` has a bit for
 * each waiter whose key is still the sequence. That is what it is compared for,
 * and no number comes round again, as after 2^32 notifies between W2 and W4. A
 * wait that ends early for no reason is left out: it would hide what is lost.
 *
 * Not here: orders of memory, for which W1 and N2 are what they are.
 */
#ifndef WAITERS
#  define WAITERS 3
#endif
#define BIT(i) (1 << (i))

byte waiters;
byte current; /* bits of waiters whose key is the sequence */
byte asleep;  /* bits of those in FUTEX_WAIT */
byte tokens;

proctype waiter(byte me)
{
    bit got;
    do
    :: got -> break
    :: else ->
#ifdef BUG_LOOKS_FIRST
        d_step {
            if
            :: tokens > 0 ->
                tokens--;
                got = 1
            :: else
            fi
        }
#endif
        waiters++;                    /* W1 */
        current = current | BIT(me);  /* W2 */
#ifndef BUG_LOOKS_FIRST
        d_step { /* W3 */
            if
            :: tokens > 0 ->
                tokens--;
                got = 1
            :: else
            fi
        }
#endif
        if
        :: got -> waiters-- /* fdl_event_cancel() */
        :: else ->
#ifdef BUG_SLEEPS_WITHOUT_KEY
            asleep = asleep | BIT(me);
#else
            d_step { /* W4: the kernel compares and queues in one step */
                if
                :: current & BIT(me) -> asleep = asleep | BIT(me)
                :: else
                fi
            }
#endif
            !(asleep & BIT(me));
            waiters--
        fi;
        current = current & ~BIT(me)
    od
}

proctype notifier()
{
    tokens++; /* N1 */
    if
    :: waiters == 0 /* N2 */
    :: else ->
#ifndef BUG_SAME_SEQUENCE
        current = 0; /* N3 */
#endif
#ifdef ALL
        asleep = 0 /* N4 */
#else
        atomic { /* N4: whichever the kernel likes */
            if
            :: asleep & BIT(0) -> asleep = asleep & ~BIT(0)
            :: asleep & BIT(1) -> asleep = asleep & ~BIT(1)
            :: asleep & BIT(2) -> asleep = asleep & ~BIT(2)
            :: asleep == 0
            fi
        }
#endif
    fi
}

init
{
    byte i;
    atomic {
        do
        :: i < WAITERS ->
            run waiter(i);
            run notifier();
            i++
        :: else -> break
        od
    }
}

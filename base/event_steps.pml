/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event count of event.h as other models use it: prepare, wait and notify
 * are a step each. What a thread may see between the steps of which they are
 * made, event.pml goes through; here a notify is seen where it wakes, and a
 * prepare where it has its key. That leaves out wake-ups and adds none that
 * matter: who prepares while a notify is under way sees what that was called
 * for.
 *
 * `me` is the number of a thread among those that may wait for the event.
 */
typedef event {
    byte current; /* bits of those who prepared since the last notify */
    byte asleep   /* bits of those who sleep */
}

#define BIT(i) (1 << (i))

inline event_prepare(ev, me)
{
    ev.current = ev.current | BIT(me)
}

inline event_cancel(ev, me)
{
    ev.current = ev.current & ~BIT(me)
}

inline event_wait(ev, me)
{
    d_step {
        if
        :: ev.current & BIT(me) ->
            ev.asleep = ev.asleep | BIT(me);
            ev.current = ev.current & ~BIT(me)
        :: else
        fi
    }
    !(ev.asleep & BIT(me))
}

/* Wakes whichever of the sleepers the kernel likes. */
inline event_notify_one(ev)
{
    atomic {
        ev.current = 0;
        if
        :: ev.asleep & 1 -> ev.asleep = ev.asleep & ~1
        :: ev.asleep & 2 -> ev.asleep = ev.asleep & ~2
        :: ev.asleep == 0
        fi
    }
}

inline event_notify_all(ev)
{
    d_step {
        ev.current = 0;
        ev.asleep = 0
    }
}

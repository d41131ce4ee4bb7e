/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that stands still while anybody works. Real threads, whose sleeps
 * (nap.h) and timed waits (fdl_event_wait, by --wrap) end by this clock; it
 * goes on, to the next of these ends, once the kernel says that every thread of
 * the process is asleep. So nothing takes time but what sleeps on demand, and
 * what a test finds does not depend on how many cores there are, how fast they
 * are, and who else uses them.
 */
#ifndef FDL_TESTS_STILL_CLOCK_H
#define FDL_TESTS_STILL_CLOCK_H

/* For the library and nap.h; before and after there are threads. */
void still_clock_begin(void);
void still_clock_end(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A write beyond RLIMIT_FSIZE, and one to a pipe that nobody reads, raise
 * signals that end a program which has not said otherwise. Between the two
 * calls such a write on this thread is an ordinary error: EFBIG, EPIPE.
 */
#ifndef FDL_BASE_SHIELD_H
#define FDL_BASE_SHIELD_H

#include <signal.h>

struct fdl_shield {
    sigset_t before, pending; /* already, from elsewhere */
};

/* Both leave errno as it is. */
void fdl_shield_raise(struct fdl_shield *s);
void fdl_shield_lower(const struct fdl_shield *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's phases: marks of its thread, on the clock of its user time.
 * The public functions of phases are in phases.c; see also notable.h.
 */
#ifndef FDL_LOADER_PHASES_H
#define FDL_LOADER_PHASES_H

#include <feedline/feedline.h>

/* The calling thread is the consumer: it is in next(). */
void fdl_phases_claim(feedline_loader *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tournament as a picture, and as a page around it. Both are one file that
 * asks nothing of anybody: no script, no font, no address. Light or dark as the
 * reader has it.
 */
#ifndef SIM_PAGE_H
#define SIM_PAGE_H

#include "bench/sim/tournament.h"

#include <stdio.h>

/* false: it could not be written. */
bool page_html(const struct tournament *t, FILE *f);
bool page_svg(const struct tournament *t, FILE *f);

#endif

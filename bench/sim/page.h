/* SPDX-License-Identifier: Apache-2.0 */
/* A tournament as a page: tables, and what the page's script draws from. */
#ifndef SIM_PAGE_H
#define SIM_PAGE_H

#include "bench/sim/tournament.h"

#include <stdio.h>

/* false: it could not be written. */
bool page_html(const struct tournament *t, FILE *f);

#endif

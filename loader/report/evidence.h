/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader knows of itself and of the machine, gathered for the verdict.
 * Any thread.
 */
#ifndef FDL_LOADER_EVIDENCE_H
#define FDL_LOADER_EVIDENCE_H

#include "profiler/verdict/verdict.h"

#include <feedline/feedline.h>

#include <stdbool.h>

void fdl_evidence_gather(feedline_loader *l, struct fdl_evidence *out);

/* Whether the verdicts say the same as the tuner, which is limited by `limit`;
 * see fdl_advice_agrees. */
bool fdl_evidence_agrees(const feedline_loader *l, const char *limit);

#endif

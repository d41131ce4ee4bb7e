/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader knows of itself and of the machine, gathered for the verdict.
 * Any thread.
 */
#ifndef FDL_LOADER_EVIDENCE_H
#define FDL_LOADER_EVIDENCE_H

#include "loader/report/sources.h"
#include "profiler/verdict/verdict.h"

#include <stdbool.h>

void fdl_evidence_gather(const struct fdl_sources *from,
                         struct fdl_evidence *out);

/* Whether the verdicts say the same as the tuner, which is limited by `limit`;
 * see fdl_advice_agrees. */
bool fdl_evidence_agrees(const struct fdl_sources *from, const char *limit);

#endif

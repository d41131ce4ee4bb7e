/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The combined advice of all verdicts, for everything else that advises:
 * headroom, the tuner's explanation, the live view. They must not promise what
 * the verdicts rule out, nor blame another cause.
 */
#ifndef FDL_PROFILER_ADVICE_H
#define FDL_PROFILER_ADVICE_H

#include "profiler/verdict/verdict.h"

struct fdl_advice {
    struct fdl_moves moves; /* of all verdicts; no two contradict */
    double workers_to;      /* the number of workers advised; 0: none */
    const char *code;       /* of the first verdict */
    const char *part;       /* of the stall that leads; "": the consumer is fed,
                               or no part of the loader is the cause */
};

/* The n verdicts of one judgement, as fdl_verdict_judge gave them. */
void fdl_advice_of(const struct fdl_verdict *all, uint32_t n,
                   struct fdl_advice *out);

/* Whether the tuner's limit ("cores" "bound" "lock" "memory" "storage"
 * "transfer") agrees with the verdicts. If not, the tuner's explanation omits
 * it. */
bool fdl_advice_agrees(const struct fdl_advice *a, const char *limit);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicted gains if one thing were better: pure functions of evidence. Upper
 * bounds, since the second-largest cause may then be the first. With T = the
 * time of the relevant clock (wall; with a device its span), S the stall in it,
 * and the parts of S by cause as in verdict.h:
 *
 *   fed          T / (T - S) - 1           an infinitely fast loader
 *   two_workers  T / max(T - prep, T n / (n + k)) - 1
 *                                          n workers work T; n + k do the same
 *                                          in T n / (n + k), and no more than
 *                                          the waits for prep can be saved. k
 *                                          is 2, or fewer if fewer would help:
 *                                          0 if no core is free, if more were
 *                                          tried in vain, or if verdicts ask
 *                                          for fewer
 *   storage      T / (T - fetch / 2) - 1   each read takes half as long
 *   transfer     T / (T - transfer / 2) - 1
 *   packing      T / max(T - prep, T (1 - h)) - 1
 *                                          h: Huffman codes' share of the
 *                                          workers' time, which packed images
 *                                          have no need of
 *   chains       T / max(T - prep, T (1 - 0.4 a)) - 1
 *                                          a: h where codes are followed one
 *                                          chain at a time, as they are until
 *                                          the index knows the files: three
 *                                          chains side by side take 0.6 of that
 *                                          (docs/profiling.md)
 *   device       T / max(T - prep, T (1 - d)) - 1
 *                                          d: the share of what a device would
 *                                          do, all that makes pixels of JPEGs;
 *                                          less 10 us for each sample, to write
 *                                          its job (docs/device_decoding.md)
 *
 * Gains are capped at 99 (a hundred times as fast); a ledger that contains
 * nothing but waits would have no bound.
 */
#ifndef FDL_PROFILER_HEADROOM_H
#define FDL_PROFILER_HEADROOM_H

#include "profiler/verdict/verdict.h"

struct fdl_headroom {
    double batches_per_second;
    double fed, two_workers, storage, transfer; /* fractions, >= 0 */
    double packing;
    double prep, fetch, moving; /* waited for that, of the same time */
    double huffman;             /* of the workers' */
    double chains, device;      /* gains */
    double alone, on_device;    /* a and d, of the workers' */
    double host_rate; /* samples per second of the workers without d; 0: not
                         known */
};

void fdl_headroom_judge(const struct fdl_evidence *e, struct fdl_headroom *out);

#endif

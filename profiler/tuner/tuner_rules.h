/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the tuner, by name. A program that is built with
 * FDL_TUNER_ABLATE can switch them off one by one, to see what each is worth
 * (bench/sim/ablation.md); in the library RULE is true and costs nothing.
 */
#ifndef FDL_PROFILER_TUNER_RULES_H
#define FDL_PROFILER_TUNER_RULES_H

#include <stdbool.h>

#define FDL_TUNER_RULES(X)                                                     \
  X(SHORT_ERA)                                                                 \
  X(AGAIN)                                                                     \
  X(WARM_EARLY)                                                                \
  X(JUMP_AT_ONCE)                                                              \
  X(SOON)                                                                      \
  X(GUARD)                                                                     \
  X(SUDDEN)                                                                    \
  X(AWAY)                                                                      \
  X(USELESS)                                                                   \
  X(SHIFT_WORK)                                                                \
  X(SHIFT_RATE)                                                                \
  X(SHIFT_QUEUED)                                                              \
  X(SHIFT_OTHERS)                                                              \
  X(FRESH)                                                                     \
  X(SUSPICIOUS)                                                                \
  X(FEW_BLOCKS)                                                                \
  X(ACCEPT_FED)                                                                \
  X(ACCEPT_GAIN)                                                               \
  X(STAYS_FED)                                                                 \
  X(DOWN_DOUBT)                                                                \
  X(QUEUES_FULL)                                                               \
  X(OTHERS)                                                                    \
  X(LOCK_ROOM)                                                                 \
  X(SHARE)                                                                     \
  X(DEPTH_READS)                                                               \
  X(DEPTH_READ_TAIL)                                                           \
  X(DEPTH_STORAGE)                                                             \
  X(READS_CEILING)                                                             \
  X(MARGIN)                                                                    \
  X(SATURATION)                                                                \
  X(JUMP)                                                                      \
  X(ROOM)                                                                      \
  X(PACE)                                                                      \
  X(FIT_PARTS)                                                                 \
  X(PAUSED)                                                                    \
  X(BACKOFF)                                                                   \
  X(JITTER)                                                                    \
  X(VARIANCE)                                                                  \
  X(TAIL)                                                                      \
  X(BRIDGE)                                                                    \
  X(READS_MEMORY)                                                              \
  X(DIVIDE)                                                                    \
  X(EXPLORE)                                                                   \
  X(NOT_CROWDED)                                                               \
  X(READS_RUN_OUT)                                                             \
  X(WAITS_STILL)                                                               \
  X(READS_FIRST)                                                               \
  X(PLAN_DOWN)                                                                 \
  X(GIVE_UP)                                                                   \
  X(QUEUE_HOME)                                                                \
  X(CLEAR)                                                                     \
  X(LEARN_READS)                                                               \
  X(FLAT)                                                                      \
  X(READ_BLOCKS)                                                               \
  X(VERIFY)                                                                    \
  X(COVARIANCE)                                                                \
  X(IN_USE)                                                                    \
  X(BEYOND)                                                                    \
  X(AGED)                                                                      \
  X(READS_DEEP)                                                                \
  X(ALL_KNOWN)                                                                 \
  X(FED_PACE)                                                                  \
  X(ANCHOR)                                                                    \
  X(FEWER_READS)                                                               \
  X(LOSES)                                                                     \
  X(DIVIDE_BLOCKS)                                                             \
  X(CREDIT)                                                                    \
  X(NOT_FULL)                                                                  \
  X(NOISE_0)                                                                   \
  X(NOISE_1)                                                                   \
  X(NOISE_2)

enum fdl_tuner_rule {
#define X(name) FDL_RULE_##name,
    FDL_TUNER_RULES(X)
#undef X
        FDL_RULES
};

#ifdef FDL_TUNER_ABLATE
/* false: it is off. */
bool fdl_tuner_rule(unsigned r);
#  define RULE(name) fdl_tuner_rule(FDL_RULE_##name)
#else
#  define RULE(name)        true
#  define fdl_tuner_rule(r) true
#endif

#endif

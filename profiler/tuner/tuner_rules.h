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
  X(STOCK_PASSES)                                                              \
  X(WARM_EARLY)                                                                \
  X(KNOWN_ARM)                                                                 \
  X(JUMP_AT_ONCE)                                                              \
  X(READS_SOON)                                                                \
  X(HURRY)                                                                     \
  X(ABANDONED)                                                                 \
  X(GUARD)                                                                     \
  X(GUARD_STARVES)                                                             \
  X(GUARD_BACKOFF)                                                             \
  X(GUARD_BLOCKS)                                                              \
  X(SUDDEN)                                                                    \
  X(SUSPICIOUS)                                                                \
  X(REPLAN_BACK)                                                               \
  X(AWAY)                                                                      \
  X(GUARD_ROOM)                                                                \
  X(USELESS)                                                                   \
  X(SHIFT_G)                                                                   \
  X(SHIFT_WORK)                                                                \
  X(SHIFT_RATE)                                                                \
  X(SHIFT_QUEUED)                                                              \
  X(SHIFT_OTHERS)                                                              \
  X(FEW_BLOCKS)                                                                \
  X(ACCEPT_FED)                                                                \
  X(ACCEPT_GAIN)                                                               \
  X(DOWN_DOUBT)                                                                \
  X(FED_DOUBT)                                                                 \
  X(CONTESTED)                                                                 \
  X(QUEUES_FULL)                                                               \
  X(OTHERS)                                                                    \
  X(LOCK_ROOM)                                                                 \
  X(SHARE)                                                                     \
  X(DEPTH_READS)                                                               \
  X(DEPTH_READ_TAIL)                                                           \
  X(DEPTH_STORAGE)                                                             \
  X(READS_JUMP)                                                                \
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
  X(CALM)                                                                      \
  X(ALONG_DEPTH)                                                               \
  X(ALONG_READS)                                                               \
  X(ROBS)                                                                      \
  X(VARIANCE)                                                                  \
  X(TAIL)                                                                      \
  X(BRIDGE)                                                                    \
  X(READS_MEMORY)                                                              \
  X(DIVIDE)                                                                    \
  X(EXPLORE)                                                                   \
  X(FLAT_STEP)                                                                 \
  X(FINER)                                                                     \
  X(READS_RUN_OUT)                                                             \
  X(WAITS_STILL)                                                               \
  X(TURN)                                                                      \
  X(READS_FIRST)                                                               \
  X(PLAN_DOWN)                                                                 \
  X(READS_AGAIN)                                                               \
  X(HALF_WAY)                                                                  \
  X(GIVE_UP)                                                                   \
  X(QUEUE_HOME)                                                                \
  X(KEEP_BACKOFF)                                                              \
  X(CEILING_LESS)                                                              \
  X(STARVES_UP)                                                                \
  X(CLEAR)                                                                     \
  X(LEARN_READS)                                                               \
  X(FLAT)                                                                      \
  X(STARVES_DOWN)                                                              \
  X(KEEP_DEPTH)                                                                \
  X(HOPELESS)                                                                  \
  X(AT_ONCE_WORSE)                                                             \
  X(AT_ONCE_EQUAL)                                                             \
  X(READ_BLOCKS)                                                               \
  X(DOWN_LONGER)                                                               \
  X(ARM_BATCHES)                                                               \
  X(VERIFY)                                                                    \
  X(COVARIANCE)                                                                \
  X(FED_SPREAD)                                                                \
  X(STOCK_RATE)                                                                \
  X(SPLIT_0)                                                                   \
  X(SPLIT_1)                                                                   \
  X(SPLIT_2)                                                                   \
  X(SPLIT_3)                                                                   \
  X(SPLIT_4)                                                                   \
  X(SPLIT_5)                                                                   \
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the tuner, by name and meaning. A program that is built with
 * FDL_TUNER_ABLATE can switch them off one by one, to see what each is worth
 * (bench/sim/ablation.md); in the library RULE is true and costs nothing.
 *
 * A new rule comes with several seeds that need it, in the simulator and in the
 * second model: single runs move by up to 9 % by chance.
 */
#ifndef FDL_PROFILER_TUNER_RULES_H
#define FDL_PROFILER_TUNER_RULES_H

#include <stdbool.h>

#define FDL_TUNER_RULES(X)                                                     \
  X(WARM_EARLY, "no warm-up where the consumer waits anyway")                  \
  X(JUMP_AT_ONCE, "one block is enough for a plan of 1.3 times the workers")   \
  X(SOON, "a large stall: three blocks and 2 s are enough, or 1 s for bytes")  \
  X(GUARD, "back to an earlier setting that did better")                       \
  X(SUDDEN, "fed and suddenly starving: two blocks are a change")              \
  X(AWAY, "frozen while the consumer is away")                                 \
  X(USELESS, "what failed under these conditions is not tried again")          \
  X(SHIFT_WORK, "a change of conditions: the work of a batch")                 \
  X(SHIFT_RATE, "a change of conditions: the rate")                            \
  X(SHIFT_QUEUED, "a change of conditions: time queued for cores")             \
  X(SHIFT_OTHERS, "a change of conditions: cores that others use")             \
  X(FRESH, "arms of more than 32 windows ago move no worker")                  \
  X(SUSPICIOUS, "one odd window is not mixed in, and nothing is tried on it")  \
  X(FEW_BLOCKS, "a reference of few blocks has the error of the trial's")      \
  X(ACCEPT_FED, "kept: the consumer waited and does not any more")             \
  X(ACCEPT_GAIN, "kept: faster, and the wait is a fifth shorter")              \
  X(STAYS_FED, "a consumer that was fed gets no setting with which it waits")  \
  X(QUEUES_FULL, "workers that queue for cores: there are none left")          \
  X(OTHERS, "cores that others use are left to them")                          \
  X(LOCK_ROOM, "no more workers than keep a shared lock busy")                 \
  X(SHARE, "beside other loaders: no more workers than the share")             \
  X(DEPTH_READS, "depth for the batches that reads need")                      \
  X(DEPTH_READ_TAIL, "depth covers the slowest reads")                         \
  X(DEPTH_STORAGE, "no more depth than slow storage can fill")                 \
  X(READS_CEILING, "the plan asks for no reads that failed")                   \
  X(MARGIN, "3 % and 0.4 workers more than the mean needs")                    \
  X(SATURATION, "no more workers than fill the cores")                         \
  X(JUMP, "workers grow at most eight times")                                  \
  X(ROOM, "no more workers than there is room for")                            \
  X(PACE, "a full memory is divided for one pace")                             \
  X(FIT_PARTS, "cuts leave two batches and a quarter of the reads")            \
  X(PAUSED, "pauses of the consumer are left out")                             \
  X(BACKOFF, "failures double the time to the next trial")                     \
  X(JITTER, "the back-off varies by a quarter")                                \
  X(VARIANCE, "depth while workers have time to spare")                        \
  X(TAIL, "depth covers the slowest samples")                                  \
  X(BRIDGE, "depth covers bursts of waits")                                    \
  X(READS_MEMORY, "a full memory: more reads, as the plan divides it")         \
  X(DIVIDE, "a full memory is divided by trials")                              \
  X(EXPLORE, "steps up and down where the model has no word")                  \
  X(NOT_CROWDED, "no fewer workers are tried while others hold the cores")     \
  X(WAITS_STILL, "depth grows only for stalls that are still there")           \
  X(READS_FIRST, "more reads before depth")                                    \
  X(PLAN_DOWN, "down to the plan while it waits")                              \
  X(GIVE_UP, "beside other loaders: down to the share by rule")                \
  X(QUEUE_HOME, "down to the workers that keep a lock busy, by rule")          \
  X(CLEAR, "nothing is learned from errors above 10 %")                        \
  X(LEARN_READS, "more reads that failed: storage is the limit")               \
  X(FLAT, "more workers that brought nothing: the work does not scale")        \
  X(READ_BLOCKS, "trials of reads end after 16 blocks")                        \
  X(VERIFY, "trials are judged at all")                                        \
  X(COVARIANCE, "errors are corrected by the covariance of blocks")            \
  X(IN_USE, "a full memory gives up only reads that are not in use")           \
  X(BEYOND, "a step of a quarter beyond the cores, kept if proven")            \
  X(AGED, "what failed is remembered for 128 windows")                         \
  X(READS_DEEP, "more reads are tried with twice the batches")                 \
  X(ALL_KNOWN, "what failed while fed is judged by the mean of its trials")    \
  X(FED_PACE, "the pace of a fed consumer is a mean of 25 windows, not of 3")  \
  X(ANCHOR, "all steps down while fed count together, from its first pace")    \
  X(FEWER_READS, "fewer reads that did better say that more are no help")      \
  X(LOSES, "no fewer workers where the plan itself predicts a loss")           \
  X(DIVIDE_BLOCKS, "a division that cannot tell goes on to 64 blocks, not 16") \
  X(CREDIT, "a trial that can wait needs credit for 50 steps")                 \
  X(NOT_FULL, "no plan for fewer workers in a full memory: trials divide it")  \
  X(JOB, "ranks of a job plan for its pace and take over settings")            \
  X(NOISE_0, "not a rule: off, the tuner draws another jitter, to see chance") \
  X(NOISE_1, "and another")                                                    \
  X(NOISE_2, "and another")

enum fdl_tuner_rule {
#define X(name, meaning) FDL_RULE_##name,
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

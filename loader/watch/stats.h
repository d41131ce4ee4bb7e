/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements, summed over threads. Any thread may ask. A reset stores the
 * sums of that moment as the new zero; no counter is written.
 */
#ifndef FDL_LOADER_STATS_H
#define FDL_LOADER_STATS_H

#include "loader/watch/zero.h"
#include "profiler/measure/total.h"
#include "profiler/verdict/verdict.h"

#include <feedline/feedline.h>

struct fdl_watch;

const char *fdl_stage_name(uint32_t stage);

/* Custom operations are stages too, after the fixed ones, and behind them
 * mixing, if the pipeline mixes. */
uint32_t fdl_stats_custom_count(const struct fdl_watch *watch);
bool fdl_stats_is_custom(const struct fdl_watch *watch, uint32_t stage);
uint32_t fdl_stats_stage_count(const struct fdl_watch *watch);
const char *fdl_stats_stage_name(const struct fdl_watch *watch, uint32_t stage);

/* For people: a custom operation's label. */
const char *fdl_stats_stage_label(const struct fdl_watch *watch,
                                  uint32_t stage);
void fdl_stats_get(struct fdl_watch *watch, struct feedline_stats *out);
void fdl_stats_waits(struct fdl_watch *watch, struct feedline_wait_stats *out);
void fdl_stats_stage(struct fdl_watch *watch, uint32_t stage,
                     struct feedline_stage_stats *out);

void fdl_stats_pixels(struct fdl_watch *watch, struct fdl_pixel_sums *out);

/* Of the program's own reader; its name, or NULL: there is none. */
const char *fdl_stats_user_reads(struct fdl_watch *watch,
                                 struct fdl_user_sums *out);

/* Of stores. */
void fdl_stats_remote_reads(struct fdl_watch *watch,
                            struct fdl_remote_sums *out);

/* stats_workers.c */
void fdl_stats_workers(struct fdl_watch *watch,
                       struct feedline_worker_stats *out);

/* ESTATE for a loader whose batches stay on the host. */
int32_t fdl_stats_device(struct fdl_watch *watch,
                         struct feedline_device_stats *out);

/* For the evidence. Each takes the consumer's lock for the length of a copy,
 * and adds up without it. */
void fdl_stats_since_reset(struct fdl_watch *watch, uint32_t stage,
                           struct fdl_total *t);
uint64_t fdl_stats_customs_busy_ns(struct fdl_watch *watch);
void fdl_stats_shared_lock(struct fdl_watch *watch,
                           struct fdl_shared_lock *out);

void fdl_stats_reset(struct fdl_watch *watch);

#endif

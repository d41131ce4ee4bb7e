/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner's result, in a file, for the next time: JSON with a version, the
 * settings, and a fingerprint of what they were found on. A profile is only a
 * starting point: the tuner checks it by measuring from the first batch on. So
 * an invalid one never stops a training; the log and feedline_tuner_info say
 * so, and the tuner starts from scratch.
 *
 *     {"feedline_profile": 1,
 *      "host":     {"cpu_model", "cores", "cpu_quota", "memory_limit_bytes",
 *                   "gpu", "reader"},
 *      "data_set": {"kind", "samples", "bytes", "hash"},
 *      "pipeline": {"operations", "output"},
 *      "found":    {"workers", "depth", "io_depth", "finish", "stall",
 *                   "step_seconds", "sample_seconds", "batches", "converged"}}
 */
#ifndef FDL_LOADER_PROFILE_H
#define FDL_LOADER_PROFILE_H

#include "profiler/tuner/tuner.h"

#include <feedline/feedline.h>

#include <stdbool.h>

struct fdl_control;

/* true: *start is from option tuner_profile, within the bounds. Records what
 * became of it in c->profile_note. While c is created. */
bool fdl_profile_start(struct fdl_control *c, struct fdl_knobs *start);

/* ESTATE: no result yet. EIO, ENOMEM. */
int32_t fdl_profile_save(struct fdl_control *c, const char *path);

#endif

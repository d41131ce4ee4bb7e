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

/* true: *start is from option tuner_profile, within the bounds. Records what
 * became of it. While l is created. */
bool fdl_profile_start(feedline_loader *l, struct fdl_knobs *start);

/* In words; "" without the option. */
const char *fdl_profile_note(const feedline_loader *l);

/* ESTATE: no result yet. EIO, ENOMEM. */
int32_t fdl_profile_save(const feedline_loader *l, const char *path);

#endif

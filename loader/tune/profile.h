/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tuner found, in a file, for the next time: JSON with a version, the
 * settings, and a fingerprint of what they were found on. A profile is only a
 * place to begin: the tuner measures from the first batch on whether it is
 * right. So nothing that is wrong with one stops a training; it is said, in the
 * log and in feedline_tuner_info, and the tuner begins anew.
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

/* true: *start is from option tuner_profile, within the bounds. What became of
 * it is noted. While l is created. */
bool fdl_profile_start(feedline_loader *l, struct fdl_knobs *start);

/* In words; "" without the option. */
const char *fdl_profile_note(const feedline_loader *l);

/* ESTATE: nothing was found yet. EIO, ENOMEM. */
int32_t fdl_profile_save(const feedline_loader *l, const char *path);

#endif

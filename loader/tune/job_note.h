/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks of a job tell each other, as lines:
 *
 *   feedline_job=1 ranks=64 stall_ppm=31250 step_ns=71700000 depth=22 reads=72
 *
 * Words that a later version adds are passed over. Lines come from elsewhere:
 * what they say is held to what can be.
 */
#ifndef FDL_LOADER_JOB_NOTE_H
#define FDL_LOADER_JOB_NOTE_H

#include "profiler/tuner/tuner.h"

#include <stdint.h>

int32_t fdl_job_note_write(const struct fdl_tuner_job *job, char *buf,
                           uint64_t capacity, uint64_t *needed);

/* All lines, added up. EINVAL, EABI: *out is as it was. */
int32_t fdl_job_notes_read(const char *text, struct fdl_tuner_job *out);

#endif

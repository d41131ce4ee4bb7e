/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the environment for the doctor; profiler/doctor/doctor.h judges
 * it. */
#ifndef FDL_LOADER_DOCTOR_GATHER_H
#define FDL_LOADER_DOCTOR_GATHER_H

#include "profiler/doctor/doctor_facts.h"

/* device: "host" or "cuda:N"; EINVAL for another. That a GPU cannot be used is
 * a fact, not a failure. Takes a third of a second, and longer where drivers
 * have to wake up. */
int32_t fdl_doctor_gather(const char *device, struct fdl_doctor_facts *out);

#endif

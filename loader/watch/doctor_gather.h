/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the facts for the doctor; profiler/doctor/doctor.h judges them. */
#ifndef FDL_LOADER_DOCTOR_GATHER_H
#define FDL_LOADER_DOCTOR_GATHER_H

#include "profiler/doctor/doctor_facts.h"

/* device: "host" or "cuda:N"; EINVAL for others. An unusable GPU is a fact, not
 * a failure. Takes a third of a second, longer if drivers have to wake up. */
int32_t fdl_doctor_gather(const char *device, struct fdl_doctor_facts *out);

#endif

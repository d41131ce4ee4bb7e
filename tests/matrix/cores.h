/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may have which core: of this process, which is given up after its scene.
 * Nothing is put back.
 */
#ifndef FDL_TESTS_CORES_H
#define FDL_TESTS_CORES_H

#include <stdint.h>

/* All threads of the process share one core, mostly not that of the process
 * before. Before any thread but the caller's is there. */
void cores_confine(void);

/* Precedence over other processes, where that is permitted; of the caller and
 * the threads that it starts. */
void cores_precede(void);

/* Precedence by the real-time scheduler, for processes that nearly always
 * sleep: what a timer wakes runs at once. Where that is not permitted,
 * cores_precede. */
void cores_prevail(void);

/* n threads of that name that compute until the process ends. */
void cores_burn(const char *name, uint32_t n);

/* A control group of its own with a quota of that part of a core: in v1 or v2,
 * what there is and may be written. NULL, or why not. */
const char *cores_quota(double part);

/* By the parent, once the process is gone. */
void cores_forget(int32_t pid);

/* n processes that compute, with the precedence of this one, until it ends. */
void cores_neighbours(uint32_t n);

#endif

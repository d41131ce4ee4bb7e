/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver's calls, made to fail by its double
 * (tests/transfer/cuda_double.h): those of one function after those of another,
 * as many of each as a life makes; or calls by chance. Where the library has no
 * CUDA nothing is ever called.
 */
#ifndef FDL_TESTS_FAULT_INJECT_DEVICE_H
#define FDL_TESTS_FAULT_INJECT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

void inject_device_arm(uint32_t n, bool lasting);
void inject_device_disarm(void);

/* One call in so many, as the seed says. */
void inject_device_arm_random(uint64_t seed, uint32_t one_in);

/* Calls that failed since arm. */
uint32_t inject_device_failed(void);

/* After a life: faults and leaks that the double has seen (as words, NULL:
 * none); then it begins anew. learns: lives make as many calls as this one. */
const char *inject_device_settle(bool learns);

/* All of them. */
uint32_t inject_device_calls(void);

#endif

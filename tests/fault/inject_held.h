/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code under test has taken and not given back. Not the sanitizer's
 * leak check: this one sees each life by itself, in any build, and also what a
 * global still points to. Blocks that the C library made and our code frees are
 * not in it.
 */
#ifndef FDL_TESTS_FAULT_INJECT_HELD_H
#define FDL_TESTS_FAULT_INJECT_HELD_H

#include <stdbool.h>
#include <stdint.h>

/* p (NULL: nothing), which was taken at `place`; returns p. */
void *inject_hold(void *p, const void *place);

/* Before it is given back. false: it is not known. */
bool inject_drop(void *p);

void inject_map(int64_t bytes);

#endif

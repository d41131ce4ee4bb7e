/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the whole process that fail by chance, of every kind that
 * tests/fault knows: which ones is a function of a seed and of how many calls
 * came before, so no two faults of a run are the same.
 */
#ifndef SOAK_FAULTS_H
#define SOAK_FAULTS_H

#include "tests/fault/inject.h"

#include <stdio.h>

struct faults {
    uint64_t n[INJECT_KINDS];
};

/* one_in: calls on files. The other kinds are rarer or more frequent, as a
 * sample makes more or fewer of such calls: see faults.c. */
void faults_begin(uint64_t seed, uint32_t one_in);

/* Nothing fails any more; what did is added. */
void faults_end(struct faults *sum);

/* {"memory": 12, ...} */
void faults_print(FILE *out, const struct faults *f);

/* Whether the function of the program's that this is called in has to fail. */
bool faults_callback(void);

/* What the double of the CUDA driver has seen that is wrong, NULL: nothing. */
const char *faults_of_device(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails the n-th call of one kind. The test binary is linked with --wrap for
 * each function below, so the code under test is the one that ships.
 */
#ifndef FDL_TESTS_FAULT_INJECT_H
#define FDL_TESTS_FAULT_INJECT_H

#include <stdbool.h>
#include <stdint.h>

enum inject_kind {
    INJECT_NONE = 0,
    INJECT_MEMORY, /* malloc calloc realloc aligned_alloc mmap */
    INJECT_THREAD, /* pthread_create */
    INJECT_OPEN,   /* open: EACCES */
    INJECT_STAT,   /* fstat: EIO */
    INJECT_READ,   /* pread: EIO */
    INJECT_SHORT,  /* pread: half of what was asked */
    INJECT_KINDS
};

/* The n-th call from now on, from 1, fails; `lasting`: all after it too. */
void inject_arm(enum inject_kind kind, uint32_t n, bool lasting);

/* Calls of the kind since arm; nothing fails any more. */
uint32_t inject_disarm(void);

#endif

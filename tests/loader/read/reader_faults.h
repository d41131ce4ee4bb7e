/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls and allocations of the readers, made to fail on demand. For
 * binaries linked with --wrap for each WRAP of reader_faults.c.
 */
#ifndef FDL_TESTS_READER_FAULTS_H
#define FDL_TESTS_READER_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts of calls that fail before one works; INT32_MAX: for ever. */
struct faults {
    _Atomic int32_t open_errno, open_count;
    _Atomic int32_t opens, advised; /* calls of open and posix_fadvise */
    _Atomic int32_t advise_errno;   /* of posix_fadvise; 0: none */
    _Atomic int32_t fstat_errno, fstat_count;
    _Atomic int64_t fstat_resize; /* after fstat, to this size; -1: no */
    _Atomic int32_t pread_errno, pread_count;
    _Atomic int64_t pread_error_at; /* only from this offset on */
    _Atomic int64_t pread_bad;      /* reads of this byte: EIO; -1: none */
    _Atomic bool warm;              /* the page cache has what is read */
    _Atomic int32_t pread_every;    /* fails each n-th time; 0: no */
    _Atomic int64_t pread_bytes;    /* at most this much at once; 0: all */
    _Atomic int32_t direct_errno;   /* of direct reads; 0: they work */
    _Atomic uint32_t pread_crowd;   /* pread waits for this many callers */
    _Atomic int32_t memory_count;   /* aligned_alloc, calloc, malloc, mmap */
    _Atomic int32_t thread_count;
    _Atomic int32_t nth; /* the n-th allocation, thread or eventfd; 0: none */
};

extern struct faults faults;

/* No faults. */
void faults_clear(void);

/* Whether the nth one was reached; ends it. */
int faults_reached(void);

#endif

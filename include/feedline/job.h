/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job: whether they load the same, and what their tuners know. The
 * library opens no connections: it gives the program lines of text, which the
 * program sends to all ranks by what it has (MPI_Allgather, a store, files),
 * and takes what came. The Python package does that by itself
 * (docs/frameworks.md); examples/mpi.c does it with MPI.
 *
 * Statuses and strings as in feedline.h; any thread.
 */
#ifndef FEEDLINE_JOB_H
#define FEEDLINE_JOB_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every line below is shorter, with its NUL. */
#define FEEDLINE_JOB_BYTES 768u

/* Which rank this is, and what has to be equal on all ranks: the data set
 * (number, and a hash of names, labels and sizes), world, options that decide
 * the order and the length of an epoch, and the position. With order=given the
 * program knows the order, and its options are not in it. Buffers as in
 * feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_fingerprint(const feedline_loader *l,
                                                 char *buf, uint64_t capacity,
                                                 uint64_t *needed);

/* Whether fingerprints agree: n of them, of all ranks, in any order; one begins
 * every `stride` bytes. EINVAL: a rank differs in something, is there twice, or
 * is missing; the error names two ranks, their values, processes and hosts, and
 * is the same on all ranks that compare the same. */
FEEDLINE_API int32_t feedline_job_compare(const char *fingerprints,
                                          uint64_t stride, uint32_t n);

/* What this rank's tuner knows, as a line of text: how long it waits for data,
 * what a step takes without waits, how deep it reads ahead. With hear, tuners
 * see what the job lacks where each rank waits too little to do anything
 * (docs/tuner.md). Ranks of one machine do without: they find each other by
 * their live pages. Buffers as in feedline_config_json. */
FEEDLINE_API int32_t feedline_loader_tell(const feedline_loader *l, char *buf,
                                          uint64_t capacity, uint64_t *needed);

/* told: the lines of all ranks, this one too, or a line of feedline_job_merge.
 * It counts for a minute; once in some seconds is enough. Never changes what is
 * delivered. EINVAL: a line that is none; EABI: of a newer version. */
FEEDLINE_API int32_t feedline_loader_hear(feedline_loader *l, const char *told);

/* Lines as one, for jobs of very many ranks. EINVAL, EABI as above. */
FEEDLINE_API int32_t feedline_job_merge(const char *told, char *buf,
                                        uint64_t capacity, uint64_t *needed);

#ifdef __cplusplus
}
#endif

#endif

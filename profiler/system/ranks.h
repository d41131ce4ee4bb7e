/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of a job this is, as whoever started it says in the
 * environment. One table has the launchers and their variables (ranks.c).
 *
 * Launchers are nested: mpirun under Slurm sees Slurm's variables of its own
 * daemons (rank 1 of 2, where the program is rank 3 of 4), and torchrun those
 * of whoever started it, once on each machine. So the innermost one counts, and
 * what lies around it is not compared, with two exceptions: variables that
 * anybody may have set by hand (RANK, JAX_PROCESS_ID) have to agree with a
 * launcher's, and MPI's with each other.
 */
#ifndef FDL_PROFILER_RANKS_H
#define FDL_PROFILER_RANKS_H

#include <stddef.h>
#include <stdint.h>

struct fdl_ranks {
    const char *launcher; /* NULL: none is known */
    const char *variable; /* that had the rank */
    uint32_t rank, world; /* 0 of 1 without a launcher */
    uint32_t local_world; /* processes on this machine; 0: it does not say */
};

/* getenv, or a test's. */
typedef const char *fdl_ranks_variable(const char *name);

/* EINVAL: variables that are half there, no numbers, or that contradict each
 * other; both values are named. */
int32_t fdl_ranks_find(fdl_ranks_variable *get, struct fdl_ranks *out);

/* Processes on this machine; 0: nobody says. LOCAL_WORLD_SIZE alone will do. */
uint32_t fdl_ranks_local_world(fdl_ranks_variable *get);

/* What the launcher calls this start of this job, cut; "": it has no name. */
void fdl_ranks_job(fdl_ranks_variable *get, char *out, size_t capacity);

const char *fdl_ranks_getenv(const char *name);

#endif

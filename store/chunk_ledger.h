/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a chunk cache's budget is used, in a file that its processes
 * share. Each takes room in lots and so asks seldom; what a process that died
 * had taken and not used is found when the folder is next opened by one alone,
 * which counts its files. Locks are the kernel's (flock), so a dead process
 * holds none; nobody waits for one: who finds it taken goes on without.
 *
 * One thread at a time.
 */
#ifndef FDL_STORE_CHUNK_LEDGER_H
#define FDL_STORE_CHUNK_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct fdl_chunk_ledger {
    int folder, fd;
    bool counts; /* this process is one of `users` */
};

/* Joins those who use the folder. If there are none, and the one before did not
 * close it, counts what is in it. *used: bytes. errno; there is nothing to
 * close then. */
int fdl_chunk_ledger_open(int folder, struct fdl_chunk_ledger *out,
                          uint64_t *used);

/* What it had taken and not used goes back. */
void fdl_chunk_ledger_close(struct fdl_chunk_ledger *l, uint64_t unused);

/* Takes between `least` and `most` of the budget; 0: there is not so much left,
 * and nothing of earlier jobs that could go. EAGAIN: not now; errno. */
int fdl_chunk_ledger_take(struct fdl_chunk_ledger *l, uint64_t budget,
                          uint64_t least, uint64_t most, uint64_t *taken);

#endif

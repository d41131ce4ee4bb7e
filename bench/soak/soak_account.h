/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of each sample of an epoch: it was delivered, another one came in
 * its place, or its batch lists it as failed; once. Whatever else happened to
 * one is told on stderr and counted. One thread at a time.
 */
#ifndef SOAK_SOAK_ACCOUNT_H
#define SOAK_SOAK_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

struct account {
    const char *name;
    uint64_t count;
    uint8_t *times;  /* [count] of this epoch */
    uint64_t *known; /* [count] hash of its pixels; 0: not seen yet */
    uint64_t epoch;

    uint64_t delivered, replaced, listed; /* over all epochs */
    uint64_t lost, twice, wrong;
};

/* One place of a batch. */
struct seen {
    int64_t planned; /* sample that belongs there */
    int64_t index;   /* that is there */
    int32_t status;
    uint64_t hash; /* of its pixels */
};

void account_init(struct account *a, const char *name, uint64_t count);
void account_add(struct account *a, const struct seen *s);

/* Something that no sample explains. */
void account_wrong(struct account *a, const char *words);

/* The epoch is over: those that never came are lost. */
void account_end(struct account *a);

/* Of n bytes; never 0. */
uint64_t account_hash(const void *data, size_t n);

#endif

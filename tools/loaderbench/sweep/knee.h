/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knee of a grid of settings, by a rule that is stated: beyond it workers
 * and memory are spent for nothing. Numbers only, so that it can be tested on
 * grids that are made up.
 */
#ifndef LOADERBENCH_KNEE_H
#define LOADERBENCH_KNEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct knee_point {
    int64_t workers, depth, io_depth;
    double rate;  /* images per second; 0: nothing came */
    double stall; /* of the consumer or its device, fraction; NAN: not known */
};

struct knee_rule {
    double tolerance; /* of the best rate that may be lost */
    double target;    /* stall at or below which a consumer is fed; < 0: there
                         is none that could be */
};

/* The fewest workers, of these the smallest depth, of these the smallest I/O
 * depth, among the points that feed the consumer; if none does, or if there is
 * no consumer, among those within the tolerance of the fastest. *fed: which of
 * the two it was. n if no point has a rate. */
size_t knee_find(const struct knee_point *points, size_t n,
                 const struct knee_rule *rule, bool *fed);

/* The highest rate; of equal ones the fewest workers, and so on. n: none. */
size_t knee_fastest(const struct knee_point *points, size_t n);

/* The rule that decided, in words. */
#define KNEE_WORDS 192
void knee_words(const struct knee_rule *rule, bool fed, char words[KNEE_WORDS]);

#endif

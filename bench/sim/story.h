/* SPDX-License-Identifier: Apache-2.0 */
/* Each decision of the project's tuner in one run, as lines of text, for who
 * wants to see why it did what it did. */
#ifndef SIM_STORY_H
#define SIM_STORY_H

#include "profiler/tuner/tuner.h"

#include <stdio.h>

/* NULL, as it is at first: nothing is written. Only while one thread
 * simulates. */
void sim_story_to(FILE *f);

/* NULL if nothing is to be written, which the others take. */
struct sim_story;
struct sim_story *sim_story_begin(const struct fdl_knobs *start);
void sim_story_look(struct sim_story *t, const struct fdl_tuner *tuner);
void sim_story_end(struct sim_story *t, const struct fdl_tuner *tuner);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to jobs of the simulator, as tables. Whoever asks frees them.
 * false: no memory. */
#ifndef SIM_SCALE_TABLES_H
#define SIM_SCALE_TABLES_H

#include "bench/sim/sheet.h"

#include <stdint.h>

/* A row for each number of ranks up to `most`, and each kind of storage. */
bool scale_table_ranks(uint32_t most, struct sheet *out);

/* These are of one job of `ranks`: storage that gives less than is asked for,
 * one host that differs, a host that is lost. */
bool scale_table_storage(uint32_t ranks, struct sheet *out);
bool scale_table_stragglers(uint32_t ranks, struct sheet *out);
bool scale_table_lost(uint32_t ranks, struct sheet *out);

/* Computed, not played: what a job of `gpus` needs, and what holds it up. */
void scale_table_needs(uint32_t gpus, struct sheet *out);
void scale_table_losses(uint32_t gpus, struct sheet *out);

#endif

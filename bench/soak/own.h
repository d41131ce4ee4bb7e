/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that the program has in memory, and reads by a function of its own,
 * which fails by chance. */
#ifndef SOAK_OWN_H
#define SOAK_OWN_H

#include "again.h"

/* Those of the first shard in the folder, which is read the first time, before
 * anything fails. NULL: an error that was told. One thread. */
feedline_dataset *own_open(const char *folder, struct ends *ends);

#endif

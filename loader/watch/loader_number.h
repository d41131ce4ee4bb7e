/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live loaders of a process have different numbers, the lowest free ones, so a
 * loader of each epoch has the number of the one before. Any thread; the child
 * of a fork() begins anew.
 */
#ifndef FDL_LOADER_LOADER_NUMBER_H
#define FDL_LOADER_LOADER_NUMBER_H

#include <stdint.h>

#define FDL_LOADER_NUMBERS 1024u

/* FDL_LOADER_NUMBERS: none is free. */
uint32_t fdl_loader_number_take(void);
void fdl_loader_number_give(uint32_t number);

#endif

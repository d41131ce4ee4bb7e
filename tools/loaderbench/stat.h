/* SPDX-License-Identifier: Apache-2.0 */
/* The library's table of statistics, as the tool uses it. */
#ifndef LOADERBENCH_STAT_H
#define LOADERBENCH_STAT_H

#include <feedline/statistics.h>

#include <jansson.h>
#include <stdbool.h>

/* false: index is past the end of the part. */
bool stat_row(const char *part, uint32_t index, struct feedline_stat_info *row);

/* Adds the rows of a part to an object, but for those with a flag of `without`.
 * in: the struct of the part. */
void stat_json(json_t *to, const char *part, const void *in, uint32_t without);

#endif

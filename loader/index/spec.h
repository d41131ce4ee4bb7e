/* SPDX-License-Identifier: Apache-2.0 */
/* "PATH?option=value&...": a data set and how it is to be read. */
#ifndef FDL_LOADER_INDEX_SPEC_H
#define FDL_LOADER_INDEX_SPEC_H

#include "base/option.h"

/* Bytes of PATH. A '?' that no '=' follows is part of a name. */
size_t fdl_spec_path_bytes(const char *spec);

/* Ends spec behind PATH. The options, for the next two; NULL: it has none. */
char *fdl_spec_cut(char *spec);

/* Ends the first of the options *rest, which become those behind it: NULL when
 * there are no more. NULL if *rest is. */
char *fdl_spec_next(char **rest);

/* Sets each of the options in a table. EINVAL, with the path, for one that has
 * no '='; else as fdl_options_set. */
int32_t fdl_spec_set_options(const char *path, char *rest,
                             struct fdl_options *options);

#endif

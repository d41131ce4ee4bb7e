/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and tokens, as other tools leave them. */
#ifndef FDL_STORE_ENVIRONMENT_H
#define FDL_STORE_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* The environment's value; NULL where there is none or it is empty. */
const char *fdl_store_env(const char *name);

bool fdl_store_env_true(const char *name); /* "1", "true", "yes" */

/* All of a small text file, without blanks and line ends around it, of the
 * heap: a token. what: for the message, which does not show it. */
int32_t fdl_store_token_file(const char *path, const char *what, char **out);

/* $HOME/NAME of the heap. ENOENT: there is no home; ENOMEM. */
int32_t fdl_store_home(const char *name, char **out);

#endif

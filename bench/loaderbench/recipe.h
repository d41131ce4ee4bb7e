/* SPDX-License-Identifier: Apache-2.0 */
/* The options --pipeline and --op of a command, made into a pipeline. */
#ifndef LOADERBENCH_RECIPE_H
#define LOADERBENCH_RECIPE_H

#include "bench/loaderbench/cli.h"

#define RECIPE_CHOICES "train|eval|none"

/* What --pipeline is where it was not given: "train", or "none" with --op. */
const char *recipe_default(const struct cli_list *ops);

/* An exit status. */
int recipe_make(const char *name, const struct cli_list *ops,
                feedline_pipeline **out);

#endif

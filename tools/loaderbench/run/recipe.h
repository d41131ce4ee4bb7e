/* SPDX-License-Identifier: Apache-2.0 */
/* The options --pipeline and --op of a command, made into a pipeline. */
#ifndef LOADERBENCH_RECIPE_H
#define LOADERBENCH_RECIPE_H

#include "tools/loaderbench/cli/cli.h"

#define RECIPE_CHOICES                                                         \
  "train|eval|none|torchvision-v2|timm-a1|deit|mae|simclr|dino|clip|cifar|"    \
  "coco-det"

/* Both, where they are those of `run`. */
#define RECIPE_OPTIONS(pipeline, ops)                                          \
  {"pipeline", "NAME", "as for run [train; none with --op]",                   \
   VALUE_CHOICE(pipeline, RECIPE_CHOICES)},                                    \
  {                                                                            \
    "op", "\"NAME ARGS\"", "add an operation, as for run; may be repeated",    \
        VALUE_LIST(ops)                                                        \
  }

/* What --pipeline is where it was not given: "train", or "none" with --op. */
const char *recipe_default(const struct cli_list *ops);

/* Whether that one is for training, and so for a shuffled order. */
bool recipe_trains(const char *name);

/* The recipe of that name, without normalize for dtype=u8, and the operations.
 * An exit status. */
int recipe_make(const char *name, const struct cli_list *ops,
                const feedline_config *config, feedline_pipeline **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option names in the terms of the interface that a program uses. Advice is
 * followed only if it names something the reader can type: "depth=auto" means
 * nothing to someone who wrote prefetch_factor=2.
 *
 *     option       feedline        python            torch
 *     depth        depth           depth             prefetch_factor
 *     depth=auto   depth=auto      depth="auto"      prefetch_factor="auto"
 *     io_depth     io_depth        io_depth          options["io_depth"]
 *     io_depth=64  io_depth=64     io_depth=64       options={"io_depth": 64}
 */
#ifndef FDL_BASE_TERMS_H
#define FDL_BASE_TERMS_H

#include "base/choice.h"

#include <stddef.h>

/* The choices of option `terms`. */
#define FDL_INTERFACE_CHOICES(C)                                               \
  C(FDL_INTERFACE_FEEDLINE, "feedline")                                        \
  C(FDL_INTERFACE_PYTHON, "python")                                            \
  C(FDL_INTERFACE_TORCH, "torch")
enum fdl_interface { FDL_CHOICE_VALUES(FDL_INTERFACE_CHOICES) FDL_INTERFACES };

struct fdl_terms;

/* A name or a setting, by value, to be printed in one expression. */
struct fdl_term {
    char at[64];
};

/* Static; any thread. */
const struct fdl_terms *fdl_terms_of(enum fdl_interface interface);

/* What the interface calls a loader's option, for "Raise %s". */
struct fdl_term fdl_term(const struct fdl_terms *t, const char *option);

/* The option set to a value, as it is typed: "workers=auto". */
struct fdl_term fdl_term_set(const struct fdl_terms *t, const char *option,
                             const char *value);
struct fdl_term fdl_term_set_number(const struct fdl_terms *t,
                                    const char *option, long long value);

#endif

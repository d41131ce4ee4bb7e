/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a loader is doing, for people: the verdict first, then what the work
 * costs, then what the tuner did.
 */
#ifndef FDL_LOADER_EXPLAIN_H
#define FDL_LOADER_EXPLAIN_H

#include "base/text.h"
#include "loader/report/sources.h"

/* Any thread. */
void fdl_explain(const struct fdl_sources *from, struct fdl_text *t);

/* tuner_text.c: the tuner's part of it. */
void fdl_tuner_explain(const struct fdl_sources *from, struct fdl_text *t);

#endif

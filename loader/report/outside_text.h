/* SPDX-License-Identifier: Apache-2.0 */
/* What a watch says of itself. */
#ifndef FDL_LOADER_OUTSIDE_TEXT_H
#define FDL_LOADER_OUTSIDE_TEXT_H

#include "base/json.h"
#include "base/text.h"
#include "loader/report/sources.h"

/* The member "watch", null for a loader with an engine. */
void fdl_outside_json(const struct fdl_sources *from, struct fdl_json *j);

/* In place of the tuner's story. */
void fdl_outside_explain(struct fdl_watch *watch, struct fdl_text *t);

#endif

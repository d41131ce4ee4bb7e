/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers by themselves; each of these begins with feedline.h. */
#include <feedline/bench.h>
#include <feedline/elsewhere.h>
#include <feedline/exchange.h>
#include <feedline/fields.h>
#include <feedline/files.h>
#include <feedline/job.h>
#include <feedline/live.h>
#include <feedline/masks.h>
#include <feedline/objects.h>
#include <feedline/order.h>
#include <feedline/packed.h>
#include <feedline/recorded.h>
#include <feedline/shuffle.h>
#include <feedline/source.h>
#include <feedline/statistics.h>
#include <feedline/targets.h>
#include <feedline/tuning.h>
#include <feedline/views.h>
#include <feedline/watch.h>

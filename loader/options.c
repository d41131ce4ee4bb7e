/* SPDX-License-Identifier: Apache-2.0 */
/* The option table, made of option_rows.h. */
#include "loader/options.h"

#include "base/compiler.h"
#include "base/log.h"
#include "base/philox.h"
#include "base/status.h"
#include "base/terms.h"
#include "decode/decoder.h"
#include "loader/order/sampler.h"
#include "loader/read/reader.h"
#include "loader/stream/finish_choice.h"
#include "profiler/system/ranks.h"

#include <inttypes.h>

#define AUTO FEEDLINE_OPT_AUTO
#define LIVE FEEDLINE_OPT_LIVE

#define INT(key, flag, low, high, text, units, about)                          \
  .name = key, .type = FEEDLINE_T_INT, .flags = (flag), .min = (low),          \
  .max = (high), .default_text = text, .unit = units, .help = about
#define SIZE(key, flag, low, high, text, about)                                \
  .name = key, .type = FEEDLINE_T_SIZE, .flags = (flag), .min = (low),         \
  .max = (high), .default_text = text, .unit = "bytes", .help = about
#define BOOL(key, text, about)                                                 \
  .name = key, .type = FEEDLINE_T_BOOL, .max = 1, .default_text = text,        \
  .unit = "", .help = about
#define SWITCH(key, list, text, about)                                         \
  .name = key, .type = FEEDLINE_T_BOOL, .default_text = text, .unit = "",      \
  .choices = list, .help = about
#define FRACTION(key, text, about)                                             \
  .name = key, .type = FEEDLINE_T_DOUBLE, .double_max = 1,                     \
  .default_text = text, .unit = "", .help = about
#define ENUM(key, list, text, about)                                           \
  .name = key, .type = FEEDLINE_T_ENUM, .default_text = text, .unit = "",      \
  .choices = list, .help = about
#define TIME(key, low, high, text, about)                                      \
  .name = key, .type = FEEDLINE_T_TIME, .min = (low), .max = (high),           \
  .default_text = text, .unit = "ns", .help = about
#define STRING(key, text, about)                                               \
  .name = key, .type = FEEDLINE_T_STRING, .default_text = text, .unit = "",    \
  .help = about

#define OPTION(name, ...) [FDL_OPT_##name] = {__VA_ARGS__},
#define DECODE_OPTION(name, field, ...)                                        \
  [FDL_OPT_##name] = {__VA_ARGS__,                                             \
                      FDL_OPTION_FIELD(struct fdl_decode_limits, field)},
const struct fdl_option fdl_loader_options[FDL_LOADER_OPTIONS] = {
#include "loader/option_rows.h"
};

struct fdl_block_shape fdl_options_blocks(const struct fdl_options *o,
                                          uint64_t count, uint64_t bytes)
{
    uint64_t samples = (uint64_t)fdl_option_int(o, FDL_OPT_BLOCK);
    if (samples == 0)
        samples = fdl_block_samples(count, bytes);
    return (struct fdl_block_shape){samples,
                                    (uint64_t)fdl_option_int(o, FDL_OPT_LANES)};
}

/* 0: nobody says. */
static uint32_t given_world(const struct fdl_options *o)
{
    uint32_t n = (uint32_t)fdl_option_int(o, FDL_OPT_LOCAL_WORLD);
    return n > 0 ? n : fdl_ranks_local_world(fdl_ranks_getenv);
}

uint32_t fdl_options_local_world(const struct fdl_options *o)
{
    return FDL_MAX(given_world(o), 1u);
}

bool fdl_options_world_is_given(const struct fdl_options *o)
{
    return given_world(o) != 0;
}

int32_t fdl_options_ranks(const struct fdl_options *o, uint32_t *rank,
                          uint32_t *world)
{
    struct fdl_ranks found;
    *rank = (uint32_t)fdl_option_int(o, FDL_OPT_RANK);
    *world = (uint32_t)fdl_option_int(o, FDL_OPT_WORLD);
    if (*world > 0)
        return FEEDLINE_OK;
    int32_t status = fdl_ranks_find(fdl_ranks_getenv, &found);
    if (status < 0)
        return status;
    if (*rank != 0 && *rank != found.rank)
        return fdl_fail(FEEDLINE_EINVAL,
                        "world=auto: rank=%" PRIu32 ", but %s: rank %" PRIu32
                        " of %" PRIu32 "; leave rank out, or set world, too",
                        *rank, found.launcher ? found.launcher : "no launcher",
                        found.rank, found.world);
    fdl_log(FDL_LOG_INFO, "world=auto: rank %" PRIu32 " of %" PRIu32 " (%s)",
            found.rank, found.world,
            found.launcher ? found.launcher : "no launcher");
    *rank = found.rank;
    *world = found.world;
    return FEEDLINE_OK;
}

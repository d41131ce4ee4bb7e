/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the loader's options for code; option_rows.h has the rows. */
#ifndef FDL_LOADER_OPTIONS_H
#define FDL_LOADER_OPTIONS_H

#include "base/choice.h"
#include "base/option.h"
#include "decode/pixels/geometry.h"
#include "loader/order/blocks.h"

#define OPTION(name, ...)               FDL_OPT_##name,
#define DECODE_OPTION(name, field, ...) FDL_OPT_##name,
enum fdl_loader_option {
#include "loader/option_rows.h"
    FDL_LOADER_OPTIONS
};
#undef OPTION
#undef DECODE_OPTION

#define FDL_DTYPE_CHOICES(C)                                                   \
  C(FDL_DTYPE_U8, "u8")                                                        \
  C(FDL_DTYPE_F32, "f32")                                                      \
  C(FDL_DTYPE_F16, "f16")                                                      \
  C(FDL_DTYPE_BF16, "bf16")
enum fdl_dtype_choice { FDL_CHOICE_VALUES(FDL_DTYPE_CHOICES) };

#define FDL_TUNER_CHOICES(C)                                                   \
  C(FDL_TUNER_OFF, "off")                                                      \
  C(FDL_TUNER_OBSERVE, "observe")                                              \
  C(FDL_TUNER_AUTO, "auto")
enum fdl_tuner_mode { FDL_CHOICE_VALUES(FDL_TUNER_CHOICES) };

#define FDL_CACHE_CHOICES(C)                                                   \
  C(FDL_CACHE_SYSTEM, "system")                                                \
  C(FDL_CACHE_KEEP, "keep")
enum fdl_cache_choice { FDL_CHOICE_VALUES(FDL_CACHE_CHOICES) };

#define FDL_JPEG_INDEX_CHOICES(C)                                              \
  C(FDL_JPEG_INDEX_FALSE, "false")                                             \
  C(FDL_JPEG_INDEX_TRUE, "true")                                               \
  C(FDL_JPEG_INDEX_AUTO, "auto")
enum fdl_jpeg_index { FDL_CHOICE_VALUES(FDL_JPEG_INDEX_CHOICES) };

#define FDL_LAYOUT_CHOICES(C)                                                  \
  C(FDL_LAYOUT_NCHW, "nchw")                                                   \
  C(FDL_LAYOUT_NHWC, "nhwc")
enum fdl_layout_choice { FDL_CHOICE_VALUES(FDL_LAYOUT_CHOICES) };

#define FDL_DECODE_CHOICES(C)                                                  \
  C(FDL_DECODE_PIXELS, "pixels")                                               \
  C(FDL_DECODE_NONE, "none")                                                   \
  C(FDL_DECODE_HOST, "host")                                                   \
  C(FDL_DECODE_DEVICE, "device")                                               \
  C(FDL_DECODE_AUTO, "auto")
enum fdl_decode_asked { FDL_CHOICE_VALUES(FDL_DECODE_CHOICES) };

#define FDL_ORDER_CHOICES(C)                                                   \
  C(FDL_ORDER_OWN, "own")                                                      \
  C(FDL_ORDER_GIVEN, "given")
enum fdl_order { FDL_CHOICE_VALUES(FDL_ORDER_CHOICES) };

#define FDL_HANDOVER_CHOICES(C)                                                \
  C(FDL_HANDOVER_SHARE, "share")                                               \
  C(FDL_HANDOVER_COPY, "copy")
enum fdl_handover { FDL_CHOICE_VALUES(FDL_HANDOVER_CHOICES) };

#define FDL_HELD_CHOICES(C)                                                    \
  C(FDL_HELD_REFUSE, "refuse")                                                 \
  C(FDL_HELD_GROW, "grow")
enum fdl_held { FDL_CHOICE_VALUES(FDL_HELD_CHOICES) };

#define FDL_ON_ERROR_CHOICES(C)                                                \
  C(FDL_ON_ERROR_RAISE, "raise")                                               \
  C(FDL_ON_ERROR_SKIP, "skip")                                                 \
  C(FDL_ON_ERROR_ZERO, "zero")
enum fdl_on_error { FDL_CHOICE_VALUES(FDL_ON_ERROR_CHOICES) };

#define FDL_MAX_WORKERS  1024
#define FDL_MAX_DEPTH    1024
#define FDL_MAX_IO_DEPTH 256

extern const struct fdl_option fdl_loader_options[FDL_LOADER_OPTIONS];

/* Blocks of shuffle=block for `count` samples of `bytes` together; 0: unknown.
 */
struct fdl_block_shape fdl_options_blocks(const struct fdl_options *o,
                                          uint64_t count, uint64_t bytes);

/* Options rank and world, or with world=auto what the launcher says. EINVAL. */
int32_t fdl_options_ranks(const struct fdl_options *o, uint32_t *rank,
                          uint32_t *world);

/* Processes that share this machine: option local_world, or what the launcher
 * says, or 1. given: one of the two says it. */
uint32_t fdl_options_local_world(const struct fdl_options *o);
bool fdl_options_world_is_given(const struct fdl_options *o);

#endif

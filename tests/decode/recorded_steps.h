/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of recorded samples, each in one word: STEP(CROP, 0, 0, 9, 9). */
#ifndef FDL_DECODE_RECORDED_STEPS_H
#define FDL_DECODE_RECORDED_STEPS_H

#include <feedline/recorded.h>

#define STEP(name, ...)                                                        \
  {                                                                            \
    .op = FEEDLINE_STEP_##name,                                                \
    .n = sizeof((double[]){__VA_ARGS__}) / sizeof(double), .value = {          \
        __VA_ARGS__                                                            \
    }                                                                          \
  }
#define STEP_OF(name, table)                                                   \
  {                                                                            \
    .op = FEEDLINE_STEP_##name, .data = (table)                                \
  }
#define PLAIN(name)                                                            \
  {                                                                            \
    .op = FEEDLINE_STEP_##name                                                 \
  }

#endif

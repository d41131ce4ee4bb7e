/* SPDX-License-Identifier: Apache-2.0 */
/* The commands; one file each. */
#ifndef LOADERBENCH_COMMANDS_H
#define LOADERBENCH_COMMANDS_H

#include "tools/loaderbench/cli/cli.h"

#define COMMAND(name)                                                          \
  extern const struct cli_command command_##name;                              \
  int name##_main(void *values, const struct cli_parsed *parsed)
COMMAND(quick);
COMMAND(run);
COMMAND(sweep);
COMMAND(tune);
COMMAND(headroom);
COMMAND(gen);
COMMAND(h2d);
COMMAND(report);
COMMAND(compare);
COMMAND(merge);
COMMAND(case);
COMMAND(doctor);
COMMAND(top);
COMMAND(scan);
COMMAND(pack);
COMMAND(io);
#undef COMMAND

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The commands; one file each. */
#ifndef LOADERBENCH_COMMANDS_H
#define LOADERBENCH_COMMANDS_H

#include "bench/loaderbench/cli.h"

extern const struct cli_command command_run;
extern const struct cli_command command_gen;
extern const struct cli_command command_h2d;
extern const struct cli_command command_case;

int run_main(const struct cli_command *command, int argc, char **argv);
int gen_main(const struct cli_command *command, int argc, char **argv);
int h2d_main(const struct cli_command *command, int argc, char **argv);
int case_main(const struct cli_command *command, int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The commands; one file each. */
#ifndef LOADERBENCH_COMMANDS_H
#define LOADERBENCH_COMMANDS_H

#include "bench/loaderbench/cli/cli.h"

extern const struct cli_command command_run;
extern const struct cli_command command_sweep;
extern const struct cli_command command_tune;
extern const struct cli_command command_headroom;
extern const struct cli_command command_gen;
extern const struct cli_command command_h2d;
extern const struct cli_command command_report;
extern const struct cli_command command_compare;
extern const struct cli_command command_merge;
extern const struct cli_command command_case;
extern const struct cli_command command_doctor;
extern const struct cli_command command_top;

int run_main(const struct cli_command *command, int argc, char **argv);
int sweep_main(const struct cli_command *command, int argc, char **argv);
int tune_main(const struct cli_command *command, int argc, char **argv);
int headroom_main(const struct cli_command *command, int argc, char **argv);
int gen_main(const struct cli_command *command, int argc, char **argv);
int report_main(const struct cli_command *command, int argc, char **argv);
int compare_main(const struct cli_command *command, int argc, char **argv);
int merge_main(const struct cli_command *command, int argc, char **argv);
int h2d_main(const struct cli_command *command, int argc, char **argv);
int doctor_main(const struct cli_command *command, int argc, char **argv);
int top_main(const struct cli_command *command, int argc, char **argv);
int case_main(const struct cli_command *command, int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench: how fast are images loaded, and what is waited for. A program
 * like any other on top of the library's public header.
 */
#include "bench/loaderbench/cli.h"
#include "bench/loaderbench/commands.h"
#include "bench/loaderbench/tool.h"

#include <stdio.h>
#include <string.h>

const struct cli_command *const cli_commands[] = {
    &command_run,    &command_sweep,   &command_tune,  &command_headroom,
    &command_report, &command_compare, &command_merge, &command_doctor,
    &command_top,    &command_h2d,     &command_case,  &command_gen};
const size_t n_cli_commands = sizeof(cli_commands) / sizeof(*cli_commands);

static int unknown_command(const char *name)
{
    struct cli_closest closest = {.name = name};
    for (size_t i = 0; i < n_cli_commands; i++)
        cli_consider(&closest, cli_commands[i]->name);
    const char *best = cli_closest_name(&closest);
    if (best)
        tool_say("there is no command '%s'; the closest is '%s'", name, best);
    else
        tool_say("there is no command '%s'", name);
    tool_say("'loaderbench --help' lists what there is");
    return TOOL_USAGE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        tool_say("a command is missing; 'loaderbench --help' lists them");
        return TOOL_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        cli_overview();
        return TOOL_DONE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("loaderbench %s\n", feedline_version());
        return TOOL_DONE;
    }
    if (strcmp(name, "--completion") == 0) {
        if (argc != 3 || strcmp(argv[2], "bash") != 0) {
            tool_say("--completion knows 'bash' only");
            return TOOL_USAGE;
        }
        cli_completion();
        return TOOL_DONE;
    }
    for (size_t i = 0; i < n_cli_commands; i++) {
        if (strcmp(name, cli_commands[i]->name) != 0)
            continue;
        int rc = tool_watch_start();
        return rc ? rc : cli_commands[i]->run(cli_commands[i], argc, argv);
    }
    return unknown_command(name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench: how fast images are loaded, and what is waited for. A program
 * like any other on top of the library's public headers.
 */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/cli/completion.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cli_command *const cli_commands[] = {
    &command_quick,    &command_run,    &command_sweep,   &command_tune,
    &command_headroom, &command_report, &command_compare, &command_merge,
    &command_doctor,   &command_top,    &command_h2d,     &command_case,
    &command_gen,      &command_scan,   &command_pack,    &command_io};
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
    tool_say("'loaderbench --help' lists the commands");
    return TOOL_USAGE;
}

static int help(int argc, char **argv)
{
    const struct cli_command *command = NULL;
    if (argc == 2) {
        cli_overview();
        return TOOL_DONE;
    }
    if (strcmp(argv[2], "models") == 0) {
        model_list();
        return TOOL_DONE;
    }
    command = cli_find_command(argv[2]);
    if (!command)
        return unknown_command(argv[2]);
    if (argc > 3 && strcmp(argv[3], "options") != 0) {
        tool_say("help %s is followed by nothing, or by 'options'", argv[2]);
        return TOOL_USAGE;
    }
    cli_help(command, argc > 3);
    return TOOL_DONE;
}

static int completion(int argc, char **argv)
{
    const char *script = argc == 3 ? completion_script(argv[2]) : NULL;
    if (!script) {
        tool_say("--completion takes the name of a shell: bash, zsh or fish");
        return TOOL_USAGE;
    }
    fputs(script, stdout);
    return TOOL_DONE;
}

static int run_command(const char *name, int argc, char **argv)
{
    const struct cli_command *command = cli_find_command(name);
    if (!command)
        return unknown_command(name);
    document_made_by(argc, argv);
    int rc = tool_watch_start();
    if (rc == TOOL_DONE)
        rc = cli_run(command, argc, argv);
    document_fini();
    return rc;
}

/* What no command is called may be a data set. */
static bool is_data(const char *name)
{
    return strchr(name, '/') || strchr(name, ':') || access(name, F_OK) == 0;
}

/* `loaderbench [FOLDER] [options]`, without a command. */
static int run_quick(int argc, char **argv)
{
    char **with = calloc((size_t)argc + 2, sizeof(*with));
    if (!with)
        return tool_no_memory();
    with[0] = argv[0];
    with[1] = "quick";
    memcpy(with + 2, argv + 1, (size_t)(argc - 1) * sizeof(*with));
    int rc = run_command("quick", argc + 1, with);
    free(with);
    return rc;
}

static void print_version(void)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } parts[] = {{FEEDLINE_FEATURE_URING, "io_uring"},
                 {FEEDLINE_FEATURE_CUDA, "CUDA"},
                 {FEEDLINE_FEATURE_WEBP, "WebP"},
                 {FEEDLINE_FEATURE_PACKED, "packed JPEG"}};
    const char *before = "built with ";
    printf("loaderbench %s\n", feedline_version());
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (feedline_features() & parts[i].bit) {
            printf("%s%s", before, parts[i].name);
            before = ", ";
        }
    printf("%s\n", *before == ',' ? "" : "built without optional parts");
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name && tool_is_terminal(STDOUT_FILENO))
        return run_quick(argc, argv);
    if (!name) {
        tool_say("a command is missing; 'loaderbench --help' lists them, and "
                 "'loaderbench quick' is what a terminal gets without one");
        return TOOL_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0)
        return help(argc, argv);
    if (strcmp(name, "--version") == 0) {
        print_version();
        return TOOL_DONE;
    }
    if (strcmp(name, "--completion") == 0)
        return completion(argc, argv);
    if (strcmp(name, "--complete") == 0) {
        cli_complete(argc - 2, argv + 2);
        return TOOL_DONE;
    }
    if (!cli_find_command(name) && *name != '-' && is_data(name))
        return run_quick(argc, argv);
    return run_command(name, argc, argv);
}

int main(int argc, char **argv)
{
    output_begin();
    return output_end(run(argc, argv));
}

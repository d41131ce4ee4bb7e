/* SPDX-License-Identifier: Apache-2.0 */
/* What --help and --completion print, from the tables. 80 columns. */
#include "bench/loaderbench/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 80
#define INDENT  26 /* where the words about an option or a command begin */

void cli_print_wrapped(const char *text, size_t indent, size_t at)
{
    while (*text) {
        if (*text == '\n') {
            putchar('\n');
            at = 0;
            text++;
            continue;
        }
        size_t spaces = strspn(text, " ");
        size_t word = strcspn(text + spaces, " \n");
        if (at > indent && at + spaces + word > COLUMNS - 1) {
            putchar('\n');
            at = 0;
            text += spaces;
            continue;
        }
        if (at < indent) {
            printf("%*s", (int)(indent - at), "");
            at = indent;
        }
        printf("%.*s", (int)(spaces + word), text);
        at += spaces + word;
        text += spaces + word;
    }
    putchar('\n');
}

static void print_option(const char *name, const char *metavar,
                         const char *help)
{
    char dashed[64];
    snprintf(dashed, sizeof(dashed), "%s", name);
    for (char *p = dashed; *p; p++)
        if (*p == '_')
            *p = '-';
    int n = printf("  --%s%s%s", dashed, metavar ? " " : "",
                   metavar ? metavar : "");
    if (n >= INDENT - 1) {
        putchar('\n');
        n = 0;
    }
    cli_print_wrapped(help, INDENT, (size_t)n);
}

/* "N|auto", "SIZE", "u8|f32": how a value of a loader option is written. */
static void loader_metavar(const struct feedline_option_info *info, char *buf,
                           size_t capacity)
{
    static const char *const words[] = {
        [FEEDLINE_T_INT] = "N",       [FEEDLINE_T_SIZE] = "SIZE",
        [FEEDLINE_T_TIME] = "TIME",   [FEEDLINE_T_DOUBLE] = "X",
        [FEEDLINE_T_BOOL] = NULL,     [FEEDLINE_T_ENUM] = NULL,
        [FEEDLINE_T_STRING] = "TEXT", [FEEDLINE_T_DOUBLES] = "X:Y",
    };
    const char *word = info->choices ? info->choices : words[info->type];
    snprintf(buf, capacity, "%s%s", word ? word : "",
             info->flags & FEEDLINE_OPT_AUTO ? "|auto" : "");
}

static bool own_option(const struct cli_command *command, const char *name)
{
    for (size_t i = 0; i < command->n_options; i++)
        if (strcmp(command->options[i].name, name) == 0)
            return true;
    return false;
}

static void print_loader_options(const struct cli_command *command)
{
    printf(
        "\nLoader options (FEEDLINE_BATCH_SIZE=128 in the environment is\n"
        "--batch-size 128; the command line wins; [no-] can be put before a\n"
        "switch):\n");
    struct feedline_option_info info = {.struct_size = sizeof(info)};
    for (uint32_t i = 0;
         feedline_option_get_info("loader", i, &info) == FEEDLINE_OK; i++) {
        if (own_option(command, info.name))
            continue;
        char metavar[96], help[512];
        loader_metavar(&info, metavar, sizeof(metavar));
        snprintf(help, sizeof(help), "%s [%s]", info.help, info.default_text);
        print_option(info.name, *metavar ? metavar : NULL, help);
    }
}

void cli_help(const struct cli_command *command)
{
    printf("Usage: loaderbench %s", command->name);
    if (command->positional)
        printf(command->positional_optional ? " [%s]" : " %s",
               command->positional);
    printf(" [options]\n\n");
    cli_print_wrapped(command->about, 0, 0);
    printf("\nOptions:\n");
    for (size_t i = 0; i < command->n_options; i++)
        print_option(command->options[i].name, command->options[i].metavar,
                     command->options[i].help);
    print_option("help", NULL, "print this and stop");
    if (command->loader_options)
        print_loader_options(command);
}

void cli_overview(void)
{
    printf("Usage: loaderbench COMMAND ...\n\n"
           "How fast are images loaded for training, and what is waited for?\n"
           "\nCommands:\n");
    for (size_t i = 0; i < n_cli_commands; i++) {
        const struct cli_command *c = cli_commands[i];
        int n = printf("  %s", c->name);
        if (c->positional)
            n +=
                printf(c->positional_optional ? " [%s]" : " %s", c->positional);
        cli_print_wrapped(c->summary, INDENT, (size_t)n);
    }
    printf(
        "\n'loaderbench COMMAND --help' lists the options of a command.\n\n"
        "  --help             print this and stop\n"
        "  --version          print the version and stop\n"
        "  --completion bash  print what makes bash complete commands and\n"
        "                     options: . <(loaderbench --completion bash)\n"
        "\n"
        "Exit status: 0 done; 2 usage; 3 data errors above the allowed rate;\n"
        "4 this machine cannot do it; 130 after Ctrl-C, partial results\n"
        "printed.\n");
}

static void print_dashed(const char *name)
{
    printf(" --");
    for (; *name; name++)
        putchar(*name == '_' ? '-' : *name);
}

void cli_completion(void)
{
    printf("_loaderbench() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} words\n"
           "    case ${COMP_WORDS[1]-} in\n");
    for (size_t i = 0; i < n_cli_commands; i++) {
        const struct cli_command *c = cli_commands[i];
        printf("    %s) words='--help", c->name);
        for (size_t k = 0; k < c->n_options; k++)
            print_dashed(c->options[k].name);
        struct feedline_option_info info = {.struct_size = sizeof(info)};
        for (uint32_t k = 0;
             c->loader_options &&
             feedline_option_get_info("loader", k, &info) == FEEDLINE_OK;
             k++)
            print_dashed(info.name);
        printf("' ;;\n");
    }
    printf("    *) words='--help --version");
    for (size_t i = 0; i < n_cli_commands; i++)
        printf(" %s", cli_commands[i]->name);
    printf("' ;;\n"
           "    esac\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
           "}\n"
           "complete -o default -F _loaderbench loaderbench\n");
}

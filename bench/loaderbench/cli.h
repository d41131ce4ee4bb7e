/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as tables: a command is a row of text, a table of its own
 * options and a function. Parsing, --help, the proposal for a mistyped name
 * and shell completion all read the same rows. The options of a loader are not
 * repeated here: they come from the library's table.
 */
#ifndef LOADERBENCH_CLI_H
#define LOADERBENCH_CLI_H

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_kind {
    CLI_SWITCH, /* bool */
    CLI_COUNT,  /* uint64_t, at least `low` */
    CLI_SIZE,   /* uint64_t of bytes, at least `low`: "64k", "2m", "1g" */
    CLI_NUMBER, /* double in [low, high] */
    CLI_TEXT,   /* const char * */
    CLI_CHOICE, /* const char *, one of `choices` */
    CLI_LIST    /* struct cli_list: the option may be repeated */
};

struct cli_list {
    const char **items;
    size_t n;
};

struct cli_option {
    const char *name;    /* without its dashes */
    const char *metavar; /* NULL for a switch */
    const char *help;
    enum cli_kind kind;
    size_t offset; /* of the value in the command's own struct */
    double low, high;
    const char *choices; /* "a|b|c" */
};

/* A loader option as it was given, to be set on a config. */
struct cli_setting {
    const char *key, *value;
};

struct cli_parsed {
    const char *positional;      /* the one argument, NULL if none */
    struct cli_list positionals; /* all of them, with positional_many */
    struct cli_setting *settings;
    size_t n_settings;
};

struct cli_command {
    const char *name;
    const char *positional; /* what the argument is called, NULL: none */
    const char *summary;    /* for the list of commands */
    const char *about;      /* for its own --help */
    const struct cli_option *options;
    size_t n_options;
    bool loader_options; /* takes those too */
    bool positional_optional, positional_many;
    int (*run)(const struct cli_command *command, int argc, char **argv);
};

/* Every command, in the order of --help. */
extern const struct cli_command *const cli_commands[];
extern const size_t n_cli_commands;

/* Fills `values` (the command's struct, holding its defaults) from argv[2...].
 * Returns -1 to go on, else the exit status to end with: 0 after --help, 2
 * after a mistake, which was said. cli_fini frees, whatever was returned. */
int cli_parse(const struct cli_command *command, int argc, char **argv,
              void *values, struct cli_parsed *out);
void cli_fini(const struct cli_command *command, void *values,
              struct cli_parsed *parsed);

/* Sets each setting on cfg; an exit status. */
int cli_apply(const struct cli_parsed *parsed, feedline_config *cfg);

/* Was a loader option given, on the command line or in the environment? */
bool cli_given(const struct cli_parsed *parsed, const char *key);

/* Help of one command; of the whole tool; bash completion. */
void cli_help(const struct cli_command *command);
void cli_overview(void);
void cli_completion(void);

/* Words of `text` from column `at` on, further lines indented alike, within 80
 * columns. A newline in the text is kept. */
void cli_print_wrapped(const char *text, size_t indent, size_t at);

/* The candidate closest to `name`, NULL if none is close. */
struct cli_closest {
    const char *name, *best;
    size_t best_distance;
};
void cli_consider(struct cli_closest *c, const char *candidate);
const char *cli_closest_name(const struct cli_closest *c);

#endif

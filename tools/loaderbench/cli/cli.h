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

#include <jansson.h>
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
    CLI_OUTPUT, /* const char *: a file that will be written; "-": stdout */
    CLI_LIST,   /* struct cli_list: the option may be repeated */
    CLI_KNOWN   /* const char *: one of a table, `known`; "list" prints it */
};

/* A table of names that an option takes. */
struct cli_known {
    /* Calls offer(self, name) for each. */
    void (*names)(void (*offer)(const void *self, const char *value),
                  const void *self);
    void (*list)(void); /* all of it for people */
};

struct cli_list {
    const char **items;
    size_t n;
};

struct cli_option {
    const char *name;    /* without its dashes */
    const char *metavar; /* NULL for a switch */
    const char *help;    /* a first line for --help, more for --help-all */
    enum cli_kind kind;
    size_t offset; /* of the value in the command's own struct */
    double low, high;
    const char *choices; /* "a|b|c" */
    const struct cli_known *known;
};

/* The rest of a row: where the value is in the struct VALUES of the command,
 * and what it may be. */
#define VALUE_SWITCH(f)       CLI_SWITCH, offsetof(VALUES, f), 0, 0, NULL, NULL
#define VALUE_COUNT(f, low)   CLI_COUNT, offsetof(VALUES, f), low, 0, NULL, NULL
#define VALUE_SIZE(f, low)    CLI_SIZE, offsetof(VALUES, f), low, 0, NULL, NULL
#define VALUE_NUMBER(f, a, b) CLI_NUMBER, offsetof(VALUES, f), a, b, NULL, NULL
#define VALUE_TEXT(f)         CLI_TEXT, offsetof(VALUES, f), 0, 0, NULL, NULL
#define VALUE_CHOICE(f, of)   CLI_CHOICE, offsetof(VALUES, f), 0, 0, of, NULL
#define VALUE_OUTPUT(f)       CLI_OUTPUT, offsetof(VALUES, f), 0, 0, NULL, NULL
#define VALUE_LIST(f)         CLI_LIST, offsetof(VALUES, f), 0, 0, NULL, NULL
#define VALUE_KNOWN(f, of)    CLI_KNOWN, offsetof(VALUES, f), 0, 0, NULL, of

/* Rows that many commands have. */
#define CLI_JSON(f)                                                            \
  {                                                                            \
    "json", "FILE", "write the results as JSON, '-' for standard output",      \
        VALUE_OUTPUT(f)                                                        \
  }
#define CLI_REPORT(f)                                                          \
  {                                                                            \
    "report", "FILE.html", "write the results as an HTML page",                \
        VALUE_OUTPUT(f)                                                        \
  }
#define CLI_QUIET(f)                                                           \
  {                                                                            \
    "quiet", NULL, "print no report", VALUE_SWITCH(f)                          \
  }

#define CLI_PROGRESS(f)                                                        \
  {                                                                            \
    "progress", NULL,                                                          \
        "show progress in a pipe too, a line every few seconds\n"              \
        "A terminal has it in any case.",                                      \
        VALUE_SWITCH(f)                                                        \
  }

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
    const char *about;      /* as `help` of an option: a first line, and more */
    const char *example;    /* that can be run, behind "loaderbench" */
    const struct cli_option *options; /* the most useful ones first */
    size_t n_options;
    size_t values_bytes;   /* of the struct that they are stored in, and */
    const void *defaults;  /* what is in it before */
    size_t n_first;        /* so many of them are in --help; 0: all */
    bool loader_options;   /* takes those too */
    const char *of_loader; /* of those it takes these, "a|b"; NULL: all */
    bool positional_optional, positional_many;
    bool positional_folder; /* it is one, for completion; else a file */
    /* Calls offer(self, value) for all that it can be; NULL: it is a path. */
    void (*offer_values)(void (*offer)(const void *self, const char *value),
                         const void *self);
    /* An exit status; values: the command's own struct. */
    int (*run)(void *values, const struct cli_parsed *parsed);
};

/* `options` and the struct VALUES, with its defaults. */
#define CLI_TABLE(...)                                                         \
  .options = options, .n_options = sizeof(options) / sizeof(*options),         \
  .values_bytes = sizeof(VALUES), .defaults = &(const VALUES)                  \
  {                                                                            \
    __VA_ARGS__                                                                \
  }

/* Every command, in the order of --help. */
extern const struct cli_command *const cli_commands[];
extern const size_t n_cli_commands;

/* Parses argv[2...] and runs the command. An exit status: 0 after --help, 2
 * after a mistake, which was said. */
int cli_run(const struct cli_command *command, int argc, char **argv);

/* Sets each setting on cfg; an exit status. */
int cli_apply(const struct cli_parsed *parsed, feedline_config *cfg);

/* Was a loader option given, on the command line or in the environment? */
bool cli_given(const struct cli_parsed *parsed, const char *key);

/* Whether it takes the loader's option of that name, and has none of its own
 * that is called so. */
bool cli_takes(const struct cli_command *command, const char *name);

/* Names with dashes, as they are typed, in buf. */
#define CLI_NAME_BYTES 64 /* longer option names do not exist */
const char *cli_dashed(const char *name, char buf[CLI_NAME_BYTES]);

/* NULL: there is no such command. */
const struct cli_command *cli_find_command(const char *name);

/* Row `i` of the loader's options; false past the end. The row of a name, with
 * dashes or without; false: there is none. */
bool cli_loader_option(uint32_t i, struct feedline_option_info *info);
bool cli_find_loader_option(const char *name,
                            struct feedline_option_info *info);

/* The options of a command with their values, and those of the loader that were
 * given, for the document. */
json_t *cli_options_json(const struct cli_command *command, const void *values,
                         const struct cli_parsed *parsed);

/* Can the files be written that the options name? An exit status. */
int cli_check_outputs(const struct cli_command *command, const void *values,
                      const struct cli_parsed *parsed);

/* The next FEEDLINE_ variable of the environment, from *i on, that nothing
 * reads, and the one that may have been meant, or "". false: no more. */
#define CLI_VARIABLE_BYTES 128
bool cli_unknown_variable(size_t *i, char name[CLI_VARIABLE_BYTES],
                          char closest[CLI_VARIABLE_BYTES]);

/* Help of one command, all of it or what fits a screen of 24 lines with a
 * prompt; of the whole tool. */
void cli_help(const struct cli_command *command, bool all);
void cli_overview(void);

/* A line for each word that can stand at the place of the last of these, which
 * is what has been typed of it; ":files" and ":folders" stand for those. */
void cli_complete(int n, char **words);

/* Words of `text` from column `at` on, further lines indented alike, within
 * tool_columns(). A newline in the text is kept. */
void cli_print_wrapped(const char *text, size_t indent, size_t at);

/* A paragraph. */
void cli_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The candidate closest to `name`, NULL if none is close. */
struct cli_closest {
    const char *name, *best;
    size_t best_distance;
};
void cli_consider(struct cli_closest *c, const char *candidate);
const char *cli_closest_name(const struct cli_closest *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing. "--name value" and "--name=value" are the same; a switch, also a
 * boolean option of the loader, is "--name", "--no-name" or "--name=true|false"
 * and never takes the next argument, which may be the data set.
 */
#include "tools/loaderbench/cli/cli.h"

#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES CLI_NAME_BYTES

/* One option as it stands on the command line, taken apart. */
struct argument {
    char name[NAME_BYTES]; /* without dashes and value */
    const char *value;     /* after '=', or NULL */
};

static int usage(const struct cli_command *command)
{
    tool_say("'loaderbench %s --help' lists them", command->name);
    return TOOL_USAGE;
}

/* Case and '_' against '-' do not count. */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' ? '-' : *a, y = *b == '_' ? '-' : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

const char *cli_dashed(const char *name, char buf[NAME_BYTES])
{
    snprintf(buf, NAME_BYTES, "%s", name);
    for (char *p = buf; *p; p++)
        if (*p == '_')
            *p = '-';
    return buf;
}

static bool is_one_of(const char *value, const char *choices)
{
    size_t n = strlen(value);
    for (const char *p = choices; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, value, n) == 0 && (p[n] == '|' || !p[n]))
            return n > 0;
    }
    return false;
}

bool cli_takes(const struct cli_command *command, const char *name)
{
    char dashed[NAME_BYTES];
    cli_dashed(name, dashed);
    for (size_t i = 0; i < command->n_options; i++)
        if (strcmp(command->options[i].name, dashed) == 0)
            return false;
    return command->loader_options &&
           (!command->of_loader || is_one_of(name, command->of_loader));
}

const struct cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; i < n_cli_commands; i++)
        if (strcmp(name, cli_commands[i]->name) == 0)
            return cli_commands[i];
    return NULL;
}

/* Letters to change, add, drop or swap with their neighbour. Three rows of the
 * usual table are enough for swaps. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][NAME_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t na = strlen(a), nb = strlen(b);
    if (na >= NAME_BYTES || nb >= NAME_BYTES)
        return NAME_BYTES;
    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t d = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < d)
                d = above[j] + 1;
            if (row[j - 1] + 1 < d)
                d = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            row[j] = d;
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[nb];
}

void cli_consider(struct cli_closest *c, const char *candidate)
{
    char dashed[NAME_BYTES];
    cli_dashed(candidate, dashed);
    size_t d = distance(c->name, dashed);
    /* A name of which the beginning was typed is close however long it is. */
    size_t n = strlen(c->name);
    if (n >= 3 && strncmp(c->name, dashed, n) == 0)
        d = 1;
    if (!c->best || d < c->best_distance) {
        c->best = candidate;
        c->best_distance = d;
    }
}

const char *cli_closest_name(const struct cli_closest *c)
{
    size_t tolerated = strlen(c->name) / 3 + 1;
    return c->best && c->best_distance <= tolerated ? c->best : NULL;
}

bool cli_loader_option(uint32_t i, struct feedline_option_info *info)
{
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
    return feedline_option_get_info("loader", i, info) == FEEDLINE_OK;
}

bool cli_find_loader_option(const char *name, struct feedline_option_info *info)
{
    for (uint32_t i = 0; cli_loader_option(i, info); i++)
        if (same_name(info->name, name))
            return true;
    return false;
}

static int unknown_option(const struct cli_command *command, const char *name)
{
    struct cli_closest closest = {.name = name};
    for (size_t i = 0; i < command->n_options; i++)
        cli_consider(&closest, command->options[i].name);
    struct feedline_option_info info;
    for (uint32_t i = 0; cli_loader_option(i, &info); i++)
        if (cli_takes(command, info.name))
            cli_consider(&closest, info.name);
    const char *best = cli_closest_name(&closest);
    if (best) {
        char dashed[NAME_BYTES];
        tool_say("%s has no option --%s; the closest is --%s", command->name,
                 name, cli_dashed(best, dashed));
    } else {
        tool_say("%s has no option --%s", command->name, name);
    }
    return usage(command);
}

static int bad_value(const struct cli_option *o, const char *value)
{
    if (o->kind == CLI_CHOICE)
        tool_say("--%s: '%s' is not one of %s", o->name, value, o->choices);
    else if (o->kind == CLI_SIZE)
        tool_say("--%s: '%s' is not a size of %.0f bytes or more, as 64k, 2m "
                 "or 1g",
                 o->name, value, o->low);
    else if (o->kind == CLI_COUNT)
        tool_say("--%s: '%s' is not a whole number of %.0f or more", o->name,
                 value, o->low);
    else
        tool_say("--%s: '%s' is not a number between %g and %g", o->name, value,
                 o->low, o->high);
    return TOOL_USAGE;
}

static int append(struct cli_list *list, const char *value)
{
    const char **more =
        realloc(list->items, (list->n + 1) * sizeof(*list->items));
    if (!more)
        return tool_no_memory();
    list->items = more;
    list->items[list->n++] = value;
    return -1;
}

/* "64k": powers of 1024. */
static bool parse_size(const char *value, uint64_t *out)
{
    static const char suffixes[] = "kmg";
    char *end;
    errno = 0;
    uint64_t n = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || errno)
        return false;
    const char *suffix =
        *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
    if (*end && (!suffix || end[1]))
        return false;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    *out = n << shift;
    return *out >> shift == n;
}

static int set_value(const struct cli_option *o, const char *value,
                     void *values)
{
    char *at = (char *)values + o->offset, *end;
    errno = 0;
    if (o->kind == CLI_COUNT) {
        uint64_t n = strtoull(value, &end, 10);
        if (!isdigit((unsigned char)*value) || *end || errno ||
            (double)n < o->low)
            return bad_value(o, value);
        memcpy(at, &n, sizeof(n));
    } else if (o->kind == CLI_SIZE) {
        uint64_t n;
        if (!parse_size(value, &n) || (double)n < o->low)
            return bad_value(o, value);
        memcpy(at, &n, sizeof(n));
    } else if (o->kind == CLI_NUMBER) {
        double x = strtod(value, &end);
        if (end == value || *end || !(x >= o->low && x <= o->high))
            return bad_value(o, value);
        memcpy(at, &x, sizeof(x));
    } else if (o->kind == CLI_LIST) {
        struct cli_list list;
        memcpy(&list, at, sizeof(list));
        int rc = append(&list, value);
        memcpy(at, &list, sizeof(list));
        return rc;
    } else {
        if (o->kind == CLI_CHOICE && !is_one_of(value, o->choices))
            return bad_value(o, value);
        memcpy(at, &value, sizeof(value));
    }
    return -1;
}

/* The value of an option that needs one: after '=', or the next argument. */
static int take_value(const struct argument *a, int argc, char **argv, int *i,
                      const char **value)
{
    if (a->value) {
        *value = a->value;
        return -1;
    }
    if (*i + 1 >= argc) {
        tool_say("--%s needs a value", a->name);
        return TOOL_USAGE;
    }
    *value = argv[++*i];
    return -1;
}

static int take_own(const struct cli_option *o, const struct argument *a,
                    int argc, char **argv, int *i, void *values)
{
    if (o->kind == CLI_SWITCH) {
        if (a->value) {
            tool_say("--%s takes no value", o->name);
            return TOOL_USAGE;
        }
        bool on = true;
        memcpy((char *)values + o->offset, &on, sizeof(on));
        return -1;
    }
    const char *value;
    int rc = take_value(a, argc, argv, i, &value);
    if (rc < 0 && o->known && strcmp(value, "list") == 0) {
        o->known->list();
        return TOOL_DONE;
    }
    return rc < 0 ? set_value(o, value, values) : rc;
}

static int add_setting(struct cli_parsed *parsed, const char *key,
                       const char *value)
{
    struct cli_setting *more =
        realloc(parsed->settings, (parsed->n_settings + 1) * sizeof(*more));
    if (!more)
        return tool_no_memory();
    parsed->settings = more;
    more[parsed->n_settings].key = key;
    more[parsed->n_settings++].value = value;
    return -1;
}

static bool is_value_of(const struct feedline_option_info *info,
                        const char *word)
{
    return is_one_of(word, "true|false|yes|no|on|off") ||
           (info->choices && is_one_of(word, info->choices)) ||
           (info->flags & FEEDLINE_OPT_AUTO && strcmp(word, "auto") == 0);
}

/* next: the argument behind it, or NULL; a value would stand in front. */
static int take_bool(const struct feedline_option_info *info,
                     const struct argument *a, const char *next,
                     struct cli_parsed *parsed)
{
    if (!a->value && next && is_value_of(info, next)) {
        tool_say("--%s needs no value, and takes one behind '=': --%s=%s",
                 a->name, a->name, next);
        return TOOL_USAGE;
    }
    return add_setting(parsed, info->name, a->value ? a->value : "true");
}

/* -2: the loader has no such option. */
static int take_loader(const struct cli_command *command,
                       const struct argument *a, int argc, char **argv, int *i,
                       struct cli_parsed *parsed)
{
    bool negated = strncmp(a->name, "no-", 3) == 0;
    struct feedline_option_info info;
    for (uint32_t row = 0; cli_loader_option(row, &info); row++) {
        if (!cli_takes(command, info.name))
            continue;
        bool is_bool = info.type == FEEDLINE_T_BOOL;
        if (is_bool && negated && !a->value &&
            same_name(a->name + 3, info.name))
            return add_setting(parsed, info.name, "false");
        if (!same_name(a->name, info.name))
            continue;
        if (is_bool)
            return take_bool(&info, a, *i + 1 < argc ? argv[*i + 1] : NULL,
                             parsed);
        const char *value;
        int rc = take_value(a, argc, argv, i, &value);
        return rc < 0 ? add_setting(parsed, info.name, value) : rc;
    }
    return -2;
}

static int take_option(const struct cli_command *command, int argc, char **argv,
                       int *i, void *values, struct cli_parsed *out)
{
    struct argument a;
    const char *text = argv[*i] + 2, *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    if (n >= NAME_BYTES)
        n = NAME_BYTES - 1;
    memcpy(a.name, text, n);
    a.name[n] = '\0';
    a.value = equals ? equals + 1 : NULL;

    if (strcmp(a.name, "help") == 0 || strcmp(a.name, "help-all") == 0) {
        cli_help(command, a.name[4]);
        return TOOL_DONE;
    }
    for (size_t k = 0; k < command->n_options; k++)
        if (same_name(a.name, command->options[k].name))
            return take_own(&command->options[k], &a, argc, argv, i, values);
    int rc = take_loader(command, &a, argc, argv, i, out);
    return rc == -2 ? unknown_option(command, a.name) : rc;
}

/* An argument that is no option. */
static int take_positional(const struct cli_command *command, const char *arg,
                           struct cli_parsed *out)
{
    if (command->positional_many) {
        int rc = append(&out->positionals, arg);
        if (rc < 0)
            out->positional = out->positionals.items[0];
        return rc;
    }
    if (out->positional || !command->positional) {
        tool_say("%s: '%s' is one argument too many", command->name, arg);
        return usage(command);
    }
    out->positional = arg;
    return -1;
}

static int take_all(const struct cli_command *command, int argc, char **argv,
                    void *values, struct cli_parsed *out)
{
    bool options_end = false;
    int rc = -1;
    for (int i = 2; i < argc && rc < 0; i++) {
        const char *arg = argv[i];
        if (!options_end && strcmp(arg, "--") == 0) {
            options_end = true;
        } else if (!options_end && strcmp(arg, "-h") == 0) {
            cli_help(command, false);
            return TOOL_DONE;
        } else if (!options_end && arg[0] == '-' && arg[1] == '-') {
            rc = take_option(command, argc, argv, &i, values, out);
        } else if (!options_end && arg[0] == '-' && arg[1]) {
            tool_say("%s: options are written with two dashes: '%s'",
                     command->name, arg);
            return usage(command);
        } else {
            rc = take_positional(command, arg, out);
        }
    }
    return rc;
}

static void warn_of_environment(void)
{
    size_t i = 0;
    char name[CLI_VARIABLE_BYTES], closest[CLI_VARIABLE_BYTES];
    while (cli_unknown_variable(&i, name, closest))
        tool_say("warning: %s is set, but is not an option%s%s", name,
                 *closest ? "; the closest is " : "", closest);
}

static bool is_on(const struct cli_command *command, const void *values,
                  const char *name)
{
    bool on = false;
    for (size_t i = 0; i < command->n_options; i++)
        if (strcmp(command->options[i].name, name) == 0)
            memcpy(&on, (const char *)values + command->options[i].offset,
                   sizeof(on));
    return on;
}

/* Fills `values` from argv[2...]. -1: go on, else the exit status. */
static int parse(const struct cli_command *command, int argc, char **argv,
                 void *values, struct cli_parsed *out)
{
    memset(out, 0, sizeof(*out));
    int rc = take_all(command, argc, argv, values, out);
    if (rc >= 0)
        return rc;
    if (command->positional && !command->positional_optional &&
        !out->positional) {
        tool_say("%s: %s is missing", command->name, command->positional);
        return usage(command);
    }
    if (is_on(command, values, "progress"))
        progress_ask();
    if (command->loader_options)
        warn_of_environment();
    document_made_with(cli_options_json(command, values, out));
    rc = cli_check_outputs(command, values, out);
    return rc == TOOL_DONE ? -1 : rc;
}

int cli_run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_parsed parsed;
    void *values = malloc(command->values_bytes);
    if (!values)
        return tool_no_memory();
    memcpy(values, command->defaults, command->values_bytes);
    int rc = parse(command, argc, argv, values, &parsed);
    if (rc < 0)
        rc = command->run(values, &parsed);
    tool_drain_log();
    for (size_t i = 0; i < command->n_options; i++) {
        if (command->options[i].kind != CLI_LIST)
            continue;
        struct cli_list list;
        memcpy(&list, (char *)values + command->options[i].offset,
               sizeof(list));
        free(list.items);
    }
    free(parsed.positionals.items);
    free(parsed.settings);
    free(values);
    return rc;
}

int cli_apply(const struct cli_parsed *parsed, feedline_config *cfg)
{
    for (size_t i = 0; i < parsed->n_settings; i++) {
        const struct cli_setting *s = &parsed->settings[i];
        int32_t status = feedline_config_set(cfg, s->key, s->value);
        if (status < 0)
            return tool_setup_failed(status);
    }
    return TOOL_DONE;
}

bool cli_given(const struct cli_parsed *parsed, const char *key)
{
    char variable[NAME_BYTES + 16] = "FEEDLINE_";
    size_t n = strlen(variable);
    for (size_t i = 0; key[i] && n + 1 < sizeof(variable); i++)
        variable[n++] = (char)toupper((unsigned char)key[i]);
    variable[n] = '\0';
    for (size_t i = 0; i < parsed->n_settings; i++)
        if (strcmp(parsed->settings[i].key, key) == 0)
            return true;
    return getenv(variable) != NULL;
}

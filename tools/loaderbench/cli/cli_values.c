/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for, once it has been parsed: as JSON, and the files that it
 * names. */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/tool.h"

#include <string.h>

static const char *text_of(const struct cli_option *o, const void *values)
{
    const char *text;
    memcpy(&text, (const char *)values + o->offset, sizeof(text));
    return text;
}

static json_t *list_json(const void *at)
{
    struct cli_list list;
    json_t *array = json_array();
    memcpy(&list, at, sizeof(list));
    for (size_t i = 0; i < list.n; i++)
        json_array_append_new(array, doc_string(list.items[i]));
    return array;
}

static json_t *value_json(const struct cli_option *o, const void *values)
{
    const char *at = (const char *)values + o->offset;
    bool on;
    uint64_t n;
    double x;
    switch (o->kind) {
    case CLI_SWITCH:
        memcpy(&on, at, sizeof(on));
        return json_boolean(on);
    case CLI_COUNT:
    case CLI_SIZE:
        memcpy(&n, at, sizeof(n));
        return json_integer((json_int_t)n);
    case CLI_NUMBER:
        memcpy(&x, at, sizeof(x));
        return json_real(x);
    case CLI_LIST:
        return list_json(at);
    default:
        return doc_string(text_of(o, values));
    }
}

json_t *cli_options_json(const struct cli_command *command, const void *values,
                         const struct cli_parsed *parsed)
{
    json_t *all = json_object();
    char name[CLI_NAME_BYTES];
    for (size_t i = 0; i < command->n_options; i++) {
        const struct cli_option *o = &command->options[i];
        json_object_set_new(all, o->name, value_json(o, values));
    }
    for (size_t i = 0; i < parsed->n_settings; i++) {
        const struct cli_setting *s = &parsed->settings[i];
        json_object_set_new(all, cli_dashed(s->key, name),
                            doc_string(s->value));
    }
    return all;
}

/* Of the loader: what it only warns of, or finds out late. */
static bool is_output(const char *key)
{
    static const char *const keys[] = {"trace", "stats_log", "metrics"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

int cli_check_outputs(const struct cli_command *command, const void *values,
                      const struct cli_parsed *parsed)
{
    const char *to_stdout = NULL;
    int rc = TOOL_DONE;
    for (size_t i = 0; i < command->n_options && rc == TOOL_DONE; i++) {
        const struct cli_option *o = &command->options[i];
        const char *path = o->kind == CLI_OUTPUT ? text_of(o, values) : NULL;
        if (!path)
            continue;
        if (strcmp(path, "-") == 0 && to_stdout) {
            tool_say("--%s and --%s cannot both go to standard output",
                     to_stdout, o->name);
            return TOOL_USAGE;
        }
        if (strcmp(path, "-") == 0)
            to_stdout = o->name;
        rc = output_check(o->name, path);
    }
    for (size_t i = 0; i < parsed->n_settings && rc == TOOL_DONE; i++) {
        const struct cli_setting *s = &parsed->settings[i];
        char name[CLI_NAME_BYTES];
        if (is_output(s->key) && *s->value)
            rc = output_check(cli_dashed(s->key, name), s->value);
    }
    return rc;
}

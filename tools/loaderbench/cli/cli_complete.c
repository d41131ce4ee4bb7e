/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion. The scripts for the shells (completion/) know nothing: they call
 * loaderbench --complete with the words typed so far and get one candidate per
 * line, where ":files" and ":folders" stand for what the shell lists itself.
 *
 * bash cuts words at '=' and ':'; zsh and fish do not. Both forms are
 * understood, and the answer is in the form of the question.
 */
#include "tools/loaderbench/cli/cli.h"

#include <stdio.h>
#include <string.h>

/* What has been typed of the last word. */
struct typed {
    const char *prefix; /* "--dtype=", repeated before each candidate; or "" */
    size_t prefix_bytes;
    const char *word;
};

static void offer(const struct typed *t, const char *candidate, size_t bytes)
{
    size_t n = strlen(t->word);
    if (n <= bytes && strncmp(candidate, t->word, n) == 0)
        printf("%.*s%.*s\n", (int)t->prefix_bytes, t->prefix, (int)bytes,
               candidate);
}

static void offer_word(const struct typed *t, const char *candidate)
{
    offer(t, candidate, strlen(candidate));
}

/* "a|b|c" */
static void offer_choices(const struct typed *t, const char *choices)
{
    while (choices && *choices) {
        size_t n = strcspn(choices, "|");
        offer(t, choices, n);
        choices += n + (choices[n] == '|');
    }
}

static void offer_value(const void *typed, const char *value)
{
    offer_word(typed, value);
}

/* ---- Values of options -------------------------------------------------- */

/* false: `name` is none that takes a value. */
static bool offer_own(const struct typed *t, const struct cli_option *o)
{
    if (o->kind == CLI_SWITCH)
        return false;
    if (o->kind == CLI_CHOICE)
        offer_choices(t, o->choices);
    else if (o->kind == CLI_KNOWN)
        o->known->names(offer_value, t);
    else if (o->kind == CLI_OUTPUT)
        puts(":files");
    else if (o->kind == CLI_LIST)
        for (uint32_t i = 0; feedline_op_name(i); i++)
            offer_word(t, feedline_op_name(i));
    return true;
}

static bool offer_loader(const struct typed *t,
                         const struct feedline_option_info *info, bool equals)
{
    if (info->type == FEEDLINE_T_BOOL && !equals)
        return false;
    if (info->type == FEEDLINE_T_BOOL && !info->choices)
        offer_choices(t, "true|false");
    if (info->choices)
        offer_choices(t, info->choices);
    if (info->flags & FEEDLINE_OPT_AUTO)
        offer_word(t, "auto");
    if (info->type == FEEDLINE_T_STRING)
        puts(":files");
    return true;
}

/* The values of "--name"; false: it takes none. */
static bool offer_values(const struct typed *t, const struct cli_command *c,
                         const char *option, size_t bytes, bool equals)
{
    struct feedline_option_info info;
    char name[CLI_NAME_BYTES], other[CLI_NAME_BYTES];
    snprintf(name, sizeof(name), "%.*s", (int)bytes, option);
    cli_dashed(name, other);
    for (size_t i = 0; i < c->n_options; i++)
        if (strcmp(c->options[i].name, other) == 0)
            return offer_own(t, &c->options[i]);
    return cli_find_loader_option(other, &info) && cli_takes(c, info.name) &&
           offer_loader(t, &info, equals);
}

/* ---- Names -------------------------------------------------------------- */

static void offer_option(const struct typed *t, const char *name)
{
    char dashed[CLI_NAME_BYTES], typed[CLI_NAME_BYTES + 2];
    snprintf(typed, sizeof(typed), "--%s", cli_dashed(name, dashed));
    offer_word(t, typed);
}

static void offer_options(const struct typed *t, const struct cli_command *c)
{
    struct feedline_option_info info;
    for (size_t i = 0; i < c->n_options; i++)
        offer_option(t, c->options[i].name);
    for (uint32_t i = 0; cli_loader_option(i, &info); i++)
        if (cli_takes(c, info.name))
            offer_option(t, info.name);
    offer_word(t, "--help");
    offer_word(t, "--help-all");
}

static void offer_commands(const struct typed *t, bool others)
{
    for (size_t i = 0; i < n_cli_commands; i++)
        offer_word(t, cli_commands[i]->name);
    if (others)
        offer_choices(t, *t->word == '-' ? "--help|--version|--completion"
                                         : "help");
}

static void offer_positional(const struct typed *t, const struct cli_command *c)
{
    if (!c->positional)
        return;
    if (c->offer_values)
        c->offer_values(offer_value, t);
    else
        puts(c->positional_folder ? ":folders" : ":files");
}

/* ---- The command line --------------------------------------------------- */

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

/* The word before the last one that is cut off at `mark`; NULL: there is none.
 * *t is the text after the mark. */
static const char *cut_at(const char *mark, int n, char **words,
                          struct typed *t)
{
    if (n >= 3 && is(words[n - 1], mark)) {
        t->word = "";
        return words[n - 2];
    }
    return n >= 4 && is(words[n - 2], mark) ? words[n - 3] : NULL;
}

/* "--dtype=f" in one word. */
static bool complete_equals(const struct cli_command *c, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals)
        return false;
    struct typed t = {.prefix = word,
                      .prefix_bytes = (size_t)(equals + 1 - word),
                      .word = equals + 1};
    offer_values(&t, c, word + 2, (size_t)(equals - word) - 2, true);
    return true;
}

static void complete_command(const struct cli_command *c, int n, char **words)
{
    struct typed t = {.prefix = "", .word = words[n - 1]};
    const char *option = cut_at("=", n, words, &t);
    const char *before = words[n - 2];
    if (option && strncmp(option, "--", 2) == 0)
        offer_values(&t, c, option + 2, strlen(option + 2), true);
    else if (cut_at(":", n, words, &t))
        puts(":files");
    else if (n >= 3 && strncmp(before, "--", 2) == 0 && !strchr(before, '=') &&
             offer_values(&t, c, before + 2, strlen(before + 2), false))
        return;
    else if (strncmp(t.word, "--", 2) == 0 && complete_equals(c, t.word))
        return;
    else if (*t.word == '-')
        offer_options(&t, c);
    else
        offer_positional(&t, c);
}

void cli_complete(int n, char **words)
{
    if (n < 1)
        return;
    struct typed t = {.prefix = "", .word = words[n - 1]};
    const struct cli_command *c = n >= 2 ? cli_find_command(words[0]) : NULL;
    if (n == 1)
        offer_commands(&t, true);
    else if (n == 2 && is(words[0], "help"))
        offer_commands(&t, false);
    else if (n == 2 && is(words[0], "--completion"))
        offer_choices(&t, "bash|zsh|fish");
    else if (c)
        complete_command(c, n, words);
}

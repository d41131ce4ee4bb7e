/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --help prints, from the tables, in 80 columns or fewer: what fits a
 * screen, the first line of each text, an example and the options that most
 * people need. --help-all, or 'help COMMAND options', prints everything, the
 * loader's options in groups.
 */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/tool.h"

#include <feedline/files.h>

#include <stdio.h>
#include <string.h>

#define INDENT 26 /* where the words about an option or a command begin */

/* Its first line only, unless `all`. */
static void print_text(const char *text, bool all, size_t indent, size_t at)
{
    char first[1024];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, "\n"), text);
    cli_print_wrapped(all ? text : first, indent, at);
}

static void print_option(const char *name, const char *metavar,
                         const char *help, bool all)
{
    char dashed[CLI_NAME_BYTES];
    const char *word = metavar ? metavar : "";
    int n = printf("  --%s%s%s", cli_dashed(name, dashed),
                   *word && *word != '[' ? " " : "", word);
    if (n >= INDENT - 1) {
        putchar('\n');
        n = 0;
    }
    print_text(help, all, INDENT, (size_t)n);
}

/* ---- Options of the loader ---------------------------------------------- */

/* Those of --help. */
static const char *const common[] = {"batch_size", "workers", "depth",
                                     "dtype",      "device",  "shuffle",
                                     "seed",       "on_error"};
#define N_COMMON (sizeof(common) / sizeof(*common))

/* The rest is under "Other", so that none is missing. */
#define GROUP_OPTIONS_MAX 20
static const struct group {
    const char *title;
    const char *options[GROUP_OPTIONS_MAX];
} groups[] = {
    {"Batches",
     {"batch_size", "dtype", "layout", "channels", "device", "drop_last",
      "max_sample_bytes", "decode", "finish", "handover", "rounding"}},
    {"Order",
     {"shuffle", "block", "lanes", "seed", "epochs", "order", "repeats",
      "epoch_samples"}},
    {"Speed",
     {"workers", "depth", "io_depth", "reader", "direct", "cache",
      "cache_budget", "remote_cache", "remote_cache_budget", "memory_budget",
      "device_memory_budget", "quality", "jpeg_index", "jpeg_index_budget",
      "held", "local_world", "affinity"}},
    {"Tuner",
     {"tuner", "tuner_target", "tuner_profile", "workers_start", "workers_min",
      "workers_max", "depth_max", "io_depth_max"}},
    {"Distributed training", {"rank", "world", "shard_tail", "tuner_job"}},
    {"Images",
     {"on_error", "max_failures", "accept_truncated", "apply_exif", "pillow",
      "checksums", "max_pixels", "max_file_bytes", "max_scans", "max_image_ms",
      "isolate", "masks", "mask_fill", "mask_nearest", "stored_mode"}},
    {"Watching",
     {"live", "stats_log", "metrics", "stats_interval", "stuck_after",
      "terms"}},
    {"Trace",
     {"trace", "trace_skip_first", "trace_wait", "trace_warmup", "trace_active",
      "trace_repeat", "trace_categories", "trace_limit"}},
};
#define N_GROUPS (sizeof(groups) / sizeof(*groups))

/* "N|auto", "SIZE", "u8|f32", "[=false|true|auto]", "": how a value of a loader
 * option is written. */
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
    const char *more = info->flags & FEEDLINE_OPT_AUTO ? "|auto" : "";
    bool is_bool = info->type == FEEDLINE_T_BOOL;
    snprintf(buf, capacity, is_bool && word ? "[=%s%s]" : "%s%s",
             word ? word : "", more);
}

static void print_loader_option(const char *name)
{
    struct feedline_option_info info;
    char metavar[96], text[512];
    if (!cli_find_loader_option(name, &info))
        return;
    loader_metavar(&info, metavar, sizeof(metavar));
    snprintf(text, sizeof(text), "%s [%s]", info.help, info.default_text);
    print_option(info.name, metavar, text, true);
}

#define BRIEF 8 /* a longer metavar is left out of the paragraph */

/* One paragraph, as there are many: "--batch-size=N, --workers=N|auto, ..." */
static void print_common(const struct cli_command *command)
{
    char text[512], metavar[96], dashed[CLI_NAME_BYTES];
    struct feedline_option_info info;
    size_t n = (size_t)snprintf(text, sizeof(text), "Options of the loader:");
    for (size_t i = 0; i < N_COMMON; i++) {
        if (!cli_takes(command, common[i]) ||
            !cli_find_loader_option(common[i], &info))
            continue;
        loader_metavar(&info, metavar, sizeof(metavar));
        bool brief = *metavar && strlen(metavar) < BRIEF && *metavar != '[';
        n += (size_t)snprintf(text + n, sizeof(text) - n, " --%s%s%s,",
                              cli_dashed(info.name, dashed), brief ? "=" : "",
                              brief ? metavar : "");
    }
    snprintf(text + n, sizeof(text) - n, " and more.");
    cli_print_wrapped(text, 2, 0);
}

static bool is_grouped(const char *name)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        for (size_t i = 0; i < GROUP_OPTIONS_MAX && groups[g].options[i]; i++)
            if (strcmp(groups[g].options[i], name) == 0)
                return true;
    return false;
}

/* Its title before the first of them that the command takes. */
static void print_of_group(const struct cli_command *command, const char *title,
                           const char *option, bool *any)
{
    if (!cli_takes(command, option))
        return;
    if (!*any)
        printf("\n%s:\n", title);
    *any = true;
    print_loader_option(option);
}

static void print_groups(const struct cli_command *command)
{
    printf("\nOptions of the loader. FEEDLINE_WORKERS=8 in the environment is\n"
           "--workers 8; the command line wins. --no-apply-exif is "
           "--apply-exif=false.\n");
    for (size_t g = 0; g < N_GROUPS; g++) {
        bool any = false;
        for (size_t i = 0; i < GROUP_OPTIONS_MAX && groups[g].options[i]; i++)
            print_of_group(command, groups[g].title, groups[g].options[i],
                           &any);
    }
    struct feedline_option_info info;
    bool any = false;
    for (uint32_t i = 0; cli_loader_option(i, &info); i++)
        if (!is_grouped(info.name))
            print_of_group(command, "Other", info.name, &any);
}

/* ---- Kinds of data set -------------------------------------------------- */

/* What is no shards; the library lists the schemes of those. */
static const char *const kinds[][2] = {
    {"folder:", "one folder per class"},
    {"list:", "a file with a path and a label on each line"},
    {"coco:", "COCO's JSON, with boxes; ?images=FOLDER"},
    {"idx:", "IDX files, as MNIST has them"},
};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* Row `index` of all kinds; NULL past the end. */
static const char *kind(uint32_t index, const char **help)
{
    if (index >= N_KINDS)
        return feedline_shard_scheme(index - (uint32_t)N_KINDS, help);
    *help = kinds[index][1];
    return kinds[index][0];
}

static void print_kinds(const char *uri, bool all)
{
    char line[512];
    const char *name, *help;
    size_t n = (size_t)snprintf(line, sizeof(line), "%s is a path, ", uri);
    for (uint32_t i = 0; !all && (name = kind(i, &help)); i++)
        n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s",
                              i ? ", " : "with ", name);
    snprintf(line + n, sizeof(line) - n, "%s",
             all ? "with its kind before it, or with none: then it is detected."
                 : " before it, or none.");
    cli_print_wrapped(line, 0, 0);
    for (uint32_t i = 0; all && (name = kind(i, &help)); i++)
        cli_print_wrapped(help, INDENT, (size_t)printf("  %sPATH", name));
}

/* ---- Commands ----------------------------------------------------------- */

/* The word of its positional arguments that is a data set; NULL: none is. */
static const char *uri_of(const struct cli_command *command)
{
    static const char *const words[] = {"URI", "SRC"};
    for (size_t i = 0; command->positional && i < 2; i++)
        if (strncmp(command->positional, words[i], strlen(words[i])) == 0)
            return words[i];
    return NULL;
}

void cli_help(const struct cli_command *command, bool all)
{
    size_t n = all || !command->n_first ? command->n_options : command->n_first;
    bool more = n < command->n_options || command->loader_options;
    printf("Usage: loaderbench %s", command->name);
    if (command->positional)
        printf(command->positional_optional ? " [%s]" : " %s",
               command->positional);
    printf(" [options]\n\n");
    print_text(command->about, all, 0, 0);
    if (uri_of(command))
        print_kinds(uri_of(command), all);
    printf("\nExample: loaderbench %s\n\nOptions:\n", command->example);
    for (size_t i = 0; i < n; i++)
        print_option(command->options[i].name, command->options[i].metavar,
                     command->options[i].help, all);
    if (command->loader_options && !all)
        print_common(command);
    if (!all)
        printf("'loaderbench help %s options' prints %s.\n", command->name,
               more ? "all options and explains them" : "more about these");
    if (command->loader_options && all)
        print_groups(command);
}

void cli_overview(void)
{
    printf("Usage: loaderbench [FOLDER]  or  loaderbench COMMAND ...\n"
           "Without a command: what limits loading here, answered within a "
           "minute.\n\nCommands:\n");
    for (size_t i = 0; i < n_cli_commands; i++) {
        const struct cli_command *c = cli_commands[i];
        int n = printf("  %s", c->name);
        if (c->positional)
            n +=
                printf(c->positional_optional ? " [%s]" : " %s", c->positional);
        cli_print_wrapped(c->summary, INDENT, (size_t)n);
    }
    printf("\n'loaderbench help COMMAND' explains one. --version; --completion "
           "bash|zsh|fish.\n");
}

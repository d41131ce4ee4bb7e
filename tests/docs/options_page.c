/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes docs/options.md, or with the word "manual" the same as a manual page,
 * from the option tables, through the public interface only. The tests compare;
 * to renew the pages:
 *
 *     build/tests/docs/options_page > docs/options.md
 *     build/tests/docs/options_page manual > docs/man/feedline-options.7.scd
 */
#include <feedline/feedline.h>
#include <feedline/files.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *type_name(int32_t type)
{
    switch (type) {
    case FEEDLINE_T_INT:
        return "integer";
    case FEEDLINE_T_SIZE:
        return "size";
    case FEEDLINE_T_TIME:
        return "time";
    case FEEDLINE_T_DOUBLE:
        return "number";
    case FEEDLINE_T_BOOL:
        return "true or false";
    case FEEDLINE_T_STRING:
        return "text";
    case FEEDLINE_T_DOUBLES:
        return "numbers";
    default:
        return "";
    }
}

static void print_values(const struct feedline_option_info *o)
{
    if (o->choices) {
        for (const char *c = o->choices; *c; c++)
            *c == '|' ? fputs(", ", stdout) : putchar(*c);
        return;
    }
    fputs(type_name(o->type), stdout);
    if (o->type == FEEDLINE_T_INT && o->max == INT64_MAX)
        printf(", at least %lld", (long long)o->min);
    else if (o->type == FEEDLINE_T_INT)
        printf(", %lld to %lld", (long long)o->min, (long long)o->max);
    if (o->flags & FEEDLINE_OPT_AUTO)
        fputs(", or auto", stdout);
    if (o->unit[0])
        printf(" (%s)", o->unit);
}

/* ---- docs/options.md ---------------------------------------------------- */

static void print_table(const char *scope)
{
    struct feedline_option_info o = {.struct_size = sizeof(o)};
    puts("| option | values | default | meaning |\n|---|---|---|---|");
    for (uint32_t i = 0; feedline_option_get_info(scope, i, &o) == 0; i++) {
        printf("| `%s` | ", o.name);
        print_values(&o);
        printf(" | %s | %s%s |\n", o.default_text ? o.default_text : "", o.help,
               o.flags & FEEDLINE_OPT_LIVE ? " (live)" : "");
    }
}

static void write_shards(void)
{
    const char *scheme, *help = "";
    puts("\n## Shards\n\n"
         "`feedline_dataset_open(\"zip:/data/train-{000..146}.zip"
         "?damaged=skip\")`: a scheme, the names of the shards, and options "
         "after a question mark, with `&` between them. Names are files, a "
         "folder (all its files with the format's ending, by name), lists with "
         "`::` between, and braces as in the shell: `{a,b}`, `{000..146}`, "
         "`{0..8..2}`. Without a scheme the format is told by the contents or "
         "the name. Samples come in the order of the shards and of what is in "
         "them; shuffling is over all of them.");
    for (uint32_t i = 0; (scheme = feedline_shard_scheme(i, &help)); i++) {
        printf("\n### %s\n\n%c%s.\n\n", scheme, toupper(help[0]), help + 1);
        print_table(scheme);
    }
    puts(
        "\n## Index cache\n\n"
        "What the shards or folders of 10,000 samples or more hold is kept in "
        "a file, so the next start does not list them again: about 20 bytes "
        "a sample and its name (folders: the name alone), in the folder "
        "`FEEDLINE_CACHE_DIR`, else `$XDG_CACHE_HOME/feedline`, else "
        "`~/.cache/feedline`. `FEEDLINE_CACHE_DIR=off` keeps and reads none. A "
        "shard or folder whose size, inode or times of change differ is "
        "listed again, the others are not. Some blocks of up to 16 shards are "
        "compared, too: if contents changed and those did not, all are listed "
        "again. A cache that is damaged or cannot "
        "be written is no error; the log (`feedline_log_read`) has a warning. "
        "Its files may be deleted at any time.\n\n"
        "What `jpeg_index` noted is kept in the same folder, 2 % of the "
        "images' bytes, of data sets of 10,000 samples or more, or always "
        "with `jpeg_index=true`: written once a minute while there is more of "
        "it, and when a loader is destroyed, and read "
        "by all processes together as they need it.");
}

static void write_page(void)
{
    puts(
        "# Options\n\n"
        "Made from the option tables; `tests/docs` keeps it true.\n\n"
        "An option has one name everywhere: `feedline_config_set(cfg, "
        "\"batch_size\", \"128\")` in C, `--batch-size 128` for loaderbench, "
        "`FEEDLINE_BATCH_SIZE=128` in the environment, `batch_size = 128` in a "
        "job file. The environment is read first, so a program's own settings "
        "win. Sizes take k, m, g and t (powers of 1024), times need a unit "
        "(ns, us, ms, s, m, h).\n\n"
        "An option marked *live* may change while a loader runs "
        "(`feedline_loader_set_int`); it changes when batches come, never what "
        "is in them.\n\n## Loader\n");
    print_table("loader");
    puts("\n## Operations\n\n"
         "`feedline_pipeline_add(p, \"center_crop\", \"size=224\")`, or for "
         "loaderbench `--op \"center_crop size=224\"`. Names and meanings are "
         "torchvision's. Geometry is folded: one resampling per pipeline, "
         "crops before and after it, flips anywhere. `random_apply`, "
         "`random_choice` and `random_order` are about the operations that "
         "follow them ([pixels.md](pixels.md#some-or-in-another-order)).");
    const char *name;
    for (uint32_t i = 0; (name = feedline_op_name(i)); i++) {
        printf("\n### %s\n\n", name);
        print_table(name);
    }
    write_shards();
}

/* ---- The manual page, as scdoc reads it --------------------------------- */

#define COLUMNS 76 /* of its source, after a tab */

/* Nothing in it is a mark. */
static void print_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '_' || text[i] == '*' || text[i] == '\\')
            putchar('\\');
        putchar(text[i]);
    }
}

/* As the lines of an indented paragraph. */
static void print_indented(const char *text)
{
    size_t at = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (at + n > COLUMNS)
            at = 0;
        fputs(at > 0 ? " " : "\n\t", stdout);
        if (at == 0 && *text == '-')
            putchar('\\'); /* no item of a list */
        print_plain(text, n);
        at += n + 1;
        text += n;
        text += strspn(text, " ");
    }
}

static void print_items(const char *scope)
{
    struct feedline_option_info o = {.struct_size = sizeof(o)};
    for (uint32_t i = 0; feedline_option_get_info(scope, i, &o) == 0; i++) {
        putchar('*');
        print_plain(o.name, strlen(o.name));
        fputs("*: ", stdout);
        print_values(&o);
        if (o.default_text[0]) {
            fputs("; default ", stdout);
            print_plain(o.default_text, strlen(o.default_text));
        }
        fputs(o.flags & FEEDLINE_OPT_LIVE ? "; live" : "", stdout);
        print_indented(o.help);
        puts("\n");
    }
}

static void write_manual(void)
{
    puts("feedline-options(7)\n\n# NAME\n\n"
         "feedline-options - options of a loader, of operations and of "
         "shards\n\n"
         "# DESCRIPTION\n\n"
         "An option has one name everywhere:\n"
         "*feedline\\_config\\_set*(cfg, \"batch\\_size\", \"128\") in C, an "
         "argument\n"
         "of that name in Python, *--batch-size 128* for *loaderbench*(1),\n"
         "_FEEDLINE\\_BATCH\\_SIZE_ in the environment, \"batch\\_size = 128\" "
         "in a job\n"
         "file. The environment is read first, so a program's own settings "
         "win. Sizes\n"
         "take k, m, g and t (powers of 1024), times need a unit (ns, us, ms, "
         "s, m, h).\n\n"
         "What is *live* may change while a loader runs: it changes when "
         "batches come,\n"
         "never what is in them.\n\n"
         "# LOADER\n");
    print_items("loader");
    puts("# OPERATIONS\n\n"
         "*feedline\\_pipeline\\_add*(p, \"center\\_crop\", \"size=224\") in "
         "C,\n"
         "*--op* \"center\\_crop size=224\" for *loaderbench*(1). Names and "
         "meanings "
         "are\n"
         "torchvision's.\n");
    const char *name;
    for (uint32_t i = 0; (name = feedline_op_name(i)); i++) {
        printf("## %s\n\n", name);
        print_items(name);
    }
    puts("# SHARDS\n\n"
         "*feedline\\_dataset\\_open*(\"zip:/data/train-{000..146}.zip"
         "?damaged=skip\"):\n"
         "a scheme, the names of the shards, and options after a question "
         "mark.\n"
         "Names are files, a folder, lists with \"::\" between, and braces as "
         "in the\n"
         "shell. Without a scheme the format is told by the contents or the "
         "name.\n");
    const char *help = "";
    for (uint32_t i = 0; (name = feedline_shard_scheme(i, &help)); i++) {
        printf("## %s\n\n%c%s.\n\n", name, toupper(help[0]), help + 1);
        print_items(name);
    }
    puts("# SEE ALSO\n\n*loaderbench*(1)");
}

int main(int argc, char **argv)
{
    bool manual = argc > 1 && strcmp(argv[1], "manual") == 0;
    if (manual)
        write_manual();
    else
        write_page();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes docs/options.md from the option tables, through the public interface
 * only. The test compares; to renew the page:
 *
 *     build/tests/docs/options_page > docs/options.md
 */
#include <feedline/feedline.h>

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
    if (o->type == FEEDLINE_T_ENUM) {
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

int main(void)
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
         "`feedline_pipeline_add(p, \"resize\", \"size=256\")`, or for "
         "loaderbench `--op \"resize size=256\"`. Names and meanings are "
         "torchvision's. Geometry is folded: one resampling per pipeline, "
         "crops before and after it, flips anywhere.");
    const char *name;
    for (uint32_t i = 0; (name = feedline_op_name(i)); i++) {
        printf("\n### %s\n\n", name);
        print_table(name);
    }
    return 0;
}

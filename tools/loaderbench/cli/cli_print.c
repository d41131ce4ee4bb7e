/* SPDX-License-Identifier: Apache-2.0 */
/* Paragraphs as wide as the terminal; see cli.h. */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of a word and, if it is a number, its unit: "83 %", "4.0 s)". */
static size_t unbroken(const char *text)
{
    static const char letters[] = "%abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t word = strcspn(text, " \n");
    bool number = word > 0 && text[word - 1] >= '0' && text[word - 1] <= '9';
    if (!number || text[word] != ' ')
        return word;
    size_t unit = strspn(text + word + 1, letters);
    if (unit == 0 || unit > 3)
        return word;
    return word + 1 + strcspn(text + word + 1, " \n");
}

void cli_print_wrapped(const char *text, size_t indent, size_t at)
{
    size_t columns = (size_t)tool_columns();
    while (*text) {
        if (*text == '\n') {
            putchar('\n');
            at = 0;
            text++;
            continue;
        }
        size_t spaces = strspn(text, " ");
        size_t word = unbroken(text + spaces);
        if (at > indent && at + spaces + word > columns - 1) {
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

void cli_print(const char *fmt, ...)
{
    char text[4608]; /* a path may be in it */
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    cli_print_wrapped(text, 0, 0);
}

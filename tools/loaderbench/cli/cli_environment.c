/* SPDX-License-Identifier: Apache-2.0 */
/* FEEDLINE_ variables that no part of feedline reads: misspelt, most likely. */
#include "tools/loaderbench/cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "FEEDLINE_"

/* In addition to the loader's options: libraries to load, the index cache's
 * folder, the program that isolate=decode starts, and the Python package's. */
static const char *const others[] = {"libcuda", "nvml", "cache_dir",
                                     "decode_program", "library"};
#define N_OTHERS (sizeof(others) / sizeof(*others))

/* "batch_size": what may follow the prefix, in lower case; NULL: no more. */
static const char *known_name(uint32_t i)
{
    struct feedline_option_info info;
    uint32_t n = 0;
    if (cli_loader_option(i, &info))
        return info.name;
    while (cli_loader_option(n, &info))
        n++;
    return i - n < N_OTHERS ? others[i - n] : NULL;
}

static void upper(char *text)
{
    for (; *text; text++)
        *text = (char)toupper((unsigned char)*text);
}

/* false: `typed`, which follows the prefix, is known. */
static bool is_unknown(const char *typed, char closest[CLI_VARIABLE_BYTES])
{
    char dashed[CLI_NAME_BYTES], name[CLI_NAME_BYTES];
    struct cli_closest c = {.name = cli_dashed(typed, dashed)};
    for (char *p = dashed; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (uint32_t i = 0; known_name(i); i++) {
        snprintf(name, sizeof(name), "%s", known_name(i));
        upper(name);
        if (strcmp(typed, name) == 0)
            return false;
        cli_consider(&c, known_name(i));
    }
    const char *best = cli_closest_name(&c);
    snprintf(closest, CLI_VARIABLE_BYTES, "%s%s", best ? PREFIX : "",
             best ? best : "");
    upper(closest);
    return true;
}

bool cli_unknown_variable(size_t *i, char name[CLI_VARIABLE_BYTES],
                          char closest[CLI_VARIABLE_BYTES])
{
    const size_t prefix = sizeof(PREFIX) - 1;
    while (environ[*i]) {
        const char *entry = environ[(*i)++];
        size_t n = strcspn(entry, "=");
        if (strncmp(entry, PREFIX, prefix) != 0 || n >= CLI_VARIABLE_BYTES)
            continue;
        memcpy(name, entry, n);
        name[n] = '\0';
        if (is_unknown(name + prefix, closest))
            return true;
    }
    return false;
}

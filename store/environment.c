/* SPDX-License-Identifier: Apache-2.0 */
#include "store/environment.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "store/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_BYTES_MAX (UINT64_C(64) << 10)

const char *fdl_store_env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool fdl_store_env_true(const char *name)
{
    const char *value = fdl_store_env(name);
    return value && (strcasecmp(value, "true") == 0 ||
                     strcasecmp(value, "yes") == 0 || strcmp(value, "1") == 0);
}

int32_t fdl_store_home(const char *name, char **out)
{
    const char *home = fdl_store_env("HOME");
    struct fdl_text path = {0};
    if (!home)
        return FEEDLINE_ENOENT;
    fdl_text_add(&path, "%s/%s", home, name);
    *out = path.data;
    return path.data ? FEEDLINE_OK : fdl_fail_memory(strlen(name), "a path");
}

/* A copy of the only line; NULL: there are more, or none. */
static char *one_line(char *text)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t n = strlen(text);
    while (n > 0 && strchr(blanks, text[n - 1]))
        n--;
    text[n] = '\0';
    return n > 0 && !strpbrk(text, "\r\n") ? fdl_strdup(text) : NULL;
}

int32_t fdl_store_token_file(const char *path, const char *what, char **out)
{
    char *text;
    uint64_t bytes;
    int32_t status = fdl_file_load(path, &text, &bytes);
    if (status < 0)
        return fdl_fail(status, "%s: %s", what, fdl_last_error());
    char *token = bytes > TOKEN_BYTES_MAX ? NULL : one_line(text);
    explicit_bzero(text, bytes);
    free(text);
    if (token) {
        *out = token;
        return FEEDLINE_OK;
    }
    return fdl_fail(FEEDLINE_EINVAL, "%s: %s does not hold a token of one line",
                    what, path);
}

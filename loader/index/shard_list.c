/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Braces are those of WebDataset's shard lists (the package braceexpand), which
 * are bash's: {a,b} with anything in it, {000..146} and {0..8..2} with zeros in
 * front where either end has them, {a..f}; braces without a comma or a range
 * stay as they are, a backslash takes the meaning from what follows.
 */
#include "loader/index/shard_list.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "store/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_SHARDS   1000000u
#define MAX_TEXT     (UINT64_C(256) << 20) /* of all their names */
#define MAX_NESTED   32u
#define NUMBER_BYTES 24
#define SEPARATOR    "::"

/* Of variables in names: WDS_NAME for ${NAME}. */
#define PREFIX         "WDS_"
#define VARIABLE_BYTES 256u
#define MAX_PASSES     10u
#define PATH_MAX_BYTES (1u << 20)

static int32_t fail_text(const char *name)
{
    return fdl_fail(FEEDLINE_EINVAL,
                    "%.100s...: names of shards of more than %" PRIu64
                    " bytes together",
                    name, MAX_TEXT);
}

int32_t fdl_shard_list_add(struct fdl_string_list *l, const char *folder,
                           const char *name)
{
    if (l->n == MAX_SHARDS)
        return fdl_fail(FEEDLINE_EINVAL, "%s: more than %u shards", name,
                        MAX_SHARDS);
    if (l->text.bytes > MAX_TEXT)
        return fail_text(name);
    return fdl_string_list_add(l, folder, name);
}

/* ---- Braces -------------------------------------------------------------- */

/* The brace that closes the one at `open`, or NULL. *comma: there is one
 * between them, in no inner braces. */
static const char *closing(const char *open, bool *comma)
{
    uint32_t depth = 0;
    *comma = false;
    for (const char *at = open; *at; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            continue;
        }
        depth += *at == '{';
        *comma |= *at == ',' && depth == 1;
        if (*at == '}' && --depth == 0)
            return at;
    }
    return NULL;
}

struct range {
    int64_t from, to, step;
    int width; /* with zeros in front; 0: as it is */
    bool letters;
};

static bool take_number(const char **at, int64_t *out, int *width)
{
    char *end;
    errno = 0;
    *out = strtoll(*at, &end, 10);
    const char *digits = *at + (**at == '-');
    if (end == *at || errno || **at == '+' || **at == ' ')
        return false;
    if (digits[0] == '0' && end - digits > 1 && end - *at > *width)
        *width = (int)(end - *at);
    *at = end;
    return true;
}

/* Reads "a..b" or "a..b..step" between the braces. */
static bool take_range(const char *at, const char *end, struct range *r)
{
    *r = (struct range){.step = 1};
    int unused = 0;
    bool letters = ((at[0] | 32) >= 'a' && (at[0] | 32) <= 'z');
    if (letters) {
        r->from = at[0];
        r->letters = true;
        at++;
    } else if (!take_number(&at, &r->from, &r->width)) {
        return false;
    }
    if (strncmp(at, "..", 2) != 0)
        return false;
    at += 2;
    if (letters) {
        if (!((*at | 32) >= 'a' && (*at | 32) <= 'z'))
            return false;
        r->to = *at++;
    } else if (!take_number(&at, &r->to, &r->width)) {
        return false;
    }
    if (strncmp(at, "..", 2) == 0) {
        at += 2;
        if (!take_number(&at, &r->step, &unused) || r->step == INT64_MIN)
            return false;
    }
    r->step = r->step == 0 ? 1 : llabs(r->step);
    return at == end;
}

static int32_t expand(struct fdl_string_list *l, const char *pattern,
                      uint32_t depth);

/* Expands before + [middle, middle_end) + after. */
static int32_t expand_with(struct fdl_string_list *l, const char *pattern,
                           const char *open, const char *middle,
                           const char *middle_end, const char *after,
                           uint32_t depth)
{
    size_t before = (size_t)(open - pattern);
    size_t inside = (size_t)(middle_end - middle);
    size_t bytes = before + inside + strlen(after) + 1;
    char *made = malloc(bytes);
    if (!made)
        return fdl_fail_memory(bytes, "names of shards");
    memcpy(made, pattern, before);
    memcpy(made + before, middle, inside);
    memcpy(made + before + inside, after, strlen(after) + 1);
    int32_t status = expand(l, made, depth + 1);
    free(made);
    return status;
}

static int32_t expand_range(struct fdl_string_list *l, const char *pattern,
                            const char *open, const char *close,
                            const struct range *r, uint32_t depth)
{
    char number[NUMBER_BYTES];
    int32_t status = FEEDLINE_OK;
    bool up = r->from <= r->to;
    uint64_t span = up ? (uint64_t)r->to - (uint64_t)r->from
                       : (uint64_t)r->from - (uint64_t)r->to;
    uint64_t n = span / (uint64_t)r->step + 1;
    if (n > MAX_SHARDS || r->width >= NUMBER_BYTES)
        return fdl_fail(FEEDLINE_EINVAL, "%s: more than %u shards", pattern,
                        MAX_SHARDS);
    if (n * strlen(pattern) > MAX_TEXT) /* before any of them is made */
        return fail_text(pattern);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < n; i++) {
        uint64_t far = i * (uint64_t)r->step; /* may exceed an int64_t */
        int64_t value =
            (int64_t)(up ? (uint64_t)r->from + far : (uint64_t)r->from - far);
        int bytes = r->letters
                        ? snprintf(number, sizeof(number), "%c", (char)value)
                        : snprintf(number, sizeof(number), "%0*" PRId64,
                                   r->width, value);
        status = expand_with(l, pattern, open, number, number + bytes,
                             close + 1, depth);
    }
    return status;
}

static int32_t expand_list(struct fdl_string_list *l, const char *pattern,
                           const char *open, const char *close, uint32_t depth)
{
    uint32_t inner = 0;
    int32_t status = FEEDLINE_OK;
    const char *from = open + 1;
    for (const char *at = from; status == FEEDLINE_OK && at <= close; at++) {
        if (*at == '\\' && at < close) {
            at++;
        } else if (at == close || (*at == ',' && inner == 0)) {
            status = expand_with(l, pattern, open, from, at, close + 1, depth);
            from = at + 1;
        } else {
            inner += *at == '{';
            inner -= *at == '}';
        }
    }
    return status;
}

/* The name itself, without backslashes. */
static int32_t add_plain(struct fdl_string_list *l, const char *pattern)
{
    char *plain = fdl_strdup(pattern), *to = plain;
    if (!plain)
        return fdl_fail_memory(strlen(pattern) + 1, "names of shards");
    for (const char *from = pattern; *from; from++) {
        if (*from == '\\' && from[1])
            from++;
        *to++ = *from;
    }
    *to = '\0';
    int32_t status = fdl_shard_list_add(l, "", plain);
    free(plain);
    return status;
}

static int32_t expand(struct fdl_string_list *l, const char *pattern,
                      uint32_t depth)
{
    if (depth > MAX_NESTED)
        return fdl_fail(FEEDLINE_EINVAL, "%s: more than %u pairs of braces",
                        pattern, MAX_NESTED);
    for (const char *at = pattern; *at; at++) {
        bool comma;
        struct range r;
        if (*at == '\\' && at[1]) {
            at++;
            continue;
        }
        if (*at != '{')
            continue;
        const char *close = closing(at, &comma);
        if (!close)
            return fdl_fail(FEEDLINE_EINVAL, "%s: a '{' without its '}'",
                            pattern);
        if (comma)
            return expand_list(l, pattern, at, close, depth);
        if (take_range(at + 1, close, &r))
            return expand_range(l, pattern, at, close, &r, depth);
    }
    return add_plain(l, pattern);
}

/* ---- Folders ------------------------------------------------------------- */

static bool ends_with(const char *name, const char *const *endings)
{
    size_t n = strlen(name);
    for (; *endings; endings++) {
        size_t bytes = strlen(*endings);
        if (n > bytes && strcmp(name + n - bytes, *endings) == 0)
            return true;
    }
    return false;
}

static int compare(const void *a, const void *b, void *text)
{
    const uint64_t *at_a = a, *at_b = b;
    return strcmp((const char *)text + *at_a, (const char *)text + *at_b);
}

/* No hidden ones, nor what is in folders. */
static bool is_shard(const char *name, const char *const *endings)
{
    return name[0] != '.' && ends_with(name, endings);
}

static int32_t finish_folder(struct fdl_string_list *l, uint64_t first,
                             const char *path, const char *const *endings)
{
    if (l->n == first)
        return fdl_fail(FEEDLINE_ENOENT, "%s: no shards (*%s) in it", path,
                        endings[0] ? endings[0] : "");
    qsort_r(l->at + first, l->n - first, sizeof(*l->at), compare, l->text.text);
    return FEEDLINE_OK;
}

static int32_t add_folder(struct fdl_string_list *l, const char *path,
                          const char *const *endings)
{
    uint64_t first = l->n;
    struct fdl_strings folder = {0};
    uint64_t at;
    int32_t status = fdl_strings_add(&folder, path, "/", &at);
    if (status)
        return status;
    DIR *dir = opendir(path);
    if (!dir) {
        status = fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(errno));
        goto out;
    }
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        if (!is_shard(entry->d_name, endings))
            continue;
        status = fdl_shard_list_add(l, folder.text, entry->d_name);
        if (status)
            goto out;
    }
    if (errno)
        status = fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(errno));
    else
        status = finish_folder(l, first, path, endings);
out:
    if (dir)
        closedir(dir);
    free(folder.text);
    return status;
}

/* In a store. */
struct prefix {
    struct fdl_string_list *list;
    const char *location; /* ends with a '/' */
    const char *const *endings;
};

static int32_t add_object(void *user, const struct fdl_object *o)
{
    const struct prefix *p = user;
    const char *slash = strrchr(o->key, '/');
    const char *name = slash ? slash + 1 : o->key;
    return is_shard(name, p->endings)
               ? fdl_shard_list_add(p->list, p->location, name)
               : FEEDLINE_OK;
}

static int32_t add_prefix(struct fdl_string_list *l, const char *location,
                          const char *const *endings)
{
    uint64_t first = l->n;
    struct prefix p = {l, location, endings};
    int32_t status = fdl_store_each_in(location, add_object, &p);
    return status ? status : finish_folder(l, first, location, endings);
}

/* ---- Variables ----------------------------------------------------------- */

/* "${NAME}" at `open`, as webdataset has it: what WDS_NAME is in the
 * environment. *end: behind it; NULL: it is no variable. */
static int32_t find_variable(const char *path, const char *open,
                             const char **value, const char **end)
{
    char name[VARIABLE_BYTES] = PREFIX;
    size_t n = 0, before = strlen(PREFIX);
    while (open[2 + n] == '_' || isalnum((unsigned char)open[2 + n]))
        n++;
    *end = NULL;
    if (n == 0 || open[2 + n] != '}' || before + n >= sizeof(name))
        return FEEDLINE_OK;
    memcpy(name + before, open + 2, n);
    name[before + n] = '\0';
    *end = open + n + 3;
    *value = getenv(name);
    return *value ? FEEDLINE_OK
                  : fdl_fail(FEEDLINE_EINVAL,
                             "%s: ${%s} is the environment variable %s, and "
                             "there is none",
                             path, name + before, name);
}

/* *out: for free(), with the variables of `path` replaced, once. *replaced:
 * there were some. */
static int32_t replace_variables(const char *path, char **out, bool *replaced)
{
    struct fdl_text text = {0};
    int32_t status = FEEDLINE_OK;
    *replaced = false;
    for (const char *at = path;
         status == FEEDLINE_OK && *at && text.length <= PATH_MAX_BYTES;) {
        const char *value = NULL, *end = NULL;
        if (strncmp(at, "${", 2) == 0)
            status = find_variable(path, at, &value, &end);
        if (end && status == FEEDLINE_OK) {
            fdl_text_add(&text, "%s", value);
            *replaced = true;
            at = end;
        } else {
            fdl_text_add(&text, "%c", *at++);
        }
    }
    if (status == FEEDLINE_OK && (text.failed || text.length > PATH_MAX_BYTES))
        status =
            fdl_fail(FEEDLINE_EINVAL,
                     "%.100s...: variables make too long a name of it", path);
    if (status == FEEDLINE_OK && !(*out = fdl_strdup(text.data)))
        status = fdl_fail_memory(text.length, "names of shards");
    fdl_text_free(&text);
    return status;
}

/* ---- All of it ----------------------------------------------------------- */

static int32_t find_one(struct fdl_string_list *l, const char *path,
                        const char *const *endings)
{
    struct stat st;
    size_t n = strlen(path);
    if (fdl_store_has_lists(path) && path[n - 1] == '/')
        return add_prefix(l, path, endings);
    if (stat(path, &st) != 0)
        return expand(l, path, 0);
    return S_ISDIR(st.st_mode) ? add_folder(l, path, endings)
                               : fdl_shard_list_add(l, "", path);
}

static int32_t find_all(struct fdl_string_list *l, const char *path,
                        const char *const *endings)
{
    int32_t status = FEEDLINE_OK;
    char *copy = fdl_strdup(path);
    if (!copy)
        return fdl_fail_memory(strlen(path) + 1, "names of shards");
    for (char *at = copy, *next; status == FEEDLINE_OK && at; at = next) {
        next = strstr(at, SEPARATOR);
        if (next) {
            *next = '\0';
            next += strlen(SEPARATOR);
        }
        status = *at ? find_one(l, at, endings)
                     : fdl_fail(FEEDLINE_EINVAL, "%s: an empty name", path);
    }
    free(copy);
    return status;
}

/* A variable may have others in it, and "::". */
int32_t fdl_shard_list_find(struct fdl_string_list *l, const char *path,
                            const char *const *endings)
{
    char *copy = fdl_strdup(path), *next;
    bool more = copy && strstr(copy, "${");
    int32_t status =
        copy ? FEEDLINE_OK : fdl_fail_memory(strlen(path), "names of shards");
    for (uint32_t i = 0; status == FEEDLINE_OK && more && i < MAX_PASSES; i++) {
        status = replace_variables(copy, &next, &more);
        if (status == FEEDLINE_OK) {
            free(copy);
            copy = next;
        }
    }
    if (status == FEEDLINE_OK)
        status = find_all(l, copy, endings);
    free(copy);
    return status;
}

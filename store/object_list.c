/* SPDX-License-Identifier: Apache-2.0 */
#include "store/object_list.h"

#include "base/status.h"

#include <inttypes.h>
#include <string.h>

#define EMPTY_PAGES_MAX 1000u

void fdl_object_list_free(struct fdl_object_list *l)
{
    fdl_text_free(&l->next);
}

bool fdl_object_number(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(unsigned char)*text - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static int32_t check_prefix(const struct fdl_object_list *l, const char *key)
{
    if (strncmp(key, l->prefix, strlen(l->prefix)) == 0)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s: the server lists what was not asked for", l->what);
}

int32_t fdl_object_list_tell_folder(struct fdl_object_list *l, const char *key)
{
    size_t n = strlen(key);
    int32_t status = check_prefix(l, key);
    if (status == FEEDLINE_OK && (n <= strlen(l->prefix) || key[n - 1] != '/'))
        status =
            fdl_fail(FEEDLINE_EINVAL,
                     "%s: the server lists a folder that is none", l->what);
    return status ? status : l->folder(l->user, key);
}

int32_t fdl_object_list_tell(struct fdl_object_list *l,
                             const struct fdl_object *o)
{
    size_t n = strlen(o->key);
    int32_t status = check_prefix(l, o->key);
    if (status)
        return status;
    if (n == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: the server lists an object "
                        "without a name",
                        l->what);
    if (o->key[n - 1] == '/')
        return FEEDLINE_OK;
    return l->each(l->user, o);
}

int32_t fdl_object_list_turn(struct fdl_object_list *l, const char *next,
                             uint64_t told)
{
    l->empty = told ? 0 : l->empty + 1;
    if (next && *next && l->next.length && strcmp(next, l->next.data) == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: the server's list begins again and again",
                        l->what);
    if (next && *next && l->empty > EMPTY_PAGES_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %" PRIu32 " pages of the server's list are empty",
                        l->what, l->empty);
    fdl_text_clear(&l->next);
    fdl_text_add(&l->next, "%s", next ? next : "");
    return l->next.failed ? fdl_fail_memory(0, "a list") : FEEDLINE_OK;
}

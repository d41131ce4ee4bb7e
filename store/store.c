/* SPDX-License-Identifier: Apache-2.0 */
/* The list of stores, and which of them a location is of. */
#include "store/store.h"

#include "store/curl_api.h"
#include "store/get.h"

#include <string.h>

#define ROW(name) [FDL_STORE_##name] = &fdl_store_##name,
static const struct fdl_store_ops *const stores[FDL_STORE_KINDS] = {
    FDL_STORES(ROW)};

enum fdl_store_kind fdl_store_kind_of(const char *location)
{
    for (int kind = 0; kind < FDL_STORE_KINDS; kind++) {
        size_t n = strlen(stores[kind]->scheme);
        if (strncmp(location, stores[kind]->scheme, n) == 0 &&
            strncmp(location + n, "://", 3) == 0)
            return (enum fdl_store_kind)kind;
    }
    return FDL_STORE_KINDS;
}

bool fdl_store_has_lists(const char *location)
{
    enum fdl_store_kind kind = fdl_store_kind_of(location);
    return kind != FDL_STORE_KINDS && stores[kind]->list;
}

int32_t fdl_store_open(const char *location, struct fdl_store **out)
{
    const struct fdl_curl *curl;
    static const struct fdl_store_options options = {.fetch = fdl_get_request};
    enum fdl_store_kind kind = fdl_store_kind_of(location);
    fdl_assert(kind != FDL_STORE_KINDS);
    int32_t status = fdl_curl_load(&curl);
    return status ? status : stores[kind]->open(location, &options, out);
}

void fdl_store_close(struct fdl_store *store)
{
    if (store)
        store->ops->close(store);
}

static int32_t pass_folder(void *user, const char *key)
{
    (void)user;
    (void)key;
    return FEEDLINE_OK;
}

int32_t fdl_store_each_in(const char *location, fdl_object_each *each,
                          void *user)
{
    struct fdl_store *store = NULL;
    int32_t status = fdl_store_open(location, &store);
    if (status == FEEDLINE_OK)
        status = store->ops->list(store, location, each, pass_folder, user);
    fdl_store_close(store);
    return status;
}

size_t fdl_store_shown_bytes(const char *location)
{
    enum fdl_store_kind kind = fdl_store_kind_of(location);
    bool url = kind == FDL_STORE_http || kind == FDL_STORE_https;
    return url ? strcspn(location, "?#") : strlen(location);
}

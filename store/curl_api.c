/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding libcurl. The name is that of every system but Debian's second one,
 * whose libcurl is built on GnuTLS and lies beside the first.
 */
#include "store/curl_api.h"

#include "base/lock.h"
#include "base/status.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT "FEEDLINE_LIBCURL"

static struct fdl_lock lock = FDL_LOCK_INIT(FDL_RANK_CURL_LIBRARY);
static struct fdl_curl loaded; /* constant once is_loaded */
static bool is_loaded;

/* It stays loaded: threads of it may outlive any loader. */
static int32_t open_library(void **out)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const char *named = getenv(ENVIRONMENT);
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    if (named && *named) {
        *out = dlopen(named, flags);
        return *out ? FEEDLINE_OK
                    : fdl_fail(FEEDLINE_ENOSYS,
                               ENVIRONMENT "=%s: %s; name a libcurl.so.4",
                               named, dlerror());
    }
    *out = NULL;
    for (size_t i = 0; i < FDL_COUNT_OF(names) && !*out; i++)
        *out = dlopen(names[i], flags);
    if (*out)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ENOSYS,
                    "remote data sets need libcurl, which cannot be loaded "
                    "(%s); install it (Debian: libcurl4), or name the file "
                    "in " ENVIRONMENT,
                    dlerror());
}

/* dlsym gives a pointer to data; C has no cast from it to a function. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static int32_t load(struct fdl_curl *api)
{
    void *library;
    const char *missing = NULL;
    int32_t status = open_library(&library);
    if (status < 0)
        return status;
#define FIND(member, function, returns, parameters)                            \
  if (!find(library, #function, &api->member) && !missing)                     \
    missing = #function;
    FDL_CURL_FUNCTIONS(FIND)
#undef FIND
    if (missing)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "libcurl has no %s; 7.68 or later is needed", missing);
    int code = api->GlobalInit(FDL_CURL_GLOBAL_DEFAULT);
    if (code != FDL_CURL_E_OK)
        return fdl_fail(FEEDLINE_ENOSYS, "libcurl does not start: %s",
                        api->EasyWords(code));
    return FEEDLINE_OK;
}

int32_t fdl_curl_load(const struct fdl_curl **out)
{
    int32_t status = FEEDLINE_OK;
    fdl_lock(&lock);
    if (!is_loaded) {
        struct fdl_curl api;
        status = load(&api);
        if (status == FEEDLINE_OK)
            loaded = api;
        is_loaded = status == FEEDLINE_OK;
    }
    fdl_unlock(&lock);
    if (status == FEEDLINE_OK)
        *out = &loaded;
    return status;
}

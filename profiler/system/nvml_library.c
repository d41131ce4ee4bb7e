/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's management library; see nvml_library.h. */
#include "profiler/system/nvml_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY     "libnvidia-ml.so.1"
#define ENVIRONMENT "FEEDLINE_NVML"

/* dlsym gives a pointer to data; C has no cast from it to a function. */
static void find(void *library, const struct fdl_nvml_symbol *s, void *out)
{
    void *symbol = dlsym(library, s->name[0]);
    if (!symbol && s->name[1])
        symbol = dlsym(library, s->name[1]);
    memcpy((char *)out + s->at, &symbol, sizeof(symbol));
}

void *fdl_nvml_load(const struct fdl_nvml_symbol *symbols, size_t n, void *out,
                    char *why, uint32_t room)
{
    const char *path = getenv(ENVIRONMENT);
    bool named = path && *path;
    void *library = dlopen(named ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *text = dlerror();
        if (why && room > 0)
            snprintf(why, room, "%s%s", named ? ENVIRONMENT ": " : "",
                     text ? text : "cannot be loaded");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        find(library, &symbols[i], out);
    return library;
}

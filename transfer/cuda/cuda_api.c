/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the CUDA driver; cuda_api.h says which one is taken. */
#include "transfer/cuda/cuda_api.h"

#include "base/lock.h"
#include "base/status.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENVIRONMENT "FEEDLINE_LIBCUDA"
#define LIBRARY     "libcuda.so.1"

static struct fdl_lock lock = FDL_LOCK_INIT(FDL_RANK_CUDA_LIBRARY);
static struct fdl_cuda_api loaded; /* constant once is_loaded */
static bool is_loaded;

/* dlsym gives a pointer to data; C has no cast from it to a function. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

/* ---- The library -------------------------------------------------------- */

/* It stays loaded, also after a failure: its threads may outlive any loader,
 * and others in the process use it. */
static int32_t open_library(void **out)
{
    const char *named = getenv(ENVIRONMENT);
    bool is_named = named && *named;
    *out = dlopen(is_named ? named : LIBRARY,
                  RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (*out)
        return FEEDLINE_OK;
    if (is_named)
        return fdl_fail(FEEDLINE_ENOSYS,
                        ENVIRONMENT "=%s: %s; name NVIDIA's " LIBRARY
                                    ", or use device=host",
                        named, dlerror());
    return fdl_fail(FEEDLINE_ENOSYS,
                    "CUDA needs an NVIDIA driver, and its library cannot be "
                    "loaded (%s); install the driver, start a container with "
                    "--gpus all, name the file in " ENVIRONMENT
                    ", or use device=host",
                    dlerror());
}

/* ---- Its functions ------------------------------------------------------ */

/* The name of the first that is not there; NULL: none. */
static const char *find_functions(void *library, struct fdl_cuda_api *api)
{
    const char *missing = NULL;
#define FIND(name, version, parameters)                                        \
  if (!find(library, "cu" #name #version, &api->name) && !missing)             \
    missing = "cu" #name #version;
    FDL_CUDA_POOL_FUNCTIONS(FIND)
    api->has_pools = !missing;
    missing = NULL;
    FDL_CUDA_FUNCTIONS(FIND)
#undef FIND
    return missing;
}

static int32_t check_version(struct fdl_cuda_api *api)
{
    const char *named = getenv(ENVIRONMENT);
    if (!api->DriverGetVersion)
        return fdl_fail(FEEDLINE_ENOSYS,
                        ENVIRONMENT "=%s: that is no " LIBRARY
                                    "; name NVIDIA's, or use device=host",
                        named ? named : LIBRARY);
    int error = api->DriverGetVersion(&api->driver_version);
    if (error != FDL_CUDA_SUCCESS ||
        api->driver_version >= FDL_CUDA_VERSION_NEEDED)
        return FEEDLINE_OK; /* cuInit has the reason, if any */
    return fdl_fail(FEEDLINE_ENOSYS,
                    "the NVIDIA driver is for CUDA %d.%d, and one for 11.0 or "
                    "later (450 and up) is needed; install a newer one, or use "
                    "device=host",
                    api->driver_version / 1000, api->driver_version / 10 % 100);
}

/* ---- Devices ------------------------------------------------------------ */

static int32_t start(struct fdl_cuda_api *api)
{
    int error = api->Init(0);
    if (error == FDL_CUDA_SUCCESS)
        error = api->DeviceGetCount(&api->n_devices);
    if (error == FDL_CUDA_SUCCESS && api->n_devices == 0)
        error = FDL_CUDA_ERROR_NO_DEVICE;
    if (error == FDL_CUDA_SUCCESS)
        return FEEDLINE_OK;
    char words[FDL_ERROR_BYTES / 2];
    fdl_cuda_words(api, error, words, sizeof(words));
    return fdl_fail(FEEDLINE_ENOSYS,
                    "the NVIDIA driver does not start: %s; or use device=host",
                    words);
}

static int32_t find_driver(struct fdl_cuda_api *api)
{
    void *library;
    int32_t status = open_library(&library);
    if (status < 0)
        return status;
    const char *missing = find_functions(library, api);
    status = check_version(api);
    if (status < 0)
        return status;
    if (missing)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "the NVIDIA driver has no %s; install a newer one, or "
                        "use device=host",
                        missing);
    return FEEDLINE_OK;
}

int32_t fdl_cuda_find(void)
{
    struct fdl_cuda_api api;
    memset(&api, 0, sizeof(api));
    return fdl_cuda_started() ? FEEDLINE_OK : find_driver(&api);
}

const struct fdl_cuda_api *fdl_cuda_started(void)
{
    fdl_lock(&lock);
    const struct fdl_cuda_api *api = is_loaded ? &loaded : NULL;
    fdl_unlock(&lock);
    return api;
}

int32_t fdl_cuda_load(const struct fdl_cuda_api **out)
{
    int32_t status = FEEDLINE_OK;
    fdl_lock(&lock);
    if (!is_loaded) {
        struct fdl_cuda_api api;
        memset(&api, 0, sizeof(api));
        status = find_driver(&api);
        if (status >= 0)
            status = start(&api);
        if (status >= 0) {
            loaded = api;
            is_loaded = true;
        }
    }
    fdl_unlock(&lock);
    if (status >= 0)
        *out = &loaded;
    return status;
}

/* ---- Waiting while somebody captures a graph ---------------------------- */

bool fdl_cuda_not_now(int error)
{
    return error >= FDL_CUDA_ERROR_CAPTURE_FIRST &&
           error <= FDL_CUDA_ERROR_CAPTURE_LAST &&
           error != FDL_CUDA_ERROR_CAPTURED_EVENT;
}

bool fdl_cuda_captures(const struct fdl_cuda_api *cuda, fdl_cuda_stream stream)
{
    int status = 0;
    int error = cuda->StreamIsCapturing(stream, &status);
    return error == FDL_CUDA_SUCCESS ? status != 0 : fdl_cuda_not_now(error);
}

void fdl_cuda_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int fdl_cuda_wait_event(const struct fdl_cuda_api *cuda, fdl_cuda_event event)
{
    int error;
    while (fdl_cuda_not_now(error = cuda->EventSynchronize(event)))
        fdl_cuda_pause();
    return error;
}

int fdl_cuda_wait_stream(const struct fdl_cuda_api *cuda,
                         fdl_cuda_stream stream)
{
    int error;
    while (fdl_cuda_not_now(error = cuda->StreamSynchronize(stream)))
        fdl_cuda_pause();
    return error;
}

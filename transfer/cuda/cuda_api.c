/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the CUDA runtime; cuda_api.h says which one is taken. */
#include "transfer/cuda/cuda_api.h"

#include "base/compiler.h"
#include "base/lock.h"
#include "base/status.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT "FEEDLINE_CUDART"

/* Newest first. CUDA 11 called all of its libraries 11.0. */
static const char *const names[] = {"libcudart.so.13", "libcudart.so.12",
                                    "libcudart.so.11.0"};

typedef int (*entry_point_by_version)(const char *symbol, void **function,
                                      unsigned version,
                                      unsigned long long flags, int *result);
typedef int (*entry_point)(const char *symbol, void **function,
                           unsigned long long flags, int *result);

/* A loaded runtime stays loaded: its threads and the driver's may outlive any
 * loader. */
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

/* ---- Functions ---------------------------------------------------------- */

static int32_t find_runtime(void *library, struct fdl_cuda_api *api)
{
#define FIND(name, parameters)                                                 \
  if (!find(library, "cuda" #name, &api->name))                                \
    return fdl_fail(FEEDLINE_ENOSYS,                                           \
                    "the CUDA runtime has no cuda%s; version 11 or later "     \
                    "is needed",                                               \
                    #name);
    FDL_CUDA_FUNCTIONS(FIND)
    FIND(GetErrorName, )
    FIND(GetErrorString, )
#undef FIND
    return FEEDLINE_OK;
}

/* Later runtimes have only the first of the two ways. */
static bool find_in_driver(void *library, const char *name, unsigned version,
                           void *function)
{
    entry_point_by_version by_version;
    entry_point plain;
    void *symbol = NULL;
    int result = 0, error = 1;
    if (find(library, "cudaGetDriverEntryPointByVersion", &by_version))
        error = by_version(name, &symbol, version, 0, &result);
    else if (find(library, "cudaGetDriverEntryPoint", &plain))
        error = plain(name, &symbol, 0, &result);
    memcpy(function, &symbol, sizeof(symbol));
    return error == FDL_CUDA_SUCCESS && symbol;
}

static int32_t find_driver(void *library, struct fdl_cuda_api *api)
{
#define FIND(name, version, parameters)                                        \
  if (!find_in_driver(library, "cu" #name, version, &api->name)) {             \
    api->GetLastError();                                                       \
    return fdl_fail(FEEDLINE_ENOSYS,                                           \
                    "the NVIDIA driver has no cu%s; install a newer one",      \
                    #name);                                                    \
  }
    FDL_CUDA_DRIVER_FUNCTIONS(FIND)
#undef FIND
    return FEEDLINE_OK;
}

/* ---- What is missing ---------------------------------------------------- */

static int32_t fail_driver(const struct fdl_cuda_api *api)
{
    if (api->driver_version == 0)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "CUDA needs an NVIDIA driver (libcuda.so.1), and this "
                        "machine has none; install one, or use device=host");
    return fdl_fail(FEEDLINE_ENOSYS,
                    "the NVIDIA driver is for CUDA %d.%d and the CUDA runtime "
                    "is %d.%d; install a newer driver or an older runtime, or "
                    "use device=host",
                    api->driver_version / 1000, api->driver_version / 10 % 100,
                    api->runtime_version / 1000,
                    api->runtime_version / 10 % 100);
}

static int32_t check_devices(struct fdl_cuda_api *api)
{
    int error = api->GetDeviceCount(&api->n_devices);
    if (error == FDL_CUDA_SUCCESS && api->n_devices > 0)
        return FEEDLINE_OK;
    api->GetLastError(); /* the program must not find ours */
    switch (error) {
    case FDL_CUDA_ERROR_OLD_DRIVER:
        return fail_driver(api);
    case FDL_CUDA_ERROR_STUB:
        return fdl_fail(
            FEEDLINE_ENOSYS,
            "CUDA found the toolkit's stub and no NVIDIA driver; take "
            "the folder that ends in /stubs out of "
            "LD_LIBRARY_PATH, or use device=host");
    case FDL_CUDA_SUCCESS:
    case FDL_CUDA_ERROR_NO_DEVICE:
        return fdl_fail(FEEDLINE_ENOSYS,
                        "CUDA finds no GPU; look at "
                        "CUDA_VISIBLE_DEVICES and nvidia-smi, or use "
                        "device=host");
    default:
        return fdl_fail(FEEDLINE_ENOSYS,
                        "the CUDA runtime does not start: %s (%s); use "
                        "device=host",
                        api->GetErrorName(error), api->GetErrorString(error));
    }
}

/* ---- Libraries ---------------------------------------------------------- */

static int32_t use(void *library, struct fdl_cuda_api *api)
{
    int32_t status = find_runtime(library, api);
    if (status < 0)
        return status;
    api->RuntimeGetVersion(&api->runtime_version);
    if (api->DriverGetVersion(&api->driver_version) != FDL_CUDA_SUCCESS)
        api->driver_version = 0;
    status = check_devices(api);
    return status < 0 ? status : find_driver(library, api);
}

static int32_t load_named(const char *path, struct fdl_cuda_api *api)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fdl_fail(FEEDLINE_ENOSYS, ENVIRONMENT "=%s: %s", path,
                        dlerror());
    int32_t status;
    if (dlsym(library, "cudaRuntimeGetVersion"))
        status = use(library, api);
    else
        status = fdl_fail(FEEDLINE_ENOSYS,
                          ENVIRONMENT "=%s: that is no CUDA runtime", path);
    if (status < 0)
        dlclose(library);
    return status;
}

/* The first of `names` that works. The reason of the first that is there
 * stands: of a newer runtime than the driver knows, if all fail. */
static int32_t load_any(int flags, bool *any, struct fdl_cuda_api *api)
{
    int32_t status = FEEDLINE_ENOSYS;
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++) {
        char reason[FDL_ERROR_BYTES];
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | flags);
        if (!library)
            continue;
        strcpy(reason, fdl_last_error());
        status = use(library, api);
        if (status >= 0)
            return status;
        if (*any)
            fdl_fail(status, "%s", reason);
        *any = true;
        dlclose(library);
    }
    return status;
}

static int32_t load_locked(struct fdl_cuda_api *api)
{
    const char *path = getenv(ENVIRONMENT);
    if (path && *path)
        return load_named(path, api);
    bool any = false;
    int32_t status = load_any(RTLD_NOLOAD, &any, api);
    if (status < 0 && !any)
        status = load_any(0, &any, api);
    if (status < 0 && !any)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "there is no CUDA runtime: libcudart.so of CUDA 11, 12 "
                        "or 13 is neither in this process nor on the system; "
                        "install it or name the file in " ENVIRONMENT
                        ", or use device=host");
    return status;
}

int32_t fdl_cuda_load(const struct fdl_cuda_api **out)
{
    int32_t status = FEEDLINE_OK;
    fdl_lock(&lock);
    if (!is_loaded) {
        struct fdl_cuda_api api;
        memset(&api, 0, sizeof(api));
        status = load_locked(&api);
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

int32_t fdl_cuda_fail(const struct fdl_cuda_api *cuda, int error,
                      const char *what)
{
    int32_t status =
        error == FDL_CUDA_ERROR_MEMORY ? FEEDLINE_ENOMEM : FEEDLINE_EDEVICE;
    cuda->GetLastError(); /* the program must not find ours */
    return fdl_fail(status, "%s: %s (%s)", what, cuda->GetErrorName(error),
                    cuda->GetErrorString(error));
}

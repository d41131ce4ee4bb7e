/* SPDX-License-Identifier: Apache-2.0 */
/* Which backend a device name asks for. */
#include "transfer/backend.h"

#include "base/status.h"

#include <string.h>

static int is_cuda(const char *device)
{
    size_t prefix = strlen("cuda");
    if (strncmp(device, "cuda", prefix) != 0)
        return 0;
    if (device[prefix] == '\0')
        return 1;
    const char *digits = device + prefix + 1;
    return device[prefix] == ':' && digits[0] != '\0' &&
           strspn(digits, "0123456789") == strlen(digits);
}

int32_t fdl_backend_find(const char *device, const struct fdl_backend_ops **out)
{
    if (strcmp(device, "host") == 0) {
        *out = &fdl_backend_host;
        return FEEDLINE_OK;
    }
    if (is_cuda(device))
        return fdl_fail(FEEDLINE_ENOSYS,
                        "device '%s': this build has no CUDA transfer; use "
                        "'host'",
                        device);
    return fdl_fail(FEEDLINE_EINVAL,
                    "device '%s' is not known: it is 'host' or 'cuda:N'",
                    device);
}

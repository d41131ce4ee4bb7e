/* SPDX-License-Identifier: Apache-2.0 */
/* Which backend a device name asks for. */
#include "transfer/backend.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 6u

/* The number of "cuda" (0) or "cuda:N"; false: it is neither. */
static bool cuda_number(const char *device, uint32_t *number)
{
    size_t prefix = strlen("cuda");
    *number = 0;
    if (strncmp(device, "cuda", prefix) != 0)
        return false;
    if (device[prefix] == '\0')
        return true;
    const char *digits = device + prefix + 1;
    size_t n = strlen(digits);
    if (device[prefix] != ':' || n == 0 || n > MAX_DIGITS ||
        strspn(digits, "0123456789") != n)
        return false;
    *number = (uint32_t)strtoul(digits, NULL, 10);
    return true;
}

int32_t fdl_backend_find(const char *device, const struct fdl_backend_ops **out,
                         uint32_t *number)
{
    *number = 0;
    if (strcmp(device, "host") == 0)
        *out = &fdl_backend_host;
    else if (cuda_number(device, number))
        *out = &fdl_backend_cuda;
    else
        return fdl_fail(FEEDLINE_EINVAL,
                        "device '%s' is not known: it is 'host', 'cuda' or "
                        "'cuda:N'",
                        device);
    return FEEDLINE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Size-tagged structs; see abi.h. */
#include "base/abi.h"

#include "base/status.h"

#include <string.h>

#define MIN_BYTES 8
#define MAX_BYTES 65536

static uint32_t struct_size_of(const void *out)
{
    uint32_t size;
    memcpy(&size, out, sizeof(size));
    return size;
}

int32_t fdl_check_out(const void *out)
{
    if (!out)
        return fdl_fail(FEEDLINE_EINVAL, "the output struct is NULL");
    uint32_t size = struct_size_of(out);
    if (size < MIN_BYTES || size > MAX_BYTES)
        return fdl_fail(FEEDLINE_EINVAL,
                        "struct_size is %u: set it to sizeof the struct before "
                        "the call",
                        size);
    return FEEDLINE_OK;
}

int32_t fdl_copy_out(void *out, const void *value, uint32_t bytes)
{
    int32_t status = fdl_check_out(out);
    if (status < 0)
        return status;
    uint32_t size = struct_size_of(out);
    uint32_t known = FDL_MIN(size, bytes);
    memcpy((char *)out + sizeof(size), (const char *)value + sizeof(size),
           known - sizeof(size));
    return FEEDLINE_OK;
}

int32_t fdl_copy_in(void *value, const void *in, uint32_t bytes)
{
    int32_t status = fdl_check_out(in);
    if (status < 0)
        return status;
    memset(value, 0, bytes);
    memcpy(value, in, FDL_MIN(struct_size_of(in), bytes));
    return FEEDLINE_OK;
}

#define TEXT_OF(x)    #x
#define VERSION_OF(x) TEXT_OF(x)

const char *fdl_version(void)
{
    return VERSION_OF(FEEDLINE_VERSION_MAJOR) "." VERSION_OF(
        FEEDLINE_VERSION_MINOR) "." VERSION_OF(FEEDLINE_VERSION_PATCH);
}

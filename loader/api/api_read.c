/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: inside a read of the program's own. No error line, no
 * checks. */
#include "loader/read/user_read.h"

#include <feedline/source.h>

void *feedline_read_grow(struct feedline_read_call *call, uint64_t bytes)
{
    return fdl_user_read_grow(call, bytes);
}

int32_t feedline_read_fail(struct feedline_read_call *call, int32_t status,
                           const char *reason)
{
    return fdl_user_read_fail(call, status, reason);
}

int32_t feedline_read_is_cancelled(const struct feedline_read_call *call)
{
    return fdl_user_read_is_cancelled(call);
}

void feedline_read_waited(struct feedline_read_call *call, int64_t ns)
{
    fdl_user_read_waited(call, ns);
}

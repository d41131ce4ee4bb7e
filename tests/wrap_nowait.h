/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that wrap pread, so that no sample comes without it: nothing is
 * in the page cache. Linked with --wrap=preadv2. */
#ifndef FDL_TESTS_WRAP_NOWAIT_H
#define FDL_TESTS_WRAP_NOWAIT_H

#include "tests/wrap.h"

#include <errno.h>
#include <sys/uio.h>

WRAP(ssize_t, preadv2, int fd, const struct iovec *to, int n, off_t at,
     int flags)
{
    if ((flags & RWF_NOWAIT) && to->iov_len > 1) {
        errno = EAGAIN;
        return -1;
    }
    return __real_preadv2(fd, to, n, at, flags);
}

#endif

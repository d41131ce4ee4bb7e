/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of liburing; see inject.h. */
#include "inject.h"
#include "tests/wrap.h"

#include <errno.h>
#include <liburing.h>
#include <unistd.h>

/* The two lowest bits of a request's name: reader_uring.c. */
enum { REQUEST_OPEN, REQUEST_READ };

WRAP(int, io_uring_queue_init_params, unsigned entries, struct io_uring *ring,
     struct io_uring_params *p)
{
    return MUST_FAIL(RING)
               ? -EPERM
               : __real_io_uring_queue_init_params(entries, ring, p);
}

WRAP(int, io_uring_ring_dontfork, struct io_uring *ring)
{
    return MUST_FAIL(RING) ? -EPERM : __real_io_uring_ring_dontfork(ring);
}

static void change_results(struct io_uring *ring, const void *place)
{
    struct io_uring_cqe *cqe;
    unsigned head;
    io_uring_for_each_cqe(ring, head, cqe)
    {
        uint64_t request = cqe->user_data & 3;
        if (request > REQUEST_READ ||
            !inject_must_fail(INJECT_COMPLETION, place))
            continue;
        if (request == REQUEST_OPEN && cqe->res > STDERR_FILENO)
            close(cqe->res);
        cqe->res = -EIO;
    }
}

/* The reader takes all completions after each call, so each is seen once. */
WRAP(int, io_uring_submit_and_get_events, struct io_uring *ring)
{
    if (MUST_FAIL(SUBMIT))
        return -EAGAIN;
    int result = __real_io_uring_submit_and_get_events(ring);
    if (result >= 0)
        change_results(ring, __builtin_return_address(0));
    return result;
}

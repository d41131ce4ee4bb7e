/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of reader_uring.c where liburing was missing at build time. */
#include "loader/read/reader.h"

int32_t fdl_reader_uring_try(void)
{
    return fdl_fail(FEEDLINE_ENOSYS,
                    "io_uring: this library was built without it");
}

static int32_t start(const struct fdl_reader_config *cfg,
                     struct fdl_reader **out)
{
    (void)cfg;
    (void)out;
    return fdl_reader_uring_try();
}

static void stop(struct fdl_reader *r)
{
    (void)r; /* there never is one */
}

const struct fdl_reader_ops fdl_reader_uring = {
    .name = "uring",
    .kind = FDL_READER_uring,
    .reads_files = true,
    .start = start,
    .stop = stop,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are read past the page cache; see direct.h. */
#include "loader/read/direct.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MOST_ALIGN  4096u /* page blocks, such as read buffers, have it */
#define USUAL_ALIGN 4096u

static void tell(struct fdl_direct *d, const char *path, const char *why)
{
    if (!atomic_exchange_explicit(&d->told, true, memory_order_relaxed))
        fdl_log(d->mode == FDL_DIRECT_TRUE ? FDL_LOG_WARNING : FDL_LOG_INFO,
                "direct reads: %s: %s; such files are read through the page "
                "cache",
                path, why);
}

static bool is_power(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* What statx says; 0: no direct reads; USUAL_ALIGN and *told false: nothing. */
static uint32_t ask(int fd, bool *told)
{
    *told = false;
#ifdef STATX_DIOALIGN
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) == 0 &&
        (sx.stx_mask & STATX_DIOALIGN)) {
        *told = true;
        return sx.stx_dio_offset_align > sx.stx_dio_mem_align
                   ? sx.stx_dio_offset_align
                   : sx.stx_dio_mem_align;
    }
#else
    (void)fd;
#endif
    return USUAL_ALIGN;
}

uint32_t fdl_direct_open(struct fdl_direct *d, int fd, const struct stat *st,
                         const char *path)
{
    bool told;
    if (d->mode == FDL_DIRECT_FALSE)
        return 0;
    uint32_t align = ask(fd, &told);
    if (!told && d->mode == FDL_DIRECT_AUTO) {
        tell(d, path, "the file system does not say how");
        return 0;
    }
    if (!told && is_power((uint32_t)st->st_blksize))
        align = FDL_MIN((uint32_t)st->st_blksize, MOST_ALIGN);
    if (!is_power(align) || align > MOST_ALIGN) {
        tell(d, path, "the file system has none");
        return 0;
    }
    if (fcntl(fd, F_SETFL, O_DIRECT) != 0) {
        tell(d, path, strerror(errno));
        return 0;
    }
    return align;
}

void fdl_direct_close(struct fdl_direct *d, int fd, const char *path, int err)
{
    fcntl(fd, F_SETFL, 0);
    tell(d, path, strerror(err));
}

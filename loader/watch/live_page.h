/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live page: a loader's statistics for other processes.
 *
 *     loader's process                            loaderbench top
 *     memfd "feedline-live" --mapped, written     /proc/PID/fd/7 -> memfd
 *        ^ only its descriptor holds it              --opened, mapped, read
 *
 * It is memory with a descriptor and no name in any file system, so there is
 * nothing to clean up: it disappears with its process, even after kill -9.
 * Readers find it through /proc, which checks whether they may look into that
 * process at all; the page itself belongs to its owner (mode 0600). Files in
 * /dev/shm were rejected: they are left behind, and their names must be
 * guessed.
 *
 * Two copies of the statistics are written in turn, so a writer that is killed
 * halfway through one leaves the other intact. Words are copied by atomic
 * operations, as reader and writer share no lock:
 *
 *     begun = n          n goes to copy n % 2     published = n
 *
 * A reader that copies p % 2 of the published p, and then sees begun at p or
 * p + 1, was not disturbed.
 */
#ifndef FDL_LOADER_LIVE_PAGE_H
#define FDL_LOADER_LIVE_PAGE_H

#include <feedline/live.h>

#include <stdatomic.h>
#include <stdint.h>

#define FDL_LIVE_NAME    "feedline-live"
#define FDL_LIVE_MAGIC   UINT64_C(0x65766c656e696c66) /* "flinelve" */
#define FDL_LIVE_VERSION 4u

/* The first 32 bytes are the same in every version. A version may append to its
 * statistics; any other change makes a new version. */
struct fdl_live_header {
    _Atomic uint64_t magic; /* written last: the page can be read */
    uint32_t version;
    int32_t pid; /* in the process's own namespace */
    uint32_t loader;
    uint32_t header_bytes;
    int64_t started_unix_ns;

    uint64_t stats_bytes; /* of each copy, the first after the header */
    _Atomic uint64_t begun, published;
    _Atomic uint64_t ended; /* 1: the loader is gone */
};

struct fdl_live_page;

/* number: of its loader (loader_number.h). ENOSYS: the system lacks such
 * memory, or forbids it. */
int32_t fdl_live_page_create(uint32_t number, struct fdl_live_page **out);

/* One thread at a time. */
void fdl_live_page_publish(struct fdl_live_page *p,
                           const struct feedline_live_stats *stats);
void fdl_live_page_destroy(struct fdl_live_page *p);

#endif

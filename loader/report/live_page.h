/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live page: what a loader says of itself to other processes.
 *
 *     loader's process                            loaderbench top
 *     memfd "feedline-live" --mapped, written     /proc/PID/fd/7 -> memfd
 *        ^ its descriptor is all that holds it       --opened, mapped, read
 *
 * It is memory with a descriptor and no name in any file system. So there is
 * nothing to clean up: it goes with its process, also after kill -9. Others
 * find it through /proc, which asks whether they may look into that process at
 * all; the page itself is its owner's alone (mode 0600). Files in /dev/shm were
 * dropped: they stay behind, and their names have to be guessed.
 *
 * Two copies of the statistics are written in turn, so a writer that is killed
 * half way through one leaves the other whole. Its words are copied by atomic
 * operations, for reader and writer share no lock:
 *
 *     begun = n          n goes to copy n % 2     published = n
 *
 * Who reads copy p % 2 of the p that is published, and then sees begun at p or
 * p + 1, was not disturbed.
 */
#ifndef FDL_LOADER_LIVE_PAGE_H
#define FDL_LOADER_LIVE_PAGE_H

#include <feedline/live.h>

#include <stdatomic.h>
#include <stdint.h>

#define FDL_LIVE_NAME    "feedline-live"
#define FDL_LIVE_MAGIC   UINT64_C(0x65766c656e696c66) /* "flinelve" */
#define FDL_LIVE_VERSION 1u

/* The first 32 bytes are the same in every version. A version may grow its
 * statistics at their end; whatever else changes makes a new one. */
struct fdl_live_header {
    _Atomic uint64_t magic; /* written last: the page can be read */
    uint32_t version;
    int32_t pid; /* as its own process sees it */
    uint32_t loader;
    uint32_t header_bytes;
    int64_t started_unix_ns;

    uint64_t stats_bytes; /* of each copy, the first after the header */
    _Atomic uint64_t begun, published;
    _Atomic uint64_t ended; /* 1: the loader is gone */
};

struct fdl_live_page;

/* ENOSYS: the system has no such memory, or forbids it. */
int32_t fdl_live_page_create(struct fdl_live_page **out);

/* One thread at a time. */
void fdl_live_page_publish(struct fdl_live_page *p,
                           const struct feedline_live_stats *stats);
void fdl_live_page_destroy(struct fdl_live_page *p);

/* The loader's number in this process. */
uint32_t fdl_live_page_number(const struct fdl_live_page *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of objects that one thread has under way. A download is one range,
 * whatever it takes to have it:
 *
 *     begin -> request -> bytes -> done
 *                |  ^ later, from the byte that is missing on
 *                |  +-- the server is busy, or the connection broke
 *                +-- late: a second request for what is missing, more where
 *                    that is late as well; whichever sends first goes on, and
 *                    only it writes
 *
 * All bytes of a download are of one object: its ETag is compared at each
 * request, and with what earlier downloads of the object had (tag).
 *
 * The thread sleeps in libcurl, in fdl_downloads_turn.
 */
#ifndef FDL_STORE_DOWNLOADS_H
#define FDL_STORE_DOWNLOADS_H

#include "store/attempt.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FDL_DOWNLOAD_WHY 512

/* What an object was when it was first seen; for free() by whoever has it. */
typedef char *_Atomic fdl_tag;

#define FDL_DOWNLOAD_NO_ROOM 1

/* Of all downloads that have them; any thread. */
struct fdl_download_counts {
    _Atomic uint64_t requests;
    _Atomic uint64_t failures; /* of them: no answer, or not what was asked */
    _Atomic uint64_t retries, hedges, hedges_won;
    _Atomic uint64_t bytes; /* received, also those that nobody needed */
};

struct fdl_download {
    /* By the caller. */
    struct fdl_store *store;
    const char *path;  /* of the location, as messages have it */
    const char *query; /* what follows and is in none; NULL: nothing */
    uint64_t offset;
    int64_t length; /* -1: to the end of the object */
    bool up_to;     /* or to the end of it, if that comes before */
    fdl_tag *tag;   /* compared, and set if it is NULL; or NULL */
    struct fdl_download_counts *counts; /* NULL: nobody counts */

    /* Where `bytes` are to go; once, when the server has said that they come.
     * NO_ROOM: not yet; below 0: `status`, and the error line says why. */
    int32_t (*room)(struct fdl_download *d, uint64_t bytes, uint8_t **to);

    /* It has ended. From now on it is the caller's again. */
    void (*done)(struct fdl_download *d);

    /* What came of it. */
    int32_t status;
    char why[FDL_DOWNLOAD_WHY];
    uint64_t bytes;
    int64_t object_bytes; /* of the object, -1: not said */

    /* Its own. */
    uint8_t *to;
    int64_t total; /* -1: not known yet */
    uint64_t have; /* bytes, from the first on */
    char known[FDL_TAG_BYTES];
    bool strong;
    uint32_t tries, refusals, hedges;
    bool fresh;
    int64_t due_ns;   /* of the next try; not before it of a hedge */
    int64_t moved_ns; /* the last byte came */
    struct fdl_attempt *attempts; /* the last one first */
    struct fdl_download *next, **at;
};

struct fdl_downloads_config {
    uint32_t tries;      /* of one; 0: the usual number */
    uint32_t stall_s;    /* without a byte, until a request is given up; 0 */
    uint32_t connect_ms; /* to connect; 0 */
};

struct fdl_downloads;

/* Which object it was, once it has ended well: its ETag, or when it was last
 * modified; NULL: the server does not say. */
const char *fdl_download_tag(const struct fdl_download *d);

/* ENOSYS, ENOMEM. */
int32_t fdl_downloads_create(const struct fdl_downloads_config *config,
                             struct fdl_downloads **out);

/* None is under way. NULL is fine. */
void fdl_downloads_destroy(struct fdl_downloads *all);

/* d->done may be called before it returns. */
void fdl_downloads_begin(struct fdl_downloads *all, struct fdl_download *d);

/* Waits until something happens, at most so long, and sees to it. */
void fdl_downloads_turn(struct fdl_downloads *all, int64_t timeout_ns);

/* As of the last turn: those that are paused before they are tried again, or
 * whose request takes longer than others. Meanwhile others may begin. */
uint32_t fdl_downloads_waiting(const struct fdl_downloads *all);

/* Any thread: ends that wait, or the next one. */
void fdl_downloads_wake(struct fdl_downloads *all);

/* All that are under way fail with these words. */
void fdl_downloads_cancel(struct fdl_downloads *all, const char *why);

#endif

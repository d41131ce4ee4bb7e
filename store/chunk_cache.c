/* SPDX-License-Identifier: Apache-2.0 */
#include "store/chunk_cache.h"

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/memory.h"
#include "store/chunk_checked.h"
#include "store/chunk_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Of the budget that is taken at once, at most: what may be lost to a process
 * that dies, until it is found. */
#define LOT_BYTES ((uint64_t)16 << 20)
#define LOT_PART  64u

/* Head and sums of a file; of a large object's sums more are in use, but that
 * is a thousandth of its bytes. */
#define OVERHEAD FDL_CHUNK_BYTES

struct fdl_chunk_cache {
    int folder;
    bool is_open; /* the ledger is */
    uint64_t budget;
    struct fdl_lock lock; /* of the ledger and `room` */
    struct fdl_chunk_ledger ledger;
    uint64_t room;                     /* taken of the budget and not used */
    struct fdl_chunk_queue *queue;     /* of what is to be stored */
    struct fdl_chunk_checked *checked; /* NULL: all is checked each time */
    _Atomic uint64_t errors, skipped_bytes;
    _Atomic bool full;
    _Atomic int error;
    const char *_Atomic step; /* NULL: nothing has failed */
};

static void count(_Atomic uint64_t *count, uint64_t n)
{
    atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* Nothing more is written. */
static void stop(struct fdl_chunk_cache *c, const char *step, int error)
{
    const char *none = NULL;
    atomic_store_explicit(&c->error, error, memory_order_relaxed);
    /* release: the error, for who sees the step. */
    atomic_compare_exchange_strong_explicit(
        &c->step, &none, step, memory_order_release, memory_order_relaxed);
}

/* ---- Open and close ------------------------------------------------------ */

/* As mkdir -p; what fails is told by the open. */
static void make_folders(const char *folder)
{
    char *path = fdl_strdup(folder);
    if (!path)
        return;
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
    free(path);
}

static uint64_t usual_budget(int folder, uint64_t used)
{
    struct statvfs fs;
    if (fstatvfs(folder, &fs) < 0)
        return 0;
    return ((uint64_t)fs.f_bavail * fs.f_frsize + used) / 2;
}

static void open_ledger(struct fdl_chunk_cache *c)
{
    uint64_t used = 0;
    int error = fdl_chunk_ledger_open(c->folder, &c->ledger, &used);
    c->is_open = !error;
    if (error)
        stop(c, "ledger", error);
    if (c->budget == 0)
        c->budget = usual_budget(c->folder, used);
}

static void store_later(void *user, const struct fdl_chunk_job *part)
{
    struct fdl_chunk_cache *c = user;
    (void)fdl_chunk_cache_store(c, part);
}

struct fdl_chunk_cache *fdl_chunk_cache_open(const char *folder,
                                             uint64_t budget,
                                             uint64_t most_waiting)
{
    struct fdl_chunk_cache *c = calloc(1, sizeof(*c));
    if (c)
        c->queue = fdl_chunk_queue_create(most_waiting, store_later, c);
    if (!c || !c->queue) {
        free(c);
        return NULL;
    }
    fdl_lock_init(&c->lock, FDL_RANK_CHUNKS);
    c->budget = budget;
    c->checked = fdl_chunk_checked_create();
    make_folders(folder);
    c->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->folder < 0)
        stop(c, "open", errno);
    else
        open_ledger(c);
    return c;
}

void fdl_chunk_cache_close(struct fdl_chunk_cache *c)
{
    if (!c)
        return;
    fdl_chunk_queue_destroy(c->queue);
    fdl_chunk_checked_destroy(c->checked);
    if (c->is_open)
        fdl_chunk_ledger_close(&c->ledger, c->room);
    if (c->folder >= 0)
        close(c->folder);
    fdl_lock_destroy(&c->lock);
    free(c);
}

void fdl_chunk_cache_use(struct fdl_chunk_cache *c, const char *location)
{
    char group[FDL_CHUNK_GROUP_BYTES];
    if (c->folder < 0)
        return;
    fdl_chunk_group(location, group);
    (void)utimensat(c->folder, group, NULL, 0); /* it may not be there */
}

/* ---- Room ---------------------------------------------------------------- */

bool fdl_chunk_cache_takes(const struct fdl_chunk_cache *c)
{
    return !fdl_load(&c->full) && !fdl_load(&c->step);
}

void fdl_chunk_cache_get(const struct fdl_chunk_cache *c,
                         struct fdl_chunk_cache_state *out)
{
    *out = (struct fdl_chunk_cache_state){
        .full = fdl_load(&c->full),
        /* acquire: pairs with the release in stop. */
        .step = atomic_load_explicit(&c->step, memory_order_acquire),
        .error = fdl_load(&c->error),
        .budget = c->budget,
        .errors = fdl_load(&c->errors),
        .skipped_bytes = fdl_load(&c->skipped_bytes),
    };
}

/* The lock is held. errno; EAGAIN: others have the ledger now. */
static int take_lot(struct fdl_chunk_cache *c, uint64_t bytes)
{
    uint64_t lot = FDL_MIN(LOT_BYTES, c->budget / LOT_PART), taken;
    uint64_t lacks = bytes - c->room;
    int error = fdl_chunk_ledger_take(&c->ledger, c->budget, lacks,
                                      FDL_MAX(lot, lacks), &taken);
    c->room += taken;
    if (!error && taken == 0)
        atomic_store_explicit(&c->full, true, memory_order_relaxed);
    return error;
}

/* Whoever finds the lock taken goes on without: no thread waits here for one
 * that removes files. */
static bool take(struct fdl_chunk_cache *c, uint64_t bytes)
{
    if (!fdl_trylock(&c->lock))
        return false;
    int error = c->room < bytes ? take_lot(c, bytes) : 0;
    bool has = c->room >= bytes;
    if (has)
        c->room -= bytes;
    fdl_unlock(&c->lock);
    if (error && error != EAGAIN)
        stop(c, "ledger", error);
    return has;
}

static void give_back(struct fdl_chunk_cache *c, uint64_t bytes)
{
    fdl_lock(&c->lock);
    c->room += bytes;
    fdl_unlock(&c->lock);
}

/* ---- Objects ------------------------------------------------------------- */

bool fdl_chunk_cache_find(const struct fdl_chunk_cache *c,
                          const struct fdl_chunk_key *key,
                          struct fdl_chunk_file *out)
{
    return c->folder >= 0 &&
           fdl_chunk_file_open(c->folder, key, false, out) == 0;
}

bool fdl_chunk_cache_knows(const struct fdl_chunk_cache *c,
                           const struct fdl_chunk_file *f, uint64_t first,
                           uint64_t n)
{
    return fdl_chunk_checked_has(c->checked, f->number, first, n);
}

void fdl_chunk_cache_learn(const struct fdl_chunk_cache *c,
                           const struct fdl_chunk_file *f, uint64_t first,
                           uint64_t n)
{
    fdl_chunk_checked_add(c->checked, f->number, first, n);
}

/* Its file, made if it is missing or another object's. *bytes: what that takes
 * of the disk, beside chunks. errno. */
static int open_or_make(struct fdl_chunk_cache *c,
                        const struct fdl_chunk_key *key, uint64_t size,
                        struct fdl_chunk_file *f, uint64_t *bytes)
{
    *bytes = 0;
    int error = fdl_chunk_file_open(c->folder, key, true, f);
    if (!error && f->size == size)
        return 0;
    if (!error)
        fdl_chunk_file_close(f);
    else if (error != ENOENT) /* for this one, and for now */
        return error;
    *bytes = OVERHEAD;
    error = fdl_chunk_file_make(c->folder, key, size, f);
    if (error)
        stop(c, "write", error);
    return error;
}

/* errno. */
static int write_part(struct fdl_chunk_cache *c,
                      const struct fdl_chunk_job *part, uint64_t *bytes)
{
    struct fdl_chunk_file f;
    uint64_t made, wrote = 0;
    int error = open_or_make(c, &part->key, part->size, &f, &made);
    if (!error) {
        error = fdl_chunk_file_write(&f, part->offset / FDL_CHUNK_BYTES,
                                     fdl_chunks_of(part->bytes), part->data,
                                     part->anew, &wrote);
        /* What was there before has only the right sum. */
        if (!error && wrote == part->bytes)
            fdl_chunk_cache_learn(c, &f, part->offset / FDL_CHUNK_BYTES,
                                  fdl_chunks_of(part->bytes));
        fdl_chunk_file_close(&f);
        if (error)
            stop(c, "write", error);
    }
    *bytes = wrote + made;
    return error;
}

bool fdl_chunk_cache_store(struct fdl_chunk_cache *c,
                           const struct fdl_chunk_job *part)
{
    uint64_t most = part->bytes + OVERHEAD, wrote;
    if (!fdl_chunk_cache_takes(c) || !take(c, most))
        return true;
    int error = write_part(c, part, &wrote);
    give_back(c, most - wrote);
    if (error)
        count(&c->errors, 1);
    return !error;
}

void fdl_chunk_cache_offer(struct fdl_chunk_cache *c,
                           const struct fdl_chunk_job *part)
{
    if (!fdl_chunk_cache_takes(c))
        return;
    switch (fdl_chunk_queue_offer(c->queue, part)) {
    case FDL_CHUNK_TAKEN:
        break;
    case FDL_CHUNK_NO_ROOM:
        count(&c->skipped_bytes, part->bytes);
        break;
    case FDL_CHUNK_NO_THREAD:
        count(&c->errors, 1);
        stop(c, "thread", EAGAIN);
        break;
    }
}

uint64_t fdl_chunk_cache_memory(const struct fdl_chunk_cache *c)
{
    return fdl_chunk_queue_bytes(c->queue);
}

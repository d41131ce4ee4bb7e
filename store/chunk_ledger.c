/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two locks: one on the folder, shared by all who use it, which one who opens
 * it tries to have alone; one on the ledger, for the moment of a change.
 */
#include "store/chunk_ledger.h"

#include "base/compiler.h"
#include "base/shield.h"
#include "store/chunk_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define NAME     "ledger"
#define MAGIC    UINT64_C(0xfeed11e0c4ac4eb1)
#define JOIN_TRY 100 /* each time after JOIN_NS: one may be counting */
#define JOIN_NS  20000000L

struct entry {
    uint64_t magic, used;
    uint64_t users;   /* that have not closed it, dead ones too */
    int64_t since_ns; /* nobody had it open then */
};

static bool read_entry(const struct fdl_chunk_ledger *l, struct entry *e)
{
    return pread(l->fd, e, sizeof(*e), 0) == (ssize_t)sizeof(*e) &&
           e->magic == MAGIC;
}

/* errno. */
static int write_entry(const struct fdl_chunk_ledger *l, const struct entry *e)
{
    struct fdl_shield shield;
    fdl_shield_raise(&shield);
    ssize_t n = pwrite(l->fd, e, sizeof(*e), 0);
    fdl_shield_lower(&shield);
    if (n == (ssize_t)sizeof(*e))
        return 0;
    return n < 0 ? errno : ENOSPC;
}

/* errno; EAGAIN: somebody changes it now. */
static int lock_entry(const struct fdl_chunk_ledger *l, struct entry *e)
{
    if (flock(l->fd, LOCK_EX | LOCK_NB) < 0)
        return errno;
    if (read_entry(l, e))
        return 0;
    flock(l->fd, LOCK_UN);
    return EINVAL;
}

static void unlock_entry(const struct fdl_chunk_ledger *l)
{
    flock(l->fd, LOCK_UN);
}

/* ---- Open and close ------------------------------------------------------ */

/* The folder is this process's alone. */
static int begin_anew(const struct fdl_chunk_ledger *l)
{
    struct entry e;
    struct timespec now;
    if (!read_entry(l, &e) || e.users > 0)
        e = (struct entry){.magic = MAGIC,
                           .used = fdl_chunk_groups_count(l->folder)};
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* as files have it */
    e.since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return write_entry(l, &e);
}

/* With a shared lock of the folder. errno. */
static int join(const struct fdl_chunk_ledger *l)
{
    const struct timespec pause = {.tv_nsec = JOIN_NS};
    int error = 0;
    if (flock(l->folder, LOCK_EX | LOCK_NB) == 0)
        error = begin_anew(l);
    for (int i = 0; !error && flock(l->folder, LOCK_SH | LOCK_NB) < 0; i++) {
        error = errno != EWOULDBLOCK || i == JOIN_TRY ? errno : 0;
        if (!error)
            nanosleep(&pause, NULL);
    }
    return error;
}

static int add_user(struct fdl_chunk_ledger *l, uint64_t *used)
{
    struct entry e;
    const struct timespec pause = {.tv_nsec = JOIN_NS};
    int error = lock_entry(l, &e);
    for (int i = 0; error == EWOULDBLOCK && i < JOIN_TRY; i++) {
        nanosleep(&pause, NULL);
        error = lock_entry(l, &e);
    }
    if (error)
        return error;
    e.users++;
    error = write_entry(l, &e);
    unlock_entry(l);
    l->counts = !error;
    *used = e.used;
    return error;
}

int fdl_chunk_ledger_open(int folder, struct fdl_chunk_ledger *out,
                          uint64_t *used)
{
    struct fdl_chunk_ledger l = {.folder = folder};
    l.fd =
        openat(folder, NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l.fd < 0)
        return errno;
    int error = join(&l);
    if (!error)
        error = add_user(&l, used);
    if (error) {
        flock(folder, LOCK_UN);
        close(l.fd);
        return error;
    }
    *out = l;
    return 0;
}

void fdl_chunk_ledger_close(struct fdl_chunk_ledger *l, uint64_t unused)
{
    struct entry e;
    if (l->counts && lock_entry(l, &e) == 0) { /* else it is counted again */
        e.used -= FDL_MIN(unused, e.used);
        e.users -= e.users > 0;
        (void)write_entry(l, &e);
        unlock_entry(l);
    }
    flock(l->folder, LOCK_UN);
    close(l->fd);
}

/* ---- Room ---------------------------------------------------------------- */

int fdl_chunk_ledger_take(struct fdl_chunk_ledger *l, uint64_t budget,
                          uint64_t least, uint64_t most, uint64_t *taken)
{
    struct entry e;
    int error = lock_entry(l, &e);
    *taken = 0;
    if (error)
        return error;
    if (e.used + least > budget) {
        uint64_t freed = fdl_chunk_groups_remove(l->folder, e.since_ns);
        e.used -= FDL_MIN(freed, e.used);
        error = freed > 0 ? write_entry(l, &e) : 0;
    }
    if (!error && e.used + least <= budget) {
        *taken = FDL_MIN(most, budget - e.used);
        e.used += *taken;
        error = write_entry(l, &e);
    }
    unlock_entry(l);
    if (error)
        *taken = 0;
    return error;
}

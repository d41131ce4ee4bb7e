/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file, in the machine's own byte order, which `magic` shows:
 *
 *     head, offset of the record [count], XXH3 of all before, records
 *
 * An offset of 0: none. A record is a struct fdl_entries whose capacity is a
 * hash of the rest of it, so that only those that are used have to be read.
 */
#include "loader/dataset/entry_store.h"

#include "base/compiler.h"
#include "base/log.h"
#include "base/replace.h"
#include "loader/index/index_cache.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* The version of the store: raised whenever the records, what they say, or
 * FDL_ENTRIES_EVERY change. */
#define MAGIC UINT64_C(0xfeed11e17e0003)

/* The file is replaced for so much more than it has; while others decode, or
 * once at the end if nothing was kept before. */
#define WORTH_PART 16

#define PIECE_BYTES 16384 /* of the table, at a time */

/* For 5 s another process may write, and this one waits. */
#define LOCK_TRIES  500
#define LOCK_NAP_NS 10000000

struct head {
    uint64_t magic, fingerprint, count;
};

struct map {
    const uint8_t *bytes; /* NULL: none */
    uint64_t size;
    const uint64_t *offsets; /* [count] */
};

struct fdl_entry_store {
    uint64_t count, fingerprint;
    void *memory; /* `reserved` bytes, of these two: */
    _Atomic(const struct fdl_entries *) *slots;
    uint8_t *records;
    uint64_t budget, reserved;
    _Atomic uint64_t used;
    _Atomic uint64_t learned; /* bytes that were in no file at the start */
    uint64_t kept;            /* of these: in the file that was written last */
    struct map map;
    char *path; /* of the file; NULL: none is kept */
};

/* ---- The file ------------------------------------------------------------ */

static uint64_t record_bytes(uint64_t n)
{
    return sizeof(struct fdl_entries) + n * sizeof(uint64_t);
}

static uint32_t record_sum(uint64_t hash, uint32_t n, const uint64_t *at)
{
    return (uint32_t)XXH3_64bits_withSeed(at, n * sizeof(*at), hash + n);
}

static uint64_t table_bytes(uint64_t count)
{
    return sizeof(struct head) + count * sizeof(uint64_t);
}

static void close_map(struct map *m)
{
    if (m->bytes)
        munmap((void *)(uintptr_t)m->bytes, m->size);
    *m = (struct map){0};
}

/* Whether the first `bytes` of the file have this sum. They are read in pieces:
 * through the map all of them would be in this process's memory. */
static bool has_sum(int fd, uint64_t bytes, uint64_t sum)
{
    XXH3_state_t state;
    uint8_t piece[PIECE_BYTES];
    XXH3_64bits_reset(&state);
    for (uint64_t at = 0; at < bytes;) {
        size_t most = (size_t)FDL_MIN(bytes - at, sizeof(piece));
        ssize_t n = pread(fd, piece, most, (off_t)at);
        if (n <= 0)
            return false;
        XXH3_64bits_update(&state, piece, (size_t)n);
        at += (uint64_t)n;
    }
    return XXH3_64bits_digest(&state) == sum;
}

/* NULL, or what is wrong. */
static const char *check(const struct fdl_entry_store *s, const struct map *m,
                         int fd)
{
    uint64_t sum, bytes = table_bytes(s->count);
    struct head head;
    if (m->size < bytes + sizeof(sum))
        return "it is damaged";
    memcpy(&head, m->bytes, sizeof(head));
    if (head.magic != MAGIC)
        return "another version wrote it";
    if (head.fingerprint != s->fingerprint || head.count != s->count)
        return "it is of another data set";
    memcpy(&sum, m->bytes + bytes, sizeof(sum));
    return has_sum(fd, bytes, sum) ? NULL : "it is damaged";
}

static void open_map(const struct fdl_entry_store *s, struct map *m)
{
    struct stat st;
    *m = (struct map){0};
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        m->size = (uint64_t)st.st_size;
        void *p = mmap(NULL, m->size, PROT_READ, MAP_SHARED, fd, 0);
        m->bytes = p == MAP_FAILED ? NULL : p;
    }
    const char *why = m->bytes ? check(s, m, fd) : "it cannot be mapped";
    close(fd);
    if (why) {
        fdl_log(FDL_LOG_WARNING, "JPEG index %s: %s; not used", s->path, why);
        close_map(m);
        return;
    }
    m->offsets =
        (const uint64_t *)(const void *)(m->bytes + sizeof(struct head));
}

/* The record of a sample, if it is all there and as it was written. */
static const struct fdl_entries *find(const struct map *m, uint64_t index)
{
    uint64_t at = m->bytes ? m->offsets[index] : 0;
    if (at == 0 || at % sizeof(uint64_t) != 0 || m->size < record_bytes(0) ||
        at > m->size - record_bytes(0))
        return NULL;
    const struct fdl_entries *e = (const void *)(m->bytes + at);
    uint32_t n = e->n;
    if (n > FDL_ENTRIES_MOST || record_bytes(n) > m->size - at ||
        record_sum(e->hash, n, e->at) != e->capacity)
        return NULL;
    return e;
}

static bool is_mapped(const struct fdl_entry_store *s,
                      const struct fdl_entries *e)
{
    const uint8_t *at = (const uint8_t *)e;
    return s->map.bytes && at >= s->map.bytes &&
           at < s->map.bytes + s->map.size;
}

/* ---- Writing ------------------------------------------------------------- */

/* What is known of a sample, here or in the file as it is now, which another
 * process may have replaced. */
static const struct fdl_entries *best(struct fdl_entry_store *s,
                                      const struct map *now, uint64_t index)
{
    const struct fdl_entries *own = fdl_entry_store_get(s, index);
    const struct fdl_entries *other = find(now, index);
    if (!own || !other)
        return own ? own : other;
    return other->hash == own->hash && other->n > fdl_entries_count(own) ? other
                                                                         : own;
}

/* Its first n entries. If there are no more so many, as the sample's bytes have
 * changed meanwhile: a record that find() does not take for one. */
static void put_record(struct fdl_replace *w, const struct fdl_entries *e,
                       uint32_t n)
{
    static const uint64_t nothing;
    bool whole = e && fdl_entries_count(e) >= n;
    struct fdl_entries head = {0};
    head.hash = whole ? e->hash : 0;
    head.capacity = whole ? record_sum(e->hash, n, e->at) : 0;
    atomic_init(&head.n, whole ? n : FDL_ENTRIES_MOST + 1);
    fdl_replace_write(w, &head, sizeof(head));
    for (uint32_t i = 0; !whole && i < n; i++)
        fdl_replace_write(w, &nothing, sizeof(nothing));
    if (whole)
        fdl_replace_write(w, e->at, n * sizeof(e->at[0]));
}

static void put_part(struct fdl_replace *w, XXH3_state_t *sum, const void *part,
                     size_t bytes)
{
    XXH3_64bits_update(sum, part, bytes);
    fdl_replace_write(w, part, bytes);
}

/* What was looked at of the table is in this process's memory no more. */
static void let_go(const struct map *m, uint64_t count)
{
    if (m->bytes)
        madvise((void *)(uintptr_t)m->bytes, table_bytes(count), MADV_DONTNEED);
}

/* What best() has of sample i, as one of all in turn. */
static const struct fdl_entries *best_in_turn(struct fdl_entry_store *s,
                                              const struct map *now, uint64_t i)
{
    if (i % (PIECE_BYTES / sizeof(uint64_t)) == 0) {
        let_go(now, s->count);
        let_go(&s->map, s->count);
    }
    return best(s, now, i);
}

/* In pieces: all of it would take 8 bytes for each sample, known or not. What
 * it says of a sample stays so in `counts`, while threads go on to decode. */
static void put_table(struct fdl_entry_store *s, const struct map *now,
                      struct fdl_replace *w, uint32_t *counts)
{
    const struct head head = {MAGIC, s->fingerprint, s->count};
    uint64_t piece[PIECE_BYTES / sizeof(uint64_t)];
    uint64_t end = table_bytes(s->count) + sizeof(uint64_t);
    size_t n = 0;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    put_part(w, &state, &head, sizeof(head));
    for (uint64_t i = 0; i < s->count; i++) {
        const struct fdl_entries *e = best_in_turn(s, now, i);
        uint32_t entries = e ? fdl_entries_count(e) : 0;
        if (entries > 0) /* else the page stays as it is: not there */
            counts[i] = entries;
        piece[n++] = entries ? end : 0;
        end += entries ? record_bytes(entries) : 0;
        if (n == FDL_COUNT_OF(piece)) {
            put_part(w, &state, piece, sizeof(piece));
            n = 0;
        }
    }
    put_part(w, &state, piece, n * sizeof(*piece));
    uint64_t sum = XXH3_64bits_digest(&state);
    fdl_replace_write(w, &sum, sizeof(sum));
}

static void write_all(struct fdl_entry_store *s, const struct map *now,
                      struct fdl_replace *w, uint32_t *counts)
{
    put_table(s, now, w, counts);
    for (uint64_t i = 0; i < s->count; i++)
        if (counts[i])
            put_record(w, best_in_turn(s, now, i), counts[i]);
}

/* Of the folder: it leaves no file behind, and ends with its process. -1: there
 * is none to be had, or not in time. */
static int lock_folder(const char *path)
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK || i == LOCK_TRIES) {
            close(fd);
            return -1;
        }
        nanosleep(&nap, NULL);
    }
    return fd;
}

/* Only what is written takes memory. NULL: none. */
static void *reserve(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* errno. */
static int replace_file(struct fdl_entry_store *s, const struct map *now)
{
    struct fdl_replace file;
    uint64_t bytes = s->count * sizeof(uint32_t);
    uint32_t *counts = reserve(bytes);
    if (!counts)
        return ENOMEM;
    fdl_replace_begin(&file, s->path, 0600);
    write_all(s, now, &file, counts);
    munmap(counts, bytes);
    return fdl_replace_end(&file);
}

/* Ranks of a job end together. Each would read what the others have not written
 * yet, and the last would replace it: so they take turns. */
static void save(struct fdl_entry_store *s)
{
    struct map now = {0};
    uint64_t learned = atomic_load_explicit(&s->learned, memory_order_relaxed);
    fdl_cache_make_folders(s->path);
    int turn = lock_folder(s->path);
    if (access(s->path, F_OK) == 0)
        open_map(s, &now);
    int error = replace_file(s, &now);
    if (error)
        fdl_log(FDL_LOG_WARNING, "JPEG index %s: %s; not kept", s->path,
                strerror(error));
    s->kept = learned; /* or it is tried again when there is more */
    close_map(&now);
    if (turn >= 0)
        close(turn);
}

/* Whether there is more than that part of what is in the file. */
static bool is_worth(const struct fdl_entry_store *s, uint64_t part)
{
    uint64_t learned = atomic_load_explicit(&s->learned, memory_order_relaxed);
    return s->path && learned - s->kept > (s->map.size + s->kept) / part;
}

void fdl_entry_store_keep(struct fdl_entry_store *s)
{
    if (is_worth(s, WORTH_PART))
        save(s);
}

/* ---- The store ----------------------------------------------------------- */

struct fdl_entry_store *fdl_entry_store_create(uint64_t count, uint64_t budget,
                                               uint64_t fingerprint,
                                               bool always)
{
    struct fdl_entry_store *s = calloc(1, sizeof(*s));
    uint64_t slots = count * sizeof(*s->slots);
    if (!s)
        return NULL;
    s->count = count;
    s->fingerprint = fingerprint;
    s->budget = budget;
    s->reserved = slots + budget;
    void *p = reserve(s->reserved);
    if (!p) {
        fdl_log(FDL_LOG_WARNING,
                "no memory for a JPEG index of %" PRIu64
                " bytes; set jpeg_index_budget lower",
                s->reserved);
        free(s);
        return NULL;
    }
    s->memory = p;
    s->slots = p;
    s->records = (uint8_t *)p + slots;
    if (always || count >= FDL_CACHE_LEAST_SAMPLES)
        s->path = fdl_cache_path(fingerprint, "jpeg");
    if (s->path && access(s->path, F_OK) == 0)
        open_map(s, &s->map);
    return s;
}

bool fdl_entry_store_is_kept(const struct fdl_entry_store *s)
{
    return s->path != NULL;
}

bool fdl_entry_store_is_old(const struct fdl_entry_store *s)
{
    return s->map.bytes != NULL;
}

uint64_t fdl_entry_store_memory(const struct fdl_entry_store *s)
{
    uint64_t used = atomic_load_explicit(&s->used, memory_order_relaxed);
    return FDL_MIN(used, s->budget);
}

void fdl_entry_store_destroy(struct fdl_entry_store *s)
{
    if (!s)
        return;
    if (is_worth(s, s->kept > 0 ? UINT64_MAX : WORTH_PART))
        save(s);
    close_map(&s->map);
    munmap(s->memory, s->reserved);
    free(s->path);
    free(s);
}

const struct fdl_entries *fdl_entry_store_get(struct fdl_entry_store *s,
                                              uint64_t index)
{
    /* acquire: pairs with `publish`. */
    const struct fdl_entries *e =
        atomic_load_explicit(&s->slots[index], memory_order_acquire);
    const struct fdl_entries *found = e ? NULL : find(&s->map, index);
    if (!found)
        return e;
    /* Where another thread was first, e is what it has. */
    bool first = atomic_compare_exchange_strong_explicit(
        &s->slots[index], &e, found, memory_order_release,
        memory_order_acquire);
    return first ? found : e;
}

/* Zeroed; NULL: the budget is used up. */
static struct fdl_entries *take_record(struct fdl_entry_store *s, uint32_t n)
{
    uint64_t bytes = record_bytes(n);
    uint64_t at =
        atomic_fetch_add_explicit(&s->used, bytes, memory_order_relaxed);
    return at + bytes <= s->budget ? (void *)(s->records + at) : NULL;
}

/* A record with what `from` has, where there is one, in the place of `old`. */
static struct fdl_entries *publish(struct fdl_entry_store *s, uint64_t index,
                                   const struct fdl_entry_notes *notes,
                                   const struct fdl_entries *old,
                                   const struct fdl_entries *from)
{
    struct fdl_entries *e = take_record(s, notes->capacity);
    if (!e)
        return NULL;
    e->hash = notes->hash;
    e->capacity = notes->capacity;
    if (from) {
        e->n = FDL_MIN(from->n, e->capacity);
        memcpy(e->at, from->at, e->n * sizeof(e->at[0]));
    }
    bool swapped = atomic_compare_exchange_strong_explicit(
        &s->slots[index], &old, e, memory_order_release, memory_order_relaxed);
    if (swapped)
        atomic_fetch_add_explicit(&s->learned, record_bytes(0),
                                  memory_order_relaxed);
    return swapped ? e : NULL; /* another worker has noted the same */
}

/* Whoever is second leaves it to the first. */
static void append(struct fdl_entry_store *s, struct fdl_entries *e,
                   const struct fdl_entry_notes *notes)
{
    uint32_t n = fdl_entries_count(e), end = notes->first + notes->n;
    if (n < notes->first || n >= end || end > e->capacity ||
        !atomic_compare_exchange_strong_explicit(
            &e->n, &n, n | FDL_ENTRIES_BUSY, memory_order_acquire,
            memory_order_relaxed))
        return;
    memcpy(e->at + n, notes->at + (n - notes->first),
           (end - n) * sizeof(e->at[0]));
    /* release: pairs with fdl_entries_count. */
    atomic_store_explicit(&e->n, end, memory_order_release);
    atomic_fetch_add_explicit(&s->learned, (end - n) * sizeof(e->at[0]),
                              memory_order_relaxed);
}

void fdl_entry_store_put(struct fdl_entry_store *s, uint64_t index,
                         const struct fdl_entry_notes *notes)
{
    if (!notes->valid || notes->n == 0)
        return;
    const struct fdl_entries *old = fdl_entry_store_get(s, index);
    bool same = old && old->hash == notes->hash;
    if (same && !is_mapped(s, old)) {
        append(s, (struct fdl_entries *)(uintptr_t)old, notes);
        return;
    }
    struct fdl_entries *e = publish(s, index, notes, old, same ? old : NULL);
    if (e)
        append(s, e, notes);
}

void fdl_entry_store_begin(struct fdl_entry_store *s, uint64_t index,
                           struct fdl_entry_notes *notes,
                           struct fdl_encoded *bytes)
{
    if (!notes)
        return;
    fdl_entry_notes_begin(notes, fdl_entry_store_get(s, index), true);
    bytes->notes = notes;
}

void fdl_entry_store_end(struct fdl_entry_store *s, uint64_t index,
                         const struct fdl_entry_notes *notes,
                         struct fdl_render_cost *cost)
{
    if (!notes || !notes->valid)
        return;
    fdl_entry_store_put(s, index, notes);
    cost->mcus += notes->decoded;
    cost->mcus_jumped += notes->jumped;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Watches a loader of another process; see live_reader.h. */
#include "loader/watch/live_reader.h"

#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "loader/watch/live_page.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A writer needs a microsecond four times a second. One that disturbs a reader
 * this often is broken. */
#define TRIES 1000

/* ---- Texts -------------------------------------------------------------- */

/* Bytes of the character at s if a terminal may get it, else 0. */
static uint32_t printable(const unsigned char *s)
{
    uint32_t c = 0;
    uint32_t bytes = fdl_utf8_next(s, &c);
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool bidi = (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
                (c >= 0x2066 && c <= 0x2069);
    return control || bidi ? 0 : bytes;
}

void fdl_live_clean_text(char *text, uint32_t capacity)
{
    uint32_t end = (uint32_t)strnlen(text, capacity - 1);
    text[end] = '\0';
    for (uint32_t i = 0; i < end;) {
        uint32_t bytes = printable((const unsigned char *)text + i);
        if (bytes == 0)
            text[i++] = '?';
        i += bytes;
    }
}

static void clean_number(double *x)
{
    if (!isfinite(*x))
        *x = -1;
}

static void clean(struct feedline_live_stats *s)
{
    double *numbers[] = {&s->cpu_quota,
                         &s->gpu_utilization,
                         &s->gpu_memory_utilization,
                         &s->gpu_power_watts,
                         &s->gpu_power_limit_watts,
                         &s->gpu_temperature,
                         &s->gpu_sm_clock_mhz,
                         &s->gpu_pcie_rx_gbps,
                         &s->gpu_memory_used_bytes,
                         &s->gpu_memory_total_bytes,
                         &s->verdict.confidence,
                         &s->verdict.predicted_gain,
                         &s->tuner.stall,
                         &s->tuner.target};
    for (size_t i = 0; i < FDL_COUNT_OF(numbers); i++)
        clean_number(numbers[i]);
    fdl_live_clean_text(s->gpu_throttle, sizeof(s->gpu_throttle));
    fdl_live_clean_text(s->verdict.code, sizeof(s->verdict.code));
    fdl_live_clean_text(s->verdict.level, sizeof(s->verdict.level));
    fdl_live_clean_text(s->verdict.sentence, sizeof(s->verdict.sentence));
    fdl_live_clean_text(s->verdict.action, sizeof(s->verdict.action));
    fdl_live_clean_text(s->tuner.mode, sizeof(s->tuner.mode));
    fdl_live_clean_text(s->tuner.state, sizeof(s->tuner.state));
    fdl_live_clean_text(s->tuner.limited_by, sizeof(s->tuner.limited_by));
    fdl_live_clean_text(s->watched, sizeof(s->watched));
    fdl_live_clean_text(s->placement, sizeof(s->placement));
    s->n_decisions = FDL_MIN(s->n_decisions, FEEDLINE_LIVE_DECISIONS);
    for (uint32_t i = 0; i < FEEDLINE_LIVE_DECISIONS; i++)
        fdl_live_clean_text(s->decisions[i], sizeof(s->decisions[i]));
}

/* ---- Attach ------------------------------------------------------------- */

static int32_t fail_page(const struct feedline_live *live, const char *why)
{
    return fdl_fail(FEEDLINE_EIO,
                    "the statistics of process %" PRId32 " are damaged: %s",
                    live->pid, why);
}

/* Maps fd, and checks that everything in the header is there. */
static int32_t map_page(struct feedline_live *live, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(*live->page) ||
        st.st_size > INT_MAX)
        return fail_page(live, "too few bytes");
    size_t bytes = (size_t)st.st_size;
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return fail_page(live, "they cannot be mapped");
    live->page = memory;
    live->page_bytes = bytes;

    /* Read once: the writer may change them. */
    uint64_t header = live->page->header_bytes;
    uint64_t stats = live->page->stats_bytes;
    if (header < sizeof(*live->page) || header % 8 || header > bytes ||
        stats < 8 || stats % 8 || stats > (bytes - header) / 2)
        return fail_page(live, "sizes that are not there");
    for (size_t i = 0; i < 2; i++)
        live->copies[i] =
            (const _Atomic uint64_t *)(const void *)((const char *)memory +
                                                     header + i * stats);
    live->words = FDL_MIN(stats, sizeof(struct feedline_live_stats)) / 8;
    return FEEDLINE_OK;
}

/* What is searched, and what was found instead. */
struct search {
    struct feedline_live *live;
    uint32_t loader;
    int32_t status; /* of the page, once it is found */
    uint32_t n;
    char others[64]; /* "0, 1" */
};

static bool look_at(void *user, int fd, const struct feedline_live_info *info)
{
    struct search *s = user;
    if (info->loader != s->loader) {
        size_t end = strlen(s->others);
        snprintf(s->others + end, sizeof(s->others) - end, "%s%" PRIu32,
                 s->n++ ? ", " : "", info->loader);
        return true;
    }
    if (info->version != FDL_LIVE_VERSION)
        s->status = fdl_fail(FEEDLINE_EINVAL,
                             "the statistics of process %" PRId32 " have "
                             "layout %" PRIu32 ", this is a reader of layout "
                             "%u; use the tools of that feedline",
                             info->pid, info->version, FDL_LIVE_VERSION);
    else
        s->status = map_page(s->live, fd);
    return false;
}

static int32_t find_page(struct feedline_live *live, uint32_t loader)
{
    struct search s = {.live = live, .loader = loader, .status = 1};
    if (live->process < 0)
        return fdl_fail(FEEDLINE_ENOENT, "there is no process %" PRId32,
                        live->pid);
    int32_t status = fdl_live_pages(live->process, live->pid, look_at, &s);
    if (s.status <= 0)
        return s.status;
    if (status < 0)
        return status;
    if (s.n)
        return fdl_fail(FEEDLINE_ENOENT,
                        "process %" PRId32 " has no loader %" PRIu32
                        "; it has %s",
                        live->pid, loader, s.others);
    return fdl_fail(FEEDLINE_ENOENT,
                    "process %" PRId32 " has no feedline loader that can be "
                    "watched: none yet, or option live=false; one of another "
                    "library is seen once its script calls "
                    "feedline.watch(loader)",
                    live->pid);
}

int32_t fdl_live_attach(int32_t pid, uint32_t loader,
                        struct feedline_live **out)
{
    if (pid <= 0)
        return fdl_fail(FEEDLINE_EINVAL, "%" PRId32 " is not a process ID",
                        pid);
    struct feedline_live *live = calloc(1, sizeof(*live));
    if (!live)
        return fdl_fail_memory(sizeof(*live), "a live view");
    live->fork_generation = fdl_fork_generation();
    live->pid = pid;
    live->process = fdl_live_process(pid);
    int32_t status = find_page(live, loader);
    if (status < 0)
        fdl_live_detach(live);
    else
        *out = live;
    return status;
}

void fdl_live_detach(struct feedline_live *live)
{
    if (live->page)
        munmap((void *)(uintptr_t)live->page, live->page_bytes);
    if (live->process >= 0)
        close(live->process);
    free(live);
}

/* ---- Read --------------------------------------------------------------- */

/* false: it changed meanwhile. */
static bool copy_once(const struct feedline_live *live,
                      struct feedline_live_stats *out)
{
    char *to = (char *)out;
    /* acquire: pairs with fdl_live_page_publish; the copy is whole. */
    uint64_t p =
        atomic_load_explicit(&live->page->published, memory_order_acquire);
    const _Atomic uint64_t *copy = live->copies[p % 2];
    for (size_t i = 0; i < live->words; i++) {
        /* acquire: pairs with the stores of fdl_live_page_publish; a word of a
         * later update comes with its begun. */
        uint64_t word = atomic_load_explicit(&copy[i], memory_order_acquire);
        memcpy(to + i * sizeof(word), &word, sizeof(word));
    }
    uint64_t begun =
        atomic_load_explicit(&live->page->begun, memory_order_relaxed);
    return begun - p <= 1;
}

static bool ended(const struct feedline_live *live)
{
    /* acquire: pairs with fdl_live_page_destroy; the last update is there. */
    return atomic_load_explicit(&live->page->ended, memory_order_acquire) ||
           !fdl_live_process_runs(live->process);
}

int32_t fdl_live_read(const struct feedline_live *live,
                      struct feedline_live_stats *out)
{
    /* An older page does not have it. */
    struct feedline_live_stats stats = {.storage_bytes = -1, .synced_ns = -1};
    bool end = ended(live); /* before the copy: nothing follows it then */
    for (uint32_t i = 0; !copy_once(live, &stats); i++) {
        if (i == TRIES)
            return fail_page(live, "they never hold still");
        sched_yield();
    }
    stats.pid = live->pid;
    clean(&stats);
    *out = stats;
    return end ? FEEDLINE_END : FEEDLINE_OK;
}

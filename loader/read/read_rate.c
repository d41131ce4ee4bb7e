/* SPDX-License-Identifier: Apache-2.0 */
/* Reads samples and frees them, with a clock; see read_rate.h. */
#include "loader/read/read_rate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "loader/options.h"
#include "loader/read/reader_file.h"
#include "profiler/measure/total.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

/* Samples that are looked for in the page cache. */
#define LOOKS 512

struct reading {
    const struct fdl_reading_plan *plan;
    struct fdl_window *window;
    struct fdl_stage *stages;       /* [FDL_MAX_IO_DEPTH] */
    struct fdl_sample_times *times; /* [n] */
};

static void resolve(void *user, struct fdl_read *r)
{
    struct reading *g = user;
    r->index = g->plan->samples[r->sample];
    r->times = &g->times[r->sample];
    fdl_dataset_locate(g->plan->dataset, r->index, FDL_CHECKSUMS_AUTO,
                       &r->source);
}

static void peek(void *user, uint64_t sample, struct fdl_source *out)
{
    const struct reading *g = user;
    fdl_dataset_locate(g->plan->dataset, g->plan->samples[sample],
                       FDL_CHECKSUMS_AUTO, out);
}

/* ---- The page cache ----------------------------------------------------- */

static void source_of(const struct fdl_reading_plan *p, uint64_t i,
                      struct fdl_source *s)
{
    fdl_dataset_get(p->dataset, p->samples[i], s);
}

/* Each file once; what is dirty or mapped stays, whoever asks. */
static void drop_files(const struct fdl_reading_plan *p, uint8_t *dropped)
{
    struct fdl_source s;
    for (uint64_t i = 0; i < p->n; i++) {
        source_of(p, i, &s);
        if (s.file != FDL_OWN_FILE && dropped[s.file])
            continue;
        if (s.file != FDL_OWN_FILE)
            dropped[s.file] = 1;
        int fd = open(s.path, FDL_FILE_FLAGS);
        if (fd < 0)
            continue; /* the reader says why */
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

/* -1: the kernel does not say. Nothing is read that is not there. */
static int is_cached(const struct fdl_source *s)
{
    char byte;
    struct iovec one = {&byte, 1};
    int fd = open(s->path, FDL_FILE_FLAGS);
    if (fd < 0)
        return -1;
    uint64_t middle = s->length > 0 ? (uint64_t)s->length / 2 : 0;
    ssize_t n = preadv2(fd, &one, 1, (off_t)(s->offset + middle), RWF_NOWAIT);
    int found = n > 0 ? 1 : n < 0 && errno == EAGAIN ? 0 : -1;
    close(fd);
    return found;
}

static double cached_fraction(const struct fdl_reading_plan *p)
{
    uint64_t step = FDL_MAX(p->n / LOOKS, 1), known = 0, cached = 0;
    struct fdl_source s;
    for (uint64_t i = 0; i < p->n; i += step) {
        source_of(p, i, &s);
        int is = is_cached(&s);
        known += is >= 0;
        cached += is > 0;
    }
    return known ? (double)cached / (double)known : -1;
}

/* ---- Reading ------------------------------------------------------------ */

static uint64_t cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static struct fdl_read *take(struct fdl_window *w)
{
    struct fdl_event *ready = fdl_window_ready(w);
    for (;;) {
        uint32_t key = fdl_event_prepare(ready);
        struct fdl_read *r = fdl_window_take(w);
        if (r) {
            fdl_event_cancel(ready);
            return r;
        }
        fdl_event_wait(ready, key, -1);
    }
}

static void count(struct feedline_reading *out, const struct fdl_read *r)
{
    out->reads++;
    out->bytes += r->size;
    out->failed += r->status != FEEDLINE_OK;
    out->direct += r->align > 0 && !r->plain;
}

/* All that were issued are read; no more are issued once the time is over. The
 * first reads, whose buffers are new, are not counted. */
static void read_all(const struct reading *g, uint32_t ahead,
                     struct feedline_reading *out)
{
    const struct fdl_reading_plan *p = g->plan;
    uint64_t issued = 0, done = 0, first = FDL_MIN(ahead, p->n / 4);
    uint64_t cpu = cpu_ns();
    int64_t start = fdl_now_ns(), now = start;
    for (;;) {
        bool over = (uint64_t)(now - start) >= p->most_ns;
        if ((!over || done < first) && issued < p->n && issued < done + ahead) {
            issued = FDL_MIN(p->n, done + 2 * (uint64_t)ahead);
            fdl_window_issue(g->window, issued);
        }
        if (done == issued)
            break;
        struct fdl_read *r = take(g->window);
        if (done++ >= first)
            count(out, r);
        fdl_window_free(g->window, r);
        now = fdl_now_ns();
        if (done == first) {
            start = now;
            cpu = cpu_ns();
        }
    }
    out->ns = (uint64_t)(now - start);
    out->cpu_ns = cpu_ns() - cpu;
}

static int32_t run(struct reading *g, struct feedline_reading *out)
{
    const struct fdl_reader_ops *ops;
    struct fdl_reader *reader;
    struct fdl_reader_config cfg = {
        .window = g->window,
        .dataset = g->plan->dataset,
        .depth = FDL_MAX(g->plan->depth, 1u),
        .max_depth = FDL_MAX_IO_DEPTH,
        .stages = g->stages,
    };
    int32_t status = fdl_reader_start(g->plan->reader, &cfg, &ops, &reader);
    if (status < 0)
        return status;
    if (!g->plan->depth)
        cfg.depth = ops->default_depth;
    if (ops->set_depth)
        ops->set_depth(reader, cfg.depth);
    fdl_window_set_limit(g->window, 2 * cfg.depth + 1);
    out->io_depth = cfg.depth;
    snprintf(out->reader, sizeof(out->reader), "%s", ops->name);
    read_all(g, 4 * cfg.depth, out);
    fdl_window_close(g->window);
    ops->stop(reader);
    return FEEDLINE_OK;
}

static void add_latency(const struct reading *g, struct feedline_reading *out)
{
    struct fdl_total *total = calloc(1, sizeof(*total));
    for (uint32_t i = 0; total && i < FDL_MAX_IO_DEPTH; i++)
        fdl_total_add(total, &g->stages[i]);
    if (total) {
        out->p50_ns = (uint64_t)fdl_histogram_quantile(&total->times, 0.5);
        out->p99_ns = (uint64_t)fdl_histogram_quantile(&total->times, 0.99);
    }
    free(total);
}

static int32_t prepare(struct reading *g, struct feedline_reading *out)
{
    const struct fdl_reading_plan *p = g->plan;
    size_t stages = FDL_MAX_IO_DEPTH * sizeof(*g->stages);
    uint8_t *dropped = calloc(FDL_MAX(p->dataset->files.n, 1), 1);
    g->times = calloc(p->n, sizeof(*g->times));
    g->stages = fdl_pages_alloc(stages);
    if (!dropped || !g->times || !g->stages) {
        free(dropped);
        return fdl_fail_memory(stages, "reading");
    }
    if (p->cold)
        drop_files(p, dropped);
    free(dropped);
    out->cached = cached_fraction(p);
    int32_t status = fdl_window_create(
        2 * FDL_MAX_IO_DEPTH + 1, p->max_file_bytes, resolve, g, &g->window);
    if (status >= 0)
        status =
            fdl_window_open_shards(g->window, p->dataset->files.n, p->random);
    if (status >= 0)
        fdl_window_direct(g->window)->mode = p->direct;
    if (status >= 0)
        fdl_window_remote(g->window)->chunks = p->chunks;
    if (status >= 0 && !p->random)
        fdl_window_set_peek(g->window, peek);
    return status;
}

int32_t fdl_reading_measure(const struct fdl_reading_plan *plan,
                            struct feedline_reading *out)
{
    struct reading g = {.plan = plan};
    *out = (struct feedline_reading){.struct_size = sizeof(*out)};
    int32_t status = prepare(&g, out);
    if (status >= 0)
        status = run(&g, out);
    if (status >= 0)
        add_latency(&g, out);
    if (g.window) {
        fdl_window_close_shards(g.window);
        fdl_window_destroy(g.window);
    }
    fdl_pages_free(g.stages, FDL_MAX_IO_DEPTH * sizeof(*g.stages));
    free(g.times);
    return status;
}

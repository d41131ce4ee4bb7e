/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench io: what the storage under a data set delivers, and by which
 * reader. Every setting is measured in turn, several times through, and medians
 * are taken: storage that is shared changes from minute to minute.
 *
 *   cold   in order, at random  x  uring, pread  x  direct or not  x  depths
 *   warm   at random            x  uring, pread, from the page cache
 */
#include "tools/loaderbench/io/io.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"

#include <feedline/files.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 64
#define ROUNDS_MAX 100
#define WARM_RUNS  8 /* at most */

struct io_options {
    double seconds;
    uint64_t rounds;
    const char *json;
    bool quiet, progress;
};

#define VALUES struct io_options
static const struct cli_option options[] = {
    {"seconds", "S", "how long each setting is measured each time [0.4]",
     VALUE_NUMBER(seconds, 0.001, 3600)},
    {"rounds", "N", "how often each is measured; medians count [3]",
     VALUE_COUNT(rounds, 1)},
    CLI_JSON(json),
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_io = {
    .name = "io",
    .positional = "URI",
    .positional_folder = true,
    .summary = "how fast a data set is read, and with which options",
    .about =
        "Reads samples of a data set as a loader does, without decoding, and "
        "names the best options.\n\n"
        "In order and at random, by io_uring and by threads, through the page "
        "cache and past it, with several reads in flight. Before each "
        "measurement the files are dropped from the page cache, as far as the "
        "kernel does that for anybody; 'cached' says what was there all the "
        "same. A training on the same files gets slower meanwhile.",
    .example = "io photos",
    CLI_TABLE(.seconds = 0.4, .rounds = 3),
    .run = io_main,
};

struct point {
    bool random, cold;
    const char *reader, *direct;
    uint32_t io_depth;

    double rate[ROUNDS_MAX]; /* of bytes */
    double reads[ROUNDS_MAX], cpu[ROUNDS_MAX];
    double p50[ROUNDS_MAX], p99[ROUNDS_MAX], cached[ROUNDS_MAX];
    uint64_t failed, direct_reads;
    size_t n;
};

struct io {
    const struct io_options *o;
    feedline_dataset *data;
    feedline_config *config;
    struct point *points; /* [POINTS_MAX] */
    size_t n;
    const char *missing; /* why there is no io_uring; NULL: there is */
    char reason[256];
};

/* ---- Measuring ----------------------------------------------------------- */

static void add_points(struct io *io)
{
    static const char *const readers[] = {"uring", "pread"};
    static const char *const direct[] = {"false", "true"};
    static const uint32_t depths[] = {1, 4, 16, 64};
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 2 * 2 * 4; i++)
            io->points[io->n++] = (struct point){.random = i / 8,
                                                 .cold = true,
                                                 .reader = readers[r],
                                                 .direct = direct[i / 4 % 2],
                                                 .io_depth = depths[i % 4]};
    for (int r = 0; r < 2; r++)
        io->points[io->n++] = (struct point){.random = true,
                                             .reader = readers[r],
                                             .direct = "false",
                                             .io_depth = r == 0 ? 16 : 4};
}

static int32_t set_options(const struct io *io, const struct point *p,
                           uint64_t seed)
{
    char depth[16], text[32];
    snprintf(depth, sizeof(depth), "%u", p->io_depth);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
    const char *const set[][2] = {{"reader", p->reader},
                                  {"direct", p->direct},
                                  {"io_depth", depth},
                                  {"seed", text},
                                  {"shuffle", p->random ? "true" : "false"}};
    for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++) {
        int32_t status = feedline_config_set(io->config, set[i][0], set[i][1]);
        if (status < 0)
            return status;
    }
    return FEEDLINE_OK;
}

static void take_in(struct point *p, const struct feedline_reading *is)
{
    double seconds = (double)is->ns * 1e-9, reads = (double)is->reads;
    if (is->ns == 0 || is->reads == 0)
        return;
    p->rate[p->n] = (double)is->bytes / seconds;
    p->reads[p->n] = reads / seconds;
    p->cpu[p->n] = (double)is->cpu_ns * 1e-3 / reads;
    p->p50[p->n] = (double)is->p50_ns * 1e-3;
    p->p99[p->n] = (double)is->p99_ns * 1e-3;
    p->cached[p->n] = is->cached;
    p->failed += is->failed;
    p->direct_reads += is->direct;
    p->n++;
}

/* Until it gets no further than before: each run brings more into memory, and
 * virtual machines first have to find that memory. */
static int32_t read_warm(struct io *io, uint64_t most,
                         struct feedline_reading *is)
{
    uint64_t before = 0;
    int32_t status = FEEDLINE_OK;
    for (int i = 0; i < WARM_RUNS && status >= 0; i++) {
        status =
            feedline_dataset_measure_reading(io->config, io->data, most, 0, is);
        if (is->reads <= before + before / 20)
            break;
        before = is->reads;
    }
    return status;
}

static int32_t measure(struct io *io, struct point *p, uint64_t seed)
{
    struct feedline_reading is = {.struct_size = sizeof(is)};
    uint64_t most = (uint64_t)(io->o->seconds * 1e9);
    int32_t status = set_options(io, p, seed);
    if (status >= 0 && !p->cold)
        status = read_warm(io, most, &is);
    else if (status >= 0)
        status = feedline_dataset_measure_reading(io->config, io->data, most,
                                                  FEEDLINE_READING_COLD, &is);
    if (status >= 0)
        take_in(p, &is);
    return status;
}

static bool is_missing(const struct io *io, const struct point *p)
{
    return io->missing && strcmp(p->reader, "uring") == 0;
}

/* An exit status. */
static int measure_all(struct io *io)
{
    size_t done = 0;
    const struct progress progress = {.what = "io",
                                      .unit = "measurements",
                                      .all = io->n * io->o->rounds,
                                      .begin = tool_seconds()};
    for (uint64_t round = 0; round < io->o->rounds; round++)
        for (size_t i = 0; i < io->n; i++) {
            struct point *p = &io->points[i];
            progress_count(&progress, done++);
            if (tool_interrupted() || is_missing(io, p))
                continue;
            int32_t status = measure(io, p, round + 1);
            if (status == FEEDLINE_ENOSYS) {
                snprintf(io->reason, sizeof(io->reason), "%s",
                         feedline_last_error());
                io->missing = io->reason;
            } else if (status < 0) {
                return tool_run_failed(status);
            }
        }
    progress_line("%s", "");
    return TOOL_DONE;
}

/* ---- The document -------------------------------------------------------- */

static json_t *describe(struct point *p)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:b}",
        "mode", p->random ? "random" : "sequential", "state",
        p->cold ? "cold" : "warm", "reader", p->reader, "direct", p->direct,
        "io_depth", (int)p->io_depth, "bytes_per_second",
        tool_median(p->rate, p->n), "reads_per_second",
        tool_median(p->reads, p->n), "cpu_us_per_read",
        tool_median(p->cpu, p->n), "p50_us", tool_median(p->p50, p->n),
        "p99_us", tool_median(p->p99, p->n), "cached",
        tool_median(p->cached, p->n), "failed", (json_int_t)p->failed,
        "refused", strcmp(p->direct, "true") == 0 && p->direct_reads == 0);
}

/* Bytes of the data set, by the mean of those that were read. */
static bool fits_memory(const struct io *io)
{
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    uint64_t samples = 0;
    double bytes = 0;
    for (size_t i = 0; i < io->n; i++) {
        const struct point *p = &io->points[i];
        if (p->n > 0 && p->random)
            bytes = p->rate[0] / p->reads[0];
    }
    feedline_dataset_get_count(io->data, &samples);
    return feedline_machine_get_info(&m) < 0 || m.memory_limit_bytes == 0 ||
           bytes * (double)samples < (double)m.memory_limit_bytes;
}

static json_t *make_document(struct io *io)
{
    json_t *doc = document_new("io"), *points = json_array();
    uint64_t samples = 0;
    bool fits = fits_memory(io);
    feedline_dataset_get_count(io->data, &samples);
    for (size_t i = 0; i < io->n; i++)
        if (io->points[i].n > 0)
            json_array_append_new(points, describe(&io->points[i]));
    json_object_set_new(doc, "samples", json_integer((json_int_t)samples));
    json_object_set_new(doc, "fits_memory", json_boolean(fits));
    json_object_set_new(doc, "uring_missing", doc_string(io->missing));
    json_object_set_new(doc, "interrupted", json_boolean(tool_interrupted()));
    json_object_set_new(doc, "points", points);
    json_object_set_new(doc, "chosen", io_choose(doc, fits));
    return doc;
}

static int deliver(struct io *io)
{
    json_t *doc = make_document(io);
    bool failed = false;
    for (size_t i = 0; i < io->n; i++)
        failed |= io->points[i].failed > 0;
    int rc = tool_interrupted() ? TOOL_INTERRUPTED
             : failed           ? TOOL_DATA
                                : TOOL_DONE;
    if (failed)
        tool_say("some samples cannot be read; loaderbench scan says which");
    if (output_is_free(io->o->quiet, io->o->json, NULL))
        io_print(doc);
    if (io->o->json)
        return document_deliver(doc, io->o->json, rc);
    json_decref(doc);
    return rc;
}

/* ---- The command --------------------------------------------------------- */

static int set_up(struct io *io, const char *uri)
{
    int32_t status = feedline_config_create(&io->config);
    if (status >= 0)
        status = feedline_dataset_open(uri, &io->data);
    if (status < 0)
        return tool_setup_failed(status);
    io->points = calloc(POINTS_MAX, sizeof(*io->points));
    if (!io->points)
        return tool_no_memory();
    add_points(io);
    return TOOL_DONE;
}

int io_main(void *values, const struct cli_parsed *parsed)
{
    struct io io = {.o = values};
    if (io.o->rounds > ROUNDS_MAX) {
        tool_say("--rounds: at most %d", ROUNDS_MAX);
        return TOOL_USAGE;
    }
    int rc = set_up(&io, parsed->positional);
    if (rc == TOOL_DONE)
        rc = measure_all(&io);
    tool_drain_log();
    if (rc == TOOL_DONE)
        rc = deliver(&io);
    free(io.points);
    feedline_dataset_close(io.data);
    feedline_config_destroy(io.config);
    return rc;
}

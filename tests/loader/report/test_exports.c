/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How statistics leave a loader that works: its live page, the lines of
 * stats_log, the metrics file, the table; and that a file which cannot be
 * written hurts nobody.
 */
#include "loader/report/metrics.h"
#include "tests/loader/fixture.h"
#include "tests/wrap.h"

#include <feedline/live.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define N 24

FIXTURE_IMAGES(N)

static void path_of(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", images.folder, name);
}

/* The content, for free(); NULL: no such file. */
static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 22);
    assert_non_null(text);
    text[fread(text, 1, (1 << 22) - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* A loader that delivers n epochs. */
static feedline_loader *begin(const char *options, uint32_t epochs)
{
    feedline_loader *l = fixture_open(images.ds, options);
    fixture_run(l, epochs);
    return l;
}

/* ---- The live page ------------------------------------------------------ */

TEST_WITH(loader_has_a_page, setup, teardown)
{
    struct feedline_live_stats page = {.struct_size = sizeof(page)};
    feedline_live *live;
    feedline_loader *l = begin("workers=2 depth=3", 2);
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    assert_ok(feedline_loader_set_int(l, "workers", 1));
    struct feedline_stats own = fixture_stats(l);
    /* The last words, at the latest. */
    feedline_loader_destroy(l);
    assert_int_equal(feedline_live_read(live, &page), FEEDLINE_END);
    feedline_live_detach(live);
    assert_int_equal(page.pid, getpid());
    assert_int_equal(page.batch_size, 8);
    assert_int_equal(page.workers, 1);
    assert_int_equal(page.depth, 3);
    assert_int_equal(page.stats.batches, own.batches);
    assert_int_equal(page.stats.samples, 2 * N);
    assert_int_equal(page.stats.wall_ns, own.wall_ns);
    assert_int_equal(page.waits.struct_size, sizeof(page.waits));
    assert_true(page.threads.wall_ns > 0);
    assert_true(page.updated_ns > page.started_ns);
    assert_true(page.verdict.code[0] != '\0');
    assert_int_equal(page.has_device, 0);
    assert_int_equal(page.has_gpu, 0);
    assert_true(page.gpu_utilization == -1);
    assert_int_equal(page.n_decisions, 1);
    assert_string_equal(page.decisions[0],
                        "workers 2 -> 1 (set by the program)");
}

/* Not a judgement of speed: it ends when the monitor has come round, or by
 * timeout. */
static void wait_for_beats(uint32_t n)
{
    struct feedline_live_stats page = {.struct_size = sizeof(page)};
    feedline_live *live;
    int64_t last = 0;
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    while (n > 0) {
        struct timespec nap = {.tv_nsec = 20000000};
        nanosleep(&nap, NULL);
        assert_int_equal(feedline_live_read(live, &page), FEEDLINE_OK);
        n -= page.updated_ns != last;
        last = page.updated_ns;
    }
    feedline_live_detach(live);
}

/* While it works the page follows. */
TEST_WITH(page_follows, setup, teardown)
{
    struct feedline_live_stats page = {.struct_size = sizeof(page)};
    feedline_live *live;
    feedline_loader *l = begin("workers=1", 1);
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    /* Not a judgement of speed: it ends when the page has it, or by timeout. */
    do {
        struct timespec nap = {.tv_nsec = 20000000};
        nanosleep(&nap, NULL);
        assert_int_equal(feedline_live_read(live, &page), FEEDLINE_OK);
    } while (page.stats.samples < N);
    assert_int_equal(page.stats.samples, N);
    assert_true(page.process_cpu_ns > 0);
    assert_true(page.host_total_ns >= page.host_busy_ns);
    feedline_loader_destroy(l);
    feedline_live_detach(live);
}

TEST_WITH(no_page, setup, teardown)
{
    feedline_live *live;
    SCOPED_LOADER l = begin("live=false", 1);
    assert_error(feedline_live_attach(getpid(), 0, &live), FEEDLINE_ENOENT,
                 "option live");
}

/* Wrapped by the linker. */
static bool memory_forbidden;

WRAP(int, memfd_create, const char *name, unsigned int flags)
{
    if (!memory_forbidden)
        return __real_memfd_create(name, flags);
    errno = EPERM;
    return -1;
}

/* As in a container whose filter of system calls does not know it. */
TEST_WITH(memory_is_forbidden, setup, teardown)
{
    feedline_live *live;
    memory_forbidden = true;
    SCOPED_LOADER l = begin("workers=1", 1);
    assert_int_equal(fixture_log_count("memfd_create: Operation not permitted"),
                     1);
    struct feedline_stats own = fixture_stats(l);
    assert_int_equal(own.samples, N);
    assert_error(feedline_live_attach(getpid(), 0, &live), FEEDLINE_ENOENT,
                 "option live");
}

/* ---- The log ------------------------------------------------------------ */

TEST_WITH(log_has_lines, setup, teardown)
{
    char path[128], options[256];
    path_of("stats.jsonl", path);
    snprintf(options, sizeof(options),
             "stats_log=%s stats_interval=10ms rank=1 world=2", path);
    for (uint32_t run = 0; run < 2; run++) /* the second one appends */
        feedline_loader_destroy(begin(options, 2));
    char *text = read_file(path);
    assert_non_null(text);
    uint32_t lines = 0;
    char *save;
    double seconds;
    int rank;
    json_t *workers;
    assert_int_equal(text[strlen(text) - 1], '\n');
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), lines++) {
        json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *const heads = "{s:F, s:F, s:i, s:{s:o}, s:{}}";
        assert_int_equal(json_unpack(root, heads, "time_unix", &seconds,
                                     "uptime_seconds", &seconds, "rank", &rank,
                                     "stats", "workers", &workers, "verdict"),
                         0);
        assert_int_equal(rank, 1);
        json_decref(root);
    }
    assert_true(lines >= 2);
    free(text);
}

/* Of a process that was killed while it wrote. */
TEST_WITH(half_a_line_is_ended, setup, teardown)
{
    char path[128], options[256];
    path_of("torn.jsonl", path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"whole\":1}\n{\"half\":", f);
    fclose(f);
    snprintf(options, sizeof(options), "stats_log=%s stats_interval=10ms",
             path);
    feedline_loader *l = begin(options, 1);
    wait_for_beats(2);
    feedline_loader_destroy(l);
    f = fopen(path, "r");
    assert_non_null(f);
    char *line = NULL;
    size_t room = 0;
    uint32_t lines = 0;
    while (getline(&line, &room, f) > 0) {
        json_t *root = json_loads(line, 0, NULL);
        assert_int_equal(root != NULL, lines != 1);
        json_decref(root);
        lines++;
    }
    assert_true(lines >= 3);
    free(line);
    fclose(f);
    assert_int_equal(unlink(path), 0);
}

/* /dev/full takes no byte: said once, and the run goes on. */
TEST_WITH(full_disk, setup, teardown)
{
    feedline_loader *l =
        begin("stats_log=/dev/full stats_interval=10ms workers=1", 2);
    wait_for_beats(3);
    feedline_loader_destroy(l);
    assert_int_equal(fixture_log_count("/dev/full: No space left on device"),
                     1);
}

TEST_WITH(missing_folder, setup, teardown)
{
    char path[128], options[384];
    path_of("missing/file", path);
    snprintf(options, sizeof(options),
             "stats_log=%s metrics=%s stats_interval=10ms", path, path);
    feedline_loader_destroy(begin(options, 3));
    /* Of stats_log, and of metrics. */
    assert_int_equal(fixture_log_count("No such file or directory; "), 2);
}

/* ---- Metrics: a checker of the text format 0.0.4 ------------------------ */

static bool is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(isalpha((unsigned char)s[i]) || s[i] == '_' || s[i] == ':' ||
              (i && isdigit((unsigned char)s[i]))))
            return false;
    return n > 0;
}

/* {name="value",...}; returns what is behind it. */
static const char *check_labels(const char *s)
{
    assert_int_equal(*s, '{');
    for (s++; *s != '}';) {
        size_t n = strcspn(s, "=");
        assert_true(is_name(s, n));
        s += n + 1;
        assert_int_equal(*s++, '"');
        for (; *s != '"'; s++) {
            assert_true(*s != '\0');
            if (*s == '\\') {
                s++;
                assert_true(*s == '\\' || *s == '"' || *s == 'n');
            }
        }
        s++;
        if (*s == ',')
            s++;
        else
            assert_int_equal(*s, '}');
    }
    return s + 1;
}

struct family {
    char name[128], type[16];
};

static bool belongs(const char *name, size_t n, const struct family *f)
{
    size_t base = strlen(f->name);
    if (n < base || memcmp(name, f->name, base) != 0)
        return false;
    if (n == base)
        return true;
    return strcmp(f->type, "summary") == 0 &&
           ((n == base + 4 && memcmp(name + base, "_sum", 4) == 0) ||
            (n == base + 6 && memcmp(name + base, "_count", 6) == 0));
}

/* A line with a value; the family is the one announced last. */
static void check_sample(const char *line, const struct family *f)
{
    size_t n = strcspn(line, "{ ");
    char *end;
    assert_true(is_name(line, n));
    assert_true(belongs(line, n, f));
    if (strcmp(f->type, "counter") == 0)
        assert_memory_equal(f->name + strlen(f->name) - 6, "_total", 6);
    const char *s = line[n] == '{' ? check_labels(line + n) : line + n;
    assert_int_equal(*s, ' ');
    double x = strtod(s + 1, &end);
    assert_int_equal(*end, '\0');
    assert_true(x >= 0);
}

/* Every family has HELP and TYPE, in this order, once; no value comes twice. */
static uint32_t check_metrics(char *text)
{
    struct family f = {0};
    char *seen[1024], *save;
    char names[128][128];
    uint32_t n = 0, families = 0;
    assert_int_equal(text[strlen(text) - 1], '\n');
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            assert_int_equal(sscanf(line + 7, "%127s", f.name), 1);
            f.type[0] = '\0';
            for (uint32_t i = 0; i < families; i++)
                assert_string_not_equal(names[i], f.name);
            strcpy(names[families++], f.name);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            char name[128];
            assert_int_equal(sscanf(line + 7, "%127s %15s", name, f.type), 2);
            assert_string_equal(name, f.name);
            assert_true(strcmp(f.type, "counter") == 0 ||
                        strcmp(f.type, "gauge") == 0 ||
                        strcmp(f.type, "summary") == 0);
        } else {
            assert_true(f.type[0] != '\0');
            check_sample(line, &f);
            *strrchr(line, ' ') = '\0';
            for (uint32_t i = 0; i < n; i++)
                assert_string_not_equal(seen[i], line);
            seen[n++] = line;
        }
    }
    return families;
}

static double metric(const char *text, const char *name)
{
    const char *s = strstr(text, name);
    if (!s)
        fail_msg("no %s", name);
    return strtod(strchr(s, '}') + 1, NULL);
}

/* Only the file itself is left in its folder. */
static uint32_t files_called(const char *prefix)
{
    DIR *folder = opendir(images.folder);
    uint32_t n = 0;
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(folder);
    return n;
}

TEST_WITH(metrics_are_valid, setup, teardown)
{
    char path[128], options[256];
    path_of("feedline.prom", path);
    snprintf(options, sizeof(options),
             "metrics=%s stats_interval=10ms rank=3 "
             "world=4 workers=2",
             path);
    feedline_loader *l = begin(options, 3);
    (void)fixture_waits(l);
    feedline_loader_destroy(l);
    char *text = read_file(path);
    assert_non_null(text);
    assert_non_null(strstr(text, "rank=\"3\""));
    assert_true(metric(text, "\nfeedline_samples_total{") == 3 * N / 4);
    assert_true(metric(text, "\nfeedline_workers{") == 2);
    assert_non_null(strstr(text, "\nfeedline_tuner_info{"));
    assert_true(metric(text, "\nfeedline_tuner_target_ratio{") == 0.01);
    assert_non_null(strstr(text, "# TYPE feedline_stage_seconds summary\n"));
    assert_non_null(strstr(text, ",stage=\"decode\",quantile=\"0.99\"} "));
    assert_non_null(strstr(text, ",code=\""));
    assert_null(strstr(text, "gpu_"));
    /* The causes sum to the wait. */
    double sum = 0;
    for (const char *s = text;
         (s = strstr(s, "\nfeedline_wait_seconds_total{")) != NULL; s++)
        sum += strtod(strchr(s, '}') + 1, NULL);
    double wait = metric(text, "\nfeedline_wall_seconds_total{") -
                  metric(text, "\nfeedline_user_seconds_total{") -
                  metric(text, "\nfeedline_api_seconds_total{");
    assert_true(sum - wait < 1e-6 && wait - sum < 1e-6);
    assert_true(check_metrics(text) > 30);
    free(text);
    assert_int_equal(files_called("feedline.prom"), 1);
}

/* The same when it is asked for, and of a page what a page has. */
TEST_WITH(metrics_can_be_asked_for, setup, teardown)
{
    static char text[1 << 17], page[1 << 17];
    feedline_live *live;
    uint64_t needed;
    feedline_loader *l = begin("workers=2 rank=1 world=2", 2);
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    assert_ok(feedline_loader_metrics(l, text, sizeof(text), &needed));
    assert_int_equal(strlen(text) + 1, needed);
    assert_true(metric(text, "\nfeedline_samples_total{") == N);
    assert_non_null(strstr(text, ",stage=\"decode\",quantile=\"0.99\"} "));
    /* Not a judgement of speed: it ends when the page has it, or by timeout. */
    do {
        struct timespec nap = {.tv_nsec = 20000000};
        nanosleep(&nap, NULL);
        assert_ok(feedline_live_metrics(live, page, sizeof(page), &needed));
        assert_int_equal(strlen(page) + 1, needed);
    } while (metric(page, "\nfeedline_samples_total{") < N);
    assert_true(metric(page, "\nfeedline_workers{") == 2);
    assert_non_null(strstr(page, "loader=\"0\",rank=\"1\""));
    assert_null(strstr(page, "stage_seconds"));
    assert_true(check_metrics(page) > 30 && check_metrics(text) > 50);
    feedline_loader_destroy(l);
    page[0] = '\0';
    assert_int_equal(feedline_live_metrics(live, page, sizeof(page), &needed),
                     FEEDLINE_END);
    assert_int_equal(page[0], '\0');
    feedline_live_detach(live);
}

/* With pages and without: an endpoint has the metrics of them all. */
TEST_WITH(metrics_tell_loaders_apart, setup, teardown)
{
    static char text[1 << 17];
    uint64_t needed;
    feedline_loader *l[3] = {begin("live=false", 1), begin("workers=1", 1),
                             begin("live=false", 1)};
    for (int i = 0; i < 3; i++) {
        char label[32];
        snprintf(label, sizeof(label), ",loader=\"%d\",", i);
        assert_ok(feedline_loader_metrics(l[i], text, sizeof(text), &needed));
        assert_non_null(strstr(text, label));
    }
    for (int i = 0; i < 3; i++)
        feedline_loader_destroy(l[i]);
}

/* A page of a loader with a device, whose counters of kernels it lacks. */
TEST(metrics_of_a_page_leave_out_what_it_lacks)
{
    struct feedline_live_stats s = {.pid = 7, .rank = 3, .has_device = 1};
    struct fdl_text text = {0};
    s.copied_bytes = 1000;
    fdl_metrics_write_page(&s, 2, &text);
    assert_false(text.failed);
    assert_true(metric(text.data, "\nfeedline_copied_bytes_total{pid=\"7\","
                                  "loader=\"2\",rank=\"3\"") == 1000);
    assert_null(strstr(text.data, "feedline_device_decoded_samples_total"));
    assert_null(strstr(text.data, "gpu_"));
    fdl_text_free(&text);
}

/* A file that stands in the way of the rename: what was written is gone. */
TEST_WITH(metrics_clean_up, setup, teardown)
{
    char path[128], options[256];
    path_of("folder.prom", path);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(options, sizeof(options), "metrics=%s", path);
    feedline_loader_destroy(begin(options, 1));
    assert_int_equal(files_called("folder.prom"), 1);
    assert_int_equal(rmdir(path), 0);
}

/* ---- The table ---------------------------------------------------------- */

static char *table(feedline_loader *l, const char *sort_by, uint32_t limit)
{
    uint64_t needed = 0, again = 0;
    assert_ok(feedline_loader_stats_table(l, sort_by, limit, NULL, 0, &needed));
    char *text = malloc(needed + 64);
    assert_non_null(text);
    assert_ok(feedline_loader_stats_table(l, sort_by, limit, text, needed + 64,
                                          &again));
    assert_int_equal(strlen(text) + 1, again);
    return text;
}

/* First words of the rows behind the head, and where a row begins. */
static uint32_t rows_of(char *text, char *rows[16])
{
    uint32_t n = 0;
    char *save, *line = strtok_r(text, "\n", &save);
    assert_memory_equal(line, "Name ", 5);
    line = strtok_r(NULL, "\n", &save);
    assert_int_equal(strspn(line, "- "), strlen(line));
    size_t width = strlen(line);
    while ((line = strtok_r(NULL, "\n", &save)) && strncmp(line, "Wall ", 5)) {
        if (isdigit((unsigned char)*line))
            continue; /* "2 more rows" */
        assert_int_equal(strlen(line), width);
        assert_true(n < 16);
        rows[n++] = line;
    }
    assert_non_null(line);
    return n;
}

TEST_WITH(table_of_stages, setup, teardown)
{
    static const char *const path[] = {"read", "decode", "augment", "transfer",
                                       "consume"};
    static const char *const names[] = {"augment", "consume", "decode", "read",
                                        "transfer"};
    char *rows[16];
    SCOPED_LOADER l = begin("workers=1", 1);
    char *text = table(l, NULL, 0);
    assert_int_equal(rows_of(text, rows), 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_memory_equal(rows[i], path[i], strlen(path[i]));
    free(text);
    text = table(l, "name", 0);
    assert_int_equal(rows_of(text, rows), 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_memory_equal(rows[i], names[i], strlen(names[i]));
    free(text);
    text = table(l, "items", 2);
    assert_non_null(strstr(text, "\n3 more rows\n"));
    assert_int_equal(rows_of(text, rows), 2);
    /* Workers are ahead of the consumer. */
    long most = strtol(strchr(rows[0], ' '), NULL, 10);
    assert_true(most >= strtol(strchr(rows[1], ' '), NULL, 10));
    assert_true(most >= N);
    free(text);
    static const char *const keys[] = {"busy", "bytes", "mean", "p50",
                                       "p90",  "p99",   "max"};
    for (uint32_t i = 0; i < 7; i++) {
        text = table(l, keys[i], 0);
        assert_int_equal(rows_of(text, rows), 5);
        free(text);
    }
}

TEST_WITH(table_with_phases, setup, teardown)
{
    char *rows[16];
    SCOPED_LOADER l = fixture_open(images.ds, "workers=1");
    assert_ok(feedline_loader_start(l, 0));
    feedline_batch *b = fixture_next(l);
    assert_ok(feedline_loader_phase_begin(l, "forward"));
    assert_ok(feedline_loader_phase_end(l));
    feedline_batch_release(b);
    char *text = table(l, NULL, 0);
    assert_int_equal(rows_of(text, rows), 6);
    assert_memory_equal(rows[5], "consume/forward ", 16);
    free(text);
}

TEST_WITH(table_mistakes, setup, teardown)
{
    char small[8];
    uint64_t needed = 0;
    SCOPED_LOADER l = begin("workers=1", 1);
    assert_error(feedline_loader_stats_table(l, "speed", 0, NULL, 0, &needed),
                 FEEDLINE_EINVAL, "by busy, items, bytes, mean");
    assert_int_equal(needed, 0);
    assert_error(feedline_loader_stats_table(l, NULL, 0, NULL, 0, NULL),
                 FEEDLINE_EINVAL, "needed is NULL");
    assert_error(feedline_loader_stats_table(NULL, NULL, 0, NULL, 0, &needed),
                 FEEDLINE_EINVAL, "loader is NULL");
    assert_error(feedline_loader_stats_table(l, NULL, 0, small, 8, &needed),
                 FEEDLINE_ERANGE, "");
    assert_string_equal(small, "Name   ");
    assert_true(needed > 100);
}

TEST_MAIN("exports")

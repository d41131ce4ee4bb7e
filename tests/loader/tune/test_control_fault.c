/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner and its profiles, with memory, threads and files that fail: each
 * call in turn. A training never ends by that: it goes on as it is set, with
 * the same bytes. A profile is written whole or not at all, and nothing is left
 * beside it.
 */
#include "control_rig.h"
#include "fault/inject.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define N         12
#define MS        INT64_C(1000000)
#define OPTIONS   "batch_size=4 tuner=auto workers_start=1 workers_max=3 "
#define MAX_CALLS 4000

static struct fixture images;
static char folder[64], path[96];

static void setup(void)
{
    fixture_create(&images, N);
    snprintf(folder, sizeof(folder), "/tmp/feedline-profile-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/profile", folder);
}

static void teardown(void)
{
    fixture_remove(&images);
    unlink(path);
    rmdir(folder);
}

/* ---- Calls that write files --------------------------------------------- */

enum writing { NO_CALL, WRITE, SHORT_WRITE, FSYNC, CLOSE, RENAME, OPEN };

static _Atomic int fails;

/* Only files in the folder of profiles fail. */
static bool is_profile(int fd)
{
    char link[64], name[128] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof(name) - 1) < 0)
        return false;
    return strncmp(name, folder, strlen(folder)) == 0;
}

static bool must_fail(enum writing call, int fd)
{
    return atomic_load(&fails) == (int)call && is_profile(fd);
}

WRAP(ssize_t, write, int fd, const void *data, size_t n)
{
    if (must_fail(WRITE, fd)) {
        errno = ENOSPC;
        return -1;
    }
    if (must_fail(SHORT_WRITE, fd) && n > 1)
        n = 1;
    return __real_write(fd, data, n);
}

WRAP(int, fsync, int fd)
{
    if (!must_fail(FSYNC, fd))
        return __real_fsync(fd);
    errno = EIO;
    return -1;
}

WRAP(int, close, int fd)
{
    bool fail = must_fail(CLOSE, fd);
    int result = __real_close(fd);
    if (fail)
        errno = EDQUOT;
    return fail ? -1 : result;
}

WRAP(int, rename, const char *from, const char *to)
{
    if (atomic_load(&fails) != RENAME)
        return __real_rename(from, to);
    errno = EACCES;
    return -1;
}

/* ---- Profiles ----------------------------------------------------------- */

/* For free(); "" where there is none. */
static char *profile_text(void)
{
    char *text = calloc(1, 65537);
    assert_non_null(text);
    FILE *f = fopen(path, "r");
    if (f) {
        assert_true(fread(text, 1, 65536, f) > 0);
        fclose(f);
    }
    return text;
}

static void is_whole(const char *text)
{
    size_t n = strlen(text);
    if (n == 0)
        return;
    assert_true(n > 100 && text[0] == '{');
    assert_string_equal(text + n - 3, "}}\n");
}

/* Files beside the profile: none is left over. */
static uint32_t files(void)
{
    uint32_t n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static feedline_loader *with_findings(void)
{
    feedline_loader *l = rig_sleepy(images.ds, MS, OPTIONS);
    while (!(rig_info(l).batches_per_second > 0))
        fixture_pass(l, 1);
    return l;
}

TEST_WITH(a_profile_is_whole_or_not_there, setup, teardown)
{
    static const struct {
        int call;
        const char *words;
    } faults[] = {{WRITE, "No space left"},
                  {FSYNC, "Input/output error"},
                  {CLOSE, "quota"},
                  {RENAME, "Permission denied"}};
    SCOPED_LOADER l = with_findings();
    for (int old = 0; old < 2; old++) {
        char *before = profile_text();
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
            atomic_store(&fails, faults[i].call);
            assert_error(feedline_loader_save_profile(l, path), FEEDLINE_EIO,
                         faults[i].words);
            atomic_store(&fails, NO_CALL);
            assert_non_null(strstr(feedline_last_error(), path));
            char *after = profile_text();
            assert_string_equal(after, before);
            free(after);
            assert_int_equal(files(), old);
        }
        free(before);
        /* lasting: another thread may open a file of /proc first */
        inject_arm(INJECT_OPEN, 1, true);
        assert_error(feedline_loader_save_profile(l, path), FEEDLINE_EIO, path);
        inject_disarm();
        assert_int_equal(files(), old);
        atomic_store(&fails, SHORT_WRITE); /* goes on where it ended */
        assert_ok(feedline_loader_save_profile(l, path));
        atomic_store(&fails, NO_CALL);
        before = profile_text();
        is_whole(before);
        assert_true(before[0]);
        free(before);
    }
}

/* What a program asks for; the first error ends it. */
static int32_t ask(feedline_loader *l)
{
    static char text[1 << 17];
    uint64_t needed;
    struct feedline_stuck_worker stuck = {.struct_size = sizeof(stuck)};
    struct feedline_decision d = {.struct_size = sizeof(d)};
    int32_t status = feedline_loader_explain(l, text, sizeof(text), &needed);
    if (status >= 0)
        status = feedline_loader_tuner_json(l, text, sizeof(text), &needed);
    if (status >= 0)
        status = feedline_loader_get_stuck(l, 0, &stuck);
    if (status >= 0)
        status = feedline_loader_get_decision(l, 1000, &d);
    if (status >= 0)
        status = feedline_loader_save_profile(l, path);
    return status == FEEDLINE_ESTATE ? FEEDLINE_OK : status;
}

/* What programs make before they make a loader; tests/fault has failures of
 * these. */
struct plan {
    feedline_config *cfg;
    feedline_pipeline *pipeline;
    bool finds; /* it goes on until the tuner has something to save */
};

static void make_plan(struct plan *p, bool finds)
{
    const char *const values[][2] = {{"dtype", "u8"},
                                     {"batch_size", "4"},
                                     {"workers_start", "1"},
                                     {"workers_max", "3"},
                                     {"tuner_profile", path}};
    p->finds = finds;
    assert_ok(feedline_config_create(&p->cfg));
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_ok(feedline_config_set(p->cfg, values[i][0], values[i][1]));
    assert_ok(feedline_pipeline_create("none", &p->pipeline));
    assert_ok(
        feedline_pipeline_add(p->pipeline, "resize", "width=16 height=16"));
}

static void drop_plan(struct plan *p)
{
    feedline_pipeline_destroy(p->pipeline);
    feedline_config_destroy(p->cfg);
}

/* One epoch, then as long as it takes to find something. */
static int32_t whole_life(const struct plan *p, uint64_t *hash)
{
    feedline_loader *l = NULL;
    bool first = true;
    int32_t status = feedline_loader_create(p->cfg, images.ds, p->pipeline, &l);
    while (status >= 0) {
        feedline_batch *b;
        status = feedline_loader_next(l, -1, &b);
        if (status == FEEDLINE_END) {
            first = false;
            if (!p->finds || rig_info(l).batches_per_second > 0)
                break;
        } else if (status == FEEDLINE_OK && first) {
            fixture_consume(b, hash);
        } else if (status == FEEDLINE_OK) {
            usleep(2000);
            feedline_batch_release(b);
        }
    }
    if (status >= 0)
        status = ask(l);
    feedline_loader_destroy(l);
    return status;
}

static void check_failure(uint32_t n, int32_t status)
{
    if (status != FEEDLINE_ENOMEM && status != FEEDLINE_ESTATE &&
        status != FEEDLINE_EIO)
        fail_msg("call %u: %s: %s", n, feedline_status_name(status),
                 feedline_last_error());
    assert_true(feedline_last_error()[0] != '\0');
}

static void check_files(void)
{
    char *text = profile_text();
    is_whole(text);
    free(text);
    assert_true(files() <= 1);
}

/* A run that ends well although a call failed delivers the same bytes. */
static void each_in_turn(enum inject_kind kind, bool finds)
{
    struct plan p;
    make_plan(&p, finds);
    uint64_t whole = 0;
    assert_ok(whole_life(&p, &whole));
    uint32_t n = 1, failed = 0, calls;
    do {
        uint64_t hash = 0;
        inject_arm(kind, n, false);
        int32_t status = whole_life(&p, &hash);
        calls = inject_disarm();
        failed += status < 0;
        if (status < 0)
            check_failure(n, status);
        else
            assert_true(hash == whole);
        check_files();
    } while (++n < MAX_CALLS && n <= calls + 1);
    printf("%u calls, %u lives ended by an error\n", n - 1, failed);
    /* How often files are opened before the profile depends on the time it
     * takes; that one fails in a_profile_is_whole_or_not_there. */
    assert_true(failed > 0 || kind == INJECT_OPEN);
    assert_true(n < MAX_CALLS);
    drop_plan(&p);
}

static void give_a_profile(void)
{
    SCOPED_LOADER l = with_findings();
    assert_ok(feedline_loader_save_profile(l, path));
}

TEST_WITH(memory_fails, setup, teardown)
{
    give_a_profile();
    each_in_turn(INJECT_MEMORY, false);
}

/* Of a loader that is there, and has something to tell. */
TEST_WITH(memory_fails_for_who_asks, setup, teardown)
{
    SCOPED_LOADER l = with_findings();
    uint32_t n = 1, calls, failed = 0;
    assert_ok(feedline_loader_stop(l)); /* its threads ask for nothing */
    assert_ok(ask(l));
    do {
        inject_arm(INJECT_MEMORY, n, false);
        int32_t status = ask(l);
        calls = inject_disarm();
        failed += status < 0;
        if (status < 0)
            check_failure(n, status);
        check_files();
    } while (++n < MAX_CALLS && n <= calls + 1);
    printf("%u calls, %u failed\n", n - 1, failed);
    assert_true(failed > 0 && n < MAX_CALLS);
}

TEST_WITH(files_fail, setup, teardown)
{
    give_a_profile();
    each_in_turn(INJECT_OPEN, true);
}

/* Whichever thread it is: without the tuner's, and that of the monitor, all
 * goes on. */
TEST_WITH(threads_fail, setup, teardown)
{
    each_in_turn(INJECT_THREAD, false);
}

static bool log_has(const char *words)
{
    char line[600];
    uint64_t needed;
    while (feedline_log_read(line, sizeof(line), &needed) == FEEDLINE_OK)
        if (strstr(line, words))
            return true;
    return false;
}

/* Workers are started one after another while it runs: the second one fails. */
TEST_WITH(the_tuner_gets_no_more_threads, setup, teardown)
{
    SCOPED_LOADER l =
        rig_sleepy(images.ds, 2 * MS,
                   "batch_size=4 tuner=auto workers_start=1 workers_max=8 "
                   "depth=4 io_depth=1");
    fixture_pass(l, 1);
    inject_arm(INJECT_THREAD, 1, true);
    while (!log_has("continuing with less"))
        fixture_pass(l, 1);
    assert_true(rig_info(l).workers >= 1);
    inject_disarm();
    fixture_pass(l, 30);
}

TEST_MAIN("control_fault")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live page: found, read while it is written, damaged on purpose, its
 * process killed, its loader destroyed; and the page of a loader that works.
 */
#include "dice.h"
#include "loader/watch/live_page.h"
#include "loader/watch/live_reader.h"
#include "loader/watch/loader_number.h"
#include "tests/loader/fixture.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTILE 777u /* loader number of pages that no loader wrote */

/* ---- Found -------------------------------------------------------------- */

static int32_t read_once(int32_t pid, uint32_t loader,
                         struct feedline_live_stats *out)
{
    feedline_live *live;
    int32_t status = feedline_live_attach(pid, loader, &live);
    if (status < 0)
        return status;
    out->struct_size = sizeof(*out);
    status = feedline_live_read(live, out);
    feedline_live_detach(live);
    return status;
}

TEST(attach_and_read)
{
    struct fdl_live_page *page;
    struct feedline_live_stats in = {.struct_size = sizeof(in)}, out;
    assert_ok(fdl_live_page_create(0, &page));
    in.stats.samples = 123;
    in.n_decisions = 2;
    strcpy(in.decisions[1], "workers 2 -> 4");
    strcpy(in.verdict.code, "FED");
    in.gpu_utilization = 0.5;
    strcpy(in.tuner.mode, "auto");
    in.tuner.planned_workers = 3;
    in.tuner.decisions = 17;
    fdl_live_page_publish(page, &in);
    assert_int_equal(read_once(getpid(), 0, &out), FEEDLINE_OK);
    assert_int_equal(out.pid, getpid());
    assert_int_equal(out.stats.samples, 123);
    assert_int_equal(out.n_decisions, 2);
    assert_string_equal(out.decisions[1], "workers 2 -> 4");
    assert_string_equal(out.verdict.code, "FED");
    assert_true(out.gpu_utilization == 0.5);
    assert_string_equal(out.tuner.mode, "auto");
    assert_int_equal(out.tuner.planned_workers, 3);
    assert_int_equal(out.tuner.decisions, 17);
    fdl_live_page_destroy(page);
    assert_error(read_once(getpid(), 0, &out), FEEDLINE_ENOENT, "option live");
}

/* An older program knows a smaller struct. */
TEST(small_struct)
{
    struct fdl_live_page *page;
    struct feedline_live_stats out;
    feedline_live *live;
    assert_ok(fdl_live_page_create(0, &page));
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    memset(&out, 0x5a, sizeof(out));
    out.struct_size = 16;
    assert_int_equal(feedline_live_read(live, &out), FEEDLINE_OK);
    assert_int_equal(out.struct_size, 16);
    assert_int_equal(out.pid, getpid());
    assert_int_equal(out.batch_size, 0x5a5a5a5a);
    out.struct_size = 0;
    assert_error(feedline_live_read(live, &out), FEEDLINE_EINVAL, "");
    feedline_live_detach(live);
    fdl_live_page_destroy(page);
    feedline_live_detach(NULL);
}

static bool listed(int32_t pid, uint32_t loader,
                   struct feedline_live_info *found)
{
    struct feedline_live_info info = {.struct_size = sizeof(info)}, last = info;
    int32_t status;
    bool there = false;
    for (uint32_t i = 0;; i++) {
        status = feedline_live_list(i, &info);
        if (status == FEEDLINE_END)
            return there;
        assert_ok(status);
        assert_true(info.pid > last.pid ||
                    (info.pid == last.pid && info.loader >= last.loader));
        last = info;
        if (info.pid == pid && info.loader == loader) {
            there = true;
            *found = info;
        }
    }
}

TEST(command_lines)
{
    static const struct {
        const char *line;
        size_t bytes;
        const char *command;
    } cases[] = {
        {"/opt/bin/python3\0train.py\0--lr\0"
         "1",
         32, "python3 train.py --lr 1"},
        {"a/b/./train\0/data/x\0", 20, "train /data/x"},
        {"bash\n", 5, "bash"},
        {"server: worker /tmp/s", 21, "server: worker /tmp/s"},
        {"odd/", 4, "odd/"},
        {"", 0, ""},
        {"/a/very/long/folder/0123456789/0123456789/0123456789/0123456789/0123/"
         "x",
         70, "x"},
        {"0123456789012345678901234567890123456789012345678901234567890123456",
         67, "012345678901234567890123456789012345678901234567890123456789012"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char command[64];
        memset(command, 'x', sizeof(command));
        fdl_live_command(cases[i].line, cases[i].bytes, command);
        assert_string_equal(command, cases[i].command);
    }
}

TEST(pages_are_listed)
{
    struct fdl_live_page *pages[3], *again;
    struct feedline_live_info info;
    struct feedline_live_stats out;
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(fdl_live_page_create(i, &pages[i]));
    assert_true(listed(getpid(), 2, &info));
    assert_int_equal(info.version, FDL_LIVE_VERSION);
    assert_non_null(strstr(info.command, "test_live"));
    assert_true(info.started_unix_ns > INT64_C(1600000000) * 1000000000);
    fdl_live_page_destroy(pages[1]);
    assert_false(listed(getpid(), 1, &info));
    assert_error(read_once(getpid(), 1, &out), FEEDLINE_ENOENT, "it has 0, 2");
    assert_ok(fdl_live_page_create(1, &again));
    assert_true(listed(getpid(), 1, &info));
    fdl_live_page_destroy(again);
    fdl_live_page_destroy(pages[0]);
    fdl_live_page_destroy(pages[2]);
}

TEST(a_loader_has_the_lowest_free_number)
{
    uint32_t n[3];
    for (uint32_t i = 0; i < 3; i++)
        n[i] = fdl_loader_number_take();
    assert_true(n[0] < n[1] && n[1] < n[2]);
    fdl_loader_number_give(n[1]);
    assert_int_equal(fdl_loader_number_take(), n[1]);
    uint32_t most = n[2];
    while (fdl_loader_number_take() != FDL_LOADER_NUMBERS)
        most++;
    assert_int_equal(most, FDL_LOADER_NUMBERS - 1);
    fdl_loader_number_give(FDL_LOADER_NUMBERS); /* nothing */
    assert_int_equal(fdl_loader_number_take(), FDL_LOADER_NUMBERS);
    for (uint32_t i = n[0]; i < FDL_LOADER_NUMBERS; i++)
        fdl_loader_number_give(i);
    assert_int_equal(fdl_loader_number_take(), n[0]);
    fdl_loader_number_give(n[0]);
}

TEST(nobody_there)
{
    struct feedline_live_stats out;
    feedline_live *live = (feedline_live *)&out;
    assert_error(feedline_live_attach(0, 0, &live), FEEDLINE_EINVAL,
                 "0 is not a process ID");
    assert_null(live);
    assert_error(read_once(-3, 0, &out), FEEDLINE_EINVAL, "-3");
    assert_error(read_once(0x7ffffffe, 0, &out), FEEDLINE_ENOENT,
                 "there is no process 2147483646");
    assert_error(read_once(getpid(), 0, &out), FEEDLINE_ENOENT,
                 "no feedline loader");
    assert_error(feedline_live_attach(getpid(), 0, NULL), FEEDLINE_EINVAL,
                 "out is NULL");
    assert_error(feedline_live_list(0, NULL), FEEDLINE_EINVAL, "");
}

/* The memory is its owner's alone, and nobody can make it smaller. */
TEST(owner_only)
{
    struct fdl_live_page *page;
    char path[64], target[64];
    bool seen = false;
    assert_ok(fdl_live_page_create(0, &page));
    for (int fd = 0; fd < 64; fd++) {
        struct stat st;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (!strstr(target, FDL_LIVE_NAME))
            continue;
        seen = true;
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(ftruncate(fd, 1 << 20), -1);
    }
    assert_true(seen);
    fdl_live_page_destroy(page);
}

/* ---- Read while it is written ------------------------------------------- */

static _Atomic int stop_writing;

/* Every word of an update is its number. */
static void *write_on(void *arg)
{
    struct feedline_live_stats *s = calloc(1, sizeof(*s));
    for (uint64_t n = 1; !atomic_load(&stop_writing); n++) {
        uint64_t words[8];
        for (size_t i = 0; i < 8; i++)
            words[i] = n;
        memcpy(&s->stats.batches, words, 16);
        memcpy(&s->threads.cpu_ns, words, 64);
        memcpy(&s->gpu_throttle, "fit", 4);
        s->memory_limit_bytes = n;
        s->updated_ns = (int64_t)n;
        fdl_live_page_publish(arg, s);
    }
    free(s);
    return NULL;
}

TEST(read_while_written)
{
    struct fdl_live_page *page;
    feedline_live *live;
    pthread_t writer;
    struct feedline_live_stats s = {.struct_size = sizeof(s)};
    int64_t last = 0;
    uint32_t moved = 0, reads = 0;
    assert_ok(fdl_live_page_create(0, &page));
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    assert_int_equal(pthread_create(&writer, NULL, write_on, page), 0);
    /* On one core each move costs the writer's share of time. */
    while (moved < 100 || reads < 20000) {
        int32_t status = feedline_live_read(live, &s);
        if (status == FEEDLINE_EIO) {
            sched_yield(); /* this writer never rests, or could not go on */
            continue;
        }
        assert_int_equal(status, FEEDLINE_OK);
        reads++;
        assert_true(s.updated_ns >= last);
        moved += s.updated_ns > last;
        last = s.updated_ns;
        if (last == 0)
            continue;
        uint64_t n = (uint64_t)last;
        assert_int_equal(s.stats.batches, n);
        assert_int_equal(s.stats.samples, n);
        assert_int_equal(s.threads.cpu_ns, n);
        assert_int_equal(s.threads.starved_ns, n);
        assert_int_equal(s.memory_limit_bytes, n);
    }
    atomic_store(&stop_writing, 1);
    pthread_join(writer, NULL);
    feedline_live_detach(live);
    fdl_live_page_destroy(page);
}

/* ---- Its end ------------------------------------------------------------ */

TEST(loader_goes)
{
    struct fdl_live_page *page;
    feedline_live *live;
    struct feedline_live_stats s = {.struct_size = sizeof(s)};
    assert_ok(fdl_live_page_create(0, &page));
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    assert_int_equal(feedline_live_read(live, &s), FEEDLINE_OK);
    s.stats.batches = 99;
    fdl_live_page_publish(page, &s);
    fdl_live_page_destroy(page);
    memset(&s, 0, sizeof(s));
    s.struct_size = sizeof(s);
    assert_int_equal(feedline_live_read(live, &s), FEEDLINE_END);
    assert_int_equal(s.stats.batches, 99);
    assert_int_equal(feedline_live_read(live, &s), FEEDLINE_END);
    feedline_live_detach(live);
}

/* A child with a page, which says when it is there. It starts no threads. */
static pid_t child_with_page(uint64_t batches)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct fdl_live_page *page;
        struct feedline_live_stats s = {.struct_size = sizeof(s)};
        s.stats.batches = batches;
        if (fdl_live_page_create(0, &page) < 0)
            _exit(1);
        fdl_live_page_publish(page, &s);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

TEST(killed)
{
    pid_t pid = child_with_page(7);
    feedline_live *live;
    struct feedline_live_info info;
    struct feedline_live_stats s = {.struct_size = sizeof(s)};
    assert_true(listed(pid, 0, &info));
    assert_ok(feedline_live_attach(pid, 0, &live));
    assert_int_equal(feedline_live_read(live, &s), FEEDLINE_OK);
    assert_int_equal(s.pid, pid);
    kill(pid, SIGKILL);
    siginfo_t end;
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    s.stats.batches = 0; /* dead, and its parent has not looked yet */
    assert_int_equal(feedline_live_read(live, &s), FEEDLINE_END);
    assert_int_equal(s.stats.batches, 7);
    assert_error(read_once(pid, 0, &s), FEEDLINE_ENOENT, "");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    s.struct_size = sizeof(s);
    assert_int_equal(feedline_live_read(live, &s), FEEDLINE_END);
    assert_int_equal(s.stats.batches, 7);
    assert_false(listed(pid, 0, &info));
    feedline_live_detach(live);
}

/* A child has its parent's descriptors, and no loader. */
TEST(forked)
{
    struct fdl_live_page *page;
    struct feedline_live_info info;
    struct feedline_live_stats s;
    feedline_live *live;
    assert_ok(fdl_live_page_create(0, &page));
    assert_ok(feedline_live_attach(getpid(), 0, &live));
    pid_t child = fork();
    if (child == 0) {
        s.struct_size = sizeof(s);
        if (feedline_live_read(live, &s) != FEEDLINE_EFORK)
            _exit(1);
        feedline_live_detach(live);
        for (;;)
            pause();
    }
    assert_false(listed(child, 0, &info));
    assert_true(listed(getpid(), 0, &info));
    assert_error(read_once(child, 0, &s), FEEDLINE_ENOENT, "no feedline");
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    /* One with a page of its own beside the inherited one. */
    child = child_with_page(11);
    assert_int_equal(read_once(child, 0, &s), FEEDLINE_OK);
    assert_int_equal(s.stats.batches, 11);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    feedline_live_detach(live);
    fdl_live_page_destroy(page);
}

/* Root sees all; who is not root sees that it may not. */
TEST(another_user)
{
    if (geteuid() != 0)
        test_skip("only root can become another user");
    struct fdl_live_page *page;
    assert_ok(fdl_live_page_create(0, &page));
    int32_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        struct feedline_live_stats s;
        struct feedline_live_info info = {.struct_size = sizeof(info)};
        if (setgid(65534) || setuid(65534))
            _exit(77);
        if (read_once(parent, 0, &s) != FEEDLINE_EIO)
            _exit(1);
        if (!strstr(feedline_last_error(), "belongs to user 0"))
            _exit(2);
        for (uint32_t i = 0; feedline_live_list(i, &info) == FEEDLINE_OK; i++)
            if (info.pid == parent)
                _exit(3);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    fdl_live_page_destroy(page);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        test_skip("this root cannot become another user");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- Pages that lie ----------------------------------------------------- */

struct hostile {
    struct fdl_live_header header;
    struct feedline_live_stats copies[2];
};

static void good_page(struct hostile *h)
{
    memset(h, 0, sizeof(*h));
    h->header.magic = FDL_LIVE_MAGIC;
    h->header.version = FDL_LIVE_VERSION;
    h->header.pid = getpid();
    h->header.loader = HOSTILE;
    h->header.header_bytes = sizeof(h->header);
    h->header.stats_bytes = sizeof(h->copies[0]);
}

/* Memory with that content and the name of a page. */
static int plant(const struct hostile *h, size_t bytes, int seals)
{
    int fd = memfd_create(FDL_LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, h, bytes), bytes);
    if (seals)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static int32_t read_planted(const struct hostile *h, size_t bytes,
                            struct feedline_live_stats *out)
{
    int fd = plant(h, bytes, F_SEAL_SHRINK);
    int32_t status = read_once(getpid(), HOSTILE, out);
    close(fd);
    return status;
}

TEST(lying_headers)
{
    struct hostile h;
    struct feedline_live_stats out;
    good_page(&h);
    assert_int_equal(read_planted(&h, sizeof(h), &out), FEEDLINE_OK);
    h.header.version = 7;
    assert_error(read_planted(&h, sizeof(h), &out), FEEDLINE_EINVAL,
                 "layout 7");
    good_page(&h);
    h.header.magic++;
    assert_error(read_planted(&h, sizeof(h), &out), FEEDLINE_ENOENT, "");
    good_page(&h);
    h.header.pid++;
    assert_error(read_planted(&h, sizeof(h), &out), FEEDLINE_ENOENT, "");

    static const uint64_t sizes[] = {0,
                                     4,
                                     12,
                                     UINT64_MAX,
                                     UINT64_MAX - 7,
                                     sizeof(struct feedline_live_stats) + 8};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        good_page(&h);
        h.header.stats_bytes = sizes[i];
        assert_error(read_planted(&h, sizeof(h), &out), FEEDLINE_EIO,
                     "damaged");
    }
    static const uint32_t headers[] = {0, 8, sizeof(h.header) + 4, UINT32_MAX,
                                       UINT32_MAX - 7};
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        good_page(&h);
        h.header.header_bytes = headers[i];
        assert_error(read_planted(&h, sizeof(h), &out), FEEDLINE_EIO,
                     "damaged");
    }
}

/* Memory that ends early, and files that only have the name. */
TEST(cut_short)
{
    struct hostile h;
    struct feedline_live_stats out;
    good_page(&h);
    for (size_t bytes = 0; bytes < sizeof(h); bytes += 40) {
        int32_t status = read_planted(&h, bytes, &out);
        bool head = bytes >= offsetof(struct fdl_live_header, stats_bytes);
        assert_int_equal(status, head ? FEEDLINE_EIO : FEEDLINE_ENOENT);
    }
    /* Could be cut under our eyes: not read at all. */
    int fd = plant(&h, sizeof(h), 0);
    assert_int_equal(read_once(getpid(), HOSTILE, &out), FEEDLINE_ENOENT);
    close(fd);
}

/* Later versions append, earlier ones know less. */
TEST(other_sizes)
{
    struct feedline_live_stats out;
    struct {
        struct hostile page;
        char more[4096];
    } large = {0};
    good_page(&large.page);
    large.page.header.stats_bytes += 64;
    large.page.copies[0].stats.batches = 5;
    assert_int_equal(read_planted(&large.page, sizeof(large.page) + 256, &out),
                     FEEDLINE_OK);
    assert_int_equal(out.stats.batches, 5);
    struct hostile small;
    good_page(&small);
    small.header.stats_bytes = 32;
    memset(small.copies, 0x11, sizeof(small.copies));
    assert_int_equal(read_planted(&small, sizeof(small), &out), FEEDLINE_OK);
    assert_int_equal(out.workers, 0x11111111);
    assert_int_equal(out.depth, 0);
    assert_int_equal(out.stats.batches, 0);
}

TEST(lying_texts)
{
    struct hostile h;
    struct feedline_live_stats out;
    good_page(&h);
    struct feedline_live_stats *s = &h.copies[0];
    memset(s->verdict.code, 'A', sizeof(s->verdict.code));
    memset(s->decisions, 'B', sizeof(s->decisions));
    memset(s->gpu_throttle, 0xff, sizeof(s->gpu_throttle));
    strcpy(s->verdict.sentence, "\x1b[2Jred \xc2\x9b bell\a \xc3\xa9 "
                                "\xe2\x80\xae \xed\xa0\x80 \xf0\x9f\x9a\x80");
    strcpy(s->verdict.action, "cut \xe2\x80");
    s->n_decisions = UINT32_MAX;
    s->gpu_power_watts = NAN;
    s->cpu_quota = INFINITY;
    memset(s->tuner.mode, 'C', sizeof(s->tuner.mode));
    strcpy(s->tuner.state, "\x1b[2J");
    memset(s->tuner.limited_by, 0xff, sizeof(s->tuner.limited_by));
    s->tuner.stall = NAN;
    assert_int_equal(read_planted(&h, sizeof(h), &out), FEEDLINE_OK);
    assert_int_equal(strlen(out.verdict.code), sizeof(s->verdict.code) - 1);
    assert_int_equal(strlen(out.decisions[7]), sizeof(s->decisions[7]) - 1);
    assert_int_equal(out.n_decisions, FEEDLINE_LIVE_DECISIONS);
    assert_int_equal(strspn(out.gpu_throttle, "?"),
                     sizeof(s->gpu_throttle) - 1);
    assert_string_equal(out.verdict.sentence,
                        "?[2Jred ?? bell? \xc3\xa9 ??? ??? \xf0\x9f\x9a\x80");
    assert_string_equal(out.verdict.action, "cut ??");
    assert_int_equal(strlen(out.tuner.mode), sizeof(s->tuner.mode) - 1);
    assert_string_equal(out.tuner.state, "?[2J");
    assert_int_equal(strspn(out.tuner.limited_by, "?"),
                     sizeof(s->tuner.limited_by) - 1);
    assert_true(out.tuner.stall == -1);
    assert_true(out.gpu_power_watts == -1);
    assert_true(out.cpu_quota == -1);
}

/* Updates that never end are no reason to hang. */
TEST(never_still)
{
    struct hostile h;
    struct feedline_live_stats out;
    good_page(&h);
    h.header.begun = 1000;
    assert_error(read_planted(&h, sizeof(h), &out), FEEDLINE_EIO, "still");
}

TEST(random_pages)
{
    struct dice dice = {test_seed()};
    struct hostile h;
    struct feedline_live_stats out;
    for (uint32_t round = 0; round < 400; round++) {
        good_page(&h);
        unsigned char *bytes = (unsigned char *)&h;
        size_t most = round % 2 ? sizeof(h) : sizeof(h.header);
        for (uint32_t i = 0; i < 8; i++)
            bytes[dice_below(&dice, (uint32_t)most)] =
                (unsigned char)dice_u64(&dice);
        if (read_planted(&h, sizeof(h), &out) < 0)
            continue;
        assert_true(out.n_decisions <= FEEDLINE_LIVE_DECISIONS);
        assert_true(strlen(out.verdict.sentence) <
                    sizeof(out.verdict.sentence));
    }
}

TEST_MAIN("live")

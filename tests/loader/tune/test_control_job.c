/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job tell each other what their tuners know: as lines, on pages of
 * one machine, and by the program. The other ranks are pages with invented
 * numbers, in children that can be killed.
 */
#include "base/clock.h"
#include "control_rig.h"
#include "loader/loader.h"
#include "loader/tune/control_own.h"
#include "loader/tune/job_note.h"
#include "loader/watch/live_page.h"

#include <feedline/job.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE_IMAGES(16)

#define SECOND INT64_C(1000000000)

static const struct fdl_tuner_job example = {
    .ranks = 3,
    .stall = 0.25,
    .step_ns = 71700000,
    .most = {.depth = 9, .io_depth = 40},
};

/* ---- Lines --------------------------------------------------------------- */

TEST_WITH(lines_are_pinned, setup, teardown)
{
    char line[FEEDLINE_JOB_BYTES], two[3 * FEEDLINE_JOB_BYTES];
    struct fdl_tuner_job read;
    uint64_t needed;
    assert_ok(fdl_job_note_write(&example, line, sizeof(line), &needed));
    assert_string_equal(line, "feedline_job=1 ranks=3 stall_ppm=250000 "
                              "step_ns=71700000 depth=9 reads=40");
    assert_ok(fdl_job_notes_read(line, &read));
    assert_int_equal(read.ranks, 3);
    assert_true(read.stall == 0.25 && read.step_ns == 71700000);
    assert_int_equal(read.most.depth, 9);
    assert_int_equal(read.most.io_depth, 40);
    snprintf(two, sizeof(two), "\n%s later=1\nmore=x %s", line,
             "feedline_job=1");
    assert_int_equal(fdl_job_notes_read(two, &read), FEEDLINE_EINVAL);
    snprintf(two, sizeof(two), "\n%s later=x\n\n%s\n", line, line);
    assert_ok(feedline_job_merge(two, line, sizeof(line), &needed));
    assert_string_equal(line, "feedline_job=1 ranks=6 stall_ppm=500000 "
                              "step_ns=71700000 depth=9 reads=40");
    assert_ok(fdl_job_notes_read("", &read));
    assert_int_equal(read.ranks, 0);
}

TEST_WITH(lines_that_are_none, setup, teardown)
{
    static const char *const bad[] = {
        "x",
        "feedline_job=",
        "feedline_job=1",
        "feedline_job=1 ranks=0 stall_ppm=1 step_ns=1 depth=1 reads=1",
        "feedline_job=1 ranks=-1 stall_ppm=1 step_ns=1 depth=1 reads=1",
        "feedline_job=1 ranks=1 stall_ppm=nan step_ns=1 depth=1 reads=1",
        "feedline_job=1 ranks=1 stall_ppm=1 step_ns=1e9 depth=1 reads=1",
        "feedline_job=1 ranks=1 stall_ppm=1 step_ns=1 depth=4000000000 reads=1",
        "feedline_job=1 ranks=1 stall_ppm=1 step_ns=1 depth=1",
        "feedline_job=1 ranks=99999999 stall_ppm=1 step_ns=1 depth=1 reads=1",
    };
    struct fdl_tuner_job read = example;
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        assert_error(fdl_job_notes_read(bad[i], &read), FEEDLINE_EINVAL,
                     "line 1 is not what feedline_loader_tell wrote");
        assert_int_equal(read.ranks, 3);
    }
    assert_error(fdl_job_notes_read("feedline_job=2 ranks=1", &read),
                 FEEDLINE_EABI, "version 2");
    SCOPED_LOADER l = fixture_open(images.ds, "world=2");
    assert_int_equal(feedline_loader_hear(l, "x"), FEEDLINE_EINVAL);
    assert_int_equal(feedline_loader_hear(l, NULL), FEEDLINE_EINVAL);
}

/* ---- Pages --------------------------------------------------------------- */

static void publish(struct fdl_live_page *page, uint64_t job, int64_t now)
{
    struct feedline_live_stats *s = calloc(1, sizeof(*s));
    s->struct_size = sizeof(*s);
    s->updated_ns = now;
    s->told.job = job;
    s->told.stall = example.stall;
    s->told.step_ns = example.step_ns;
    s->told.depth = example.most.depth;
    s->told.io_depth = example.most.io_depth;
    fdl_live_page_publish(page, s);
    free(s);
}

TEST_WITH(pages_of_the_job_count, setup, teardown)
{
    struct fdl_job_pages *p = calloc(1, sizeof(*p));
    struct fdl_live_page *pages[3];
    struct fdl_tuner_job told;
    for (uint32_t i = 0; i < 3; i++) {
        assert_ok(fdl_live_page_create(i, &pages[i]));
        publish(pages[i], i == 2 ? 8 : 77, SECOND);
    }
    fdl_job_pages_find(p, 0); /* other jobs of the machine, perhaps */
    assert_true(p->n >= 2);
    fdl_job_pages_read(p, 77, 2 * SECOND, &told);
    assert_int_equal(told.ranks, 1);
    assert_true(told.stall == example.stall);
    assert_int_equal(told.most.depth, 9);
    fdl_job_pages_read(p, 77, 7 * SECOND, &told); /* it hangs */
    assert_int_equal(told.ranks, 0);
    fdl_live_page_destroy(pages[1]);
    fdl_job_pages_read(p, 77, 2 * SECOND, &told);
    assert_int_equal(told.ranks, 0);
    fdl_job_pages_forget(p);
    assert_int_equal(p->n, 0);
    free(p);
    fdl_live_page_destroy(pages[0]);
    fdl_live_page_destroy(pages[2]);
}

/* A rank in a process of its own, which waits a quarter of its time. */
static pid_t other_rank(uint64_t job)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct fdl_live_page *page;
        if (fdl_live_page_create(0, &page) < 0)
            _exit(1);
        publish(page, job, fdl_now_ns());
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;) {
            publish(page, job, fdl_now_ns());
            usleep(20000);
        }
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static bool explains(const feedline_loader *l, const char *words)
{
    char *text = rig_text(feedline_loader_explain, l);
    bool found = strstr(text, words) != NULL;
    free(text);
    return found;
}

#define OPTIONS "world=2 batch_size=4 tuner=auto workers_start=1"

TEST_WITH(a_rank_of_this_machine_is_heard, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, SECOND / 1000, OPTIONS);
    pid_t pid = other_rank(l->sources.job);
    while (!explains(l, "The tuners of 2 ranks of its job tell each other"))
        fixture_pass(l, 4);
    while (!explains(l, "Settings from the job: its 2 ranks wait "))
        fixture_pass(l, 4);
    while (fixture_int(l, "depth") < 9) /* it tries less at times */
        fixture_pass(l, 4);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    while (explains(l, "ranks of its job tell"))
        fixture_pass(l, 4);
}

TEST_WITH(other_jobs_are_not_heard, setup, teardown)
{
    SCOPED_LOADER a = fixture_open(images.ds, "world=2 batch_size=4");
    SCOPED_LOADER b = fixture_open(images.ds, "world=2 rank=1 batch_size=4");
    SCOPED_LOADER c = fixture_open(images.ds, "world=4 batch_size=4");
    SCOPED_LOADER d = fixture_open(images.ds, "world=2 batch_size=2");
    SCOPED_LOADER e = fixture_open(images.files, "world=2 batch_size=4");
    SCOPED_LOADER f = fixture_open(images.ds, "batch_size=4");
    SCOPED_LOADER g =
        fixture_open(images.ds, "world=2 batch_size=4 tuner_job=false");
    assert_true(a->sources.job != 0 && a->sources.job == b->sources.job);
    assert_true(a->sources.job != c->sources.job);
    assert_true(a->sources.job != d->sources.job);
    assert_true(a->sources.job != e->sources.job);
    assert_true(f->sources.job == 0 && g->sources.job == 0);
    setenv("SLURM_JOB_ID", "4711", 1);
    SCOPED_LOADER h = fixture_open(images.ds, "world=2 batch_size=4");
    unsetenv("SLURM_JOB_ID");
    assert_true(a->sources.job != h->sources.job && h->sources.job != 0);
}

/* ---- The program --------------------------------------------------------- */

static const char told[] = "feedline_job=1 ranks=64 stall_ppm=9000000 "
                           "step_ns=1000000 depth=11 reads=3\n";

TEST_WITH(what_the_program_brings_is_taken_over, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, SECOND / 1000, OPTIONS);
    assert_ok(feedline_loader_hear(l, told)); /* before it begins, too */
    while (!explains(l, "Settings from the job: its 64 ranks wait 900.0 % in"))
        fixture_pass(l, 4);
    assert_true(fixture_int(l, "depth") >= 11);
    struct feedline_decision d = rig_await(l, "depth", "rule");
    assert_string_equal(d.reason, "job");
    char line[FEEDLINE_JOB_BYTES];
    uint64_t needed;
    assert_ok(feedline_loader_tell(l, line, sizeof(line), &needed));
    assert_non_null(strstr(line, "feedline_job=1 ranks=1 stall_ppm="));
}

TEST_WITH(who_takes_no_part_hears_nothing, setup, teardown)
{
    SCOPED_LOADER l =
        rig_sleepy(images.ds, SECOND / 1000, OPTIONS " tuner_job=false");
    assert_ok(feedline_loader_hear(l, told));
    fixture_pass(l, 200);
    assert_false(explains(l, "ranks of its job"));
    assert_false(explains(l, "rom the job"));
}

/* Neither order nor pixels know of it. */
TEST_WITH(what_is_delivered_stays, setup, teardown)
{
    static const char *const options[] = {"world=2 seed=5 tuner=off",
                                          "world=2 seed=5 tuner=auto"};
    uint64_t hash[2];
    for (uint32_t i = 0; i < 2; i++) {
        SCOPED_LOADER l = fixture_open(images.ds, options[i]);
        assert_ok(feedline_loader_hear(l, told));
        hash[i] = fixture_run(l, 20);
    }
    assert_true(hash[0] == hash[1]);
}

TEST_MAIN("control_job")

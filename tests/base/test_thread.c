/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: names, signal masks, refusals of the system, fork generations. */
#include "base/status.h"
#include "base/thread.h"
#include "test.h"
#include "tests/wrap.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Linked with --wrap: what the system answers, 0 for the real thing. */
static int refusal;

WRAP(int, pthread_create, pthread_t *handle, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return refusal ? refusal : __real_pthread_create(handle, attr, run, arg);
}

struct seen {
    char name[16];
    sigset_t mask;
};

static void *look_around(void *arg)
{
    struct seen *seen = arg;
    pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
    pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
    return NULL;
}

static void run_named(const char *name, struct seen *seen)
{
    struct fdl_thread t = {0};
    assert_int_equal(fdl_thread_start(&t, name, look_around, seen), 0);
    assert_true(t.running);
    fdl_thread_join(&t);
    assert_false(t.running);
    fdl_thread_join(&t); /* nothing */
}

TEST(has_its_name_from_the_start)
{
    struct seen seen;
    run_named("feedline-dec-3", &seen);
    assert_string_equal(seen.name, "feedline-dec-3");
    run_named("feedline-dec-12345", &seen);
    assert_string_equal(seen.name, "feedline-dec-12");
    run_named("", &seen);
    assert_string_equal(seen.name, "");
}

TEST(blocks_signals_but_faults)
{
    static const int blocked[] = {SIGINT,  SIGTERM, SIGUSR1, SIGUSR2, SIGHUP,
                                  SIGALRM, SIGCHLD, SIGPROF, SIGQUIT, SIGPIPE};
    static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct seen seen;
    run_named("mask", &seen);
    pthread_sigmask(SIG_SETMASK, NULL, &after);

    for (size_t i = 0; i < FDL_COUNT_OF(blocked); i++)
        assert_int_equal(sigismember(&seen.mask, blocked[i]), 1);
    assert_int_equal(sigismember(&seen.mask, SIGRTMIN), 1);
    for (size_t i = 0; i < FDL_COUNT_OF(open); i++)
        assert_int_equal(sigismember(&seen.mask, open[i]), 0);
    for (int n = 1; n < SIGRTMAX; n++)
        assert_int_equal(sigismember(&before, n), sigismember(&after, n));
}

static void refused(int answer, int32_t status)
{
    struct seen seen;
    struct fdl_thread t = {0};
    sigset_t after;
    refusal = answer;
    assert_int_equal(fdl_thread_start(&t, "nobody", look_around, &seen),
                     status);
    refusal = 0;
    assert_false(t.running);
    assert_non_null(strstr(fdl_last_error(), "nobody"));
    assert_non_null(strstr(fdl_last_error(), strerror(answer)));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGUSR1), 0);
    fdl_thread_join(&t); /* nothing */
}

TEST(refusals_are_errors)
{
    refused(EAGAIN, FEEDLINE_ESTATE);
    refused(ENOMEM, FEEDLINE_ENOMEM);
}

/* Exit status of a child that runs `check`. */
static int in_child(int (*check)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(check());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int own_generation(void)
{
    return (int)fdl_fork_generation();
}

static int generation_of_a_child(void)
{
    return in_child(own_generation);
}

TEST(generations_count_forks)
{
    int here = own_generation();
    assert_int_equal(in_child(own_generation), here + 1);
    assert_int_equal(in_child(own_generation), here + 1);
    assert_int_equal(in_child(generation_of_a_child), here + 2);
    assert_int_equal(own_generation(), here);
}

static int id_is_right(void)
{
    return fdl_thread_id() == gettid() && fdl_thread_id() == gettid();
}

static void *check_id(void *right)
{
    *(int *)right = id_is_right();
    return NULL;
}

/* Of each thread, and of the one thread of a child. */
TEST(ids_are_the_kernels)
{
    pthread_t other;
    int right = 0;
    assert_true(id_is_right());
    assert_int_equal(pthread_create(&other, NULL, check_id, &right), 0);
    pthread_join(other, NULL);
    assert_true(right);
    assert_int_equal(in_child(id_is_right), 1);
}

static char born[16];
static int n_born;

static void count_birth(const char *name)
{
    snprintf(born, sizeof(born), "%s", name);
    n_born++;
}

TEST(a_watcher_sees_births)
{
    struct seen seen;
    run_named("before", &seen);
    fdl_thread_watch(count_birth);
    run_named("feedline-dec-12345", &seen);
    fdl_thread_watch(NULL);
    run_named("after", &seen);
    assert_int_equal(n_born, 1);
    assert_string_equal(born, "feedline-dec-12");
}

TEST_MAIN("base_thread")

/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: names, signal masks, refusals of the system, fork generations. */
#include "base/cpu_set.h"
#include "base/log.h"
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

static void *look_opened(void *arg)
{
    fdl_thread_open_signals();
    return look_around(arg);
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

static void *measure(void *arg)
{
    pthread_attr_t attr;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstacksize(&attr, arg), 0);
    pthread_attr_destroy(&attr);
    return NULL;
}

static size_t stack_where_it_is(size_t usual)
{
    pthread_attr_t attr;
    size_t bytes = 0;
    struct fdl_thread t = {0};
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, usual);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
    pthread_attr_destroy(&attr);
    assert_int_equal(fdl_thread_start(&t, "stack", measure, &bytes), 0);
    fdl_thread_join(&t);
    return bytes;
}

/* `ulimit -s` is what a thread would have by itself. */
TEST(has_a_stack_that_suffices)
{
    assert_in_range(stack_where_it_is((size_t)64 << 10), 1 << 20, 2 << 20);
    assert_in_range(stack_where_it_is((size_t)8 << 20), 8 << 20, 9 << 20);
}

static void *call_the_program(void *arg)
{
    struct seen *seen = arg;
    fdl_thread_open_signals();
    pthread_sigmask(SIG_SETMASK, NULL, &seen[0].mask);
    run_named("of a thread", &seen[1]);
    fdl_thread_block_signals();
    pthread_sigmask(SIG_SETMASK, NULL, &seen[2].mask);
    struct fdl_thread t = {0};
    assert_int_equal(fdl_thread_start(&t, "inner", look_opened, &seen[3]), 0);
    fdl_thread_join(&t);
    return NULL;
}

TEST(the_program_has_its_own_signals)
{
    sigset_t some, before;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &some, &before);
    struct seen seen[4];
    struct fdl_thread t = {0};
    assert_int_equal(fdl_thread_start(&t, "calls", call_the_program, seen), 0);
    fdl_thread_join(&t);
    fdl_thread_open_signals(); /* nothing, here */
    pthread_sigmask(SIG_SETMASK, &before, NULL);

    for (size_t i = 0; i < FDL_COUNT_OF(seen); i++) {
        bool ours = i == 1 || i == 2;
        assert_int_equal(sigismember(&seen[i].mask, SIGTERM), ours);
        assert_int_equal(sigismember(&seen[i].mask, SIGUSR1), 1);
        assert_int_equal(sigismember(&seen[i].mask, SIGSEGV), 0);
    }
}

static void *where(void *arg)
{
    assert_true(fdl_cpu_set_of_thread(0, arg));
    return NULL;
}

static void runs_on(const struct fdl_cpu_set *cpus,
                    const struct fdl_cpu_set *expected)
{
    struct fdl_thread t = {0};
    struct fdl_cpu_set seen;
    assert_int_equal(fdl_thread_start_on(&t, cpus, "bound", where, &seen), 0);
    fdl_thread_join(&t);
    assert_memory_equal(&seen, expected, sizeof(seen));
}

TEST(runs_where_it_is_bound)
{
    struct fdl_cpu_set all, one = {{0}}, after;
    uint32_t first = 0;
    assert_true(fdl_cpu_set_of_thread(0, &all));
    while (!fdl_cpu_set_has(&all, first))
        first++;
    one.word[first / 64] = UINT64_C(1) << first % 64;
    runs_on(&one, &one);
    runs_on(NULL, &all);
    assert_true(fdl_cpu_set_of_thread(0, &after));
    assert_memory_equal(&after, &all, sizeof(all)); /* its creator stays */
}

/* One warning, however many threads are refused. */
TEST(runs_unbound_where_it_is_refused)
{
    struct fdl_cpu_set all, none;
    char line[FDL_LOG_LINE_BYTES];
    uint64_t needed;
    assert_true(fdl_cpu_set_of_thread(0, &all));
    assert_true(fdl_cpu_set_parse(&none, "16000-16001"));
    for (int i = 0; i < 3; i++)
        runs_on(&none, &all);
    assert_int_equal(fdl_log_read(line, sizeof(line), &needed), FEEDLINE_OK);
    assert_non_null(strstr(line, "warning: "));
    assert_non_null(strstr(line, "16000-16001"));
    assert_int_equal(fdl_log_read(line, sizeof(line), &needed), FEEDLINE_END);
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

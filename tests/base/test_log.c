/* SPDX-License-Identifier: Apache-2.0 */
/* The log ring. */
#include "base/log.h"
#include "base/status.h"
#include "base/thread.h"
#include "test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static char line[FDL_LOG_LINE_BYTES];
static uint64_t needed;

static int32_t read_line(void)
{
    return fdl_log_read(line, sizeof(line), &needed);
}

/* Each case starts and ends with an empty ring and the default level. */
static void empty(void)
{
    assert_int_equal(fdl_log_set_level(FDL_LOG_WARNING), FEEDLINE_OK);
    while (read_line() == FEEDLINE_OK)
        ;
}

TEST_WITH(lines_come_in_order, empty, empty)
{
    assert_int_equal(read_line(), FEEDLINE_END);
    assert_int_equal(needed, 0);
    errno = 12;
    fdl_log(FDL_LOG_ERROR, "first %d", 1);
    fdl_log(FDL_LOG_WARNING, "second\nand last");
    assert_int_equal(errno, 12);

    assert_int_equal(read_line(), FEEDLINE_OK);
    assert_string_equal(line, "error: first 1");
    assert_int_equal(needed, strlen(line) + 1);
    assert_int_equal(read_line(), FEEDLINE_OK);
    assert_string_equal(line, "warning: second?and last");
    assert_int_equal(read_line(), FEEDLINE_END);
}

TEST_WITH(level_filters, empty, empty)
{
    fdl_log(FDL_LOG_INFO, "not by default");
    assert_int_equal(read_line(), FEEDLINE_END);

    assert_int_equal(fdl_log_set_level(FDL_LOG_DEBUG), FEEDLINE_OK);
    fdl_log(FDL_LOG_INFO, "i");
    fdl_log(FDL_LOG_DEBUG, "d");
    assert_int_equal(read_line(), FEEDLINE_OK);
    assert_string_equal(line, "info: i");
    assert_int_equal(read_line(), FEEDLINE_OK);
    assert_string_equal(line, "debug: d");

    assert_int_equal(fdl_log_set_level(FDL_LOG_OFF), FEEDLINE_OK);
    fdl_log(FDL_LOG_ERROR, "nobody listens");
    fdl_log(FDL_LOG_OFF, "not a level");
    assert_int_equal(read_line(), FEEDLINE_END);

    assert_int_equal(fdl_log_set_level(5), FEEDLINE_ERANGE);
    assert_int_equal(fdl_log_set_level(-1), FEEDLINE_ERANGE);
}

TEST_WITH(small_buffers_lose_nothing, empty, empty)
{
    char small[4] = "abc";
    fdl_log(FDL_LOG_ERROR, "x");
    assert_int_equal(fdl_log_read(NULL, 0, &needed), FEEDLINE_OK);
    assert_int_equal(needed, sizeof("error: x"));
    assert_int_equal(fdl_log_read(small, sizeof(small), &needed),
                     FEEDLINE_ERANGE);
    assert_int_equal(needed, sizeof("error: x"));
    assert_string_equal(small, "abc");
    assert_int_equal(fdl_log_read(line, sizeof("error: x"), NULL), FEEDLINE_OK);
    assert_string_equal(line, "error: x");
    assert_int_equal(read_line(), FEEDLINE_END);
}

TEST_WITH(long_lines_are_cut, empty, empty)
{
    char text[2 * FDL_LOG_LINE_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    fdl_log(FDL_LOG_ERROR, "%s", text);
    assert_int_equal(read_line(), FEEDLINE_OK);
    assert_int_equal(strlen(line), FDL_LOG_LINE_BYTES - 1);
}

TEST_WITH(a_full_ring_loses_nothing, empty, empty)
{
    char expected[64];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < FDL_LOG_LINES; i++)
            fdl_log(FDL_LOG_ERROR, "%d", i);
        for (int i = 0; i < FDL_LOG_LINES; i++) {
            snprintf(expected, sizeof(expected), "error: %d", i);
            assert_int_equal(read_line(), FEEDLINE_OK);
            assert_string_equal(line, expected);
        }
        assert_int_equal(read_line(), FEEDLINE_END);
    }
}

TEST_WITH(overflow_loses_the_oldest, empty, empty)
{
    char expected[64];
    for (int i = 0; i < FDL_LOG_LINES + 7; i++)
        fdl_log(FDL_LOG_ERROR, "%d", i);
    assert_int_equal(fdl_log_read(NULL, 0, &needed), FEEDLINE_OK);
    assert_int_equal(needed, sizeof("warning: 7 log lines lost"));
    assert_int_equal(read_line(), FEEDLINE_OK);
    assert_string_equal(line, "warning: 7 log lines lost");
    for (int i = 7; i < FDL_LOG_LINES + 7; i++) {
        snprintf(expected, sizeof(expected), "error: %d", i);
        assert_int_equal(read_line(), FEEDLINE_OK);
        assert_string_equal(line, expected);
    }
    assert_int_equal(read_line(), FEEDLINE_END);
}

#define N_THREADS 4
#define N_LINES   500

static void *write_lines(void *arg)
{
    const int *number = arg;
    for (int i = 0; i < N_LINES; i++)
        fdl_log(FDL_LOG_ERROR, "t%d i%d end", *number, i);
    return NULL;
}

/* Nothing is torn, each thread's lines stay in order, and what was read and
 * what was lost add up. */
TEST_WITH(many_writers, empty, empty)
{
    struct fdl_thread t[N_THREADS] = {0};
    int numbers[N_THREADS], last[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        last[i] = -1;
        assert_int_equal(
            fdl_thread_start(&t[i], "writer", write_lines, &numbers[i]), 0);
    }
    int total = 0;
    for (bool joined = false;;) {
        if (read_line() == FEEDLINE_OK) {
            int number, i, lost, length = 0;
            if (sscanf(line, "warning: %d log lines lost", &lost) == 1) {
                total += lost;
                continue;
            }
            assert_int_equal(
                sscanf(line, "error: t%d i%d end%n", &number, &i, &length), 2);
            assert_int_equal(length, strlen(line));
            assert_in_range(number, 0, N_THREADS - 1);
            assert_true(i > last[number]);
            last[number] = i;
            total++;
        } else if (joined) {
            break;
        } else {
            for (int i = 0; i < N_THREADS; i++)
                fdl_thread_join(&t[i]);
            joined = true;
        }
    }
    assert_int_equal(total, N_THREADS * N_LINES);
}

static void *keep_writing(void *arg)
{
    _Atomic int *stop = arg;
    while (!*stop)
        fdl_log(FDL_LOG_ERROR, "busy");
    return NULL;
}

/* A child that is born while another thread holds the lock can still log. */
TEST_WITH(fork_while_writing, empty, empty)
{
    _Atomic int stop = 0;
    struct fdl_thread t = {0};
    assert_int_equal(fdl_thread_start(&t, "writer", keep_writing, &stop), 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            fdl_log(FDL_LOG_ERROR, "from the child");
            _exit(read_line() == FEEDLINE_OK ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    stop = 1;
    fdl_thread_join(&t);
}

/* clang-format off: one case per line */
TEST_MAIN("base_log")

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/server.h"

#include "base/status.h"
#include "store/curl_api.h"
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

void server_stop(void)
{
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    child = 0;
}

static void become(const char *folder, uint32_t delay_ms, int out)
{
    char delay[16];
    snprintf(delay, sizeof(delay), "%u", delay_ms);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    execlp(TEST_PYTHON, TEST_PYTHON, "-B", TEST_SERVER, folder, delay, NULL);
    _exit(127);
}

uint16_t server_start(const char *folder, uint32_t delay_ms)
{
    int ends[2], port = 0;
    const struct fdl_curl *curl;
    if (fdl_curl_load(&curl) != FEEDLINE_OK)
        test_skip("%s", fdl_last_error());
    setenv("no_proxy", "127.0.0.1", 1);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become(folder, delay_ms, ends[1]);
    close(ends[1]);
    atexit(server_stop);
    FILE *f = fdopen(ends[0], "r");
    assert_non_null(f);
    if (fscanf(f, "%d", &port) != 1)
        test_skip("no Python: the server did not start");
    fclose(f);
    return (uint16_t)port;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feedline-decode: AREA SOCKET PID
 *
 * Two processes. The child decodes, and can do nothing else; its parent keeps
 * it: it waits for the child to end, and notes how, and ends it when the socket
 * is shut or process PID, which wanted the decoder, is gone. A decoder that
 * never comes back could not see to that itself.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/isolate/isolate_call.h"
#include "decode/isolate/isolate_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of some systems. */
#define CALL_PIDFD_OPEN  434
#define CALL_CLOSE_RANGE 436

/* Where descriptors are from here on. */
enum { AREA = STDERR_FILENO + 1, SOCKET, FIRST_OTHER };

static void close_from(unsigned first)
{
    if (syscall(CALL_CLOSE_RANGE, first, UINT_MAX, 0) == 0)
        return;
    long end = sysconf(_SC_OPEN_MAX);
    for (int fd = (int)first; fd < end; fd++)
        close(fd);
}

/* The two that we were given, and nothing that we inherited. */
static bool settle_descriptors(int area, int socket)
{
    int far_area = fcntl(area, F_DUPFD, FIRST_OTHER);
    int far_socket = fcntl(socket, F_DUPFD, FIRST_OTHER);
    if (far_area < 0 || far_socket < 0 || dup2(far_area, AREA) < 0 ||
        dup2(far_socket, SOCKET) < 0)
        return false;
    close_from(FIRST_OTHER);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0)
        return false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    close(nothing);
    return true;
}

static uint8_t *map_area(void)
{
    struct stat st;
    if (fstat(AREA, &st) < 0 || st.st_size < FDL_ISOLATE_HEAD_BYTES)
        return NULL;
    void *area = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
                      MAP_SHARED, AREA, 0);
    close(AREA);
    return area == MAP_FAILED ? NULL : area;
}

/* user: a descriptor that is not for the decoder. */
static void decode(uint8_t *area, pid_t keeper, int user)
{
    close(user);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == keeper)
        fdl_isolate_serve(SOCKET, area);
    _exit(0);
}

static int open_process(pid_t pid)
{
    return (int)syscall(CALL_PIDFD_OPEN, pid, 0);
}

/* Until the child has ended. user: a descriptor. */
static void keep(pid_t child, int user, struct fdl_isolate_head *head)
{
    int how = FDL_ISOLATE_RUNS;
    struct pollfd ends[] = {
        {.fd = open_process(child), .events = POLLIN},
        {.fd = user, .events = POLLIN},
        {.fd = SOCKET, .events = 0}, /* POLLHUP comes unasked */
    };
    while (ends[0].fd >= 0 && poll(ends, FDL_COUNT_OF(ends), -1) < 0 &&
           errno == EINTR)
        ;
    if (!ends[0].revents)
        kill(child, SIGKILL);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    head->ended = how;
}

/* Whatever the program had for its own: an ignored SIGCHLD, say. */
static void settle_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int give_up(int32_t status, const char *what)
{
    fdl_fail(status, "%s: %s", what, strerror(errno));
    fdl_isolate_say(SOCKET, status, 0);
    return 1;
}

int main(int argc, char **argv)
{
    settle_signals();
    if (argc != 4 || !settle_descriptors(atoi(argv[1]), atoi(argv[2])))
        return 2;
    uint8_t *area = map_area();
    if (!area)
        return give_up(FEEDLINE_ENOMEM, "mapping the shared memory");
    int user = open_process(atoi(argv[3]));
    if (user < 0)
        return give_up(FEEDLINE_EIO, "pidfd_open");
    pid_t self = getpid(), child = fork();
    if (child == 0)
        decode(area, self, user);
    if (child < 0)
        return give_up(FEEDLINE_EIO, "fork");
    keep(child, user, (void *)area);
    return 0;
}

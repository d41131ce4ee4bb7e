/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side that gives orders. Processes are forked before any of them makes a
 * loader; the only other thread at that time waits for signals and holds
 * nothing. Points in time are absolute, so all begin and end together without
 * another word.
 */
#include "bench/loaderbench/case/case_crew.h"

#include "bench/loaderbench/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAD_SECONDS 0.05 /* for an order to arrive */
#define WARM_SECONDS 0.5  /* or as long as is measured, if that is less */
#define POLL_MS      100

/* ---- Processes ---------------------------------------------------------- */

static int start_one(struct crew *c, uint32_t i)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
        tool_say("socket: %s", strerror(errno));
        return TOOL_ENVIRONMENT;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        for (uint32_t k = 0; k < i; k++)
            close(c->sockets[k]);
        crew_work(c, pair[1]);
        _exit(0);
    }
    close(pair[1]);
    if (pid < 0) {
        tool_say("fork: %s", strerror(errno));
        close(pair[0]);
        return TOOL_ENVIRONMENT;
    }
    c->pids[i] = pid;
    c->sockets[i] = pair[0];
    return TOOL_DONE;
}

int crew_start(struct crew *c, uint32_t n, int64_t batch_size,
               const struct case_photos *photos)
{
    memset(c, 0, sizeof(*c));
    c->batch_size = batch_size;
    c->photos = photos;
    void *shared = mmap(NULL, sizeof(*c->found), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        tool_say("shared memory: %s", strerror(errno));
        return TOOL_ENVIRONMENT;
    }
    c->shared = shared;
    c->found = shared;
    c->n = n; /* a process needs to know */
    for (uint32_t i = 0; i < n; i++) {
        int rc = start_one(c, i);
        if (rc != TOOL_DONE) {
            c->n = i;
            return rc;
        }
    }
    return TOOL_DONE;
}

void crew_stop(struct crew *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        close(c->sockets[i]);
        kill(c->pids[i], SIGKILL);
        waitpid(c->pids[i], NULL, 0);
    }
    if (c->shared)
        munmap(c->shared, sizeof(*c->found));
    memset(c, 0, sizeof(*c));
}

/* ---- Orders ------------------------------------------------------------- */

static int receive(struct crew *c, uint32_t i, struct crew_answer *out)
{
    struct pollfd fd = {.fd = c->sockets[i], .events = POLLIN};
    while (poll(&fd, 1, POLL_MS) <= 0)
        if (tool_interrupted())
            return TOOL_INTERRUPTED;
    if (recv(fd.fd, out, sizeof(*out), 0) != (ssize_t)sizeof(*out)) {
        tool_say("loader %u of the case has ended", i);
        return TOOL_ENVIRONMENT;
    }
    return out->rc;
}

/* workers: NULL for those of the tuners. */
static int order(struct crew *c, enum crew_task task, const int64_t *workers,
                 double lead, double seconds, struct crew_answer *answers)
{
    double begin = tool_seconds() + LEAD_SECONDS + lead;
    int rc = TOOL_DONE;
    atomic_store(c->found, 0);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct crew_order o = {.task = task,
                                     .workers = workers ? workers[i] : 0,
                                     .begin = begin,
                                     .end = begin + seconds};
        if (send(c->sockets[i], &o, sizeof(o), MSG_NOSIGNAL) !=
            (ssize_t)sizeof(o)) {
            tool_say("loader %u of the case has ended", i);
            return TOOL_ENVIRONMENT;
        }
    }
    for (uint32_t i = 0; i < c->n && rc == TOOL_DONE; i++)
        rc = receive(c, i, &answers[i]);
    return rc;
}

static double warm(double seconds)
{
    return seconds < WARM_SECONDS ? seconds : WARM_SECONDS;
}

int crew_static(struct crew *c, const int64_t *workers, double seconds,
                struct crew_answer *answers)
{
    return order(c, CREW_STATIC, workers, warm(seconds), seconds, answers);
}

int crew_search(struct crew *c, double patience, struct crew_answer *answers)
{
    return order(c, CREW_SEARCH, NULL, 0, patience, answers);
}

int crew_tuned(struct crew *c, double seconds, struct crew_answer *answers)
{
    return order(c, CREW_TUNED, NULL, warm(seconds), seconds, answers);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that decode for a process, as /proc shows them. */
#ifndef FDL_TESTS_DECODERS_H
#define FDL_TESTS_DECODERS_H

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Where nothing can hold a decoder in, none starts: in an emulator, say. */
static inline void decoders_need_seccomp(void)
{
    if (prctl(PR_GET_SECCOMP) < 0)
        test_skip("seccomp: %s", strerror(errno));
}

/* A line of /proc/PID/status behind its name; "" if there is none. */
static inline const char *decoders_line(pid_t pid, const char *name)
{
    static char line[256];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = strlen(name);
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, n) == 0 && line[n] == ':') {
            fclose(f);
            return line + n + 2;
        }
    if (f)
        fclose(f);
    return strcpy(line, "");
}

static inline bool decoders_lives(pid_t pid)
{
    const char *state = decoders_line(pid, "State");
    return *state && *state != 'Z';
}

/* Whether its command line ends with the number of process `user`. */
static inline bool decoders_is_of(pid_t pid, pid_t user)
{
    char path[64], line[4096], last[16];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(line, 1, sizeof(line) - 1, f);
    fclose(f);
    line[n] = '\0';
    snprintf(last, sizeof(last), "%d", (int)user);
    size_t length = strlen(last);
    return n > length + 1 && strcmp(line + n - length - 1, last) == 0 &&
           strncmp(decoders_line(pid, "Name"), "feedline-decode\n", 16) == 0;
}

/* Those that live: decoders, or who keeps them; at most `most` of them. */
static inline size_t decoders_find(pid_t user, bool keepers, pid_t *out,
                                   size_t most)
{
    size_t n = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *e = readdir(proc); e && n < most; e = readdir(proc)) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid <= 0 || !decoders_is_of(pid, user) || !decoders_lives(pid))
            continue;
        pid_t parent = (pid_t)atoi(decoders_line(pid, "PPid"));
        if (decoders_is_of(parent, user) != keepers)
            out[n++] = pid;
    }
    closedir(proc);
    return n;
}

/* The only decoder of this process. */
static inline pid_t decoders_only(void)
{
    pid_t found[2];
    assert_int_equal(decoders_find(getpid(), false, found, 2), 1);
    return found[0];
}

static inline void decoders_wait_end(pid_t pid)
{
    while (decoders_lives(pid))
        sched_yield();
}

#endif

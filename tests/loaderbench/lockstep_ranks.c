/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job that wait for each other in every step, as those of a training
 * do, in processes of their own: lockstep_ranks RANKS marked|unmarked [LOG].
 *
 * Each line on standard input, "RANK LOADER_MS STEP_MS", plants a straggler:
 * from now on this rank's loader, its step, or both take so much longer.
 * "ok" answers it. marked: the wait for the others is a phase. LOG: the option
 * stats_log. They end with the input.
 */
#include <feedline/watch.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS   4
#define RANKS_MAX 16

struct shared {
    pthread_barrier_t barrier;
    atomic_int rank, loader_ms, step_ms;
    atomic_int quit; /* asked; a rank passes it on behind the barrier, so that
                        all of them end with the same step */
    int last;
};

static void take(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&t, NULL);
}

static feedline_loader *watch_of(int rank, int world, const char *log)
{
    struct feedline_watch_def def = {.struct_size = sizeof(def),
                                     .name = "lockstep"};
    feedline_config *config;
    feedline_loader *watch = NULL;
    char number[16];
    if (feedline_config_create(&config) < 0)
        return NULL;
    snprintf(number, sizeof(number), "%d", world);
    feedline_config_set(config, "world", number);
    snprintf(number, sizeof(number), "%d", rank);
    feedline_config_set(config, "rank", number);
    if (log) {
        feedline_config_set(config, "stats_log", log);
        feedline_config_set(config, "stats_interval", "250ms");
    }
    if (feedline_watch_create(config, &def, &watch) < 0)
        fprintf(stderr, "lockstep_ranks: %s\n", feedline_last_error());
    feedline_config_destroy(config);
    return watch;
}

static int train(struct shared *s, feedline_loader *watch, int rank,
                 bool marked)
{
    for (bool more = true; more;) {
        bool odd = rank == atomic_load(&s->rank);
        feedline_watch_begin(watch);
        take(odd ? atomic_load(&s->loader_ms) : 0);
        feedline_watch_end(watch, FEEDLINE_OK, 8, 0);
        take(STEP_MS + (odd ? atomic_load(&s->step_ms) : 0));
        if (marked)
            feedline_loader_phase_begin(watch, "sync");
        if (pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            s->last = atomic_load(&s->quit);
        pthread_barrier_wait(&s->barrier);
        if (marked)
            feedline_loader_phase_end(watch);
        more = !s->last;
    }
    feedline_loader_destroy(watch);
    return 0;
}

static struct shared *share(int ranks)
{
    pthread_barrierattr_t shared;
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return NULL;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->barrier, &shared, (unsigned)ranks);
    pthread_barrierattr_destroy(&shared);
    atomic_store(&s->rank, -1);
    return s;
}

static void obey(struct shared *s)
{
    int rank, loader_ms, step_ms;
    while (scanf("%d %d %d", &rank, &loader_ms, &step_ms) == 3) {
        atomic_store(&s->rank, -1);
        atomic_store(&s->loader_ms, loader_ms);
        atomic_store(&s->step_ms, step_ms);
        atomic_store(&s->rank, rank);
        puts("ok");
        fflush(stdout);
    }
    atomic_store(&s->quit, 1);
}

int main(int argc, char **argv)
{
    int ranks = argc > 2 ? atoi(argv[1]) : 0, failed = 0, status;
    bool marked = argc > 2 && strcmp(argv[2], "marked") == 0;
    struct shared *s = share(ranks);
    if (!s || ranks < 2 || ranks > RANKS_MAX)
        return 2;
    for (int rank = 0; rank < ranks; rank++) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            feedline_loader *watch =
                watch_of(rank, ranks, argc > 3 ? argv[3] : NULL);
            _exit(watch ? train(s, watch, rank, marked) : 1);
        }
        if (child < 0)
            return 2;
    }
    obey(s);
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0;
}

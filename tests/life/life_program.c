/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training as a program has it, whose process goes through something:
 *
 *     life_program MODE FOLDER
 *
 * Prints "stream HASH", of all batches of two epochs in their order, whatever
 * the mode, and what else the mode is about. Exit status 1: something was
 * wrong, and standard error says what.
 */
#include <feedline/feedline.h>
#include <feedline/tuning.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EPOCHS 2

/* In place of a function of the C library, for the library too. */
#define EXPORT __attribute__((visibility("default")))

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "life_program: %s\n", what);
    exit(1);
}

static void check(int32_t status)
{
    if (status < 0)
        wrong(feedline_last_error());
}

/* ---- A training ---------------------------------------------------------- */

struct training {
    feedline_dataset *data;
    feedline_pipeline *pipeline;
    feedline_config *config;
    feedline_loader *loader;
};

static struct training begin(const char *folder)
{
    struct training t = {0};
    check(feedline_dataset_open(folder, &t.data));
    check(feedline_pipeline_create("train", &t.pipeline));
    check(feedline_config_create(&t.config));
    check(feedline_config_set(t.config, "batch_size", "4"));
    check(feedline_config_set(t.config, "shuffle", "true"));
    check(feedline_config_set(t.config, "workers", "2"));
    check(feedline_config_set(t.config, "jpeg_index", "true"));
    check(feedline_loader_create(t.config, t.data, t.pipeline, &t.loader));
    return t;
}

static void end(struct training *t)
{
    feedline_loader_destroy(t->loader);
    feedline_config_destroy(t->config);
    feedline_pipeline_destroy(t->pipeline);
    feedline_dataset_close(t->data);
}

static uint64_t add(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t add_batch(uint64_t hash, const feedline_batch *batch)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    check(feedline_batch_get_info(batch, &info));
    const int64_t *shape = info.images.shape;
    size_t n = (size_t)(shape[1] * shape[2] * shape[3]);
    hash = add(hash, info.images.data, info.count * n * sizeof(float));
    return add(hash, info.labels.data, info.count * sizeof(int64_t));
}

/* `between` is called behind each batch. */
static void train(struct training *t, void (*between)(struct training *t))
{
    feedline_batch *batch;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int32_t status;
        while ((status = feedline_loader_next(t->loader, -1, &batch)) == 0) {
            hash = add_batch(hash, batch);
            feedline_batch_release(batch);
            if (between)
                between(t);
        }
        check(status);
    }
    printf("stream %016llx\n", (unsigned long long)hash);
}

/* ---- The threads of this process ----------------------------------------- */

/* Calls `see` for each. */
static void each_thread(void (*see)(pid_t thread))
{
    DIR *dir = opendir("/proc/self/task");
    if (!dir)
        wrong("/proc/self/task");
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            see((pid_t)atoi(e->d_name));
    closedir(dir);
}

static bool read_status(pid_t thread, const char *field, char *out, size_t room)
{
    char path[64], line[256];
    size_t n = strlen(field);
    bool found = false;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)thread);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f))
        if (strncmp(line, field, n) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, room, "%s", line + n);
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

static bool is_the_librarys(pid_t thread)
{
    char name[64];
    return read_status(thread, "Name:\t", name, sizeof(name)) &&
           strncmp(name, "feedline-", 9) == 0;
}

static unsigned own_threads;

/* All signals but faults, and the two that are the C library's. */
static void see_mask(pid_t thread)
{
    static const int open[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGSYS,
                               SIGTRAP, SIGKILL, SIGSTOP, 32,     33};
    char text[64];
    if (!is_the_librarys(thread) ||
        !read_status(thread, "SigBlk:\t", text, sizeof(text)))
        return;
    uint64_t blocked = strtoull(text, NULL, 16);
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
        blocked |= UINT64_C(1) << (open[i] - 1);
    own_threads++;
    if (blocked != UINT64_MAX)
        wrong("a thread of the library takes signals");
}

static void see_masks(struct training *t)
{
    (void)t;
    own_threads = 0;
    each_thread(see_mask);
}

static void masks(const char *folder)
{
    struct training t = begin(folder);
    train(&t, see_masks);
    printf("threads %u\n", own_threads);
    end(&t);
}

/* ---- Signals ------------------------------------------------------------- */

static _Atomic unsigned long handled, strayed;
static _Atomic bool storms;
static pid_t storm_thread;

static void on_signal(int number)
{
    int error = errno;
    char name[16] = "";
    (void)number;
    atomic_fetch_add(&handled, 1);
    if (pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
        strncmp(name, "feedline-", 9) == 0)
        atomic_fetch_add(&strayed, 1);
    errno = error;
}

static void hit(pid_t thread)
{
    if (thread != storm_thread) {
        syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
        syscall(SYS_tgkill, getpid(), thread, SIGUSR2);
    }
}

static void *storm(void *arg)
{
    (void)arg;
    storm_thread = (pid_t)syscall(SYS_gettid);
    while (atomic_load(&storms))
        each_thread(hit);
    return NULL;
}

/* SIGUSR1 interrupts calls, SIGUSR2 and the timer let them go on. */
static void signals(const char *folder)
{
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {0};
    struct sigaction action = {.sa_handler = on_signal};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    atomic_store(&storms, true);
    if (pthread_create(&thread, NULL, storm, NULL))
        wrong("no thread");
    setitimer(ITIMER_REAL, &often, NULL);
    struct training t = begin(folder);
    train(&t, NULL);
    end(&t);
    atomic_store(&storms, false);
    pthread_join(thread, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    if (strayed)
        wrong("a handler ran on a thread of the library");
    printf("handled %lu\n", handled);
}

/* ---- Descriptors, children ----------------------------------------------- */

static int before[256], n_before;

static bool was_open(int fd)
{
    for (int i = 0; i < n_before; i++)
        if (before[i] == fd)
            return true;
    return false;
}

/* Each descriptor that came with the loader is closed by an exec. */
static int look_at_descriptors(bool first)
{
    DIR *dir = opendir("/proc/self/fd");
    int own = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(dir))
            continue;
        if (first && n_before < 256)
            before[n_before++] = fd;
        if (first || was_open(fd))
            continue;
        own++;
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC))
            wrong("a descriptor that an exec does not close");
    }
    if (dir)
        closedir(dir);
    return own;
}

/* A child that goes on in each way there is. */
static void in_a_child(struct training *t, int way)
{
    static char *const program[] = {"/bin/true", NULL};
    static char *const environment[] = {NULL};
    pid_t child = fork();
    int status;
    if (child == 0) {
        alarm(60); /* what hangs is killed */
        if (way == 0)
            execve(program[0], program, environment);
        if (way == 1)
            end(t);
        if (way == 2)
            exit(0); /* with the program's exit handlers */
        _exit(way == 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        wrong("a child of fork() did not end as it should");
}

static struct {
    int descriptors, children;
} seen;

static void fork_now(struct training *t)
{
    int own = look_at_descriptors(false);
    seen.descriptors = own > seen.descriptors ? own : seen.descriptors;
    if (seen.children < 9) {
        fflush(NULL);
        in_a_child(t, seen.children++ % 3);
    }
}

static void forks(const char *folder)
{
    look_at_descriptors(true);
    struct training t = begin(folder);
    train(&t, fork_now);
    end(&t);
    printf("descriptors %d children %d\n", seen.descriptors, seen.children);
}

/* A daemon makes its loader where it has become one. */
static void daemons(const char *folder)
{
    int ends[2];
    char line[64] = "";
    if (pipe(ends) != 0)
        wrong("no pipe");
    pid_t child = fork();
    if (child == 0) {
        if (daemon(1, 1) != 0)
            _exit(1);
        dup2(ends[1], 1);
        struct training t = begin(folder);
        train(&t, NULL);
        end(&t);
        exit(0);
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    if (child < 0 || !f || !fgets(line, sizeof(line), f))
        wrong("no word from the daemon");
    fclose(f);
    fputs(line, stdout);
}

/* ---- A clock that jumps -------------------------------------------------- */

static _Atomic bool jumps;
static _Atomic unsigned jumped;

EXPORT int clock_gettime(clockid_t clock, struct timespec *out)
{
    int status = (int)syscall(SYS_clock_gettime, clock, out);
    bool real = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (real && atomic_load(&jumps)) /* a day there or a year back */
        out->tv_sec += atomic_fetch_add(&jumped, 1) % 2 ? 86400 : -31536000;
    return status;
}

static void print_waits(const struct training *t)
{
    struct feedline_stats s = {.struct_size = sizeof(s)};
    check(feedline_loader_get_stats(t->loader, &s));
    printf("wall %.3f waited %.3f\n", (double)s.wall_ns / 1e9,
           (double)s.wait_ns / 1e9);
}

static void clocks(const char *folder)
{
    struct timespec begun, ended;
    atomic_store(&jumps, true);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    struct training t = begin(folder);
    train(&t, NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    print_waits(&t);
    struct feedline_stats s = {.struct_size = sizeof(s)};
    check(feedline_loader_get_stats(t.loader, &s));
    double most = (double)(ended.tv_sec - begun.tv_sec + 1);
    if ((double)s.wall_ns / 1e9 > most || s.wait_ns > s.wall_ns)
        wrong("the statistics follow the clock on the wall");
    if (jumped == 0)
        wrong("nobody has asked this clock");
    end(&t);
}

/* ---- Stopped for a time -------------------------------------------------- */

static void step(struct training *t)
{
    static unsigned steps;
    const struct timespec ms = {.tv_nsec = 20000000};
    (void)t;
    if (++steps == 3) {
        puts("trains");
        fflush(stdout);
    }
    nanosleep(&ms, NULL);
}

/* Says when it trains: somebody stops it then, and lets it go on. */
static void stopped(const char *folder)
{
    struct training t = begin(folder);
    train(&t, step);
    print_waits(&t);
    end(&t);
}

/* ---- Little stacks ------------------------------------------------------- */

static struct training little;

static void *train_little(void *arg)
{
    (void)arg;
    feedline_batch *batch;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        while (feedline_loader_next(little.loader, -1, &batch) == 0) {
            hash = add_batch(hash, batch);
            feedline_batch_release(batch);
        }
    uint64_t *out = arg;
    *out = hash;
    return NULL;
}

/* A thread that is not this one's, with so much stack. */
static void run_with(size_t bytes, void *(*run)(void *arg), void *arg)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, bytes) ||
        pthread_create(&thread, &attr, run, arg))
        wrong("no thread");
    pthread_join(thread, NULL);
}

/* A run that has begun is gone on with by a thread that has the least stack
 * that docs/life.md asks for. */
static void stacks(const char *folder)
{
    uint64_t hash = 0;
    little = begin(folder);
    check(feedline_loader_start(little.loader, 0));
    run_with((size_t)PTHREAD_STACK_MIN + (8 << 10), train_little, &hash);
    printf("stream %016llx\n", (unsigned long long)hash);
    end(&little);
}

/* ---- How much stack is taken --------------------------------------------- */

#define PAINTED      ((size_t)1 << 20)
#define PAINT        0xa5
#define THREADS_MOST 64u

static struct {
    void *memory[THREADS_MOST];
    _Atomic unsigned n;
    _Atomic bool paints;
} painted;

static void *paint(void)
{
    void *stack = aligned_alloc((size_t)1 << 16, PAINTED);
    unsigned n = atomic_fetch_add(&painted.n, 1);
    if (!stack || n >= THREADS_MOST)
        wrong("no memory");
    memset(stack, PAINT, PAINTED);
    painted.memory[n] = stack;
    return stack;
}

/* Bytes that were written to. */
static size_t used(const void *stack)
{
    const uint8_t *at = stack;
    size_t untouched = 0;
    while (untouched < PAINTED && at[untouched] == PAINT)
        untouched++;
    return PAINTED - untouched;
}

EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *given,
                          void *(*run)(void *), void *arg)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                  void *);
    pthread_attr_t attr;
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (!atomic_load(&painted.paints))
        return create(out, given, run, arg);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, paint(), PAINTED);
    return create(out, &attr, run, arg);
}

static const char *the_folder;

static void *do_create(void *arg)
{
    little = begin(the_folder);
    return arg;
}

static void *do_start(void *arg)
{
    check(feedline_loader_start(little.loader, 0));
    return arg;
}

static void *do_explain(void *arg)
{
    static char text[1 << 20];
    uint64_t needed;
    check(feedline_loader_explain(little.loader, text, sizeof(text), &needed));
    return arg;
}

static void *do_json(void *arg)
{
    static char text[1 << 20];
    uint64_t needed;
    check(
        feedline_loader_stats_json(little.loader, text, sizeof(text), &needed));
    return arg;
}

static void *do_destroy(void *arg)
{
    end(&little);
    return arg;
}

static void *do_nothing(void *arg)
{
    return arg;
}

/* Of a call on a thread of its own; the first one is this one. */
static void measure_call(const char *name, void *(*run)(void *arg))
{
    uint64_t hash;
    unsigned n = atomic_load(&painted.n);
    run_with(PAINTED, run, &hash);
    printf("%s %zu\n", name, used(painted.memory[n]));
    painted.memory[n] = NULL;
}

static void measure(const char *folder)
{
    size_t most = 0;
    the_folder = folder;
    atomic_store(&painted.paints, true);
    measure_call("thread", do_nothing);
    measure_call("create", do_create);
    measure_call("start", do_start);
    measure_call("next", train_little);
    measure_call("explain", do_explain);
    measure_call("json", do_json);
    measure_call("destroy", do_destroy);
    atomic_store(&painted.paints, false);
    for (unsigned i = 0; i < painted.n; i++)
        if (painted.memory[i] && used(painted.memory[i]) > most)
            most = used(painted.memory[i]);
    printf("workers %zu\n", most); /* the library's own threads */
}

/* -------------------------------------------------------------------------- */

static void plain(const char *folder)
{
    struct training t = begin(folder);
    train(&t, NULL);
    end(&t);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const char *folder);
    } modes[] = {
        {"plain", plain},     {"masks", masks},    {"signals", signals},
        {"forks", forks},     {"daemon", daemons}, {"clock", clocks},
        {"stopped", stopped}, {"stacks", stacks},  {"measure", measure},
    };
    for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(*modes); i++)
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run(argv[2]);
            return 0;
        }
    fputs("usage: life_program MODE FOLDER\n", stderr);
    return 2;
}

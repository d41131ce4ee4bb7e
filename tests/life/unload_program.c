/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads the library, trains, and unloads it again, a few times:
 *
 *     unload_program LIBRARY FOLDER
 *
 * Threads that have called the library live on and end afterwards, a child is
 * forked, the program exits: what the library has left in the process (keys of
 * threads, handlers of forks and of the end) must not be called any more.
 */
#include <feedline/feedline.h>
#include <feedline/live.h>

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 3

static void *library;

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "unload_program: %s\n", what);
    exit(1);
}

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        wrong(dlerror());
    return found;
}

/* Of that name, with the type that the header gives it. */
#define CALL(name) ((__typeof__(&(name)))symbol(#name))

static unsigned threads(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static unsigned train(const char *folder)
{
    feedline_dataset *data;
    feedline_pipeline *pipeline;
    feedline_loader *loader;
    feedline_batch *batch;
    unsigned batches = 0;
    if (CALL(feedline_dataset_open)(folder, &data) < 0 ||
        CALL(feedline_pipeline_create)("train", &pipeline) < 0 ||
        CALL(feedline_loader_create)(NULL, data, pipeline, &loader) < 0)
        wrong(CALL(feedline_last_error)());
    while (CALL(feedline_loader_next)(loader, -1, &batch) == 0) {
        CALL(feedline_batch_release)(batch);
        batches++;
    }
    CALL(feedline_loader_destroy)(loader);
    CALL(feedline_pipeline_destroy)(pipeline);
    CALL(feedline_dataset_close)(data);
    return batches;
}

/* A thread that has called all that keeps something for its thread. */
static pthread_barrier_t called, unloaded;

static void *caller(void *arg)
{
    struct feedline_live_info info = {.struct_size = sizeof(info)};
    (void)arg;
    CALL(feedline_live_list)(0, &info);
    CALL(feedline_live_list)(1000000, &info);
    (void)CALL(feedline_last_error)();
    pthread_barrier_wait(&called);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void fork_now(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        wrong("a child of fork()");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    pthread_barrier_init(&called, NULL, 2);
    pthread_barrier_init(&unloaded, NULL, 2);
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            wrong(dlerror());
        if (pthread_create(&thread, NULL, caller, NULL))
            wrong("no thread");
        pthread_barrier_wait(&called);
        printf("batches %u\n", train(argv[2]));
        if (threads() != 2)
            wrong("threads are left");
        if (dlclose(library) != 0)
            wrong(dlerror());
        library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
        printf("%s\n", library ? "stays" : "unloaded");
        if (library)
            dlclose(library);
        fork_now();
        pthread_barrier_wait(&unloaded);
        pthread_join(thread, NULL);
    }
    return 0;
}

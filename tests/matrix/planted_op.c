/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A custom operation with a flaw, for planted.py: it sleeps 5 ms under a mutex
 * of its own, and tells nobody. And threads that only spin, as a badly set
 * numerical library has them.
 */
#include <feedline/custom_op.h>
#include <feedline/feedline.h>

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards nothing */

static int32_t run(const struct feedline_op_call *call)
{
    const struct timespec ms5 = {.tv_nsec = 5000000};
    (void)call;
    pthread_mutex_lock(&lock);
    nanosleep(&ms5, NULL);
    pthread_mutex_unlock(&lock);
    return FEEDLINE_OK;
}

int32_t feedline_op_register(feedline_pipeline *p);
int32_t planted_spin(int32_t threads);

int32_t feedline_op_register(feedline_pipeline *p)
{
    struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "mutexed", .run = run};
    return feedline_pipeline_register(p, &def);
}

static void *spin(void *arg)
{
    static volatile uint64_t n;
    for (;;)
        n++;
    return arg;
}

/* They end with the process. Returns how many were begun. */
int32_t planted_spin(int32_t threads)
{
    int32_t begun = 0;
    for (int32_t i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin, NULL) != 0)
            break;
        pthread_setname_np(thread, "blas_worker");
        pthread_detach(thread);
        begun++;
    }
    return begun;
}

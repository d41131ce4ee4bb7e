/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/threads.h"

#include "tools/loaderbench/tool.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS_MAX 256

struct shared {
    threads_work *work;
    void *arg;
    _Atomic int rc; /* of the first that failed */
};

static void work(struct shared *s, bool first)
{
    int none = TOOL_DONE, rc = s->work(s->arg, first);
    if (rc != TOOL_DONE)
        atomic_compare_exchange_strong_explicit(
            &s->rc, &none, rc, memory_order_relaxed, memory_order_relaxed);
}

static void *work_beside(void *arg)
{
    work(arg, false);
    return NULL;
}

static uint64_t count(const feedline_config *config, uint64_t pieces)
{
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    int64_t n = 0;
    if (config)
        feedline_config_get_int(config, "workers", &n);
    if (n <= 0)
        n = feedline_machine_get_info(&m) == 0 ? m.cpus_usable : 1;
    if (n > THREADS_MAX)
        n = THREADS_MAX;
    return (uint64_t)n > pieces ? pieces : (uint64_t)n;
}

int threads_run(const feedline_config *config, uint64_t pieces,
                threads_work *work_of, void *arg)
{
    pthread_t threads[THREADS_MAX];
    struct shared s = {.work = work_of, .arg = arg};
    uint64_t n = 0, wanted = count(config, pieces);
    while (n + 1 < wanted &&
           pthread_create(&threads[n], NULL, work_beside, &s) == 0)
        n++;
    work(&s, true);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    return s.rc;
}

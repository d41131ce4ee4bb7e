/* SPDX-License-Identifier: Apache-2.0 */
/* Slow storage; see slow_reads.h. */
#include "slow_reads.h"

#include "nap.h"
#include "tests/wrap_nowait.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define READER_NAME "feedline-io"

static struct {
    pthread_mutex_t lock; /* guards all */
    struct slow_reads how;
    int64_t server_free_ns; /* when the last byte of the last read passes */
    uint64_t reads;
    int64_t slept_ns;
} storage = {.lock = PTHREAD_MUTEX_INITIALIZER};

ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at);

void slow_reads_set(const struct slow_reads *how)
{
    pthread_mutex_lock(&storage.lock);
    storage.how = *how;
    pthread_mutex_unlock(&storage.lock);
}

int64_t slow_reads_slept_ns(void)
{
    pthread_mutex_lock(&storage.lock);
    int64_t ns = storage.slept_ns;
    pthread_mutex_unlock(&storage.lock);
    return ns;
}

static bool is_reader(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    return strncmp(name, READER_NAME, strlen(READER_NAME)) == 0;
}

/* When a read of so many bytes that begins now may return. */
static int64_t due(size_t bytes)
{
    pthread_mutex_lock(&storage.lock);
    const struct slow_reads *how = &storage.how;
    int64_t now = nap_now();
    int64_t at = now + how->latency_ns;
    if (how->hiccup_every && ++storage.reads % how->hiccup_every == 0)
        at += how->hiccup_ns;
    if (how->bytes_per_second > 0) {
        if (storage.server_free_ns < now)
            storage.server_free_ns = now;
        storage.server_free_ns +=
            (int64_t)((double)bytes / (double)how->bytes_per_second * 1e9);
        if (at < storage.server_free_ns)
            at = storage.server_free_ns;
    }
    pthread_mutex_unlock(&storage.lock);
    return at;
}

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at)
{
    if (is_reader()) {
        int64_t slept = nap_until(due(bytes));
        pthread_mutex_lock(&storage.lock);
        storage.slept_ns += slept;
        pthread_mutex_unlock(&storage.lock);
    }
    return __real_pread(fd, buffer, bytes, at);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of loaders that can be watched: a walk through /proc, kept for the
 * calls with a higher index on the same thread. Processes that may not be
 * looked into are not in it.
 */
#include "base/status.h"
#include "loader/watch/live_reader.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct list {
    struct feedline_live_info *items;
    uint32_t n, capacity;
    bool full; /* memory ended */
};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void list_free(void *list)
{
    if (list)
        free(((struct list *)list)->items);
    free(list);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, list_free) == 0;
}

/* The library is unloaded: threads that end later must not call list_free.
 * Their lists are lost, but for this one's. */
__attribute__((destructor)) static void drop_key(void)
{
    if (!has_key)
        return;
    list_free(pthread_getspecific(key));
    pthread_key_delete(key);
    has_key = false;
}

/* This thread's. NULL: no memory. */
static struct list *own_list(void)
{
    pthread_once(&key_once, make_key);
    if (!has_key)
        return NULL;
    struct list *list = pthread_getspecific(key);
    if (list)
        return list;
    list = calloc(1, sizeof(*list));
    if (list && pthread_setspecific(key, list)) {
        free(list);
        list = NULL;
    }
    return list;
}

static bool add(void *user, int fd, const struct feedline_live_info *info)
{
    struct list *list = user;
    (void)fd;
    if (list->n == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 8;
        void *items = realloc(list->items, capacity * sizeof(*list->items));
        list->full = items == NULL;
        if (list->full)
            return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *info;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct feedline_live_info *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->loader > y->loader) - (x->loader < y->loader);
}

static int32_t look(struct list *list)
{
    DIR *all = opendir("/proc");
    if (!all)
        return fdl_fail(FEEDLINE_EIO, "/proc: %s", strerror(errno));
    list->n = 0;
    list->full = false;
    for (struct dirent *e; !list->full && (e = readdir(all)) != NULL;) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        int process = *end || pid <= 0 ? -1 : fdl_live_process((int32_t)pid);
        if (process < 0)
            continue;
        (void)fdl_live_pages(process, (int32_t)pid, add, list);
        close(process);
    }
    closedir(all);
    fdl_clear_error();
    if (list->full)
        return fdl_fail_memory(2ull * list->n * sizeof(*list->items),
                               "a list of loaders");
    if (list->n)
        qsort(list->items, list->n, sizeof(*list->items), compare);
    return FEEDLINE_OK;
}

int32_t fdl_live_list(uint32_t index, struct feedline_live_info *out)
{
    struct list *list = own_list();
    if (!list)
        return fdl_fail_memory(sizeof(*list), "a list of loaders");
    int32_t status = index == 0 ? look(list) : FEEDLINE_OK;
    if (status < 0)
        return status;
    if (index >= list->n)
        return FEEDLINE_END;
    *out = list->items[index];
    return FEEDLINE_OK;
}

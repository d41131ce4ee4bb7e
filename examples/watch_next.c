/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch around a `next` that is not feedline's:
 *
 *   cc watch_next.c $(pkg-config --cflags --libs feedline) -o watch_next
 *
 * In the place of another loader stands one that sleeps for 10 ms a batch.
 */
#include <feedline/watch.h>

#include <stdio.h>
#include <time.h>

#define BATCHES    100
#define BATCH_SIZE 32

static int their_next(void)
{
    static int made;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return made++ < BATCHES;
}

int main(void)
{
    struct feedline_watch_def def = {.struct_size = sizeof(def),
                                     .name = "their loader"};
    struct feedline_verdict v = {.struct_size = sizeof(v)};
    feedline_loader *watch;
    if (feedline_watch_create(NULL, &def, &watch) < 0) {
        fprintf(stderr, "watch_next: %s\n", feedline_last_error());
        return 1;
    }
    for (int more = 1; more;) {
        feedline_watch_begin(watch);
        more = their_next();
        feedline_watch_end(watch, more ? FEEDLINE_OK : FEEDLINE_END, BATCH_SIZE,
                           0);
    }
    feedline_loader_get_verdict(watch, &v);
    printf("%s: %s\n%s\n", v.code, v.sentence, v.action);
    feedline_loader_destroy(watch);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders with different settings, by turns, in one process.
 *
 *   turns FOLDER BATCH CONSUMER_MS SEARCH_S SLICE_S ROUNDS SETTING...
 *
 * SETTING is WORKERSxDEPTH, with the tuner off, or auto. All loaders are made
 * at the start; those with a tuner may first search for SEARCH_S seconds. Then,
 * ROUNDS times, each has a slice of SLICE_S seconds, while the others rest with
 * a full stock: forth in one round and back in the next, so that a machine
 * whose speed changes from second to second gives all of them the same. What
 * was in stock is taken before the time of a slice begins.
 *
 * The consumer sleeps to CONSUMER_MS behind each delivery, as one does that
 * waits for its GPU. One line for each slice:
 *
 *   ROUND SETTING IMAGES_PER_SECOND STALL WORKERS DEPTH CONVERGED_BATCH
 *
 * STALL is the part of the time in which the consumer waited; CONVERGED_BATCH
 * is -1 before the tuner is content. Exit status 1, and why: something failed.
 */
#include <feedline/feedline.h>
#include <feedline/tuning.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_SETTINGS 64

struct options {
    const char *folder, *batch;
    double consumer_s, search_s, slice_s;
    long rounds;
    int n_settings;
    char **settings;
};

struct slice {
    double images, seconds, waited;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double when)
{
    struct timespec t = {.tv_sec = (time_t)when};
    t.tv_nsec = (long)((when - (double)t.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

/* One step; how long it waited is added. Negative: feedline_last_error(). */
static int32_t step(feedline_loader *l, double consumer_s, struct slice *s)
{
    feedline_batch *batch;
    int32_t status;
    double begin = now();
    while ((status = feedline_loader_next(l, -1, &batch)) == FEEDLINE_END)
        continue;
    double delivered = now();
    if (status < 0)
        return status;
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    status = feedline_batch_get_info(batch, &info);
    s->images += (double)info.count;
    if (consumer_s > 0)
        sleep_until(delivered + consumer_s);
    feedline_batch_release(batch);
    s->waited += delivered - begin;
    s->seconds += now() - begin;
    return status;
}

static int32_t take(feedline_loader *l, double consumer_s, double seconds,
                    struct slice *s)
{
    int32_t status = FEEDLINE_OK;
    memset(s, 0, sizeof(*s));
    while (status >= 0 && s->seconds < seconds)
        status = step(l, consumer_s, s);
    return status;
}

/* A stock of d that is taken half as fast again as it is made lasts for 3 d
 * batches. */
static int32_t take_stock(feedline_loader *l, double consumer_s, uint32_t depth)
{
    struct slice s = {0};
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status >= 0 && i < 4 * depth + 4; ++i)
        status = step(l, consumer_s, &s);
    return status;
}

/* workers and depth of a setting; false: it is one of option tuner, or none. */
static bool fixed(const char *setting, int *workers, int *depth)
{
    int used = 0;
    return sscanf(setting, "%dx%d%n", workers, depth, &used) == 2 &&
           setting[used] == '\0' && *workers > 0 && *depth > 0;
}

static bool configure(feedline_config *c, const struct options *o,
                      const char *setting)
{
    char text[32];
    int workers, depth;
    /* Not seen by the others: they do not share, they take turns. */
    if (feedline_config_set(c, "shuffle", "true") < 0 ||
        feedline_config_set(c, "live", "false") < 0 ||
        feedline_config_set(c, "batch_size", o->batch) < 0)
        return false;
    if (!fixed(setting, &workers, &depth))
        return feedline_config_set(c, "tuner", setting) >= 0;
    snprintf(text, sizeof(text), "%d", workers);
    if (feedline_config_set(c, "tuner", "off") < 0 ||
        feedline_config_set(c, "workers", text) < 0)
        return false;
    snprintf(text, sizeof(text), "%d", depth);
    return feedline_config_set(c, "depth", text) >= 0;
}

static feedline_loader *open_loader(const struct options *o,
                                    feedline_dataset *dataset,
                                    const char *setting)
{
    feedline_config *config = NULL;
    feedline_pipeline *pipeline = NULL;
    feedline_loader *l = NULL;
    if (feedline_config_create(&config) >= 0 && configure(config, o, setting) &&
        feedline_pipeline_create("train", &pipeline) >= 0)
        feedline_loader_create(config, dataset, pipeline, &l);
    feedline_pipeline_destroy(pipeline);
    feedline_config_destroy(config);
    return l;
}

static int32_t measure(const struct options *o, feedline_loader *l, long round,
                       const char *setting)
{
    struct feedline_tuner_info t = {.struct_size = sizeof(t)};
    struct slice s;
    feedline_loader_get_tuner(l, &t);
    int32_t status = take_stock(l, o->consumer_s, t.depth);
    if (status >= 0)
        status = take(l, o->consumer_s, o->slice_s, &s);
    if (status < 0)
        return status;
    feedline_loader_get_tuner(l, &t);
    printf("%ld %s %.1f %.5f %" PRIu32 " %" PRIu32 " %" PRId64 "\n", round,
           setting, s.images / s.seconds, s.waited / s.seconds, t.workers,
           t.depth, t.converged ? (int64_t)t.converged_batch : -1);
    fflush(stdout);
    return status;
}

static int32_t measure_all(const struct options *o, feedline_loader **loaders)
{
    int32_t status = FEEDLINE_OK;
    struct slice s;
    int workers, depth;
    for (int i = 0; status >= 0 && i < o->n_settings; ++i)
        if (!fixed(o->settings[i], &workers, &depth))
            status = take(loaders[i], o->consumer_s, o->search_s, &s);
    for (long r = 0; r < o->rounds; ++r)
        for (int i = 0; status >= 0 && i < o->n_settings; ++i) {
            int k = r % 2 ? o->n_settings - 1 - i : i;
            status = measure(o, loaders[k], r, o->settings[k]);
        }
    return status;
}

static bool parse(int argc, char **argv, struct options *o)
{
    if (argc < 8 || argc - 7 > MOST_SETTINGS)
        return false;
    *o = (struct options){.folder = argv[1],
                          .batch = argv[2],
                          .consumer_s = 1e-3 * strtod(argv[3], NULL),
                          .search_s = strtod(argv[4], NULL),
                          .slice_s = strtod(argv[5], NULL),
                          .rounds = strtol(argv[6], NULL, 10),
                          .n_settings = argc - 7,
                          .settings = argv + 7};
    return true;
}

int main(int argc, char **argv)
{
    struct options o;
    feedline_loader *loaders[MOST_SETTINGS] = {NULL};
    feedline_dataset *dataset = NULL;
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "turns FOLDER BATCH CONSUMER_MS SEARCH_S SLICE_S "
                        "ROUNDS SETTING...\n");
        return 2;
    }
    int32_t status = feedline_dataset_open(o.folder, &dataset);
    for (int i = 0; status >= 0 && i < o.n_settings; ++i)
        if (!(loaders[i] = open_loader(&o, dataset, o.settings[i])))
            status = -1;
    if (status >= 0)
        status = measure_all(&o, loaders);
    if (status < 0)
        fprintf(stderr, "turns: %s\n", feedline_last_error());
    for (int i = 0; i < o.n_settings; ++i)
        feedline_loader_destroy(loaders[i]);
    feedline_dataset_close(dataset);
    return status < 0;
}

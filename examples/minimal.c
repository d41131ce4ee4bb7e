/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest honest training loop: minimal FOLDER
 *
 *   cc minimal.c $(pkg-config --cflags --libs feedline) -o minimal
 *
 * FOLDER has one folder of images per class. In the place of a network stands a
 * step that reads every pixel. Says how fast it was and what it waited for.
 */
#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCHS 2

struct mean {
    double sum, values;
};

/* The stand-in for training. Images are [count, C, H, W] of float. */
static void train_step(const struct feedline_batch_info *b, struct mean *means)
{
    const float *pixel = b->images.data;
    const int64_t *label = b->labels.data;
    int64_t n = b->images.shape[1] * b->images.shape[2] * b->images.shape[3];
    for (uint32_t i = 0; i < b->count; i++) {
        struct mean *m = &means[label[i]];
        for (int64_t k = 0; k < n; k++)
            m->sum += *pixel++;
        m->values += (double)n;
    }
}

static bool train(feedline_loader *loader, struct mean *means)
{
    feedline_batch *batch;
    int32_t status = FEEDLINE_OK;
    for (int epoch = 0; epoch < EPOCHS && status >= 0; epoch++) {
        while ((status = feedline_loader_next(loader, -1, &batch)) == 0) {
            struct feedline_batch_info info = {.struct_size = sizeof(info)};
            feedline_batch_get_info(batch, &info);
            train_step(&info, means);
            feedline_batch_release(batch);
        }
    }
    return status == FEEDLINE_END;
}

static void report(const feedline_dataset *dataset, feedline_loader *loader,
                   const struct mean *means)
{
    for (int32_t c = 0; c < feedline_dataset_class_count(dataset); c++)
        printf("%s: mean %+.4f\n",
               feedline_dataset_class_name(dataset, (uint32_t)c),
               means[c].sum / means[c].values);

    struct feedline_stats s = {.struct_size = sizeof(s)};
    struct feedline_verdict v = {.struct_size = sizeof(v)};
    feedline_loader_get_stats(loader, &s);
    feedline_loader_get_verdict(loader, &v);
    printf("%.0f images/s, waited %.1f %% of the time\n%s: %s\n",
           (double)s.samples * 1e9 / (double)s.wall_ns,
           (double)s.wait_ns * 100 / (double)s.wall_ns, v.code, v.sentence);
}

int main(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] == '-') {
        bool asked = argc == 2 && strcmp(argv[1], "--help") == 0;
        fputs("usage: minimal FOLDER\n"
              "FOLDER has one folder of images per class.\n",
              asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    const char *folder = argv[1];
    feedline_dataset *dataset = NULL;
    feedline_config *config = NULL;
    feedline_pipeline *pipeline = NULL;
    feedline_loader *loader = NULL;
    bool ok = feedline_dataset_open(folder, &dataset) == FEEDLINE_OK &&
              feedline_config_create(&config) == FEEDLINE_OK &&
              feedline_config_set(config, "shuffle", "true") == FEEDLINE_OK &&
              feedline_pipeline_create("train", &pipeline) == FEEDLINE_OK &&
              feedline_loader_create(config, dataset, pipeline, &loader) ==
                  FEEDLINE_OK;

    int32_t classes = ok ? feedline_dataset_class_count(dataset) : 0;
    struct mean *means = calloc((size_t)classes + 1, sizeof(*means));
    if (ok && (classes == 0 || !means)) {
        fprintf(stderr, "minimal: %s: no class folders\n", folder);
        ok = false;
    } else if (!ok || !train(loader, means)) {
        fprintf(stderr, "minimal: %s\n", feedline_last_error());
        ok = false;
    } else {
        report(dataset, loader, means);
    }
    free(means);
    feedline_loader_destroy(loader);
    feedline_pipeline_destroy(pipeline);
    feedline_config_destroy(config);
    feedline_dataset_close(dataset);
    return !ok;
}

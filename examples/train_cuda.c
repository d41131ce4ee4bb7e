/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small network, really trained: train_cuda FOLDER [options]
 *
 *   cc train_cuda.c train_cpu.c $(pkg-config --cflags --libs feedline) -lm
 *   nvcc -DTRAIN_WITH_CUDA train_cuda.c train_cpu.c train_gpu.cu
 *        $(pkg-config --cflags --libs feedline)
 *
 * FOLDER has one folder of images per class. On a GPU where there is one, on
 * the host where there is not, by the same loop: a batch is waited for by the
 * stream that works on it, and given back as soon as that work is queued.
 * Nothing in the loop waits for the GPU, and the memory of a batch is filled
 * again only when the GPU is done with it.
 *
 *        next() ---> batch_wait(stream) ---> kernels ---> batch_release()
 *         ^              [the stream waits for the copy]       |
 *         +----------------------------------------------------+
 *
 * Ends with status 0 if the loss went down, with 1 if it did not or something
 * went wrong, which it says in a line, and with 2 if it was called wrongly.
 */
#include "train_model.h"

#include <feedline/feedline.h>

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: train_cuda FOLDER [--device auto|host|cuda:N] [--epochs N]\n"
    "                         [--batch-size N] [--rate X] [--seed N]\n"
    "FOLDER has one folder of images per class, two at least.\n";

static const struct train_backend *const gpu = TRAIN_GPU;

struct options {
    const char *folder, *device;
    int epochs, batch_size;
    double rate;
    int seed;
    bool help;
};

struct run {
    struct options options;
    const struct train_backend *backend;
    struct trainer *trainer;
    feedline_dataset *dataset;
    feedline_loader *train, *look;
    char why[512]; /* this device */
};

struct epoch {
    double loss, accuracy; /* means over its images */
};

/* ---- What went wrong, in a line ----------------------------------------- */

static bool fail(const char *what, const char *why)
{
    fprintf(stderr, "train_cuda: %s%s%s\n", what, *what && *why ? ": " : "",
            why);
    return false;
}

static bool loader_ok(int32_t status)
{
    return status >= 0 || fail("", feedline_last_error());
}

static bool trainer_ok(const struct run *r, int status)
{
    return status == 0 || fail(r->options.device, r->backend->error());
}

/* ---- Options ------------------------------------------------------------ */

static bool parse_number(const char *text, double min, double max, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= min && value <= max))
        return false;
    *out = value;
    return true;
}

static bool parse_int(const char *text, int min, int max, int *out)
{
    double value;
    if (!parse_number(text, min, max, &value) || value != (double)(int)value)
        return false;
    *out = (int)value;
    return true;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"device", required_argument, NULL, 'd'},
        {"epochs", required_argument, NULL, 'e'},
        {"batch-size", required_argument, NULL, 'b'},
        {"rate", required_argument, NULL, 'r'},
        {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        bool good = c != '?';
        if (c == 'd')
            o->device = optarg;
        else if (c == 'e')
            good = parse_int(optarg, 2, 1000000, &o->epochs);
        else if (c == 'b')
            good = parse_int(optarg, 1, 4096, &o->batch_size);
        else if (c == 'r')
            good = parse_number(optarg, 1e-9, 10, &o->rate);
        else if (c == 's')
            good = parse_int(optarg, 0, 1000000000, &o->seed);
        else if (c == 'h')
            return o->help = true;
        if (!good && c != '?')
            fail(optarg, "not a number in range (two epochs at least)");
        if (!good)
            return false;
    }
    if (optind != argc - 1)
        return false;
    o->folder = argv[optind];
    return true;
}

/* ---- Where to train ----------------------------------------------------- */

/* Replaces "auto" and takes the backend. */
static bool choose(struct run *r)
{
    struct options *o = &r->options;
    const char *why = "as asked";
    if (strcmp(o->device, "auto") == 0) {
        int32_t gpus = gpu ? feedline_device_count() : 0;
        o->device = gpus > 0 ? "cuda:0" : "host";
        why = gpus > 0 ? "the first GPU"
              : gpu    ? feedline_last_error()
                       : "built without a CUDA compiler";
    }
    bool host = strcmp(o->device, "host") == 0;
    if (!host && !gpu)
        return fail(o->device, "this program was built without a CUDA compiler;"
                               " --device host works");
    r->backend = host ? &train_cpu : gpu;
    snprintf(r->why, sizeof(r->why), "%s", why);
    return true;
}

/* The number in "cuda" or "cuda:N"; the loader has checked the words. */
static int device_number(const char *device)
{
    const char *colon = strchr(device, ':');
    return colon ? atoi(colon + 1) : 0;
}

/* ---- Loaders ------------------------------------------------------------ */

static bool set_int(feedline_config *config, const char *key, int64_t value)
{
    return loader_ok(feedline_config_set_int(config, key, value));
}

/* learn: shuffled, cropped and mirrored at random; else every image once, as it
 * is, in the order of the folder. */
static bool open_loader(struct run *r, bool learn, feedline_loader **out)
{
    const struct options *o = &r->options;
    feedline_config *config = NULL;
    feedline_pipeline *pipeline = NULL;
    bool ok =
        loader_ok(feedline_config_create(&config)) &&
        set_int(config, "batch_size", o->batch_size) &&
        set_int(config, "shuffle", learn) && set_int(config, "seed", o->seed) &&
        set_int(config, "epochs", learn ? o->epochs : 1) &&
        loader_ok(feedline_config_set(config, "device", o->device)) &&
        loader_ok(feedline_pipeline_create(NULL, &pipeline)) &&
        loader_ok(learn
                      ? feedline_pipeline_add(pipeline, "random_resized_crop",
                                              "width=32 height=32 scale=0.5:1")
                      : feedline_pipeline_add(pipeline, "resize",
                                              "width=32 height=32")) &&
        (!learn ||
         loader_ok(feedline_pipeline_add(pipeline, "horizontal_flip", NULL))) &&
        loader_ok(feedline_pipeline_add(pipeline, "normalize", NULL)) &&
        loader_ok(feedline_loader_create(config, r->dataset, pipeline, out));
    feedline_pipeline_destroy(pipeline);
    feedline_config_destroy(config);
    return ok;
}

/* ---- Training ----------------------------------------------------------- */

/* One batch: queued when this returns, on a GPU, and then given back. */
static bool step(struct run *r, feedline_batch *batch, bool learn)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    bool ok =
        loader_ok(feedline_batch_get_info(batch, &info)) &&
        loader_ok(feedline_batch_wait(batch, r->backend->stream(r->trainer)));
    if (ok) {
        struct train_batch b = {info.images.data, info.labels.data,
                                (int)info.count, learn};
        ok = trainer_ok(r, r->backend->step(r->trainer, &b));
    }
    feedline_batch_release(batch);
    return ok;
}

static bool run_epoch(struct run *r, bool learn, struct epoch *out)
{
    feedline_loader *loader = learn ? r->train : r->look;
    struct feedline_epoch_info info = {.struct_size = sizeof(info)};
    struct train_tally sums;
    feedline_batch *batch;
    int32_t status;
    while ((status = feedline_loader_next(loader, -1, &batch)) == FEEDLINE_OK)
        if (!step(r, batch, learn))
            return false;
    if (!loader_ok(status) ||
        !loader_ok(feedline_loader_get_epoch_info(loader, &info)) ||
        !trainer_ok(r, r->backend->read(r->trainer, &sums)))
        return false;
    out->loss = sums.loss / (double)info.samples;
    out->accuracy = sums.hits / (double)info.samples;
    return true;
}

static void report_loader(const struct run *r)
{
    struct feedline_stats s = {.struct_size = sizeof(s)};
    struct feedline_verdict v = {.struct_size = sizeof(v)};
    struct feedline_device_stats d = {.struct_size = sizeof(d)};
    feedline_loader_get_stats(r->train, &s);
    feedline_loader_get_verdict(r->train, &v);
    printf("loader: %.0f images/s, waited %.1f %% of the time\n",
           (double)s.samples * 1e9 / (double)s.wall_ns,
           (double)s.wait_ns * 100 / (double)s.wall_ns);
    if (feedline_loader_get_device_stats(r->train, &d) == 0 && d.span_ns > 0)
        printf("GPU: idle for want of images %.1f %% of the time; %llu copies, "
               "%.1f MB\n",
               (double)d.idle_ns * 100 / (double)d.span_ns,
               (unsigned long long)d.copies, (double)d.copied_bytes * 1e-6);
    printf("%s: %s\n", v.code, v.sentence);
}

static bool train(struct run *r)
{
    struct epoch first = {0}, last = {0}, looked;
    printf("device: %s (%s)\n", r->options.device, r->why);
    for (int e = 0; e < r->options.epochs; e++) {
        if (!run_epoch(r, true, &last))
            return false;
        if (e == 0)
            first = last;
        printf("epoch %d: loss %.4f, accuracy %.1f %%\n", e + 1, last.loss,
               last.accuracy * 100);
        fflush(stdout);
    }
    if (!run_epoch(r, false, &looked))
        return false;
    printf("as it is: loss %.4f, accuracy %.1f %%\n", looked.loss,
           looked.accuracy * 100);
    report_loader(r);
    printf("loss %.4f -> %.4f\n", first.loss, last.loss);
    return last.loss < first.loss ||
           fail("the loss did not go down", "try another --rate");
}

int main(int argc, char **argv)
{
    struct run r = {.options = {.device = "auto",
                                .epochs = 10,
                                .batch_size = 32,
                                .rate = 0.1,
                                .seed = 1}};
    if (!parse(argc, argv, &r.options)) {
        fputs(usage, stderr);
        return 2;
    }
    if (r.options.help) {
        fputs(usage, stdout);
        return 0;
    }
    int32_t classes = 0;
    bool ok =
        loader_ok(feedline_dataset_open(r.options.folder, &r.dataset)) &&
        loader_ok(classes = feedline_dataset_class_count(r.dataset)) &&
        (classes > 1 || fail(r.options.folder, "not two class folders")) &&
        choose(&r) && open_loader(&r, true, &r.train) &&
        open_loader(&r, false, &r.look);
    if (ok) {
        struct train_config config = {
            .device = device_number(r.options.device),
            .batch_size = r.options.batch_size,
            .classes = classes,
            .rate = (float)r.options.rate,
            .seed = (uint32_t)r.options.seed,
        };
        ok =
            trainer_ok(&r, r.backend->create(&config, &r.trainer)) && train(&r);
    }
    feedline_loader_destroy(r.look);
    feedline_loader_destroy(r.train);
    feedline_dataset_close(r.dataset);
    if (r.trainer)
        r.backend->destroy(r.trainer);
    return !ok;
}

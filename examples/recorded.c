/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that draws its crops itself, the same for an image and its mask:
 *
 *   recorded IMAGES MASKS
 *
 *   cc recorded.c $(pkg-config --cflags --libs feedline) -o recorded
 *
 * Both have one folder of images per class, and masks are gray images of the
 * same size and in the same order. In the place of a network stands a step that
 * compares what is inside the masks with what is outside.
 */
#include <feedline/files.h>
#include <feedline/recorded.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE   48
#define BATCH  8
#define EPOCHS 3
#define AHEAD  16 /* batches that exist at once, at most: depth and 2 more */

/* What a batch is made into. The sample with place 0 is read first. */
struct crops {
    float image[BATCH][3][SIDE][SIDE];
    uint8_t mask[BATCH][SIDE][SIDE];
};

struct program {
    feedline_dataset *images, *masks;
    uint64_t count;
    int32_t (*sizes)[2];          /* width and height of each */
    struct crops *crops[AHEAD];   /* by ticket */
    double inside[2], outside[2]; /* sums, and how many */
};

/* ---- What happens to a sample -------------------------------------------- */

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* A function of sample and epoch: whichever thread asks. */
static uint32_t draw(const struct program *p,
                     const struct feedline_read_call *call,
                     struct feedline_recorded_step *steps)
{
    uint64_t state = call->index * 31 + call->epoch + 1;
    const int32_t *size = p->sizes[call->index];
    (void)below(&state, 2);
    double left = below(&state, (uint32_t)(size[0] - SIDE + 1));
    double top = below(&state, (uint32_t)(size[1] - SIDE + 1));
    steps[0] = (struct feedline_recorded_step){
        .op = FEEDLINE_STEP_CROP,
        .n = 4,
        .value = {left, top, left + SIDE, top + SIDE}};
    if (below(&state, 2) == 0)
        return 1;
    steps[1] = (struct feedline_recorded_step){.op = FEEDLINE_STEP_TRANSPOSE,
                                               .n = 1}; /* left-right */
    return 2;
}

static struct feedline_recorded_image file_of(const feedline_dataset *ds,
                                              uint64_t index)
{
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    feedline_dataset_get_sample(ds, index, &info);
    return (struct feedline_recorded_image){
        .struct_size = sizeof(struct feedline_recorded_image),
        .path = info.file,
        .length = -1,
        .height = SIDE,
        .width = SIDE};
}

/* The same steps for both; behind them each has its own. */
static int32_t read_sample(struct feedline_read_call *call)
{
    struct program *p = call->context;
    struct crops **crops = &p->crops[call->ticket % AHEAD];
    struct feedline_recorded_step steps[2][5];
    if (call->place == 0 && !*crops)
        *crops = malloc(sizeof(**crops));
    if (!*crops)
        return feedline_read_fail(call, FEEDLINE_ENOMEM, "no memory for crops");

    uint32_t n = draw(p, call, steps[0]);
    memcpy(steps[1], steps[0], n * sizeof(steps[0][0]));
    struct feedline_recorded_image both[2] = {file_of(p->images, call->index),
                                              file_of(p->masks, call->index)};
    steps[0][n] = (struct feedline_recorded_step){
        .op = FEEDLINE_STEP_CONVERT, .n = 1, .value = {3}};
    steps[0][n + 1] =
        (struct feedline_recorded_step){.op = FEEDLINE_STEP_SCALE};
    steps[0][n + 2] = (struct feedline_recorded_step){
        .op = FEEDLINE_STEP_NORMALIZE,
        .n = 6,
        .value = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}};
    both[0].steps = steps[0];
    both[0].n_steps = n + 3;
    both[0].channels = 3;
    both[0].dtype = FEEDLINE_F32;
    both[0].out = (*crops)->image[call->place];
    both[0].out_bytes = sizeof((*crops)->image[0]);
    both[1].steps = steps[1];
    both[1].n_steps = n;
    both[1].channels = 1;
    both[1].dtype = FEEDLINE_U8;
    both[1].out = (*crops)->mask[call->place];
    both[1].out_bytes = sizeof((*crops)->mask[0]);
    return feedline_read_recorded(call, both, 2);
}

/* ---- Training ------------------------------------------------------------ */

/* The stand-in for a network. */
static void train_step(struct program *p, const struct crops *crops,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const float *pixel = &crops->image[i][0][0][0];
        const uint8_t *mask = &crops->mask[i][0][0];
        for (uint32_t k = 0; k < SIDE * SIDE; k++) {
            double *sum = mask[k] ? p->inside : p->outside;
            sum[0] += pixel[k];
            sum[1]++;
        }
    }
}

static bool train(struct program *p, feedline_loader *loader)
{
    feedline_batch *batch;
    int32_t status = FEEDLINE_OK;
    uint64_t ticket = 0;
    for (int epoch = 0; epoch < EPOCHS && status >= 0; epoch++) {
        while ((status = feedline_loader_next(loader, -1, &batch)) == 0) {
            struct feedline_batch_info info = {.struct_size = sizeof(info)};
            feedline_batch_get_info(batch, &info);
            train_step(p, p->crops[ticket++ % AHEAD], info.count);
            feedline_batch_release(batch);
        }
    }
    return status == FEEDLINE_END;
}

/* ---- Data ---------------------------------------------------------------- */

static bool read_sizes(struct program *p)
{
    feedline_checker *checker = NULL;
    struct feedline_checked found = {.struct_size = sizeof(found)};
    p->sizes = calloc(p->count, sizeof(*p->sizes));
    if (!p->sizes || feedline_checker_create(NULL, p->images, &checker) < 0)
        return false;
    bool ok = true;
    for (uint64_t i = 0; i < p->count && ok; i++) {
        ok = feedline_checker_check(checker, i, &found) >= 0 &&
             found.status >= 0 && found.width >= SIDE && found.height >= SIDE;
        p->sizes[i][0] = found.width;
        p->sizes[i][1] = found.height;
        if (!ok)
            fprintf(stderr,
                    "recorded: image %d is smaller than %d pixels, or "
                    "damaged: %s\n",
                    (int)i, SIDE, found.reason);
    }
    feedline_checker_destroy(checker);
    return ok;
}

static bool open_data(struct program *p, const char *images, const char *masks)
{
    uint64_t count = 0;
    if (feedline_dataset_open(images, &p->images) < 0 ||
        feedline_dataset_open(masks, &p->masks) < 0 ||
        feedline_dataset_get_count(p->images, &p->count) < 0 ||
        feedline_dataset_get_count(p->masks, &count) < 0)
        return false;
    if (count != p->count) {
        fprintf(stderr, "recorded: %d images, but %d masks\n", (int)p->count,
                (int)count);
        return false;
    }
    return read_sizes(p);
}

static bool open_loader(struct program *p, feedline_dataset **ds,
                        feedline_pipeline **none, feedline_loader **loader)
{
    static const char *const options[][2] = {
        {"shuffle", "true"}, {"batch_size", "8"}, {"depth", "4"}};
    const struct feedline_source source = {
        .struct_size = sizeof(source),
        .flags = FEEDLINE_SOURCE_RECORDED | FEEDLINE_SOURCE_IN_ORDER,
        .name = "crops",
        .count = p->count,
        .read = read_sample,
        .context = p,
    };
    feedline_config *config = NULL;
    bool ok = feedline_dataset_open_source(&source, ds) >= 0 &&
              feedline_pipeline_create("none", none) >= 0 &&
              feedline_config_create(&config) >= 0;
    for (int i = 0; i < 3 && ok; i++)
        ok = feedline_config_set(config, options[i][0], options[i][1]) >= 0;
    ok = ok && feedline_loader_create(config, *ds, *none, loader) >= 0;
    feedline_config_destroy(config);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 3 || argv[1][0] == '-') {
        bool asked = argc == 2 && strcmp(argv[1], "--help") == 0;
        fputs("usage: recorded IMAGES MASKS\n"
              "Each has one folder of images per class.\n",
              asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    struct program p = {.count = 0};
    feedline_dataset *ds = NULL;
    feedline_pipeline *none = NULL;
    feedline_loader *loader = NULL;
    bool ok = open_data(&p, argv[1], argv[2]) &&
              open_loader(&p, &ds, &none, &loader) && train(&p, loader);
    if (ok)
        printf("%.0f pixels: mean %+.4f inside of masks, %+.4f outside\n",
               p.inside[1] + p.outside[1], p.inside[0] / p.inside[1],
               p.outside[0] / p.outside[1]);
    else
        fprintf(stderr, "recorded: %s\n", feedline_last_error());
    feedline_loader_destroy(loader); /* nothing is written to crops from here */
    for (int i = 0; i < AHEAD; i++)
        free(p.crops[i]);
    feedline_pipeline_destroy(none);
    feedline_dataset_close(ds);
    feedline_dataset_close(p.images);
    feedline_dataset_close(p.masks);
    free(p.sizes);
    return !ok;
}

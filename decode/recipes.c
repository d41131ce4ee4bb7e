/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines by name: what docs/recipes.md says that people train with.
 *
 * A recipe is lines as they are printed there, an operation and its arguments
 * each; "views N" begins a chain of N views, up to the next one. With "_u8"
 * behind its name one is without normalize.
 */
#include "base/closest.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/pipeline.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEWS "views "

/* timm's numbers are those of a tensor of float32. */
#define TIMM_NORMALIZE                                                         \
  "normalize mean=0.48500001430511475,0.4560000002384186,0.4059999883174896 "  \
  "std=0.2290000021457672,0.2240000069141388,0.22499999403953552\n"
#define TIMM_TRAIN(magnitude)                                                  \
  "random_resized_crop interpolation=bicubic\n"                                \
  "horizontal_flip\n"                                                          \
  "timm_augment config=rand-m" magnitude "-n2-p0.5-mstd0.5-inc1 "              \
  "interpolation=bicubic fill=124,116,104\n" TIMM_NORMALIZE

#define DINO_VIEWS(count, crop, blur, more)                                    \
  "views " count "\n"                                                          \
  "random_resized_crop " crop " interpolation=bicubic\n"                       \
  "horizontal_flip\n"                                                          \
  "random_apply count=1 p=0.8\n"                                               \
  "color_jitter brightness=0.6,1.4 contrast=0.6,1.4 saturation=0.8,1.2 "       \
  "hue=-0.1,0.1\n"                                                             \
  "random_grayscale p=0.2\n"                                                   \
  "pil_gaussian_blur p=" blur "\n" more "normalize\n"
#define DINO_FIRST DINO_VIEWS("1", "scale=0.4,1.0", "1.0", "")
#define DINO_SECOND                                                            \
  DINO_VIEWS("1", "scale=0.4,1.0", "0.1",                                      \
             "random_solarize threshold=128 p=0.2\n")
#define DINO_LOCAL DINO_VIEWS("8", "size=96 scale=0.05,0.4", "0.5", "")

static const struct recipe {
    const char *name, *lines;
} recipes[] = {
    {"none", ""},
    {"train", "random_resized_crop\nhorizontal_flip\nnormalize\n"},
    {"eval", "resize size=256\ncenter_crop\nnormalize\n"},
    {"torchvision-v2", "random_resized_crop size=176\n"
                       "horizontal_flip\n"
                       "trivial_augment_wide interpolation=bilinear\n"
                       "normalize\n"
                       "random_erasing p=0.1\n"},
    {"timm-a1", TIMM_TRAIN("7")},
    {"deit",
     TIMM_TRAIN("9") "random_erasing p=0.25 scale=0.02,0.3333333333333333 "
                     "ratio=0.3,3.333333333333334 noise=true\n"},
    {"mae", "random_resized_crop scale=0.2,1.0 interpolation=bicubic\n"
            "horizontal_flip\n"
            "normalize\n"},
    {"simclr", "views 2\n"
               "random_resized_crop\n"
               "horizontal_flip\n"
               "random_apply count=1 p=0.8\n"
               "color_jitter brightness=0.19999999999999996,1.8 "
               "contrast=0.19999999999999996,1.8 "
               "saturation=0.19999999999999996,1.8 hue=-0.2,0.2\n"
               "random_grayscale p=0.2\n"
               "random_apply count=1 p=0.5\n"
               "gaussian_blur kernel_size=23,23 sigma=0.1,2.0\n"
               "normalize\n"},
    {"dino", DINO_FIRST DINO_SECOND DINO_LOCAL},
    {"clip", "resize size=224 interpolation=bicubic\n"
             "center_crop\n"
             "normalize mean=0.4815,0.4578,0.4082 std=0.2686,0.2613,0.2758\n"},
    {"cifar", "random_crop size=32 padding=4,4,4,4\n"
              "horizontal_flip\n"
              "normalize mean=0.4914,0.4822,0.4465 std=0.247,0.2435,0.2616\n"},
    {"coco-det", "random_shortest_size "
                 "min_size=480,512,544,576,608,640,672,704,736,768,800 "
                 "max_size=1333\n"
                 "horizontal_flip\n"},
};

/* A recipe as it is read. */
struct reading {
    const char *at;
    bool bytes; /* pixels stay bytes */
};

static int32_t find(const char *name, struct reading *out)
{
    struct fdl_closest closest = {.typed = name};
    char names[256] = "";
    for (size_t i = 0; i < FDL_COUNT_OF(recipes); i++) {
        const char *own = recipes[i].name;
        size_t n = strlen(own), used = strlen(names);
        bool same = strncmp(own, name, n) == 0;
        if (same && (!name[n] || strcmp(name + n, "_u8") == 0)) {
            *out = (struct reading){recipes[i].lines, name[n] != '\0'};
            return FEEDLINE_OK;
        }
        fdl_closest_offer(&closest, own);
        snprintf(names + used, sizeof(names) - used, "%s, ", own);
    }
    if (closest.name)
        return fdl_fail(FEEDLINE_ENOENT,
                        "there is no recipe '%s'; the closest is '%s'", name,
                        closest.name);
    return fdl_fail(FEEDLINE_ENOENT,
                    "there is no recipe '%s'; there are %sand each with _u8 "
                    "appended to its name",
                    name, names);
}

static int32_t add_line(struct fdl_pipeline *p, const struct reading *r,
                        size_t n)
{
    char line[256] = "";
    fdl_assert(n < sizeof(line));
    memcpy(line, r->at, n);
    char *args = strchr(line, ' ');
    if (args)
        *args++ = '\0';
    if (r->bytes && strcmp(line, "normalize") == 0)
        return FEEDLINE_OK;
    return fdl_pipeline_add(p, line, args);
}

/* The operations up to the next chain, which is read next. */
static int32_t add_lines(struct fdl_pipeline *p, struct reading *r)
{
    int32_t status = FEEDLINE_OK;
    while (*r->at && strncmp(r->at, VIEWS, strlen(VIEWS)) != 0 && !status) {
        size_t n = strcspn(r->at, "\n");
        status = add_line(p, r, n);
        r->at += n + 1;
    }
    return status;
}

static int32_t add_views(struct fdl_pipeline *p, struct reading *r)
{
    struct fdl_pipeline *chain;
    char *end;
    unsigned long count = strtoul(r->at + strlen(VIEWS), &end, 10);
    r->at = end + 1;
    int32_t status = fdl_pipeline_create_empty(&chain);
    if (status)
        return status;
    status = add_lines(chain, r);
    if (!status)
        status = fdl_pipeline_add_views(p, chain, (uint32_t)count);
    fdl_pipeline_destroy(chain);
    return status;
}

int32_t fdl_pipeline_create(const char *recipe, struct fdl_pipeline **out)
{
    struct reading r = {.at = ""};
    struct fdl_pipeline *p;
    *out = NULL;
    int32_t status = recipe ? find(recipe, &r) : FEEDLINE_OK;
    if (!status)
        status = fdl_pipeline_create_empty(&p);
    if (status)
        return status;
    status = add_lines(p, &r);
    while (*r.at && !status)
        status = add_views(p, &r);
    if (status) {
        fdl_pipeline_destroy(p);
        return status;
    }
    fdl_pipeline_end_recipe(p);
    *out = p;
    return FEEDLINE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench gen: a photo set in class folders, or in shards as pack writes
 * them. Every image is a function of (seed, index), so threads take the next
 * image, or the next shard, from a counter, and the set is the same for any
 * number of them.
 */
#include "tools/loaderbench/gen/gen.h"

#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/gen/gen_photo.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/pack/shard_writer.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/threads.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

struct gen_options {
    uint64_t images, classes, seed, shard_images;
    bool force, quiet, progress;
    const char *json, *format;
};

#define VALUES struct gen_options
static const struct cli_option options[] = {
    {"images", "N", "number of images [512]", VALUE_COUNT(images, 1)},
    {"classes", "C", "number of classes, each a folder [10]",
     VALUE_COUNT(classes, 1)},
    {"seed", "S", "seed of the images; the same seed gives the same files [0]",
     VALUE_COUNT(seed, 0)},
    {"format", "FORMAT", "class folders, or shards of WebDataset [folder]",
     VALUE_CHOICE(format, "folder|tar")},
    {"shard-images", "N", "images of a shard [1000]",
     VALUE_COUNT(shard_images, 1)},
    {"force", NULL,
     "write into a folder that is not empty\n"
     "Files of the same name are replaced, others stay.",
     VALUE_SWITCH(force)},
    CLI_JSON(json),
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_gen = {
    .name = "gen",
    .positional = "DST",
    .positional_folder = true,
    .summary = "make a photo set to measure with",
    .about =
        "Writes synthetic photographs as JPEG files to DST/class_000/, "
        "DST/class_001/, ..., or to shards, DST/shard-000000.tar, ...\n\n"
        "Sizes, chroma sampling, bytes per image and decoding work are "
        "distributed as in ImageNet: about 110 KB and 470 x 400 pixels on "
        "average, three quarters without chroma subsampling, a few gray, none "
        "progressive.",
    .example = "gen photos --images 512 --classes 4",
    CLI_TABLE(.images = 512, .classes = 10, .shard_images = 1000,
              .format = "folder"),
    .run = gen_main,
};

struct gen {
    const char *destination;
    const struct gen_options *options;
    bool shards;
    _Atomic uint64_t next; /* image or shard to make */
    _Atomic uint64_t files, bytes, pixels;
    _Atomic bool failed;
    struct progress progress;
};

static int write_file(const char *path, const void *data, uint64_t size)
{
    FILE *f = fopen(path, "wb");
    if (f && fwrite(data, 1, size, f) == size && fclose(f) == 0)
        return 0;
    tool_say("%s: %s", path, strerror(errno));
    return -1;
}

/* writer: NULL for a file. */
static int make_image(struct gen *g, struct photo *photo, uint64_t index,
                      struct shard_writer *writer)
{
    struct photo_plan plan;
    unsigned char *data = NULL;
    uint64_t size, class = index % g->options->classes;
    char key[64], path[PATH_BYTES];
    gen_plan(g->options->seed, index, &plan);
    if (photo_draw(photo, &plan) || photo_encode(photo, &plan, &data, &size)) {
        tool_say("image %" PRIu64 ": out of memory", index);
        return -1;
    }
    snprintf(key, sizeof(key), "class_%03" PRIu64 "/image_%06" PRIu64, class,
             index);
    snprintf(path, sizeof(path), "%s/%s.jpg", g->destination, key);
    int rc = writer ? shard_add(writer, key, "jpg", (int64_t) class, data, size)
                    : write_file(path, data, size);
    free(data);
    progress_count(&g->progress, atomic_fetch_add(&g->files, 1) + 1);
    atomic_fetch_add(&g->bytes, size);
    atomic_fetch_add(&g->pixels, (uint64_t)plan.width * plan.height);
    return rc;
}

static int make_shard(struct gen *g, struct photo *photo, uint64_t number)
{
    const struct gen_options *o = g->options;
    uint64_t first = number * o->shard_images, n = o->images - first;
    struct shard_writer w;
    int rc = shard_begin(&w, g->destination, "shard", number);
    if (rc != TOOL_DONE)
        return rc;
    n = n < o->shard_images ? n : o->shard_images;
    for (uint64_t i = 0; i < n && rc == 0 && !tool_interrupted(); i++)
        rc = make_image(g, photo, first + i, &w);
    if (rc == 0 && !tool_interrupted())
        return shard_end(&w);
    shard_drop(&w);
    return rc;
}

static uint64_t n_pieces(const struct gen *g)
{
    const struct gen_options *o = g->options;
    return g->shards ? (o->images - 1) / o->shard_images + 1 : o->images;
}

static int make_images(void *arg, bool first)
{
    struct gen *g = arg;
    struct photo photo = {0};
    (void)first;
    while (!atomic_load(&g->failed) && !tool_interrupted()) {
        uint64_t index = atomic_fetch_add(&g->next, 1);
        if (index >= n_pieces(g))
            break;
        if (g->shards ? make_shard(g, &photo, index)
                      : make_image(g, &photo, index, NULL))
            atomic_store(&g->failed, true);
    }
    photo_fini(&photo);
    return TOOL_DONE;
}

/* Called with i from 0 on until it returns NULL, one after the other. */
static const char *class_name(const void *of, uint32_t i)
{
    const struct gen_options *o = of;
    static char name[32];
    snprintf(name, sizeof(name), "class_%03" PRIu32, i);
    return i < o->classes ? name : NULL;
}

static int make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TOOL_DONE;
    tool_say("%s: %s", path, strerror(errno));
    return errno == ENOENT ? TOOL_USAGE : TOOL_ENVIRONMENT;
}

static int make_folders(const char *destination, const struct gen_options *o)
{
    char path[PATH_BYTES];
    int rc = make_folder(destination);
    DIR *dir = rc == TOOL_DONE ? opendir(destination) : NULL;
    if (rc == TOOL_DONE && !dir) {
        tool_say("%s: %s", destination, strerror(errno));
        return TOOL_USAGE;
    }
    for (struct dirent *e; !rc && !o->force && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            tool_say("%s: not empty; --force writes into it all the same",
                     destination);
            rc = TOOL_USAGE;
        }
    }
    if (dir)
        closedir(dir);
    bool shards = strcmp(o->format, "tar") == 0;
    for (uint64_t i = 0; i < o->classes && rc == TOOL_DONE && !shards; i++) {
        snprintf(path, sizeof(path), "%s/class_%03" PRIu64, destination, i);
        rc = make_folder(path);
    }
    return rc;
}

static int make_all(struct gen *g, const char *destination,
                    const struct gen_options *o)
{
    *g = (struct gen){.destination = destination,
                      .options = o,
                      .shards = strcmp(o->format, "tar") == 0,
                      .progress = {"gen", "images", o->images, tool_seconds()}};
    if (g->shards && shard_class_names(g->destination, class_name, o))
        return TOOL_ENVIRONMENT;
    threads_run(NULL, n_pieces(g), make_images, g);
    progress_line("%s", "");
    if (g->failed)
        return TOOL_ENVIRONMENT;
    return tool_interrupted() ? TOOL_INTERRUPTED : TOOL_DONE;
}

int gen_folder(const char *path, uint64_t images, uint64_t classes)
{
    const struct gen_options o = {
        .images = images, .classes = classes, .format = "folder"};
    struct gen g;
    int rc = make_folders(path, &o);
    return rc == TOOL_DONE ? make_all(&g, path, &o) : rc;
}

static int summarise(const struct gen *g, double seconds)
{
    uint64_t files = g->files, bytes = g->bytes, n = files ? files : 1;
    const struct gen_options *o = g->options;
    if (output_is_free(o->quiet, o->json, NULL))
        printf("%s: %" PRIu64 " images in %" PRIu64 " classes, %.1f MB, "
               "%.0f KB and %.0f pixels on average, in %.1f s\n",
               g->destination, files, o->classes, (double)bytes * 1e-6,
               (double)bytes / (double)n * 1e-3, (double)g->pixels / (double)n,
               seconds);
    if (!o->json)
        return TOOL_DONE;
    json_t *doc = document_new("gen");
    json_t *result = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "destination",
        g->destination, "seed", (json_int_t)o->seed, "classes",
        (json_int_t)o->classes, "files", (json_int_t)files, "bytes",
        (json_int_t)bytes, "mean_bytes", (double)bytes / (double)n,
        "mean_pixels", (double)g->pixels / (double)n, "seconds", seconds);
    json_object_update_new(doc, result);
    return document_deliver(doc, o->json, TOOL_DONE);
}

int gen_main(void *values, const struct cli_parsed *parsed)
{
    const struct gen_options *o = values;
    /* "/class_000/image_000000.jpg" and numbers of 20 digits fit as well. */
    if (strlen(parsed->positional) > PATH_BYTES - 64) {
        tool_say("the path of the destination is too long");
        return TOOL_USAGE;
    }
    if (o->classes > o->images) {
        tool_say("--classes %" PRIu64 " needs as many --images at least, so "
                 "that no class is empty",
                 o->classes);
        return TOOL_USAGE;
    }
    int rc = make_folders(parsed->positional, o);
    if (rc != TOOL_DONE)
        return rc;
    struct gen g;
    double start = tool_seconds();
    rc = make_all(&g, parsed->positional, o);
    if (rc != TOOL_DONE && rc != TOOL_INTERRUPTED)
        return rc;
    int told = summarise(&g, tool_seconds() - start);
    return rc == TOOL_DONE ? told : rc;
}

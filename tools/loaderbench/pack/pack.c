/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/pack/pack.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUES struct pack_options
static const struct cli_option options[] = {
    {"order", "ORDER",
     "of the samples: given, random, random:SEED [given]\n"
     "Random shards need no shuffling later but that of whole pieces.",
     VALUE_TEXT(order)},
    {"shard-size", "BYTES", "size of a shard, about [256m]",
     VALUE_SIZE(shard_size, 1)},
    {"longest-side", "PX",
     "scale images down so that no side is longer\n"
     "Those that are larger become JPEGs; others stay as they are.",
     VALUE_COUNT(longest_side, 0)},
    {"quality", "Q", "quality of JPEGs that are made, 1 to 100 [90]",
     VALUE_COUNT(quality, 1)},
    {"format", "FORMAT", "keep the encoded bytes, or make JPEGs of all [keep]",
     VALUE_CHOICE(format, "keep|jpeg")},
    {"store", "STORE",
     "JPEGs as jpeg, or as packed coefficients [jpeg]\n"
     "Packed they are larger, and decode to the same pixels in less time.",
     VALUE_CHOICE(store, "jpeg|packed")},
    {"unpack", NULL, "the other way: packed samples of SRC as JPEGs in DST",
     VALUE_SWITCH(unpack)},
    {"dry-run", NULL, "only tell what it would take, and what the error is",
     VALUE_SWITCH(dry_run)},
    {"quarantine", "FILE",
     "write the names of samples that were left out\n"
     "That is what --on-error skip does with those that cannot be used.",
     VALUE_OUTPUT(quarantine)},
    CLI_JSON(json),
    {"name", "NAME", "of the shards: DST/NAME-000000.tar [shard]",
     VALUE_TEXT(name)},
    {"sample", "N", "samples to try the settings on [64]",
     VALUE_COUNT(sample, 1)},
    {"training-size", "PX", "size at which pixels are compared [224]",
     VALUE_COUNT(training_size, 1)},
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_pack = {
    .name = "pack",
    .positional = "SRC DST",
    .positional_folder = true,
    .positional_many = true,
    .summary = "any data set to WebDataset shards",
    .about =
        "Writes the samples of SRC to tar shards in the folder DST, with their "
        "names, labels and class names.\n\nEncoded bytes are kept, unless "
        "--longest-side or --format says otherwise; then some samples are "
        "tried first, and what this gains and what error it makes is shown "
        "before anything is written. A run that was killed continues when it "
        "is started again, and writes the same shards to the byte. DST is then "
        "a data set: tar:DST.",
    .example = "pack photos shards --store packed",
    CLI_TABLE(.name = "shard", .order = "given", .format = "keep",
              .store = "jpeg", .shard_size = 256u << 20, .quality = 90,
              .sample = 64, .training_size = 224),
    .n_first = 10,
    .loader_options = true,
    .of_loader = "workers|reader|io_depth|direct|cache|cache_budget|"
                 "remote_cache|remote_cache_budget|memory_budget|affinity|on_"
                 "error|max_failures|"
                 "accept_truncated|apply_exif|checksums|pillow|max_pixels|"
                 "max_file_bytes|max_scans|max_image_ms",
    .run = pack_main,
};

#define LARGEST_SIDE 65500
#define NAME_BYTES   200 /* of --name: files are named by it and more */

static int check_options(const struct pack_options *o)
{
    if (o->quality > 100) {
        tool_say("--quality %llu: 1 to 100", (unsigned long long)o->quality);
        return TOOL_USAGE;
    }
    if (o->longest_side > LARGEST_SIDE || o->training_size > LARGEST_SIDE) {
        tool_say("a side of more than %d pixels", LARGEST_SIDE);
        return TOOL_USAGE;
    }
    if (o->unpack &&
        (strcmp(o->store, "packed") == 0 || strcmp(o->format, "keep") != 0 ||
         o->longest_side > 0 || o->dry_run)) {
        tool_say("--unpack changes no images, and writes all of them");
        return TOOL_USAGE;
    }
    if (strcmp(o->store, "packed") == 0 &&
        !(feedline_features() & FEEDLINE_FEATURE_PACKED)) {
        tool_say("--store packed: this loaderbench was built without "
                 "libjpeg-turbo's jpegint.h and could not read it");
        return TOOL_USAGE;
    }
    if (!*o->name || strchr(o->name, '/') || *o->name == '.' ||
        strlen(o->name) > NAME_BYTES) {
        tool_say("--name '%s': a name of files", o->name);
        return TOOL_USAGE;
    }
    return TOOL_DONE;
}

static int check_config(struct pack *p)
{
    int64_t on_error = 0, upright = 0;
    feedline_config_get_int(p->config, "on_error", &on_error);
    feedline_config_get_int(p->config, "apply_exif", &upright);
    if (on_error == 2) {
        tool_say("--on-error zero: there are no shards of zeros; raise or "
                 "skip");
        return TOOL_USAGE;
    }
    p->skip = on_error == 1;
    p->recipe = (struct pack_recipe){
        .jpeg = strcmp(p->options->format, "jpeg") == 0,
        .longest_side = (int32_t)p->options->longest_side,
        .quality = (int32_t)p->options->quality,
        .packed = strcmp(p->options->store, "packed") == 0,
        .upright = upright != 0,
    };
    return TOOL_DONE;
}

static int open_source(struct pack *p, const struct cli_parsed *parsed)
{
    int32_t status = feedline_config_create(&p->config);
    if (status < 0)
        return tool_setup_failed(status);
    int rc = cli_apply(parsed, p->config);
    if (rc == TOOL_DONE)
        rc = check_config(p);
    if (rc != TOOL_DONE)
        return rc;
    status = feedline_dataset_open(p->uri, &p->data);
    if (status >= 0)
        status = feedline_dataset_get_count(p->data, &p->n);
    if (status < 0)
        return tool_setup_failed(status);
    return pack_source_read(p);
}

static bool changes_images(const struct pack *p)
{
    return p->recipe.jpeg || p->recipe.longest_side > 0 || p->recipe.upright ||
           p->in_memory;
}

/* What will be written, and what of it is there. */
static int plan(struct pack *p)
{
    bool known = false;
    int rc = pack_order(p);
    p->ratio = 1;
    if (rc == TOOL_DONE && !p->options->dry_run)
        rc = pack_folder_take(p, &known);
    double ratio = p->ratio;
    if (rc == TOOL_DONE && (changes_images(p) || p->recipe.packed) && !known)
        rc = pack_try(p);
    if (known)
        p->ratio = ratio;
    if (rc == TOOL_DONE)
        rc = pack_shards(p);
    if (rc == TOOL_DONE && !p->options->dry_run)
        rc = pack_plan_keep(p, known);
    return rc;
}

static const char *class_name(const void *of, uint32_t i)
{
    return feedline_dataset_class_name(of, i);
}

static int write_all(struct pack *p)
{
    double start = tool_seconds();
    int rc = shard_class_names(p->folder, class_name, p->data);
    if (rc == TOOL_DONE)
        rc = changes_images(p) ? pack_write_images(p) : pack_write_files(p);
    if (rc == TOOL_DONE)
        rc = pack_collect(p);
    if (rc == TOOL_DONE)
        rc = pack_index(p);
    p->seconds = tool_seconds() - start;
    return rc;
}

/* Results are told after an interruption, too. */
static int run_all(struct pack *p, const struct pack_options *o)
{
    bool tells = output_is_free(o->quiet, o->json, NULL);
    int rc = plan(p);
    if (rc != TOOL_DONE)
        return rc;
    json_t *doc = pack_document(p);
    if (tells)
        pack_print_before(doc);
    if (!o->dry_run) {
        rc = write_all(p);
        json_decref(doc);
        doc = pack_document(p);
        if (tells && (rc == TOOL_DONE || rc == TOOL_INTERRUPTED))
            pack_print_after(doc);
    }
    if (o->json)
        return document_deliver(doc, o->json, rc);
    json_decref(doc);
    return rc;
}

static void pack_free(struct pack *p)
{
    free(p->bytes);
    free(p->copies);
    free(p->order);
    free(p->shards);
    json_decref(p->failures);
    feedline_dataset_close(p->data);
    feedline_config_destroy(p->config);
    if (p->lock >= 0)
        close(p->lock);
}

int pack_main(void *values, const struct cli_parsed *parsed)
{
    const struct pack_options *o = values;
    if (parsed->positionals.n != 2) {
        tool_say("pack takes a data set and a folder: SRC DST");
        return TOOL_USAGE;
    }
    struct pack p = {.options = o,
                     .uri = parsed->positionals.items[0],
                     .folder = parsed->positionals.items[1],
                     .failures = json_array(),
                     .lock = -1};
    int rc = check_options(o);
    if (rc == TOOL_DONE)
        rc = open_source(&p, parsed);
    if (rc == TOOL_DONE)
        rc = o->unpack ? pack_unpack(&p) : run_all(&p, o);
    tool_drain_log();
    pack_free(&p);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sample goes where: a function of the source, the options and the
 * ratio that the trial found, which are all kept in "FOLDER/NAME.pack.json".
 * A run that finds it there goes on with the shards that are not there yet.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/gen/random.h"
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Order --------------------------------------------------------------- */

static int parse_order(const char *text, bool *random, uint64_t *seed)
{
    char *end = NULL;
    *random = strncmp(text, "random", 6) == 0;
    *seed = 0;
    if (strcmp(text, "given") == 0 || strcmp(text, "random") == 0)
        return TOOL_DONE;
    errno = 0;
    if (strncmp(text, "random:", 7) == 0 && text[7] >= '0' && text[7] <= '9')
        *seed = strtoull(text + 7, &end, 10);
    if (end && !*end && errno == 0)
        return TOOL_DONE;
    tool_say("--order '%s': given, random or random:SEED", text);
    return TOOL_USAGE;
}

int pack_order(struct pack *p)
{
    bool random;
    uint64_t seed;
    int rc = parse_order(p->options->order, &random, &seed);
    if (rc != TOOL_DONE)
        return rc;
    p->order = malloc((p->n + 1) * sizeof(*p->order));
    if (!p->order)
        return tool_no_memory();
    for (uint64_t i = 0; i < p->n; i++)
        p->order[i] = i;
    for (uint64_t i = p->n; random && i > 1; i--) {
        uint64_t k = random_at(random_mix(seed), i) % i, swap = p->order[k];
        p->order[k] = p->order[i - 1];
        p->order[i - 1] = swap;
    }
    return TOOL_DONE;
}

/* ---- Shards -------------------------------------------------------------- */

static int add_shard(struct pack *p, uint64_t first)
{
    if ((p->n_shards & (p->n_shards - 1)) == 0) { /* full at powers of two */
        uint64_t n = p->n_shards ? 2 * p->n_shards : 1;
        void *more = realloc(p->shards, n * sizeof(*p->shards));
        if (!more)
            return tool_no_memory();
        p->shards = more;
    }
    p->shards[p->n_shards++] = (struct pack_shard){.first = first};
    return TOOL_DONE;
}

int pack_shards(struct pack *p)
{
    uint64_t room = 0;
    int rc = TOOL_DONE;
    p->n_shards = 0;
    for (uint64_t at = 0; at < p->n && rc == TOOL_DONE; at++) {
        double expected = (double)p->bytes[p->order[at]] * p->ratio;
        uint64_t bytes = shard_sample_bytes((uint64_t)expected) +
                         pack_field_bytes(p, p->order[at]);
        if (at == 0 || bytes > room) {
            rc = add_shard(p, at);
            room = p->options->shard_size;
        }
        room -= bytes < room ? bytes : room;
        if (rc == TOOL_DONE)
            p->shards[p->n_shards - 1].count++;
    }
    return rc;
}

/* ---- The plan of an earlier run ------------------------------------------ */

#define PLAN ".pack.json"

static bool plan_path(const struct pack *p, char out[SHARD_PATH_BYTES])
{
    return snprintf(out, SHARD_PATH_BYTES, "%s/%s" PLAN, p->folder,
                    p->options->name) < SHARD_PATH_BYTES;
}

json_t *pack_terms(const struct pack *p)
{
    char fingerprint[24];
    const struct pack_options *o = p->options;
    bool changes = p->recipe.jpeg || p->recipe.longest_side > 0;
    snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, p->fingerprint);
    return json_pack("{s:i, s:s, s:I, s:s, s:I, s:s, s:s, s:I, s:I, s:b}",
                     "pack", 1, "fingerprint", fingerprint, "samples",
                     (json_int_t)p->n, "order", o->order, "shard-size",
                     (json_int_t)o->shard_size, "format", o->format, "store",
                     o->store, "longest-side", (json_int_t)o->longest_side,
                     "quality", (json_int_t)(changes ? o->quality : 0),
                     "apply-exif", p->recipe.upright);
}

static int refuse(const struct pack *p, const char *key, const json_t *there,
                  const json_t *wanted)
{
    char *is = json_dumps(there ? there : json_null(), JSON_ENCODE_ANY);
    char *want = json_dumps(wanted, JSON_ENCODE_ANY);
    if (strcmp(key, "fingerprint") == 0 || strcmp(key, "samples") == 0)
        tool_say("%s: holds shards of another data set, or of this one before "
                 "it was changed; choose another folder or --name",
                 p->folder);
    else
        tool_say("%s: was begun with --%s %s, not %s; go on with that, or "
                 "choose another folder or --name",
                 p->folder, key, is ? is : "", want ? want : "");
    free(is);
    free(want);
    return TOOL_USAGE;
}

static int compare_terms(const struct pack *p, const json_t *plan)
{
    json_t *terms = pack_terms(p), *wanted;
    const char *key;
    int rc = terms ? TOOL_DONE : tool_no_memory();
    json_object_foreach(terms, key, wanted)
    {
        const json_t *there = doc_at(plan, key);
        if (rc == TOOL_DONE && !json_equal(there, wanted))
            rc = refuse(p, key, there, wanted);
    }
    json_decref(terms);
    return rc;
}

/* Files of that name that no plan tells of are not this tool's to touch. */
static int refuse_strangers(const struct pack *p)
{
    DIR *dir = opendir(p->folder);
    size_t n = strlen(p->options->name);
    int rc = TOOL_DONE;
    if (!dir) {
        tool_say("%s: %s", p->folder, strerror(errno));
        return TOOL_ENVIRONMENT;
    }
    for (struct dirent *e; rc == TOOL_DONE && (e = readdir(dir));) {
        size_t bytes = strlen(e->d_name);
        if (bytes <= n + 5 || strncmp(e->d_name, p->options->name, n) != 0 ||
            e->d_name[n] != '-' || strcmp(e->d_name + bytes - 4, ".tar") != 0)
            continue;
        tool_say("%s: %s is there, and no plan of pack; choose another folder "
                 "or --name",
                 p->folder, e->d_name);
        rc = TOOL_USAGE;
    }
    closedir(dir);
    return rc;
}

static int lock_folder(struct pack *p)
{
    if (mkdir(p->folder, 0777) != 0 && errno != EEXIST) {
        tool_say("%s: %s", p->folder, strerror(errno));
        return errno == ENOENT ? TOOL_USAGE : TOOL_ENVIRONMENT;
    }
    p->lock = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->lock < 0) {
        tool_say("%s: %s", p->folder, strerror(errno));
        return TOOL_USAGE;
    }
    if (flock(p->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return TOOL_DONE; /* where there are no locks, there are none */
    tool_say("%s: another pack is writing there", p->folder);
    return TOOL_ENVIRONMENT;
}

int pack_folder_take(struct pack *p, bool *known)
{
    char path[SHARD_PATH_BYTES];
    json_t *plan = NULL;
    *known = false;
    if (!plan_path(p, path)) {
        tool_say("%s: the path is too long", p->folder);
        return TOOL_USAGE;
    }
    int rc = lock_folder(p);
    if (rc != TOOL_DONE)
        return rc;
    if (access(path, F_OK) != 0)
        return refuse_strangers(p);
    rc = document_read(path, &plan);
    if (rc == TOOL_DONE)
        rc = compare_terms(p, plan);
    double ratio = doc_number(plan, "ratio");
    if (rc == TOOL_DONE && !(ratio > 0)) {
        tool_say("%s: no plan of pack", path);
        rc = TOOL_DATA;
    }
    if (rc == TOOL_DONE) {
        p->ratio = ratio;
        *known = true;
    }
    json_decref(plan);
    return rc;
}

/* All digits of the ratio: another one would be another plan. */
static int write_plan(const struct pack *p)
{
    char name[NAME_MAX + 1];
    snprintf(name, sizeof(name), "%s" PLAN, p->options->name);
    json_t *plan = pack_terms(p);
    json_object_set_new(plan, "ratio", json_real(p->ratio));
    json_object_set_new(plan, "shards", json_integer((json_int_t)p->n_shards));
    char *text = json_dumps(plan, JSON_INDENT(2));
    int rc = text ? shard_text(p->folder, name, text, strlen(text))
                  : tool_no_memory();
    free(text);
    json_decref(plan);
    return rc;
}

int pack_plan_keep(struct pack *p, bool known)
{
    char path[SHARD_PATH_BYTES];
    int rc = known ? TOOL_DONE : write_plan(p);
    for (uint64_t i = 0; rc == TOOL_DONE && i < p->n_shards; i++) {
        if (!shard_path(p->folder, p->options->name, i, path))
            continue; /* which beginning it says */
        p->shards[i].done = access(path, F_OK) == 0;
        p->done_before += p->shards[i].done;
    }
    return rc;
}

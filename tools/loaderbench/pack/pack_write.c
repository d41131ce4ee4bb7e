/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoded bytes as they are: threads take the next shard from a counter. What
 * is left out of a shard lies in "NAME-000000.left" beside it, and is there
 * before the shard is: a run that goes on knows of both or of neither.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/scan/scan.h"
#include "tools/loaderbench/threads.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is left out ---------------------------------------------------- */

#define NAME_BYTES 300

static void left_name(const struct pack *p, uint64_t number,
                      char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s-%06llu.left", p->options->name,
             (unsigned long long)number);
}

int pack_leave_out(const struct pack *p, struct pack_left *left, uint64_t i,
                   const char *why)
{
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    feedline_dataset_get_sample(p->data, i, &info);
    if (!p->skip) {
        tool_say("%s: %s (--on-error skip leaves such samples out)", info.path,
                 why);
        return TOOL_DATA;
    }
    if (!left->file)
        left->file = open_memstream(&left->text, &left->bytes);
    if (!left->file)
        return tool_no_memory();
    scan_put_name(info.name, left->file);
    fprintf(left->file, "\t%s\n", why);
    left->n++;
    return TOOL_DONE;
}

void pack_left_drop(struct pack_left *left)
{
    if (left->file)
        fclose(left->file);
    free(left->text);
    *left = (struct pack_left){0};
}

int pack_shard_end(struct pack *p, struct shard_writer *w,
                   struct pack_left *left, uint64_t number)
{
    char name[NAME_BYTES];
    int rc = TOOL_DONE;
    if (left->file) {
        bool failed = ferror(left->file) != 0;
        failed |= fclose(left->file) != 0;
        left->file = NULL;
        rc = failed ? tool_no_memory() : TOOL_DONE;
        left_name(p, number, name);
        if (rc == TOOL_DONE)
            rc = shard_text(p->folder, name, left->text, left->bytes);
    }
    pack_left_drop(left);
    if (rc == TOOL_DONE)
        return shard_end(w);
    shard_drop(w);
    return rc;
}

/* ---- Reading it back ----------------------------------------------------- */

/* A line is "name<TAB>why". */
static void collect_line(struct pack *p, char *line)
{
    char *tab = strchr(line, '\t');
    if (tab)
        *tab++ = '\0';
    json_array_append_new(p->failures,
                          json_pack("{s:o, s:o}", "name", doc_string(line),
                                    "reason", doc_string(tab ? tab : "")));
    p->left_out++;
}

static int collect_shard(struct pack *p, uint64_t number, FILE *all)
{
    char path[SHARD_PATH_BYTES], name[NAME_BYTES], *line = NULL;
    size_t room = 0;
    left_name(p, number, name);
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    FILE *f = fopen(path, "r");
    if (!f && errno == ENOENT)
        return TOOL_DONE;
    bool failed = !f;
    while (f && getline(&line, &room, f) > 0) {
        fputs(line, all);
        line[strcspn(line, "\n")] = '\0';
        collect_line(p, line);
        p->shards[number].left++;
    }
    failed |= f && (ferror(f) != 0);
    if (failed)
        tool_say("%s: %s", path, strerror(errno));
    if (f)
        fclose(f);
    free(line);
    return failed ? TOOL_ENVIRONMENT : TOOL_DONE;
}

int pack_collect(struct pack *p)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *all = open_memstream(&text, &bytes);
    if (!all)
        return tool_no_memory();
    int rc = TOOL_DONE;
    fputs("# loaderbench pack ", all);
    scan_put_name(p->uri, all);
    putc('\n', all);
    for (uint64_t i = 0; i < p->n_shards && rc == TOOL_DONE; i++)
        rc = collect_shard(p, i, all);
    bool failed = ferror(all) != 0;
    failed |= fclose(all) != 0;
    if (failed && rc == TOOL_DONE)
        rc = tool_no_memory();
    if (rc == TOOL_DONE && p->options->quarantine)
        rc = output_write(p->options->quarantine, text, bytes);
    free(text);
    return rc;
}

/* ---- Files as they are --------------------------------------------------- */

struct work {
    struct pack *pack;
    _Atomic uint64_t next, samples, bytes, shards;
    _Atomic uint64_t taken; /* samples, for the progress */
    struct progress progress;
    _Atomic bool failed; /* one of the threads */
};

static int add_file(struct pack *p, struct shard_writer *w,
                    struct pack_left *left, uint64_t i)
{
    uint8_t *data;
    uint64_t bytes;
    char ending[PACK_EXTENSION_BYTES];
    const char *why;
    int32_t status = pack_read(p, i, &data, &bytes, &why);
    if (status == FEEDLINE_ENOMEM)
        return tool_no_memory();
    if (status < 0)
        return pack_leave_out(p, left, i, why);
    const char *content = pack_content(data, bytes);
    char *key = pack_key(p, i, ending);
    bool stored = key && pack_store(p, &data, &bytes) >= 0;
    int rc = stored ? TOOL_DONE : tool_no_memory();
    if (stored && !*ending && !content) {
        rc = pack_leave_out(p, left, i, "no image of a known format");
    } else if (stored) {
        rc = shard_add(w, key, *ending ? ending : content, pack_label(p, i),
                       data, bytes);
        if (rc == TOOL_DONE)
            rc = pack_add_fields(p, w, key, i);
    }
    free(key);
    free(data);
    return rc;
}

static int write_shard(struct work *work, uint64_t number)
{
    struct pack *p = work->pack;
    const struct pack_shard *shard = &p->shards[number];
    struct shard_writer w;
    struct pack_left left = {0};
    int rc = shard_begin(&w, p->folder, p->options->name, number);
    if (rc != TOOL_DONE)
        return rc;
    for (uint64_t k = 0; k < shard->count && rc == TOOL_DONE; k++) {
        rc = add_file(p, &w, &left, p->order[shard->first + k]);
        if (rc == TOOL_DONE && tool_interrupted())
            rc = TOOL_INTERRUPTED;
        /* relaxed: a count to show. */
        progress_count(&work->progress,
                       1 + atomic_fetch_add_explicit(&work->taken, 1,
                                                     memory_order_relaxed));
    }
    uint64_t samples = shard->count - left.n, bytes = w.bytes;
    if (rc == TOOL_DONE)
        rc = pack_shard_end(p, &w, &left, number);
    else
        shard_drop(&w);
    pack_left_drop(&left);
    if (rc != TOOL_DONE)
        return rc;
    /* relaxed: read once the threads have ended. */
    atomic_fetch_add_explicit(&work->samples, samples, memory_order_relaxed);
    atomic_fetch_add_explicit(&work->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&work->shards, 1, memory_order_relaxed);
    return rc;
}

static int write_shards(void *arg, bool first)
{
    struct work *work = arg;
    struct pack *p = work->pack;
    int rc = TOOL_DONE;
    (void)first;
    /* relaxed: no other memory depends on either. */
    while (!atomic_load_explicit(&work->failed, memory_order_relaxed)) {
        uint64_t i =
            atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
        if (i >= p->n_shards)
            break;
        if (p->shards[i].done)
            continue;
        rc = write_shard(work, i);
        if (rc != TOOL_DONE)
            atomic_store_explicit(&work->failed, true, memory_order_relaxed);
    }
    return rc;
}

static uint64_t samples_to_write(const struct pack *p)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < p->n_shards; i++)
        n += p->shards[i].done ? 0 : p->shards[i].count;
    return n;
}

int pack_write_files(struct pack *p)
{
    struct work work = {.pack = p,
                        .progress = {.what = "pack",
                                     .unit = "samples",
                                     .all = samples_to_write(p),
                                     .begin = tool_seconds()}};
    int rc = threads_run(p->config, p->n_shards - p->done_before, write_shards,
                         &work);
    progress_line("%s", "");
    p->samples_written = work.samples;
    p->bytes_written = work.bytes;
    p->shards_written = work.shards;
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of shards that webdataset's wids reads, and tar: here: which ones,
 * how large, and how many samples are in each. Opening them shows that they
 * are what they should be.
 */
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_BYTES 300

static int add_shard(const struct pack *p, uint64_t number, json_t *list)
{
    char path[SHARD_PATH_BYTES];
    struct stat st;
    const struct pack_shard *s = &p->shards[number];
    if (!shard_path(p->folder, p->options->name, number, path) ||
        stat(path, &st) != 0) {
        tool_say("%s: %s", path, strerror(errno));
        return TOOL_ENVIRONMENT;
    }
    json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "url",
                                          strrchr(path, '/') + 1, "nsamples",
                                          (json_int_t)(s->count - s->left),
                                          "filesize", (json_int_t)st.st_size));
    return TOOL_DONE;
}

static int write_list(const struct pack *p)
{
    char name[NAME_BYTES];
    json_t *list = json_array();
    int rc = TOOL_DONE;
    for (uint64_t i = 0; i < p->n_shards && rc == TOOL_DONE; i++)
        rc = add_shard(p, i, list);
    json_t *index = json_pack("{s:s, s:i, s:s, s:o}", "__kind__",
                              "wids-shard-index-v1", "wids_version", 1, "name",
                              p->options->name, "shardlist", list);
    char *text = json_dumps(index, JSON_INDENT(1));
    snprintf(name, sizeof(name), "%s.json", p->options->name);
    if (rc == TOOL_DONE)
        rc = text ? shard_text(p->folder, name, text, strlen(text))
                  : tool_no_memory();
    free(text);
    json_decref(index);
    return rc;
}

static int check(const struct pack *p, const char *uri)
{
    feedline_dataset *made = NULL;
    uint64_t n = 0, wanted = p->n - p->left_out;
    int32_t status = feedline_dataset_open(uri, &made);
    if (status < 0)
        return tool_run_failed(status);
    feedline_dataset_get_count(made, &n);
    bool same = n == wanted && feedline_dataset_class_count(made) ==
                                   feedline_dataset_class_count(p->data);
    feedline_dataset_close(made);
    if (same)
        return TOOL_DONE;
    tool_say("%s: %llu samples, or their classes, are not the %llu that were "
             "packed; was one of its files changed?",
             uri, (unsigned long long)n, (unsigned long long)wanted);
    return TOOL_DATA;
}

/* Where the name of the folder means something else in a URI, nothing is
 * opened. */
int pack_index(struct pack *p)
{
    char uri[2 * SHARD_PATH_BYTES];
    int rc = write_list(p);
    if (rc != TOOL_DONE || p->left_out == p->n || strpbrk(p->folder, "{}?\\") ||
        strpbrk(p->options->name, "{}?\\:") || strstr(p->folder, "::"))
        return rc;
    snprintf(uri, sizeof(uri), "tar:%s/%s.json", p->folder, p->options->name);
    return check(p, uri);
}

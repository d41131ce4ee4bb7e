/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of the source: how large they are, what they are called, and
 * whether it is the source of last time. Keys are names that every reader of
 * WebDataset takes apart alike: the only dot behind the last slash is that of
 * the extension, and no two samples have the same.
 */
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_COPIES 100

static void info_of(const struct pack *p, uint64_t i,
                    struct feedline_sample_info *info)
{
    *info = (struct feedline_sample_info){.struct_size = sizeof(*info)};
    feedline_dataset_get_sample(p->data, i, info); /* i is below p->n */
}

int64_t pack_label(const struct pack *p, uint64_t i)
{
    struct feedline_sample_info info;
    info_of(p, i, &info);
    return info.label;
}

/* ---- Names --------------------------------------------------------------- */

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The name of a sample in its shard, or all of it where it is a file. */
static const char *inner_name(const struct feedline_sample_info *info)
{
    const char *file = info->file ? last_of(info->file) : "", *at = info->name;
    size_t n = strlen(file);
    while (n > 0 && (at = strstr(at, file)) != NULL) {
        at += n;
        if (*at == ':')
            return at + 1;
    }
    return info->name;
}

/* Where the ending of an image begins, at its dot; or NULL. */
static const char *image_ending(const char *name)
{
    const char *dot = strrchr(last_of(name), '.'), *ending;
    for (uint32_t i = 0; dot && (ending = feedline_image_ending(i, NULL)); i++)
        if (strcasecmp(dot, ending) == 0)
            return dot;
    return NULL;
}

/* "..", ".hidden", "a.b": nothing of a path but its slashes has a meaning, and
 * dots of the last part are for the extension. */
static void sanitise(char *key)
{
    char *last = strrchr(key, '/');
    last = last ? last + 1 : key;
    for (char *part = key; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t n = strcspn(part, "/");
        bool dots = strspn(part, ".") == n;
        for (size_t i = 0; i < n; i++)
            if ((part[i] == '.' && (dots || part == last)) || part[i] == '\n')
                part[i] = '_';
    }
    /* webdataset takes "__NAME__" for something else. */
    size_t n = strcspn(key, "/");
    if (n >= 4 && memcmp(key, "__", 2) == 0 &&
        memcmp(key + n - 2, "__", 2) == 0)
        key[0] = '-';
}

char *pack_key(const struct pack *p, uint64_t i,
               char extension[PACK_EXTENSION_BYTES])
{
    struct feedline_sample_info info;
    info_of(p, i, &info);
    const char *name = inner_name(&info);
    while (*name == '/' || strncmp(name, "./", 2) == 0)
        name += *name == '/' ? 1 : 2;
    const char *ending = image_ending(name);
    size_t n = ending ? (size_t)(ending - name) : strlen(name);
    char *key = malloc(n + 2 + MAX_COPIES + 24);
    if (!key)
        return NULL;
    memcpy(key, name, n);
    key[n] = '\0';
    if (n == 0 || key[n - 1] == '/')
        memcpy(key + n, "_", 2);
    sanitise(key);
    n = strlen(key);
    if (p->copies[i])
        snprintf(key + n, MAX_COPIES + 24, "%.*s%" PRIu64, p->copies[i],
                 "----------------------------------------"
                 "----------------------------------------"
                 "--------------------",
                 i);
    snprintf(extension, PACK_EXTENSION_BYTES, "%s", ending ? ending + 1 : "");
    return key;
}

struct named {
    uint64_t hash, index;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int hash_keys(const struct pack *p, struct named *all)
{
    for (uint64_t i = 0; i < p->n; i++) {
        char extension[PACK_EXTENSION_BYTES];
        char *key = pack_key(p, i, extension);
        if (!key)
            return tool_no_memory();
        all[i] = (struct named){XXH3_64bits(key, strlen(key)), i};
        free(key);
    }
    return TOOL_DONE;
}

/* The first with a key has it; the others are told apart, until all are. */
static int tell_apart(struct pack *p)
{
    struct named *all = malloc((p->n + 1) * sizeof(*all));
    int rc = all ? TOOL_DONE : tool_no_memory();
    for (bool same = true; same && rc == TOOL_DONE;) {
        same = false;
        rc = hash_keys(p, all);
        if (rc == TOOL_DONE)
            qsort(all, p->n, sizeof(*all), compare_named);
        for (uint64_t i = 1; rc == TOOL_DONE && i < p->n; i++)
            if (all[i].hash == all[i - 1].hash &&
                p->copies[all[i].index] < MAX_COPIES) {
                p->copies[all[i].index]++;
                same = true;
            }
    }
    free(all);
    return rc;
}

/* ---- Sizes --------------------------------------------------------------- */

/* Adds what tells a sample from what may be there next time. */
static int take_sample(struct pack *p, uint64_t i, XXH3_state_t *state,
                       const char **file)
{
    struct feedline_sample_info info;
    struct stat st;
    info_of(p, i, &info);
    bool other = info.file && info.file != *file;
    if (other && stat(info.file, &st) != 0) {
        int error = errno;
        if (!p->skip) {
            tool_say("%s: %s", info.file, strerror(error));
            return error == ENOENT ? TOOL_USAGE : TOOL_DATA;
        }
        st = (struct stat){0}; /* reading it says so */
    }
    if (other) {
        int64_t facts[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
        XXH3_64bits_update(state, facts, sizeof(facts));
        *file = info.file;
    }
    p->bytes[i] = info.bytes;
    if (info.bytes == UINT64_MAX)
        p->bytes[i] = (uint64_t)st.st_size > info.offset
                          ? (uint64_t)st.st_size - info.offset
                          : 0;
    uint64_t facts[3] = {(uint64_t)info.label, info.offset, p->bytes[i]};
    XXH3_64bits_update(state, facts, sizeof(facts));
    uint64_t fields = pack_field_bytes(p, i);
    XXH3_64bits_update(state, info.name, strlen(info.name) + 1);
    XXH3_64bits_update(state, &fields, sizeof(fields));
    p->source_bytes += p->bytes[i];
    p->in_memory |= !info.file;
    return TOOL_DONE;
}

static int take_samples(struct pack *p, XXH3_state_t *state)
{
    const char *file = NULL, *class;
    int rc = TOOL_DONE;
    for (uint64_t i = 0; i < p->n && rc == TOOL_DONE; i++) {
        rc = take_sample(p, i, state, &file);
        if (tool_interrupted())
            rc = TOOL_INTERRUPTED;
    }
    for (uint32_t i = 0; (class = feedline_dataset_class_name(p->data, i)); i++)
        XXH3_64bits_update(state, class, strlen(class) + 1);
    p->fingerprint = XXH3_64bits_digest(state);
    return rc;
}

int pack_source_read(struct pack *p)
{
    p->bytes = calloc(p->n + 1, sizeof(*p->bytes));
    p->copies = calloc(p->n + 1, sizeof(*p->copies));
    XXH3_state_t *state = XXH3_createState();
    if (!p->bytes || !p->copies || !state) {
        XXH3_freeState(state);
        return tool_no_memory();
    }
    XXH3_64bits_reset(state);
    int rc = take_samples(p, state);
    XXH3_freeState(state);
    return rc == TOOL_DONE ? tell_apart(p) : rc;
}

int pack_read_part(const char *file, uint64_t offset, uint64_t bytes,
                   uint8_t **data)
{
    uint64_t have = 0;
    /* A pipe would wait for its writer. */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    *data = NULL;
    if (fd < 0)
        return errno;
    int error = fstat(fd, &st) == 0 ? 0 : errno;
    if (!error && !S_ISREG(st.st_mode))
        error = ESPIPE;
    uint8_t *to = error ? NULL : malloc(bytes + 1);
    if (!to && !error)
        error = ENOMEM;
    while (!error && have < bytes) {
        ssize_t got =
            pread(fd, to + have, bytes - have, (off_t)(offset + have));
        if (got > 0)
            have += (uint64_t)got;
        else if (got == 0 || errno != EINTR)
            error = got == 0 ? ENODATA : errno;
    }
    close(fd);
    if (error)
        free(to);
    else
        *data = to;
    return error;
}

/* Whoever says what is wrong says with which sample. */
static const char *without_name(const char *message, const char *name)
{
    size_t n = strlen(name);
    return strncmp(message, name, n) == 0 && message[n] == ':' ? message + n + 2
                                                               : message;
}

int32_t pack_read(const struct pack *p, uint64_t i, uint8_t **data,
                  uint64_t *bytes, const char **why)
{
    struct feedline_sample_info info;
    void *read = NULL;
    info_of(p, i, &info);
    *data = NULL;
    int32_t status = feedline_dataset_read(p->config, p->data, i, &read, bytes);
    if (status < 0) {
        *why = without_name(feedline_last_error(), info.path);
    } else if (*bytes == 0) {
        free(read);
        *why = "an empty file";
        status = FEEDLINE_EDECODE;
    } else {
        *data = read;
    }
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* JPEGs as packed coefficients, and as files again. */
#include "tools/loaderbench/pack/pack.h"

#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"

#include <feedline/packed.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pack_is_packed(const uint8_t *data, uint64_t bytes)
{
    static const char magic[] = "\xf1"
                                "fdlp\r\n\x1a";
    return bytes >= 8 && memcmp(data, magic, 8) == 0;
}

int32_t pack_store(struct pack *p, uint8_t **data, uint64_t *bytes)
{
    void *packed;
    if (!p->recipe.packed || pack_is_packed(*data, *bytes))
        return FEEDLINE_OK;
    int32_t status = FEEDLINE_EDECODE;
    const char *content = pack_content(*data, *bytes);
    if (content && strcmp(content, "jpg") == 0)
        status = feedline_jpeg_pack(*data, *bytes, &packed, bytes);
    if (status == FEEDLINE_ENOMEM)
        return status;
    /* relaxed: read once the threads have ended. */
    atomic_fetch_add_explicit(status < 0 ? &p->stayed : &p->packed, 1,
                              memory_order_relaxed);
    if (status < 0)
        return FEEDLINE_OK;
    free(*data);
    *data = packed;
    return FEEDLINE_OK;
}

/* ---- Back to files ------------------------------------------------------- */

struct unpack {
    struct pack *pack;
    uint64_t same, coefficients, copied;
};

static int fail(const char *path)
{
    tool_say("%s: %s", path, strerror(errno));
    return TOOL_ENVIRONMENT;
}

/* The folders on the way to it, below `root` bytes. */
static int make_folders(char *path, size_t root)
{
    for (char *at = path + root; (at = strchr(at + 1, '/'));) {
        *at = '\0';
        int rc =
            mkdir(path, 0777) != 0 && errno != EEXIST ? fail(path) : TOOL_DONE;
        *at = '/';
        if (rc != TOOL_DONE)
            return rc;
    }
    return TOOL_DONE;
}

/* Whether the file is there, with these bytes: a run that was killed has made
 * it, and this one goes on. */
static bool has_bytes(const char *path, const void *data, uint64_t bytes)
{
    FILE *f = fopen(path, "rbe");
    char *own = f ? malloc(bytes + 1) : NULL;
    bool same = own && fread(own, 1, bytes + 1, f) == bytes &&
                memcmp(own, data, bytes) == 0;
    free(own);
    if (f)
        fclose(f);
    return same;
}

/* By way of `beside`, so that a file is whole or not there. */
static int make_file(const char *beside, const char *path, const void *data,
                     uint64_t bytes)
{
    FILE *f = fopen(beside, "wbe");
    if (!f)
        return fail(path);
    bool failed = fwrite(data, 1, bytes, f) != bytes;
    failed |= fclose(f) != 0;
    failed = failed || rename(beside, path) != 0;
    int error = errno;
    if (failed)
        unlink(beside);
    errno = error;
    return failed ? fail(path) : TOOL_DONE;
}

/* What is there stays. */
static int write_file(const struct pack *p, const char *key, const char *ending,
                      const void *data, uint64_t bytes)
{
    char path[PATH_MAX], beside[PATH_MAX];
    const char *name = strrchr(key, '/');
    int folder = name ? (int)(name + 1 - key) : 0;
    int n = snprintf(path, sizeof(path), "%s/%s.%s", p->folder, key, ending);
    int m = snprintf(beside, sizeof(beside), "%s/%.*s.%s.%s.part", p->folder,
                     folder, key, key + folder, ending);
    if (n < 0 || n >= PATH_MAX || m < 0 || m >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return fail(p->folder);
    }
    int rc = make_folders(path, strlen(p->folder));
    if (rc != TOOL_DONE || has_bytes(path, data, bytes))
        return rc;
    if (access(path, F_OK) == 0) {
        errno = EEXIST;
        return fail(path);
    }
    return make_file(beside, path, data, bytes);
}

static int unpack_data(struct unpack *u, const char *name, uint8_t **data,
                       uint64_t *bytes)
{
    void *jpeg;
    int32_t same;
    if (!pack_is_packed(*data, *bytes)) {
        u->copied++;
        return TOOL_DONE;
    }
    if (feedline_jpeg_unpack(*data, *bytes, &jpeg, bytes, &same) < 0) {
        tool_say("%s: %s", name, feedline_last_error());
        return TOOL_DATA;
    }
    free(*data);
    *data = jpeg;
    u->same += same != 0;
    u->coefficients += same == 0;
    return TOOL_DONE;
}

static int unpack_sample(struct unpack *u, uint64_t i)
{
    char ending[PACK_EXTENSION_BYTES];
    uint8_t *data = NULL;
    uint64_t bytes;
    char *key = pack_key(u->pack, i, ending);
    const char *why;
    int32_t status =
        key ? pack_read(u->pack, i, &data, &bytes, &why) : FEEDLINE_ENOMEM;
    int rc = status == FEEDLINE_ENOMEM ? tool_no_memory() : TOOL_DONE;
    if (status < 0 && rc == TOOL_DONE) {
        tool_say("%s: %s", key, why);
        rc = TOOL_DATA;
    }
    if (rc == TOOL_DONE)
        rc = unpack_data(u, key, &data, &bytes);
    if (rc == TOOL_DONE) {
        const char *content = pack_content(data, bytes);
        rc = write_file(u->pack, key,
                        *ending   ? ending
                        : content ? content
                                  : "img",
                        data, bytes);
    }
    free(data);
    free(key);
    return rc;
}

int pack_unpack(struct pack *p)
{
    struct unpack u = {.pack = p};
    int rc = TOOL_DONE;
    if (mkdir(p->folder, 0777) != 0 && errno != EEXIST)
        return fail(p->folder);
    for (uint64_t i = 0; i < p->n && rc == TOOL_DONE; i++) {
        rc = unpack_sample(&u, i);
        if (rc == TOOL_DONE && tool_interrupted())
            rc = TOOL_INTERRUPTED;
    }
    if (rc != TOOL_DONE)
        return rc;
    json_t *doc = document_new("pack");
    json_t *counts = json_pack(
        "{s:s, s:s, s:I, s:I, s:I}", "source", p->uri, "destination", p->folder,
        "same_bytes", (json_int_t)u.same, "same_coefficients",
        (json_int_t)u.coefficients, "copied", (json_int_t)u.copied);
    json_object_update_new(doc, counts);
    if (output_is_free(p->options->quiet, p->options->json, NULL))
        printf("%s: " TOOL_COUNT " to the byte, %llu of the same coefficients, "
               "%llu that were not packed\n",
               p->folder, TOOL_COUNT_OF(u.same, "JPEG"),
               (unsigned long long)u.coefficients,
               (unsigned long long)u.copied);
    if (p->options->json)
        return document_deliver(doc, p->options->json, rc);
    json_decref(doc);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: written, read, compared; see profile.h.
 *
 * The file is written under a temporary name and renamed, so a job that is
 * killed leaves the old one or the new one. During a trial, the settings before
 * it are saved.
 */
#include "loader/tune/profile.h"

#include "base/compiler.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/status.h"
#include "loader/tune/control_own.h"
#include "loader/tune/profile_parse.h"
#include "loader/tune/profile_print.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION    1u
#define FILE_BYTES 65536u /* a larger file is no profile */

/* The parsed contents of one. */
struct found {
    uint64_t workers, depth, io_depth, batch;
};

/* ---- Words --------------------------------------------------------------- */

static void note(struct fdl_control *c, enum fdl_log_level level,
                 const char *fmt, ...) FDL_PRINTF(3, 4);

static void note(struct fdl_control *c, enum fdl_log_level level,
                 const char *fmt, ...)
{
    char *words = c->profile_note;
    va_list args;
    va_start(args, fmt);
    fdl_format_line(words, sizeof(c->profile_note), fmt, args);
    va_end(args);
    fdl_log(level, "tuner_profile: %s", words);
}

/* ---- Reading ------------------------------------------------------------- */

/* For free(). ENOENT: there is no such file. */
static int32_t read_file(const char *path, char **out)
{
    char *text = malloc(FILE_BYTES + 1);
    if (!text)
        return fdl_fail_memory(FILE_BYTES + 1, "a profile");
    int32_t status = FEEDLINE_OK;
    size_t n = 0;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && got > 0 && n < FILE_BYTES) {
        got = read(fd, text + n, FILE_BYTES - n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (fd < 0 || got < 0)
        status = fdl_fail(errno == ENOENT ? FEEDLINE_ENOENT : FEEDLINE_EIO,
                          "%s", strerror(errno));
    else if (n == FILE_BYTES)
        status = fdl_fail(FEEDLINE_EINVAL, "larger than any profile");
    else if (memchr(text, '\0', n))
        status = fdl_fail(FEEDLINE_EINVAL, "not text");
    if (fd >= 0)
        close(fd);
    if (status < 0) {
        free(text);
        return status;
    }
    text[n] = '\0';
    *out = text;
    return FEEDLINE_OK;
}

/* A whole number from least to most. */
static int32_t number(const struct fdl_profile_values *v, const char *name,
                      uint64_t least, uint64_t most, uint64_t *out)
{
    const struct fdl_profile_value *value = fdl_profile_find(v, name);
    if (!value || value->kind != FDL_PROFILE_NUMBER)
        return fdl_fail(FEEDLINE_EINVAL, "%s is not a number", name);
    errno = 0;
    char *end;
    uint64_t x = strtoull(value->text, &end, 10);
    if (*end || errno || value->text[0] == '-' || x < least || x > most)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s=%s is not a whole number from %" PRIu64
                        " to %" PRIu64,
                        name, value->text, least, most);
    *out = x;
    return FEEDLINE_OK;
}

static int32_t check_version(const struct fdl_profile_values *v)
{
    uint64_t version;
    int32_t status = number(v, "feedline_profile", 0, UINT64_MAX - 1, &version);
    if (status >= 0 && version != VERSION)
        status = fdl_fail(FEEDLINE_EABI,
                          "of version %" PRIu64 ", and this library reads %u",
                          version, VERSION);
    return status;
}

static int32_t read_found(const struct fdl_profile_values *v, struct found *f)
{
    int32_t status =
        number(v, "found.workers", 1, FDL_MAX_WORKERS, &f->workers);
    if (status >= 0)
        status = number(v, "found.depth", 1, FDL_MAX_DEPTH, &f->depth);
    if (status >= 0)
        status = number(v, "found.io_depth", 0, FDL_MAX_IO_DEPTH, &f->io_depth);
    if (status >= 0)
        status = number(v, "found.batch", 0, INT64_MAX, &f->batch);
    return status;
}

/* ENOENT: "another host: its cores are '2', here '4'". */
static int32_t compare(const struct fdl_profile_values *v,
                       const struct fdl_print *here)
{
    for (uint32_t i = 0; i < here->n; i++) {
        const struct fdl_fact *f = &here->facts[i];
        char name[FDL_PROFILE_NAME_BYTES];
        snprintf(name, sizeof(name), "%s.%s", f->part, f->key);
        const struct fdl_profile_value *value = fdl_profile_find(v, name);
        if (!value || value->kind != FDL_PROFILE_STRING)
            return fdl_fail(FEEDLINE_EINVAL, "%s is not a string", name);
        if (strcmp(value->text, f->text) != 0)
            return fdl_fail(FEEDLINE_ENOENT,
                            "found on another %s: its %s is '%s', here it is "
                            "'%s'",
                            f->part, f->key, value->text, f->text);
    }
    return FEEDLINE_OK;
}

static int32_t load(const struct fdl_control *c, const char *path,
                    struct fdl_profile_values *v, struct fdl_print *here,
                    struct found *found)
{
    char *text = NULL;
    int32_t status = read_file(path, &text);
    if (status >= 0)
        status = fdl_profile_parse(text, v);
    free(text);
    if (status >= 0)
        status = check_version(v);
    if (status >= 0)
        status = read_found(v, found);
    if (status >= 0)
        status = fdl_print_take(c->engine, here);
    return status < 0 ? status : compare(v, here);
}

/* ---- The start ----------------------------------------------------------- */

static uint32_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return (uint32_t)FDL_MAX(FDL_MIN(value, most), least);
}

static void begin_with(struct fdl_control *c, const char *path,
                       const struct found *f, struct fdl_knobs *start)
{
    struct fdl_knobs bound;
    struct fdl_tuner_limits limits;
    fdl_control_start_limits(c, &limits);
    bound = (struct fdl_knobs){
        .workers = within(f->workers, limits.workers_min, limits.workers_max),
        .depth = within(f->depth, limits.depth_min, limits.depth_max),
        .io_depth = 0,
    };
    if (f->io_depth && limits.io_depth_max)
        bound.io_depth =
            within(f->io_depth, limits.io_depth_min, limits.io_depth_max);
    *start = bound;
    note(c, FDL_LOG_INFO,
         "%s: begins with workers=%u depth=%u io_depth=%u, as found on batch "
         "%" PRIu64 "%s",
         path, bound.workers, bound.depth, bound.io_depth, f->batch,
         bound.workers != f->workers || bound.depth != f->depth
             ? ", held to the bounds of now"
             : "");
}

bool fdl_profile_start(struct fdl_control *c, struct fdl_knobs *start)
{
    const char *path =
        fdl_option_text(fdl_engine_options(c->engine), FDL_OPT_TUNER_PROFILE);
    struct found found;
    if (!path || !*path)
        return false;
    struct fdl_profile_values *v = malloc(sizeof(*v));
    struct fdl_print *here = malloc(sizeof(*here));
    int32_t status = FEEDLINE_ENOMEM;
    if (v && here)
        status = load(c, path, v, here, &found);
    else
        fdl_fail_memory(sizeof(*v), "a profile");
    if (status >= 0)
        begin_with(c, path, &found, start);
    else if (status == FEEDLINE_ENOENT && access(path, F_OK) != 0)
        note(c, FDL_LOG_INFO, "%s: does not exist yet; the tuner starts over",
             path);
    else
        note(c, FDL_LOG_WARNING, "%s: %s; the tuner starts over", path,
             fdl_last_error());
    fdl_clear_error();
    free(here);
    free(v);
    return status >= 0;
}

/* ---- Writing ------------------------------------------------------------- */

static void write_facts(const struct fdl_print *print, struct fdl_json *j)
{
    const char *part = NULL;
    for (uint32_t i = 0; i < print->n; i++) {
        const struct fdl_fact *f = &print->facts[i];
        if (part && strcmp(part, f->part) != 0)
            fdl_json_end_object(j);
        if (!part || strcmp(part, f->part) != 0)
            fdl_json_begin_object(j, f->part);
        part = f->part;
        fdl_json_string(j, f->key, f->text);
    }
    fdl_json_end_object(j);
}

static void write_profile(const struct fdl_print *print,
                          const struct feedline_tuner_info *t, uint64_t batch,
                          struct fdl_json *j)
{
    fdl_json_begin_object(j, NULL);
    fdl_json_int(j, "feedline_profile", VERSION);
    write_facts(print, j);
    fdl_json_begin_object(j, "found");
    fdl_json_int(j, "workers", t->workers);
    fdl_json_int(j, "depth", t->depth);
    fdl_json_int(j, "io_depth", t->io_depth);
    fdl_json_string(j, "finish", t->finish ? "device" : "host");
    fdl_json_int(j, "batch", (int64_t)batch);
    fdl_json_bool(j, "converged", t->converged != 0);
    fdl_json_double(j, "stall", t->stall);
    fdl_json_double(j, "batches_per_second", t->batches_per_second);
    fdl_json_double(j, "step_seconds", t->step_ns / 1e9);
    fdl_json_double(j, "sample_seconds", t->sample_ns / 1e9);
    fdl_json_end_object(j);
    fdl_json_end_object(j);
}

static int32_t replace_file(const char *path, const char *text, size_t n)
{
    struct fdl_replace r;
    fdl_replace_begin(&r, path, 0666);
    fdl_replace_write(&r, text, n);
    int error = fdl_replace_end(&r);
    return error ? fdl_fail(FEEDLINE_EIO, "%s: %s", path, strerror(error))
                 : FEEDLINE_OK;
}

/* The settings before the current trial. */
static void leave_trials_out(struct fdl_control *c,
                             struct feedline_tuner_info *t)
{
    struct fdl_decision d;
    int64_t created_ns;
    uint32_t n = 0;
    while (fdl_control_decision(c, n, &d, &created_ns))
        n++;
    while (n > 0 && fdl_control_decision(c, --n, &d, &created_ns)) {
        uint32_t before = (uint32_t)d.before;
        if (d.outcome != FDL_OUTCOME_PENDING)
            continue;
        switch (d.knob) {
        case FDL_KNOB_WORKERS:
            t->workers = before;
            break;
        case FDL_KNOB_DEPTH:
            t->depth = before;
            break;
        case FDL_KNOB_IO_DEPTH:
            t->io_depth = before;
            break;
        case FDL_KNOBS:
            break;
        }
    }
}

static int32_t check_found(const struct feedline_tuner_info *t,
                           const char *path)
{
    if (strcmp(t->mode, "auto") != 0)
        return fdl_fail(FEEDLINE_ESTATE,
                        "%s: with tuner=%s nothing is found; use tuner=auto",
                        path, t->mode);
    if (!(t->batches_per_second > 0))
        return fdl_fail(FEEDLINE_ESTATE,
                        "%s: nothing was found yet: too few batches were "
                        "delivered to measure anything",
                        path);
    return FEEDLINE_OK;
}

int32_t fdl_profile_save(struct fdl_control *c, const char *path)
{
    struct feedline_tuner_info t;
    struct fdl_print print;
    struct fdl_json j;
    uint64_t needed;
    char *text = NULL;
    fdl_control_info(c, &t);
    int32_t status = check_found(&t, path);
    if (status >= 0)
        status = fdl_print_take(c->engine, &print);
    if (status < 0)
        return status;
    leave_trials_out(c, &t);
    uint64_t batch = fdl_control_batches(c);
    fdl_json_init(&j, NULL, 0);
    write_profile(&print, &t, batch, &j);
    fdl_json_finish(&j, &needed);
    text = malloc(needed);
    if (!text)
        return fdl_fail_memory(needed, "a profile");
    fdl_json_init(&j, text, needed);
    write_profile(&print, &t, batch, &j);
    fdl_json_finish(&j, &needed);
    text[needed - 1] = '\n'; /* where its NUL was */
    status = replace_file(path, text, needed);
    free(text);
    return status;
}

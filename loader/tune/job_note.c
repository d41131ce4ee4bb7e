/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of ranks, as text; see job_note.h. */
#include "loader/tune/job_note.h"

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1u
#define PPM     1e6

/* The words of a line, and the most that each can be. */
enum { NOTE_VERSION, RANKS, STALL, STEP, DEPTH, READS, WORDS };
static const struct {
    const char *key;
    uint64_t most;
} words[WORDS] = {
    [NOTE_VERSION] = {"feedline_job", UINT32_MAX},
    [RANKS] = {"ranks", 1u << 20},
    [STALL] = {"stall_ppm", UINT64_C(1) << 40}, /* of all ranks */
    [STEP] = {"step_ns", UINT64_C(1) << 53},
    [DEPTH] = {"depth", 1u << 20},
    [READS] = {"reads", 1u << 20},
};

int32_t fdl_job_note_write(const struct fdl_tuner_job *job, char *buf,
                           uint64_t capacity, uint64_t *needed)
{
    struct fdl_text t = {0};
    fdl_text_add(&t,
                 "feedline_job=%u ranks=%" PRIu32 " stall_ppm=%" PRIu64
                 " step_ns=%" PRIu64 " depth=%" PRIu32 " reads=%" PRIu32,
                 VERSION, job->ranks,
                 (uint64_t)FDL_MIN(PPM * job->stall, (double)words[STALL].most),
                 (uint64_t)FDL_MIN(job->step_ns, (double)words[STEP].most),
                 job->most.depth, job->most.io_depth);
    int32_t status = fdl_text_copy_out(&t, buf, capacity, needed);
    fdl_text_free(&t);
    return status;
}

/* Of the word at `at`; UINT64_MAX: it is another one, or no number. */
static uint64_t value_of(const char *at, uint32_t word)
{
    size_t bytes = strlen(words[word].key);
    char *end;
    if (strncmp(at, words[word].key, bytes) != 0 || at[bytes] != '=')
        return UINT64_MAX;
    at += bytes + 1;
    if (*at < '0' || *at > '9')
        return UINT64_MAX;
    uint64_t n = strtoull(at, &end, 10);
    return strchr(" \n", *end) ? n : UINT64_MAX;
}

static int32_t fail_line(uint32_t line, const char *what)
{
    return fdl_fail(FEEDLINE_EINVAL,
                    "line %" PRIu32 " is not what feedline_loader_tell wrote: "
                    "%s",
                    line, what);
}

static int32_t read_line(const char *at, uint32_t line, uint64_t got[WORDS])
{
    if (value_of(at, NOTE_VERSION) > words[NOTE_VERSION].most)
        return fail_line(line, "feedline_job is missing");
    if (value_of(at, NOTE_VERSION) != VERSION)
        return fdl_fail(FEEDLINE_EABI,
                        "line %" PRIu32 " is of version %" PRIu64
                        ", and this library reads %u",
                        line, value_of(at, NOTE_VERSION), VERSION);
    for (uint32_t i = 0; i < WORDS; i++)
        got[i] = UINT64_MAX;
    for (;;) {
        for (uint32_t i = 0; i < WORDS; i++)
            got[i] = FDL_MIN(got[i], value_of(at, i));
        at += strcspn(at, " \n");
        if (*at != ' ')
            break;
        at++;
    }
    for (uint32_t i = 0; i < WORDS; i++)
        if (got[i] > words[i].most)
            return fail_line(line, words[i].key);
    return got[RANKS] > 0 ? FEEDLINE_OK : fail_line(line, words[RANKS].key);
}

int32_t fdl_job_notes_read(const char *text, struct fdl_tuner_job *out)
{
    struct fdl_tuner_job all = {0};
    uint64_t got[WORDS];
    for (uint32_t line = 1; *text; line++) {
        if (*text != '\n') {
            int32_t status = read_line(text, line, got);
            if (status < 0)
                return status;
            struct fdl_tuner_job one = {
                .ranks = (uint32_t)got[RANKS],
                .stall = (double)got[STALL] / PPM,
                .step_ns = (double)got[STEP],
                .most = {.depth = (uint32_t)got[DEPTH],
                         .io_depth = (uint32_t)got[READS]},
            };
            if (all.ranks > words[RANKS].most)
                return fail_line(line, "more ranks than there can be");
            fdl_tuner_job_add(&all, &one);
        }
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    *out = all;
    return FEEDLINE_OK;
}

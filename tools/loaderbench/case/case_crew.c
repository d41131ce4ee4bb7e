/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process for each loader and each measurement: what the library makes is
 * not for use behind a fork(), so each makes its own. The only other thread
 * when they are forked waits for signals and holds nothing.
 */
#include "tools/loaderbench/case/case_crew.h"

#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/tune/tune.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STAYS_SECONDS 1.0 /* that a tuner has to be content */
#define LOOK_SECONDS  0.02

/* In memory that all processes share. */
struct crew {
    uint32_t n;
    double seconds;
    _Atomic uint32_t finished;
    struct crew_answer answers[CREW_MAX];
};

/* ---- In a process of its own -------------------------------------------- */

struct member {
    struct crew *crew;
    struct tune_follow follow;
    bool tunes, finished;
};

static void finish(struct member *m)
{
    if (!m->finished)
        atomic_fetch_add(&m->crew->finished, 1);
    m->finished = true;
}

static bool note_batch(void *self, feedline_loader *l, double seconds,
                       uint64_t images)
{
    struct member *m = self;
    if (seconds >= m->crew->seconds ||
        (m->tunes && tune_follow_batch(&m->follow, l, seconds, images)))
        finish(m);
    return atomic_load(&m->crew->finished) == m->crew->n;
}

static int note_end(void *self, feedline_loader *l)
{
    (void)self;
    (void)l;
    return TOOL_DONE;
}

static void fill(const struct member *m, const json_t *run,
                 struct crew_answer *out)
{
    double seconds = doc_or_0(run, "result.seconds");
    out->images_per_second = doc_or_0(run, "result.images_per_second");
    out->wait_fraction = doc_or_0(run, "stall.host_fraction");
    if (seconds > 0)
        out->cores = doc_or_0(run, "result.cpu_seconds") / seconds;
    out->workers = doc_int(run, "tuner.workers");
    out->depth = doc_int(run, "tuner.depth");
    if (m->follow.ended_settled) {
        out->converged_batch = doc_int(run, "tuner.converged_batch");
        out->converged_seconds = doc_or_0(run, "tuner.converged_seconds");
    }
}

static void work(struct crew *crew, const struct case_scene *scene,
                 const struct crew_setting *setting, struct crew_answer *out)
{
    struct member m = {.crew = crew,
                       .follow = {.open_ended = true, .hold = STAYS_SECONDS},
                       .tunes = setting->workers == 0};
    const struct run_watch watch = {note_batch, note_end, &m};
    struct case_scene own = *scene;
    struct run_setup *setup = &own.setup;
    struct run_counts counts;
    json_t *run = NULL;
    *out = (struct crew_answer){.converged_batch = -1};
    out->rc = case_scene_open(&own);
    setup->options.seconds = 0; /* note_batch() ends it */
    setup->watch = &watch;
    if (m.tunes)
        setup->options.warmup = 0;
    if (out->rc == TOOL_DONE)
        out->rc = case_set(setup, m.tunes ? "auto" : "off", setting->workers,
                           setting->depth);
    if (out->rc == TOOL_DONE)
        out->rc = run_measure(setup, &run, &counts);
    finish(&m);
    if (out->rc == TOOL_DONE)
        fill(&m, run, out);
    json_decref(run);
}

/* ---- The side that starts them ------------------------------------------ */

/* An exit status; ended: by itself. */
static int wait_for(pid_t pid, bool *ended)
{
    int status = 0;
    pid_t found = 0;
    while (found == 0) {
        if (tool_interrupted())
            return TOOL_INTERRUPTED;
        found = waitpid(pid, &status, WNOHANG);
        if (found == 0)
            tool_sleep_until(tool_seconds() + LOOK_SECONDS);
    }
    *ended = true;
    if (found == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return TOOL_DONE;
    tool_say("a loader of the case has ended");
    return TOOL_ENVIRONMENT;
}

static int run(struct crew *crew, const struct case_scene *scene,
               const struct crew_setting *settings)
{
    pid_t pids[CREW_MAX];
    bool ended[CREW_MAX] = {false};
    uint32_t n = 0;
    int rc = TOOL_DONE;
    for (; n < crew->n && rc == TOOL_DONE; n++) {
        pids[n] = fork();
        if (pids[n] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(crew, scene, &settings[n], &crew->answers[n]);
            _exit(0);
        }
        if (pids[n] < 0) {
            tool_say("fork: %s", strerror(errno));
            rc = TOOL_ENVIRONMENT;
            break;
        }
    }
    for (uint32_t i = 0; i < n && rc == TOOL_DONE; i++)
        rc = wait_for(pids[i], &ended[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (ended[i])
            continue;
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    for (uint32_t i = 0; i < n && rc == TOOL_DONE; i++)
        rc = crew->answers[i].rc;
    return rc;
}

int crew_run(const struct case_scene *scene, uint32_t n,
             const struct crew_setting *settings, double seconds,
             struct crew_answer *answers)
{
    struct crew *crew = mmap(NULL, sizeof(*crew), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crew == MAP_FAILED)
        return tool_no_memory();
    crew->n = n;
    crew->seconds = seconds;
    int rc = run(crew, scene, settings);
    if (rc == TOOL_DONE)
        memcpy(answers, crew->answers, n * sizeof(*answers));
    munmap(crew, sizeof(*crew));
    return rc;
}

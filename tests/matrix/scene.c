/* SPDX-License-Identifier: Apache-2.0 */
/* Plays a scene; see scene.h. */
#include "scene.h"

#include "base/event.h"
#include "fair_lock.h"
#include "fixture.h"
#include "loader/loader.h"
#include "loader/report/evidence.h"
#include "tests/wrap.h"

#include <feedline/bench.h>
#include <feedline/custom_op.h>
#include <feedline/packed.h>

#include <unistd.h>

#define MAX_HELD 64u

/* ---- The consumer is woken late ----------------------------------------- */

static _Thread_local int64_t late_ns;

WRAP(bool, fdl_event_wait, struct fdl_event *ev, uint32_t key,
     int64_t timeout_ns)
{
    bool woken = __real_fdl_event_wait(ev, key, timeout_ns);
    nap(late_ns);
    return woken;
}

/* ---- Work --------------------------------------------------------------- */

static void take_turn(const struct scene *s,
                      const struct feedline_op_call *call)
{
    static struct fair_lock lock = FAIR_LOCK;
    int64_t came = nap_now();
    fair_lock_take(&lock);
    feedline_op_waited(call, nap_now() - came);
    nap(s->turn_ns);
    fair_lock_give(&lock);
}

static int32_t work_run(const struct feedline_op_call *call)
{
    const struct scene *s = call->user;
    uint32_t index = (uint32_t)call->sample_index;
    uint32_t batch = (uint32_t)call->epoch * (SCENE_IMAGES / SCENE_BATCH) +
                     index / SCENE_BATCH;
    int64_t ns = s->sleep_ns;
    if (s->more_ns)
        ns += s->more_ns(s, batch, index % SCENE_BATCH);
    nap(ns);
    burn(s->burn_ns);
    if (s->turn_ns > 0)
        take_turn(s, call);
    return FEEDLINE_OK;
}

/* ---- The loader --------------------------------------------------------- */

void scene_init(struct scene *s, uint64_t seed)
{
    *s = (struct scene){.dice = {seed}, .side = 16, .warm = 8, .batches = 80};
}

int64_t scene_vary(struct scene *s, int64_t ns)
{
    return (int64_t)((double)ns * dice_between(&s->dice, 0.9, 1.1));
}

void scene_option(struct scene *s, const char *fmt, ...)
{
    size_t length = strlen(s->options);
    va_list args;
    va_start(args, fmt);
    vsnprintf(s->options + length, sizeof(s->options) - length, fmt, args);
    va_end(args);
}

static void must(int32_t status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "verdict_matrix: %s: %s\n", what, feedline_last_error());
    exit(1);
}
#define MUST(call) must((call), #call)

/* The images again, each padded to file_bytes: decoders stop where an image
 * ends. Deleted when they are open no more, by the caller. */
static void pad_files(const struct scene *s, const struct fixture *f)
{
    char path[256];
    for (uint32_t i = 0; i < f->n; i++) {
        fixture_path(f, i, path, sizeof(path));
        if (f->sizes[i] < s->file_bytes &&
            truncate(path, (off_t)s->file_bytes) != 0) {
            perror(path);
            exit(1);
        }
    }
}

static void pack_images(struct fixture *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        void *packed;
        MUST(
            feedline_jpeg_pack(f->data[i], f->sizes[i], &packed, &f->sizes[i]));
        free(f->data[i]);
        f->data[i] = packed;
    }
}

/* In the order of their numbers, so that a sample's index says its batch. */
static feedline_dataset *open_files(const struct fixture *f)
{
    static char text[SCENE_IMAGES][256];
    const char *paths[SCENE_IMAGES];
    feedline_dataset *ds;
    for (uint32_t i = 0; i < f->n; i++) {
        fixture_path(f, i, text[i], sizeof(text[i]));
        paths[i] = text[i];
    }
    MUST(feedline_dataset_open_paths(paths, NULL, f->n, &ds));
    return ds;
}

static feedline_config *make_config(const struct scene *s)
{
    char text[512], *rest = text, *word;
    feedline_config *cfg;
    snprintf(text, sizeof(text),
             "dtype=u8 live=false batch_size=%u reader=%s device=%s depth=4 "
             "workers=2 tuner=off %s",
             SCENE_BATCH, s->file_bytes ? "pread" : "memory",
             s->device ? "cuda:0" : "host", s->options);
    MUST(feedline_config_create(&cfg));
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        MUST(feedline_config_set(cfg, word, value));
    }
    return cfg;
}

static feedline_pipeline *make_pipeline(struct scene *s)
{
    char size[64];
    feedline_pipeline *p;
    struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "work", .run = work_run, .user = s};
    snprintf(size, sizeof(size), "width=%u height=%u", s->side, s->side);
    MUST(feedline_pipeline_create("none", &p));
    MUST(feedline_pipeline_add(p, "resize", size));
    if (s->packed)
        return p;
    MUST(feedline_pipeline_register(p, &def));
    MUST(feedline_pipeline_add(p, "work", NULL));
    return p;
}

static feedline_loader *make_loader(struct scene *s, const struct fixture *f)
{
    feedline_loader *l;
    feedline_config *cfg = make_config(s);
    feedline_pipeline *p = make_pipeline(s);
    feedline_dataset *ds;
    if (s->file_bytes)
        ds = open_files(f);
    else
        MUST(feedline_dataset_open_memory(
            (const void *const *)(const void *)f->data, f->sizes, f->labels,
            f->n, &ds));
    MUST(feedline_loader_create(cfg, ds, p, &l));
    feedline_dataset_close(ds);
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return l;
}

/* ---- The consumer ------------------------------------------------------- */

struct consumer {
    struct scene *scene;
    feedline_loader *loader;
    feedline_busy *gpu;             /* NULL: none */
    feedline_batch *held[MAX_HELD]; /* the oldest first */
    uint32_t n_held;
};

static feedline_batch *take(struct consumer *c)
{
    feedline_batch *b;
    int32_t status;
    late_ns = c->scene->late_ns;
    do {
        status = feedline_loader_next(c->loader, -1, &b);
        MUST(status);
    } while (status == FEEDLINE_END);
    late_ns = 0;
    return b;
}

static void use(struct consumer *c, feedline_batch *b)
{
    const struct scene *s = c->scene;
    if (c->gpu) {
        MUST(feedline_batch_wait(b, feedline_busy_stream(c->gpu)));
        if (s->kernel_ns > 0)
            MUST(feedline_busy_work(c->gpu, s->kernel_ns));
        if (s->synchronise)
            MUST(feedline_busy_wait(c->gpu));
    }
    if (s->phase)
        MUST(feedline_loader_phase_begin(c->loader, s->phase));
    nap(s->step_ns);
    if (s->phase)
        MUST(feedline_loader_phase_end(c->loader));
}

static void let_go(struct consumer *c, uint32_t keep)
{
    while (c->n_held > keep) {
        feedline_batch_release(c->held[0]);
        memmove(c->held, c->held + 1, --c->n_held * sizeof(c->held[0]));
    }
}

static void consume(struct consumer *c)
{
    struct scene *s = c->scene;
    for (uint32_t i = 0; i < s->warm + s->batches; i++) {
        if (i == s->warm && i > 0)
            MUST(feedline_loader_reset_stats(c->loader));
        if (s->before)
            s->before(s, c->loader, i);
        feedline_batch *b = take(c);
        use(c, b);
        c->held[c->n_held++] = b;
        let_go(c, s->hold);
    }
}

/* ---- The end ------------------------------------------------------------ */

static void gather(feedline_loader *l, struct scene_end *out)
{
    struct fdl_evidence e;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    struct feedline_verdict v = {.struct_size = sizeof(v)};
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    memset(out, 0, sizeof(*out));
    MUST(feedline_loader_get_verdict(l, &v));
    snprintf(out->codes[out->n_codes++], sizeof(out->codes[0]), "%s", v.code);
    snprintf(out->sentence, sizeof(out->sentence), "%s", v.sentence);
    snprintf(out->evidence, sizeof(out->evidence), "%s",
             v.evidence ? v.evidence : "");
    MUST(feedline_loader_get_stats(l, &stats));
    out->stall = (double)stats.wait_ns / (double)stats.wall_ns;
    fdl_evidence_gather(&l->sources, &e);
    uint32_t n = fdl_verdict_judge(&e, all);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].code, v.code) != 0)
            snprintf(out->codes[out->n_codes++], sizeof(out->codes[0]), "%s",
                     all[i].code);
}

void scene_play(struct scene *s, struct scene_end *out)
{
    struct fixture images;
    struct consumer c = {.scene = s};
    fixture_create(&images, SCENE_IMAGES);
    pad_files(s, &images);
    if (s->packed)
        pack_images(&images);
    slow_reads_set(&s->storage);
    c.loader = make_loader(s, &images);
    if (s->device)
        MUST(feedline_busy_create("cuda:0", &c.gpu));
    consume(&c);
    gather(c.loader, out);
    let_go(&c, 0);
    feedline_loader_destroy(c.loader);
    feedline_busy_destroy(c.gpu);
    fixture_remove(&images);
}

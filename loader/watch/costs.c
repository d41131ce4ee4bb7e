/* SPDX-License-Identifier: Apache-2.0 */
/* How the workers' time divides; see costs.h. */
#include "loader/watch/costs.h"

#include "base/compiler.h"
#include "loader/watch/outside.h"
#include "loader/watch/stats.h"
#include "loader/watch/watcher.h"

#include <string.h>

#define TOLD_LEAST 0.01 /* of the workers' time: less is not worth a line */

/* Then shares of this list and in a verdict are not nearly the same. */
#define MUCH_IDLE 0.10

/* An image worth a line: this large, and this much larger than the result. */
#define LARGE_PIXELS 1e6
#define MUCH_LARGER  4.0

#define BUILT_IN 3 /* decode, augment, mix */

/* ---- Gathering ----------------------------------------------------------- */

static void take_op(struct fdl_watch *watch, uint32_t stage,
                    struct fdl_op_cost *op)
{
    struct feedline_stage_stats s;
    fdl_stats_stage(watch, stage, &s);
    *op = (struct fdl_op_cost){
        .name = fdl_stats_stage_name(watch, stage),
        .label = fdl_stats_stage_label(watch, stage),
        .samples = s.items,
        .wall_ns = (int64_t)s.busy_ns,
        .cpu_ns = (int64_t)FDL_MIN(s.cpu_ns, s.busy_ns),
        .lock_ns = (int64_t)FDL_MIN(s.lock_ns, s.busy_ns),
        .unpack_ns = s.unpack_ns,
        .transform_ns = s.transform_ns,
    };
}

/* Costliest first, ties in the order of the path. */
static void insert(struct fdl_costs *c, const struct fdl_op_cost *op)
{
    if (c->n_ops == FDL_COSTS_MAX && c->ops[--c->n_ops].wall_ns >= op->wall_ns)
        op = &c->ops[c->n_ops]; /* more functions than there is room for */
    uint32_t at = c->n_ops;
    for (; at > 0 && c->ops[at - 1].wall_ns < op->wall_ns; at--)
        c->ops[at] = c->ops[at - 1];
    c->ops[at] = *op;
    c->n_ops++;
}

static void insert_used(struct fdl_costs *c, const struct fdl_op_cost *op)
{
    if (op->samples > 0)
        insert(c, op);
}

/* cpu_ns: of all workers, busy; customs know theirs. */
static void share_cpu(struct fdl_op_cost built_in[BUILT_IN], int64_t cpu_ns)
{
    int64_t wall = 0;
    for (uint32_t i = 0; i < BUILT_IN; i++)
        wall += built_in[i].wall_ns;
    double part =
        wall > 0 ? (double)FDL_MAX(cpu_ns, INT64_C(0)) / (double)wall : 0;
    for (uint32_t i = 0; i < BUILT_IN; i++)
        built_in[i].cpu_ns =
            (int64_t)((double)built_in[i].wall_ns * FDL_MIN(part, 1.0));
}

static void add_pixels(struct fdl_watch *watch, struct fdl_costs *c)
{
    struct fdl_pixel_sums sums;
    fdl_stats_pixels(watch, &sums);
    c->source_pixels = c->output_pixels = -1;
    if (sums.samples == 0)
        return;
    c->source_pixels = (double)sums.source / (double)sums.samples;
    c->output_pixels = (double)sums.output / (double)sums.samples;
}

static void add_source(struct fdl_watch *watch, struct fdl_costs *c)
{
    struct fdl_user_sums sums;
    const char *name = fdl_stats_user_reads(watch, &sums);
    c->source = (struct fdl_op_cost){
        .name = name,
        .label = name,
        .samples = sums.calls,
        .wall_ns = (int64_t)sums.wall_ns,
        .cpu_ns = (int64_t)FDL_MIN(sums.cpu_ns, sums.wall_ns),
        .lock_ns = (int64_t)FDL_MIN(sums.lock_ns, sums.wall_ns),
    };
}

/* Of another loader: in what functions its workers are. */
static void get_outside(struct fdl_watch *watch, struct fdl_costs *out)
{
    const struct fdl_functions *s = &watch->outside->functions;
    memset(out, 0, sizeof(*out));
    out->source_pixels = out->output_pixels = -1;
    fdl_lock(&watch->books.lock);
    out->worker_ns = s->all_ns;
    out->blocked_ns = s->idle_ns;
    bool enough = s->all_ns >= FDL_FUNCTIONS_LEAST_NS;
    for (uint32_t i = 0; i < s->n_rows && enough; i++) {
        const struct fdl_function *row = &s->rows[i];
        if ((double)row->wall_ns >= TOLD_LEAST * (double)s->all_ns)
            insert(out, &(struct fdl_op_cost){.name = row->name,
                                              .label = row->name,
                                              .samples = watch->books.samples,
                                              .wall_ns = row->wall_ns,
                                              .cpu_ns = row->cpu_ns});
    }
    fdl_unlock(&watch->books.lock);
}

void fdl_costs_get(struct fdl_watch *watch, struct fdl_costs *out)
{
    if (watch->outside) {
        get_outside(watch, out);
        return;
    }
    struct feedline_worker_stats w;
    struct fdl_op_cost built_in[BUILT_IN] = {0}, custom;
    uint32_t end = FEEDLINE_STAGE_COUNT + fdl_stats_custom_count(watch);
    memset(out, 0, sizeof(*out));
    fdl_stats_workers(watch, &w);
    int64_t cpu = (int64_t)w.cpu_ns;
    out->worker_ns = (int64_t)(w.wall_ns - FDL_MIN(w.parked_ns, w.wall_ns));
    out->read_ns = (int64_t)w.read_ns;
    out->blocked_ns = (int64_t)w.blocked_ns;
    out->starved_ns = (int64_t)w.starved_ns;
    for (uint32_t i = FEEDLINE_STAGE_COUNT; i < end; i++) {
        take_op(watch, i, &custom);
        cpu -= custom.cpu_ns;
        insert_used(out, &custom);
    }
    take_op(watch, FEEDLINE_STAGE_DECODE, &built_in[0]);
    take_op(watch, FEEDLINE_STAGE_AUGMENT, &built_in[1]);
    if (end < fdl_stats_stage_count(watch))
        take_op(watch, end, &built_in[2]);
    share_cpu(built_in, cpu);
    for (uint32_t i = 0; i < BUILT_IN; i++)
        insert_used(out, &built_in[i]);
    add_pixels(watch, out);
    add_source(watch, out);
}

/* ---- In words ------------------------------------------------------------ */

static double part_of(int64_t ns, int64_t whole)
{
    double part = whole > 0 ? (double)ns / (double)whole : 0;
    return FDL_MIN(part, 1.0);
}

static void say_time(double ns, struct fdl_text *t)
{
    if (ns < 1e6)
        fdl_text_add(t, "%.3g us", ns / 1e3);
    else if (ns < 1e9)
        fdl_text_add(t, "%.3g ms", ns / 1e6);
    else
        fdl_text_add(t, "%.3g s", ns / 1e9);
}

static void say_calls(const struct fdl_op_cost *op, struct fdl_text *t)
{
    if (op->samples > 0) { /* else another loader does not say */
        say_time((double)op->wall_ns / (double)op->samples, t);
        fdl_text_add(t, " a sample, ");
    }
    fdl_text_add(t, "%.0f %% on a core",
                 100 * part_of(op->cpu_ns, op->wall_ns));
    double locked = part_of(op->lock_ns, op->wall_ns);
    if (locked >= TOLD_LEAST)
        fdl_text_add(t, ", %.0f %% waiting for a lock", 100 * locked);
}

static void say_op(const struct fdl_costs *c, const struct fdl_op_cost *op,
                   struct fdl_text *t)
{
    fdl_text_add(t, "- %s: ", op->label);
    say_calls(op, t);
    fdl_text_add(t, ", %.0f %% of the workers' time",
                 100 * part_of(op->wall_ns, c->worker_ns));
    if (op->unpack_ns > 0)
        fdl_text_add(t,
                     " (of it %.0f %% to unpack coefficients, %.0f %% to "
                     "transform them)",
                     100 * part_of(op->unpack_ns, op->wall_ns),
                     100 * part_of(op->transform_ns, op->wall_ns));
    fdl_text_add(t, "\n");
}

static void say_idle(const struct fdl_costs *c, const char *what, int64_t ns,
                     struct fdl_text *t)
{
    double part = part_of(ns, c->worker_ns);
    if (part < TOLD_LEAST)
        return;
    fdl_text_add(t, "- %s: %.0f %% of the workers' time%s\n", what, 100 * part,
                 part < MUCH_IDLE ? ""
                                  : " (the shares of this list are of all of "
                                    "it, a verdict's of the rest)");
}

static void say_source(const struct fdl_op_cost *source, struct fdl_text *t)
{
    if (source->samples == 0)
        return;
    fdl_text_add(t, "Your reader `%s`: ", source->label);
    say_calls(source, t);
    fdl_text_add(t, "\n");
}

void fdl_costs_say(const struct fdl_costs *c, struct fdl_text *t)
{
    say_source(&c->source, t);
    if (c->n_ops == 0)
        return;
    fdl_text_add(t, "What the workers do:\n");
    for (uint32_t i = 0; i < c->n_ops; i++)
        say_op(c, &c->ops[i], t);
    say_idle(c, "reading", c->read_ns, t);
    say_idle(c, "idle, waiting for reads", c->starved_ns, t);
    say_idle(c, "idle, as enough batches are ready", c->blocked_ns, t);
    if (c->source_pixels > LARGE_PIXELS &&
        c->source_pixels > MUCH_LARGER * c->output_pixels)
        fdl_text_add(t,
                     "An image has %.3g megapixels, what is made of it "
                     "%.2g.\n",
                     c->source_pixels / 1e6, c->output_pixels / 1e6);
}

/* ---- As JSON ------------------------------------------------------------- */

static void write_calls(const struct fdl_op_cost *op, struct fdl_json *j)
{
    fdl_json_string(j, "name", op->name);
    fdl_json_string(j, "label", op->label);
    fdl_json_int(j, "samples", (int64_t)op->samples);
    fdl_json_double(j, "wall_seconds", (double)op->wall_ns / 1e9);
    fdl_json_double(j, "cpu_seconds", (double)op->cpu_ns / 1e9);
    fdl_json_double(j, "lock_seconds", (double)op->lock_ns / 1e9);
}

void fdl_costs_json(const struct fdl_costs *c, struct fdl_json *j)
{
    if (c->source.label) {
        fdl_json_begin_object(j, "reader");
        write_calls(&c->source, j);
        fdl_json_end_object(j);
    }
    fdl_json_begin_array(j, "operations");
    for (uint32_t i = 0; i < c->n_ops; i++) {
        const struct fdl_op_cost *op = &c->ops[i];
        fdl_json_begin_object(j, NULL);
        write_calls(op, j);
        fdl_json_double(j, "worker_fraction",
                        part_of(op->wall_ns, c->worker_ns));
        fdl_json_end_object(j);
    }
    fdl_json_end_array(j);
}

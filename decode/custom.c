/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run function sees interleaved pixels, which most code out there expects; so
 * the planes are interleaved into the second image and taken apart again: 60 us
 * for 224 x 224, and only in pipelines with such an operation.
 *
 * Wall and CPU time are measured apart: a function that sleeps takes a worker,
 * not a core, and the statistics have to show which.
 */
#include "decode/custom.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "decode/plan/canvas.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct fdl_custom {
    struct fdl_op op; /* first: an operation is its custom one */
    struct feedline_op_def def;
    char *name, *label;
    uint32_t index;
    _Atomic uint32_t refs;
};

/* Drawn values: where and when it runs. */
struct custom_step {
    const struct fdl_custom *custom;
    uint64_t epoch, sample;
    uint32_t place, copy;
    int32_t view; /* FDL_EVERY_VIEW: that of the canvas */
    struct fdl_rng rng;
};

/* ---- Pixels ------------------------------------------------------------- */

static void interleave(const struct fdl_image *image, uint8_t *to)
{
    size_t channels = (size_t)image->channels;
    for (size_t c = 0; c < channels; c++) {
        const uint8_t *from = image->data + c * image->plane;
        for (size_t i = 0; i < image->plane; i++)
            to[i * channels + c] = from[i];
    }
}

static void take_apart(const uint8_t *from, struct fdl_image *image)
{
    size_t channels = (size_t)image->channels;
    for (size_t c = 0; c < channels; c++) {
        uint8_t *to = image->data + c * image->plane;
        for (size_t i = 0; i < image->plane; i++)
            to[i] = from[i * channels + c];
    }
}

/* ---- Running ------------------------------------------------------------ */

/* What a run function is called with is the beginning of this. */
struct running {
    struct feedline_op_call call;
    int64_t *waited_ns;
};

void fdl_custom_waited(const struct feedline_op_call *call, int64_t ns)
{
    const struct running *r = (const struct running *)(const void *)call;
    if (ns > 0 && ns <= INT64_MAX - *r->waited_ns)
        *r->waited_ns += ns;
}

/* Wall, CPU and waiting time of one call, in the sample's cost. */
static int32_t time_run(const struct fdl_custom *custom, struct running *r,
                        struct fdl_custom_cost *cost)
{
    int64_t waited = 0;
    r->waited_ns = &waited;
    int64_t cpu = fdl_thread_cpu_ns(), begin = fdl_now_ns();
    r->call.begin_ns = begin;
    fdl_thread_open_signals();
    int32_t status = custom->def.run(&r->call);
    fdl_thread_block_signals();
    int64_t wall = fdl_now_ns() - begin;
    cost->wall_ns += wall;
    cost->cpu_ns += fdl_thread_cpu_ns() - cpu;
    cost->lock_ns += FDL_MIN(waited, wall);
    cost->runs++;
    return status;
}

static int32_t call(const struct custom_step *s, struct fdl_canvas *canvas,
                    uint8_t *pixels, void *scratch)
{
    const struct fdl_custom *custom = s->custom;
    const struct fdl_image *image = &canvas->image;
    struct feedline_rng rng = {s->rng};
    struct running r;
    r.call = (struct feedline_op_call){
        .struct_size = sizeof(r.call),
        .place = s->place,
        .epoch = s->epoch,
        .sample_index = (int64_t)s->sample,
        .copy = s->copy,
        .view = s->view == FDL_EVERY_VIEW ? canvas->view : (uint32_t)s->view,
        .image = {.data = pixels,
                  .row_bytes = (int64_t)image->width * image->channels,
                  .width = image->width,
                  .height = image->height,
                  .channels = image->channels},
        .rng = &rng,
        .scratch = scratch,
        .user = custom->def.user,
    };
    struct fdl_custom_cost *cost = &canvas->cost->custom[custom->index];
    fdl_canvas_tell(canvas, FDL_STEP_CUSTOM + custom->index);
    int32_t status = time_run(custom, &r, cost);
    canvas->cost->clock_reads += 4;
    fdl_canvas_tell(canvas, FDL_STEP_AUGMENT);
    if (status == FEEDLINE_OK)
        return FEEDLINE_OK;
    cost->errors++;
    if (status > 0 || strcmp(fdl_status_name(status), "UNKNOWN") == 0)
        return fdl_fail(FEEDLINE_EUSER, "%s returned %d", custom->name,
                        (int)status);
    return fdl_fail(status, "%s returned %s", custom->name,
                    fdl_status_name(status));
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *canvas)
{
    struct custom_step s;
    struct fdl_image *image = &canvas->image, spare;
    uint8_t *scratch = NULL;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status =
        fdl_canvas_spare(canvas, image->width, image->height, &spare);
    if (!status && s.custom->def.scratch_bytes)
        status =
            fdl_canvas_scratch(canvas, FDL_SCRATCH_CUSTOM,
                               (size_t)s.custom->def.scratch_bytes, &scratch);
    if (status)
        return status;
    interleave(image, spare.data);
    status = call(&s, canvas, spare.data, scratch);
    take_apart(spare.data, image);
    return status;
}

static const struct fdl_step_kind kind = {.run = run};

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)o;
    struct custom_step s = {
        .custom = (const struct fdl_custom *)(const void *)plan->op,
        .epoch = plan->epoch,
        .sample = plan->sample,
        .place = plan->place,
        .copy = plan->copy,
        .view = plan->view,
        .rng = *rng,
    };
    fdl_plan_add(plan, &kind, &s, sizeof(s));
    return FEEDLINE_OK;
}

/* ---- Life --------------------------------------------------------------- */

static bool is_lower_snake(const char *name)
{
    if (*name < 'a' || *name > 'z')
        return false;
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* The first definitions ended before label. */
#define FIRST_SIZE offsetof(struct feedline_op_def, label)

static int32_t check(const struct feedline_op_def *def)
{
    if (def->struct_size < FIRST_SIZE)
        return fdl_fail(FEEDLINE_EINVAL,
                        "struct_size of the definition is %u, less than %zu: "
                        "set it to sizeof",
                        def->struct_size, FIRST_SIZE);
    if (def->flags != 0)
        return fdl_fail(FEEDLINE_EABI,
                        "flags of the definition are 0x%x; this version knows "
                        "none",
                        def->flags);
    if (!def->run || !def->name)
        return fdl_fail(FEEDLINE_EINVAL, "%s of the definition is NULL",
                        def->name ? "run" : "name");
    if (!is_lower_snake(def->name))
        return fdl_fail(FEEDLINE_EINVAL,
                        "'%s' is not a valid operation name: lower-case "
                        "letters, digits and underscores, a letter first",
                        def->name);
    if (def->scratch_bytes > SIZE_MAX)
        return fdl_fail_memory(def->scratch_bytes, "scratch of an operation");
    return FEEDLINE_OK;
}

static void destroy(struct fdl_custom *custom)
{
    free(custom->label);
    free(custom->name);
    free(custom);
}

int32_t fdl_custom_create(const struct feedline_op_def *def, uint32_t index,
                          struct fdl_custom **out)
{
    *out = NULL;
    int32_t status = check(def);
    if (status)
        return status;
    struct fdl_custom *custom = calloc(1, sizeof(*custom));
    if (!custom)
        return fdl_fail_memory(sizeof(*custom), "an operation");
    memcpy(&custom->def, def, FDL_MIN(def->struct_size, sizeof(*def)));
    const char *label = custom->def.label ? custom->def.label : def->name;
    custom->name = fdl_strdup(def->name);
    custom->label = fdl_strdup(label);
    if (!custom->name || !custom->label) {
        destroy(custom);
        return fdl_fail_memory(strlen(def->name) + 1 + strlen(label) + 1,
                               "a name");
    }
    custom->def.name = custom->name;
    custom->def.label = custom->label;
    custom->index = index;
    custom->op = (struct fdl_op){
        .name = custom->name,
        .help = "registered by the program",
        .pixels = true,
        .plan = plan,
    };
    atomic_init(&custom->refs, 1);
    *out = custom;
    return FEEDLINE_OK;
}

struct fdl_custom *fdl_custom_ref(struct fdl_custom *custom)
{
    atomic_fetch_add_explicit(&custom->refs, 1, memory_order_relaxed);
    return custom;
}

void fdl_custom_unref(struct fdl_custom *custom)
{
    if (!custom)
        return;
    /* acq_rel: the last one sees what the others did. */
    if (atomic_fetch_sub_explicit(&custom->refs, 1, memory_order_acq_rel) > 1)
        return;
    destroy(custom);
}

const char *fdl_custom_label(const struct fdl_custom *custom)
{
    return custom->label;
}

const struct fdl_op *fdl_custom_op(const struct fdl_custom *custom)
{
    return &custom->op;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work itself: whether more workers would help, and which operation takes
 * the time.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define MOSTLY          0.50
#define MUCH_OF_OUTSIDE 0.25 /* of their workers' time, in one function */
#define LARGE_IMAGES    16.0 /* times the pixels of the result */
#define HUFFMAN_OF_FAST 0.90 /* of what quality=fast takes */
#define MUCH_HUFFMAN    0.30
#define MUCH_FOR_DEVICE 0.30 /* of it, for what a device could decode */

/* Work of somebody else's workers is split among functions of libraries that
 * call each other; the first of them says what it is about. */
double fdl_told_part(const struct fdl_facts *f)
{
    const struct fdl_costly_op *op = &f->e->op;
    if (!op->name || op->samples == 0)
        return 0;
    double share =
        fdl_facts_ratio((double)op->wall_ns, (double)f->e->worker_busy_ns);
    return share >= (f->e->outside ? MUCH_OF_OUTSIDE : MOSTLY) ? share : 0;
}

/* ; "blur": 10.9 ms a sample, 2 % on a core, 88 % of the workers' time */
void fdl_say_operation(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_costly_op *op = &f->e->op;
    double wall = (double)op->wall_ns, cpu = (double)op->cpu_ns;
    double share = fdl_told_part(f);
    if (share == 0)
        return;
    struct fdl_phrase name = fdl_say_name(op->name);
    struct fdl_phrase each = fdl_say_duration(wall / (double)op->samples);
    if (op->cpu_ns >= 0)
        fdl_say_clause(d,
                       "; %s: %s a sample, %s on a core, %s of the "
                       "workers' time",
                       name.at, each.at,
                       fdl_say_percent(fdl_facts_ratio(cpu, wall)).at,
                       fdl_say_percent(share).at);
    else
        fdl_say_clause(d, "; %s: %s a sample, %s of the workers' time", name.at,
                       each.at, fdl_say_percent(share).at);
    fdl_note_name(d, "operation", op->name);
    fdl_note(d, "operation_share", share);
}

void fdl_act_on_operation(const struct fdl_facts *f, struct fdl_draft *d)
{
    double share = fdl_told_part(f);
    if (share > 0)
        fdl_act(d, " Or make %s cheaper, which takes %s of the workers' time.",
                fdl_say_name(f->e->op.name).at, fdl_say_percent(share).at);
}

static void note_workers(const struct fdl_facts *f, struct fdl_draft *d)
{
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "useful_workers", f->useful_workers);
    fdl_note(d, "on_core", f->part[PART_CORE]);
    fdl_note(d, "asleep", f->part[PART_SLEEP]);
}

static void bound_gain(struct fdl_draft *d, double most)
{
    d->v.predicted_gain = fmin(d->v.predicted_gain, most);
}

/* ---- Asleep ------------------------------------------------------------- */

static bool is_asleep(const struct fdl_facts *f)
{
    return f->part[PART_SLEEP] >= f->part[PART_CORE];
}

static void say_asleep(const struct fdl_facts *f, struct fdl_draft *d)
{
    fdl_say(d, " on %s; they slept or waited for %s of their time",
            fdl_say_workers(f).at, fdl_say_percent(f->part[PART_SLEEP]).at);
    fdl_say_operation(f, d);
    fdl_say_second(f, d, PART_SLEEP);
    fdl_say(d, ".");
}

/* The tuner tried more workers in vain: something admits one at a time. */
static void say_does_not_scale(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    d->v.code = "LOCK_BOUND";
    fdl_say(d, " on %s. The work does not scale: %u workers got %s more done",
            fdl_say_workers(f).at, e->tried_workers,
            fdl_say_percent(fmax(e->tried_gain, 0)).at);
    if (e->trying)
        fdl_say(d, " than %u", e->tried_from);
    fdl_say_operation(f, d);
    fdl_say(d, ".");
    fdl_act(d, "Look for what the operation waits for: a lock, a file or a "
               "service that takes one call at a time. More workers would only "
               "queue for it.");
    fdl_note(d, "tried_workers", e->tried_workers);
    fdl_note(d, "tried_gain", e->tried_gain);
}

static bool judge_scaling(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->scales || !is_asleep(f))
        return false;
    d->v.predicted_gain = 0;
    say_does_not_scale(f, d);
    return true;
}

/* ---- More workers ------------------------------------------------------- */

static bool has_room(const struct fdl_facts *f)
{
    return f->useful_workers > f->workers;
}

static bool judge_tunable(const struct fdl_facts *f, struct fdl_draft *d)
{
    double gain = d->v.predicted_gain;
    double at_work = fmin(f->useful_workers, f->filling);
    if (!has_room(f))
        return false;
    d->v.code = "PREP_BOUND_TUNABLE";
    d->v.predicted_gain = fmin(gain, at_work / f->workers - 1);
    d->instead = "Make the work of a sample cheaper.";
    if (is_asleep(f)) {
        say_asleep(f, d);
        fdl_act(d, "Use more workers: ");
        fdl_move_workers(f, d, f->useful_workers);
        fdl_act(d, "; while one waits, others work.");
        if (!f->e->tuning) /* else its sentence follows, about the workers */
            fdl_act(d, " Or let each wait less: keep what it fetches, or ask "
                       "for several samples at once.");
        return true;
    }
    fdl_say(d, " on %s with %s", fdl_say_workers(f).at, fdl_say_cores(f).at);
    fdl_say_operation(f, d);
    fdl_say_second(f, d, PART_CORE);
    fdl_say(d, ".");
    fdl_act(d, "Use more workers: ");
    fdl_move_workers(f, d, f->useful_workers);
    fdl_act(d, "; there are cores for them.");
    if (!f->e->tuning)
        fdl_act_on_operation(f, d);
    return true;
}

/* It waits, and more workers are not allowed, or would not help. */
static bool judge_asleep(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (!is_asleep(f))
        return false;
    d->v.code = "PREP_BOUND_TUNABLE";
    bound_gain(d, fdl_limit_awake(f));
    say_asleep(f, d);
    fdl_act(d, "Let the operation wait for less: keep what it fetches, or ask "
               "for several samples at once");
    if (e->workers_auto && e->workers_max > 0 && f->workers >= e->workers_max)
        fdl_act(d, "; or raise %s, which holds the number of workers",
                fdl_say_option(f, "workers_max").at);
    fdl_act(d, ".");
    return true;
}

/* ---- The cores compute -------------------------------------------------- */

/* Of the workers' time. */
static double huffman_part(const struct fdl_facts *f)
{
    return fdl_facts_ratio((double)f->e->huffman_ns,
                           (double)f->e->worker_busy_ns);
}

static double custom_part(const struct fdl_facts *f)
{
    return fdl_facts_ratio((double)f->e->custom_ns,
                           (double)f->e->worker_busy_ns);
}

static double times_the_output(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    if (!(e->source_pixels > 0) || !(e->output_pixels > 0))
        return 0;
    return fmin(e->source_pixels / e->output_pixels, 1e9);
}

static bool is_large(const struct fdl_facts *f)
{
    return times_the_output(f) >= LARGE_IMAGES && custom_part(f) < MOSTLY;
}

/* Huffman codes are nearly all that it leaves (docs/pixels.md). */
static double gain_of_fast(const struct fdl_facts *f)
{
    double huffman = huffman_part(f);
    return huffman > 0 ? fmax(HUFFMAN_OF_FAST / huffman - 1, 0) : MAX_GAIN;
}

static void say_large(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "LARGE_IMAGES";
    fdl_say(d, "an image has %s megapixels, %s times what is made of it",
            fdl_say_number(f->e->source_pixels / 1e6, true).at,
            fdl_say_number(times_the_output(f), false).at);
    fdl_act(d,
            "Set %s, which decodes large JPEGs at a fraction of their size, or "
            "store the images smaller, near the size trained on.",
            fdl_say_word(f, "quality", "fast").at);
    bound_gain(d, gain_of_fast(f));
    fdl_note(d, "source_pixels", f->e->source_pixels);
    fdl_note(d, "output_pixels", f->e->output_pixels);
}

/* A packed file takes some of that time, too. */
static void act_on_huffman(const struct fdl_facts *f, struct fdl_draft *d)
{
    double part = huffman_part(f);
    fdl_act(d,
            "Store the images without Huffman codes, which take %s of the "
            "workers' time: `loaderbench pack --store=packed`, for up to %s "
            "more images per second; ",
            fdl_say_percent(part).at,
            fdl_say_percent(fdl_facts_gain(part, 1)).at);
    if (f->e->jpeg_index_off)
        fdl_act(d, "let an index save a part of it (%s); ",
                fdl_say_word(f, "jpeg_index", "true").at);
    fdl_act(d, "or use more cores.");
    bound_gain(d, fdl_facts_gain(part, 1));
    fdl_note(d, "huffman", part);
}

/* A device that could decode: packed samples and JPEGs that the index knows. */
static void act_by_device(const struct fdl_facts *f, struct fdl_draft *d)
{
    double part = fdl_facts_device_part(f->e);
    fdl_act(d,
            "Let the GPU decode, which would take %s of the workers' time from "
            "them: %s, or %s to have it measured",
            fdl_say_percent(part).at, fdl_say_word(f, "decode", "device").at,
            fdl_say_word(f, "decode", "auto").at);
    if (f->e->huffman_ns > 0 && f->e->jpeg_index_off)
        fdl_act(d, ", with %s", fdl_say_word(f, "jpeg_index", "true").at);
    fdl_act(d, "; or use more cores.");
    bound_gain(d, fdl_facts_gain(part, 1));
    fdl_note(d, "left_to_device", part);
}

static void act_on_work(const struct fdl_facts *f, struct fdl_draft *d)
{
    double custom = custom_part(f);
    bool could =
        f->e->device_could && fdl_facts_device_part(f->e) >= MUCH_FOR_DEVICE;
    if (custom >= MOSTLY) {
        bound_gain(d, fdl_facts_gain(custom, 1));
        fdl_act(d,
                "Make the custom operations cheaper, which take %s of the "
                "workers' time, or use a machine with more cores.",
                fdl_say_percent(custom).at);
    } else if (could)
        act_by_device(f, d);
    else if (huffman_part(f) >= MUCH_HUFFMAN)
        act_on_huffman(f, d);
    else
        fdl_act(d,
                "Make images cheaper to decode: store them near the size "
                "trained on, set %s, or let the GPU finish them (%s); or use "
                "more cores.",
                fdl_say_word(f, "quality", "fast").at,
                fdl_say_word(f, "finish", "device").at);
}

static void say_saturated(const struct fdl_facts *f, struct fdl_draft *d)
{
    bool large = is_large(f);
    fdl_say(d, " on %s with %s", fdl_say_workers(f).at, fdl_say_cores(f).at);
    if (f->worker_cores > 0)
        fdl_say(d, ", of which they used %s",
                fdl_say_number(f->worker_cores, true).at);
    if (large) {
        fdl_say(d, "; ");
        say_large(f, d);
    } else {
        d->v.code = "PREP_BOUND_CPU_SATURATED";
        fdl_say_operation(f, d);
        act_on_work(f, d);
    }
    if (fdl_facts_many(f, f->outside))
        fdl_say_clause(d, "; other processes used %s cores",
                       fdl_say_number(f->outside, true).at);
    else
        fdl_say_second(f, d, PART_CORE);
    fdl_say(d, ".");
}

void fdl_judge_work(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (!judge_scaling(f, d) && !judge_tunable(f, d) && !judge_asleep(f, d))
        say_saturated(f, d);
    note_workers(f, d);
}

bool fdl_judge_large(const struct fdl_facts *f, struct fdl_draft *d)
{
    double computed = 1 - f->part[PART_SLEEP] - f->part[PART_LOCK];
    if (f->stall < FED_STALL || f->share[CAUSE_PREP] < CONTRIBUTING ||
        !is_large(f) || computed < MOSTLY)
        return false;
    d->v.predicted_gain =
        fdl_facts_gain(fdl_facts_lost(f, CAUSE_PREP), f->of_ns);
    d->weight = 0.9 * f->stall * f->share[CAUSE_PREP] * computed;
    fdl_say(d, "Decoding costs more than necessary: ");
    say_large(f, d);
    fdl_say(d, ".");
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of a verdict: numbers as people write them, with a decimal point in
 * every locale, and the evidence as JSON. Phrases are values of 72 bytes, so a
 * sentence made of half a dozen fits its 384 bytes easily.
 */
#include "base/json.h"
#include "profiler/verdict/verdict_own.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "12" or "1.2" */
struct fdl_phrase fdl_say_number(double value, bool tenths)
{
    struct fdl_phrase t;
    double whole = value > 0 ? fmin(value, 1e15) : 0; /* NaN is 0 */
    uint64_t n = (uint64_t)(whole * (tenths ? 10 : 1) + 0.5);
    if (tenths)
        snprintf(t.at, sizeof(t.at), "%" PRIu64 ".%u", n / 10,
                 (unsigned)(n % 10));
    else
        snprintf(t.at, sizeof(t.at), "%" PRIu64, n);
    return t;
}

/* "2.1 s", "340 ms", "10.9 ms", "12 us" */
struct fdl_phrase fdl_say_duration(double ns)
{
    struct fdl_phrase t;
    double s = fmax(ns, 0) / 1e9;
    if (s >= 1)
        snprintf(t.at, sizeof(t.at), "%.40s s", fdl_say_number(s, s < 100).at);
    else if (s >= 1e-3)
        snprintf(t.at, sizeof(t.at), "%.40s ms",
                 fdl_say_number(s * 1e3, s < 0.02).at);
    else
        snprintf(t.at, sizeof(t.at), "%.40s us",
                 fdl_say_number(s * 1e6, false).at);
    return t;
}

/* "43 %", "0.4 %" */
struct fdl_phrase fdl_say_percent(double part)
{
    struct fdl_phrase t;
    snprintf(t.at, sizeof(t.at), "%.40s %%",
             fdl_say_number(part * 100, part > 0 && part < 0.1).at);
    return t;
}

/* "1 worker", "2 workers" */
struct fdl_phrase fdl_say_count(double n, const char *noun, const char *nouns)
{
    struct fdl_phrase t;
    snprintf(t.at, sizeof(t.at), "%.20s %.20s", fdl_say_number(n, false).at,
             n == 1 ? noun : nouns);
    return t;
}

struct fdl_phrase fdl_say_workers(const struct fdl_facts *f)
{
    return fdl_say_count(f->workers, "worker", "workers");
}

struct fdl_phrase fdl_say_cores(const struct fdl_facts *f)
{
    double cores = f->granted;
    struct fdl_phrase t;
    if (cores == floor(cores))
        return fdl_say_count(cores, "usable core", "usable cores");
    snprintf(t.at, sizeof(t.at), "%.20s usable cores",
             fdl_say_number(cores, true).at);
    return t;
}

struct fdl_term fdl_say_option(const struct fdl_facts *f, const char *option)
{
    return fdl_term(f->terms, option);
}

struct fdl_term fdl_say_memory(const struct fdl_facts *f)
{
    const char *option = f->e->memory_option;
    return fdl_say_option(f, option ? option : "memory_budget");
}

struct fdl_term fdl_say_set(const struct fdl_facts *f, const char *option,
                            double value)
{
    long long number = (long long)fmin(fmax(value, 0), 1e9);
    const char *theirs = f->e->outside_option;
    struct fdl_term t;
    if (!theirs || strcmp(option, "workers") != 0)
        return fdl_term_set_number(f->terms, option, number);
    snprintf(t.at, sizeof(t.at), "%.40s=%lld", theirs, number);
    return t;
}

struct fdl_term fdl_say_word(const struct fdl_facts *f, const char *option,
                             const char *word)
{
    return fdl_term_set(f->terms, option, word);
}

/* Names come from users and from the kernel, and go to a terminal. */
struct fdl_phrase fdl_say_name(const char *name)
{
    struct fdl_phrase t;
    snprintf(t.at, sizeof(t.at), "\"%.63s\"", name ? name : "");
    for (char *c = t.at; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return t;
}

static void append(char *to, size_t capacity, const char *fmt, va_list args)
{
    size_t length = strlen(to);
    vsnprintf(to + length, capacity - length, fmt, args);
}

void fdl_say(struct fdl_draft *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append(d->v.sentence, sizeof(d->v.sentence), fmt, args);
    va_end(args);
}

void fdl_act(struct fdl_draft *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append(d->v.action, sizeof(d->v.action), fmt, args);
    va_end(args);
}

/* Room for what must follow: a full stop, and a remark on the GPU's memory. */
#define KEPT_FREE 72u

static void append_if(struct fdl_draft *d, size_t kept, const char *fmt,
                      va_list args)
{
    char clause[256];
    size_t length = strlen(d->v.sentence);
    int n = vsnprintf(clause, sizeof(clause), fmt, args);
    if (n > 0 && (size_t)n < sizeof(clause) &&
        length + (size_t)n + kept < sizeof(d->v.sentence))
        memcpy(d->v.sentence + length, clause, (size_t)n + 1);
}

void fdl_say_clause(struct fdl_draft *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append_if(d, KEPT_FREE, fmt, args);
    va_end(args);
}

void fdl_say_last(const struct fdl_facts *f, struct fdl_draft *d,
                  const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append_if(d, f->e->gpu_memory_used >= GPU_FULL ? KEPT_FREE : 0, fmt, args);
    va_end(args);
}

void fdl_move_workers(const struct fdl_facts *f, struct fdl_draft *d, double to)
{
    fdl_act(d, "%s (%s)", fdl_say_number(to, false).at,
            fdl_say_set(f, "workers", to).at);
    d->v.moves.workers = (to > f->workers) - (to < f->workers);
    d->v.workers_to = to;
}

void fdl_say_stall(const struct fdl_facts *f, struct fdl_draft *d)
{
    fdl_say(d,
            f->device ? "The GPU was idle for lack of images %s of the time "
                        "(%s of %s)"
            : f->stall >= FED_STALL && f->stall < 0.5
                ? "The consumer waited %s of the time (%s of %s, the rest is "
                  "its own work)"
                : "The consumer waited %s of the time (%s of %s)",
            fdl_say_percent(f->stall).at, fdl_say_duration(f->stalled_ns).at,
            fdl_say_duration(f->of_ns).at);
}

void fdl_note(struct fdl_draft *d, const char *key, double value)
{
    if (value == -1 || !isfinite(value) || d->n_notes == FDL_COUNT_OF(d->notes))
        return;
    d->notes[d->n_notes].key = key;
    d->notes[d->n_notes].text = NULL;
    d->notes[d->n_notes++].value = value;
}

void fdl_note_name(struct fdl_draft *d, const char *key, const char *text)
{
    if (!text || d->n_notes == FDL_COUNT_OF(d->notes))
        return;
    d->notes[d->n_notes].key = key;
    d->notes[d->n_notes++].text = text;
}

/* Four decimals cover the precision of the measurements. */
static double rounded(double value)
{
    return fabs(value) < 1e11 ? round(value * 1e4) / 1e4 : value;
}

void fdl_say_evidence(const struct fdl_facts *f, struct fdl_draft *d)
{
    struct fdl_json j;
    uint64_t needed;
    fdl_json_init(&j, d->v.evidence, sizeof(d->v.evidence));
    fdl_json_begin_object(&j, NULL);
    fdl_json_double(&j, "stall", rounded(f->stall));
    if (d->v.share > 0)
        fdl_json_double(&j, "share", rounded(d->v.share));
    fdl_json_double(&j, "batches", (double)f->e->batches);
    for (uint32_t i = 0; i < d->n_notes; i++) {
        struct fdl_phrase name = fdl_say_name(d->notes[i].text);
        name.at[strlen(name.at) - 1] = 0; /* without quotes */
        if (d->notes[i].text)
            fdl_json_string(&j, d->notes[i].key, name.at + 1);
        else
            fdl_json_double(&j, d->notes[i].key, rounded(d->notes[i].value));
    }
    fdl_json_end_object(&j);
    fdl_json_finish(&j, &needed); /* fits: 12 pairs of less than 51 bytes, and
                                     3 names of less than 86 */
}

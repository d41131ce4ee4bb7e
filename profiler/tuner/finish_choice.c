/* SPDX-License-Identifier: Apache-2.0 */
/* Who finishes batches; finish_choice.h has the rules. */
#include "profiler/tuner/finish_choice.h"

#include "base/compiler.h"
#include "profiler/measure/copy_fit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LITTLE_SAVED 0.10  /* of the time of a copy */
#define CORES_BUSY   0.50  /* of the usable ones, taken by others */
#define AS_FAST      0.005 /* of a period, nobody sees more or less */

static void say(struct fdl_finish_choice *out, const char *fmt, ...)
    FDL_PRINTF(2, 3);

static void say(struct fdl_finish_choice *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->reason, sizeof(out->reason), fmt, args);
    va_end(args);
}

/* A number with one digit behind the point, with a point in every locale. */
struct tenths {
    char at[24];
};

static struct tenths tenths(double value)
{
    struct tenths t;
    uint64_t n = (uint64_t)(FDL_MIN(FDL_MAX(value, 0), 1e15) * 10 + 0.5);
    snprintf(t.at, sizeof(t.at), "%" PRIu64 ".%u", n / 10, (unsigned)(n % 10));
    return t;
}

static struct tenths megabytes(uint64_t bytes)
{
    return tenths((double)bytes / 1e6);
}

/* us of one copy. */
static double copy_us(const struct fdl_finish_question *q, uint64_t bytes)
{
    return q->latency_us + (double)bytes / (q->gigabytes_per_second * 1e3);
}

static bool cores_are_idle(const struct fdl_finish_question *q)
{
    return q->cpu_load >= 0 && q->cpu_load < CORES_BUSY;
}

/* The bus was measured, and the device would have fewer bytes cross it. */
static bool choose_measured(const struct fdl_finish_question *q,
                            struct fdl_finish_choice *out)
{
    double host = copy_us(q, q->finished_bytes);
    double device = copy_us(q, q->wire_bytes);
    double saved = 1 - device / host;
    if (saved >= LITTLE_SAVED) {
        say(out,
            "the copy of a batch of %" PRIu32 " takes %s us as u8 (%s MB) and "
            "%s us finished (%s MB)",
            q->images, tenths(device).at, megabytes(q->wire_bytes).at,
            tenths(host).at, megabytes(q->finished_bytes).at);
        return true;
    }
    if (cores_are_idle(q)) {
        say(out,
            "u8 would save %s %% of a copy of %s us, most of which is latency, "
            "and %" PRIu32 " usable %s only %s %% taken by others",
            tenths(saved * 100).at, tenths(host).at, q->cpus_usable,
            q->cpus_usable == 1 ? "core is" : "cores are",
            tenths(q->cpu_load * 100).at);
        return false;
    }
    if (q->cpu_load < 0)
        say(out,
            "u8 saves only %s %% of a copy of %s us, but spares the workers "
            "the work",
            tenths(saved * 100).at, tenths(host).at);
    else
        say(out,
            "u8 saves only %s %% of a copy of %s us, but others take %s %% of "
            "the %" PRIu32 " usable cores",
            tenths(saved * 100).at, tenths(host).at,
            tenths(q->cpu_load * 100).at, q->cpus_usable);
    return true;
}

static bool choose_auto(const struct fdl_finish_question *q,
                        struct fdl_finish_choice *out)
{
    if (q->wire_bytes >= q->finished_bytes) {
        say(out,
            "nothing is saved: a batch of %" PRIu32 " is %s MB finished and %s "
            "MB as u8",
            q->images, megabytes(q->finished_bytes).at,
            megabytes(q->wire_bytes).at);
        return false;
    }
    if (q->gigabytes_per_second > 0)
        return choose_measured(q, out);
    say(out,
        "a batch of %" PRIu32 " is %s MB as u8 and %s MB finished; the bus was "
        "not measured",
        q->images, megabytes(q->wire_bytes).at,
        megabytes(q->finished_bytes).at);
    return true;
}

void fdl_finish_decide(const struct fdl_finish_question *q,
                       struct fdl_finish_choice *out)
{
    memset(out, 0, sizeof(*out));
    if (q->asked == FDL_FINISH_HOST)
        say(out, "finish=host was asked for");
    else if (q->obstacle)
        say(out, "the device cannot: %s", q->obstacle);
    else if (q->asked == FDL_FINISH_DEVICE)
        say(out, "finish=device was asked for");
    out->device = q->asked == FDL_FINISH_DEVICE && !q->obstacle;
    if (out->reason[0] == '\0') {
        out->device = choose_auto(q, out);
        out->free = q->tuned && q->wire_bytes < q->finished_bytes;
    }
    out->regime =
        fdl_copy_regime(q->latency_us, q->gigabytes_per_second,
                        out->device ? q->wire_bytes : q->finished_bytes);
}

/* ---- Measured ----------------------------------------------------------- */

/* What a batch takes of each who has to do with it, ns. */
struct period {
    double step, copy, prep;
};

static double longest(const struct period *p)
{
    return FDL_MAX(FDL_MAX(p->step, p->copy), p->prep);
}

static const char *bottleneck(const struct period *p)
{
    if (p->prep >= p->step && p->prep >= p->copy)
        return "workers";
    return p->copy >= p->step ? "the bus" : "the consumer";
}

static double prep_ns(const struct fdl_finish_facts *f, double cpu)
{
    double by_cores = f->cores > 0 ? cpu / f->cores : 0;
    double by_workers = f->workers > 0 ? (cpu + f->sleep_ns) / f->workers : 0;
    return f->samples * FDL_MAX(by_cores, by_workers);
}

/* CPU of a sample, the other way. */
static double other_cpu_ns(const struct fdl_finish_facts *f)
{
    double own = f->costs.sample_ns;
    return f->device ? f->cpu_ns + own : FDL_MAX(f->cpu_ns - own, 0);
}

/* A copy is its latency, and bytes at the speed that they had; where no copy
 * was measured, at that of the bus. */
static double copied_ns(const struct fdl_finish_facts *f, uint64_t bytes,
                        uint64_t measured_bytes)
{
    const struct fdl_finish_costs *c = &f->costs;
    if (f->copy_ns > 0 && measured_bytes > 0) {
        double latency = FDL_MIN(c->latency_ns, f->copy_ns);
        return latency +
               (f->copy_ns - latency) * (double)bytes / (double)measured_bytes;
    }
    return c->bytes_per_ns > 0 ? c->latency_ns + (double)bytes / c->bytes_per_ns
                               : 0;
}

static void predict(const struct fdl_finish_facts *f, struct period *now,
                    struct period *other)
{
    const struct fdl_finish_costs *c = &f->costs;
    uint64_t here = f->device ? c->device_bytes : c->host_bytes;
    uint64_t there = f->device ? c->host_bytes : c->device_bytes;
    double step =
        f->device ? f->step_ns - f->kernel_ns : f->step_ns + f->kernel_ns;
    *now = (struct period){.step = f->step_ns,
                           .copy = copied_ns(f, here, here),
                           .prep = prep_ns(f, f->cpu_ns)};
    *other = (struct period){.step = FDL_MAX(step, 0),
                             .copy = copied_ns(f, there, here),
                             .prep = prep_ns(f, other_cpu_ns(f))};
}

static bool usable(double x)
{
    return x >= 0 && x < 1e18; /* neither NaN nor without end */
}

static bool facts_are_usable(const struct fdl_finish_facts *f)
{
    const struct fdl_finish_costs *c = &f->costs;
    const double numbers[] = {
        f->step_ns, f->copy_ns, f->kernel_ns,  f->cpu_ns,       f->sleep_ns,
        f->cores,   f->workers, c->latency_ns, c->bytes_per_ns, c->sample_ns,
    };
    for (size_t i = 0; i < FDL_COUNT_OF(numbers); i++)
        if (!usable(numbers[i]))
            return false;
    return f->samples > 0 && f->cpu_ns > 0 &&
           (!f->device || c->sample_ns > 0) && c->host_bytes > c->device_bytes;
}

bool fdl_finish_reconsider(const struct fdl_finish_facts *f, double *gain,
                           char *why, size_t capacity)
{
    const char *there = f->device ? "host" : "device";
    struct period now, other;
    *gain = 0;
    if (!facts_are_usable(f)) {
        snprintf(why, capacity, "too little is known of the %s", there);
        return false;
    }
    predict(f, &now, &other);
    double was = longest(&now), becomes = longest(&other);
    if (was <= 0 || becomes <= 0) {
        snprintf(why, capacity, "too little is known of the %s", there);
        return false;
    }
    *gain = was / becomes - 1;
    if (*gain >= FDL_FINISH_GAIN) {
        snprintf(why, capacity,
                 "finished on the %s, %s would take %s us for a batch, not %s "
                 "us of %s",
                 there, bottleneck(&other), tenths(becomes / 1e3).at,
                 tenths(was / 1e3).at, bottleneck(&now));
        return true;
    }
    double spared = f->device ? 0 : f->costs.sample_ns / f->cpu_ns;
    if (*gain > -AS_FAST && spared >= FDL_FINISH_SPARED) {
        snprintf(why, capacity,
                 "finished on the device, batches would be as fast, and "
                 "workers spared %s %% of their work",
                 tenths(FDL_MIN(spared, 1) * 100).at);
        return true;
    }
    snprintf(why, capacity,
             "finished on the %s, a batch would take %s us instead of %s us",
             there, tenths(becomes / 1e3).at, tenths(was / 1e3).at);
    return false;
}

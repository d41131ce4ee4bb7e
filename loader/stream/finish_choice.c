/* SPDX-License-Identifier: Apache-2.0 */
/* Who finishes batches; finish_choice.h has the rules. */
#include "loader/stream/finish_choice.h"

#include "base/compiler.h"
#include "base/tenths.h"
#include "profiler/measure/copy_fit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LITTLE_SAVED 0.10 /* of the time of a copy */
#define CORES_BUSY   0.50 /* of the usable ones, taken by others */

static void say(struct fdl_finish_choice *out, const char *fmt, ...)
    FDL_PRINTF(2, 3);

static void say(struct fdl_finish_choice *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->reason, sizeof(out->reason), fmt, args);
    va_end(args);
}

static struct fdl_tenths megabytes(uint64_t bytes)
{
    return fdl_tenths((double)bytes / 1e6);
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
            q->images, fdl_tenths(device).at, megabytes(q->wire_bytes).at,
            fdl_tenths(host).at, megabytes(q->finished_bytes).at);
        return true;
    }
    if (q->late) {
        say(out,
            "u8 saves only %s %% of a copy of %s us, but the program's own "
            "copy of a batch finishes it at no cost",
            fdl_tenths(saved * 100).at, fdl_tenths(host).at);
        return true;
    }
    if (cores_are_idle(q)) {
        say(out,
            "u8 would save %s %% of a copy of %s us, most of which is latency, "
            "and %" PRIu32 " usable %s only %s %% taken by others",
            fdl_tenths(saved * 100).at, fdl_tenths(host).at, q->cpus_usable,
            q->cpus_usable == 1 ? "core is" : "cores are",
            fdl_tenths(q->cpu_load * 100).at);
        return false;
    }
    if (q->cpu_load < 0)
        say(out,
            "u8 saves only %s %% of a copy of %s us, but spares the workers "
            "the work",
            fdl_tenths(saved * 100).at, fdl_tenths(host).at);
    else
        say(out,
            "u8 saves only %s %% of a copy of %s us, but others take %s %% of "
            "the %" PRIu32 " usable cores",
            fdl_tenths(saved * 100).at, fdl_tenths(host).at,
            fdl_tenths(q->cpu_load * 100).at, q->cpus_usable);
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
    if (out->reason[0] == '\0')
        out->device = choose_auto(q, out);
    out->late = out->device && q->late;
    out->regime =
        fdl_copy_regime(q->latency_us, q->gigabytes_per_second,
                        out->device ? q->wire_bytes : q->finished_bytes);
}

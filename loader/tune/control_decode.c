/* SPDX-License-Identifier: Apache-2.0 */
/* Who decodes with decode=auto: the trial gets its readings, and the engine
 * what came of it. While it tries something the tuner rests, as what it sees
 * then is not its own doing. */
#include "base/atomic.h"
#include "base/log.h"
#include "loader/stream/decode_choice.h"
#include "loader/stream/snapshot.h"
#include "loader/tune/control_own.h"

static uint64_t left_to_device(const struct fdl_control *c)
{
    uint32_t n = fdl_engine_worker_count(c->engine);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += fdl_load(&c->watch->workers[i]->pixels.on_device);
    return sum;
}

/* Both locks are held. */
static void fill_locked(const struct fdl_control *c,
                        const struct fdl_tuner_reading *r,
                        struct fdl_decode_reading *out)
{
    struct fdl_tuner_status status;
    fdl_tuner_get(c->tuner, &status);
    *out = (struct fdl_decode_reading){
        .batches = r->batches,
        .samples = r->samples,
        .made = left_to_device(c),
        .wall_ns = r->user_ns + r->wait_ns + r->api_ns,
        .stall_ns = r->span_ns > 0 ? r->idle_ns : r->wait_ns,
        .of_ns =
            r->span_ns > 0 ? r->span_ns : r->user_ns + r->wait_ns + r->api_ns,
        .work_ns = r->work_ns,
        .idle_ns = r->blocked_ns + r->starved_ns,
        .make_ns = r->make_ns,
        .outstanding = r->outstanding,
        .batch_size = r->batch_size,
        .settled = status.state == FDL_TUNER_HOLD || !fdl_control_tunes(c),
    };
}

static void put_in_force(struct fdl_control *c)
{
    bool device = fdl_decode_trial_device(&c->decoding);
    fdl_log(FDL_LOG_INFO, "decode=auto: %s (%s)", device ? "device" : "host",
            c->decoding.reason);
    fdl_decode_choose(fdl_engine_decoding(c->engine), device,
                      c->decoding.reason);
}

void fdl_control_decode_begin(const struct fdl_control *c)
{
    struct fdl_decode_choice *choice = fdl_engine_decoding(c->engine);
    if (choice->measured && c->mode != FDL_TUNER_AUTO)
        fdl_decode_choose(choice, false, "nothing is measured (tuner)");
}

bool fdl_control_decode_locked(struct fdl_control *c,
                               const struct fdl_tuner_reading *reading)
{
    struct fdl_decode_reading r;
    if (!fdl_engine_decoding(c->engine)->measured || c->mode != FDL_TUNER_AUTO)
        return false;
    bool before = fdl_decode_trial_is_trying(&c->decoding);
    fdl_lock(&c->lock);
    fill_locked(c, reading, &r);
    bool changed = fdl_decode_trial_observe(&c->decoding, &r);
    bool trying = fdl_decode_trial_is_trying(&c->decoding);
    if (trying != before)
        fdl_tuner_pause(c->tuner);
    fdl_unlock(&c->lock);
    if (changed)
        put_in_force(c);
    return trying;
}

void fdl_control_decode_pause_locked(struct fdl_control *c)
{
    if (fdl_decode_trial_pause(&c->decoding))
        put_in_force(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A knob that the program turns while a loader exists, or hands to the tuner:
 * this changes what happens next and never what is delivered. */
#include "base/status.h"
#include "loader/tune/control_own.h"

static bool is_knob(uint32_t option)
{
    return option == FDL_OPT_WORKERS || option == FDL_OPT_DEPTH ||
           option == FDL_OPT_IO_DEPTH;
}

static enum fdl_knob knob_of(uint32_t option)
{
    return option == FDL_OPT_WORKERS ? FDL_KNOB_WORKERS
           : option == FDL_OPT_DEPTH ? FDL_KNOB_DEPTH
                                     : FDL_KNOB_IO_DEPTH;
}

/* The option is set to `value` already. was: what is in force. */
static int32_t hand_to_tuner_locked(struct fdl_control *c, uint32_t option,
                                    int64_t was)
{
    if (!fdl_control_is_on(c))
        return fdl_fail(FEEDLINE_ERANGE,
                        "%s=auto: tuner=off, so nothing would choose it; give "
                        "a running loader a number",
                        fdl_engine_options(c->engine)->table[option].name);
    fdl_control_set_locked(c, knob_of(option), was, was, false);
    return FEEDLINE_OK;
}

static int32_t turn_locked(struct fdl_control *c, uint32_t option, int64_t was,
                           int64_t value)
{
    int32_t status = fdl_engine_turn_locked(c->engine, option, value);
    if (status >= 0)
        fdl_control_set_locked(c, knob_of(option), was, value, true);
    return status;
}

int32_t fdl_control_set_knob(struct fdl_control *c, uint32_t option,
                             int64_t value)
{
    struct fdl_engine *e = c->engine;
    const struct fdl_options *o = fdl_engine_options(e);
    const char *name = o->table[option].name;
    if (!is_knob(option)) /* nor written: threads read it without a lock */
        return fdl_fail(FEEDLINE_ESTATE,
                        "%s cannot change while a loader exists", name);
    fdl_engine_lock(e);
    int64_t before = fdl_option_int(o, option), was = before;
    int32_t status = fdl_engine_set_option_locked(e, name, value);
    if (status >= 0) {
        fdl_engine_chosen(e, option, &was);
        status = value == 0 ? hand_to_tuner_locked(c, option, was)
                            : turn_locked(c, option, was, value);
        if (status < 0)
            fdl_engine_set_option_locked(e, name, before);
    }
    fdl_engine_unlock(e);
    return status;
}

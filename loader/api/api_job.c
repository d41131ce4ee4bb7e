/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: ranks of a job. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/order/fingerprint.h"
#include "loader/tune/job_note.h"

#include <feedline/job.h>

int32_t feedline_loader_fingerprint(const feedline_loader *l, char *buf,
                                    uint64_t capacity, uint64_t *needed)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(needed, "needed");
    if (status < 0)
        return status;
    const struct fdl_options *o = fdl_engine_options(l->engine);
    char tail[16];
    struct fdl_fingerprint f = {
        .rank = l->sources.rank,
        .world = l->sources.world,
        .batch_size = fdl_engine_config(l->engine)->batch_size,
        .epochs = (uint64_t)fdl_option_int(o, FDL_OPT_EPOCHS),
        .drop_last = fdl_option_int(o, FDL_OPT_DROP_LAST) != 0,
        .given = fdl_engine_given(l->engine) != NULL,
        .shard_tail = fdl_option_choice(&fdl_loader_options[FDL_OPT_SHARD_TAIL],
                                        fdl_option_int(o, FDL_OPT_SHARD_TAIL),
                                        tail, sizeof(tail)),
    };
    fdl_consumer_state(l->engine, &f.state);
    return fdl_fingerprint_write(&f, buf, capacity, needed);
}

int32_t feedline_job_compare(const char *fingerprints, uint64_t stride,
                             uint32_t n)
{
    int32_t status = fdl_api_enter(fingerprints, "fingerprints");
    if (status >= 0 && (n == 0 || stride == 0))
        status = fdl_fail(FEEDLINE_EINVAL, "no fingerprints to compare");
    return status < 0 ? status
                      : fdl_fingerprints_compare(fingerprints, stride, n);
}

int32_t feedline_loader_tell(const feedline_loader *l, char *buf,
                             uint64_t capacity, uint64_t *needed)
{
    struct fdl_tuner_job own;
    int32_t status = fdl_api_enter_engine(l);
    if (status < 0)
        return status;
    fdl_control_tell(l->control, &own);
    return fdl_job_note_write(&own, buf, capacity, needed);
}

int32_t feedline_loader_hear(feedline_loader *l, const char *told)
{
    struct fdl_tuner_job all;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(told, "told");
    if (status >= 0)
        status = fdl_job_notes_read(told, &all);
    if (status >= 0)
        fdl_control_hear(l->control, &all);
    return status;
}

int32_t feedline_job_merge(const char *told, char *buf, uint64_t capacity,
                           uint64_t *needed)
{
    struct fdl_tuner_job all;
    int32_t status = fdl_api_enter(told, "told");
    if (status >= 0)
        status = fdl_job_notes_read(told, &all);
    return status < 0 ? status
                      : fdl_job_note_write(&all, buf, capacity, needed);
}

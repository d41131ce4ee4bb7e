/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public function: the doctor. Callers ask twice, for the size and for the
 * text; what the first call saw is kept for the second, which would otherwise
 * wait once more and find numbers of other lengths.
 */
#include "base/clock.h"
#include "base/lock.h"
#include "loader/api/api.h"
#include "loader/watch/doctor_gather.h"

#include <stdio.h>
#include <string.h>

#define KEPT_NS INT64_C(5000000000)

static struct fdl_lock lock = FDL_LOCK_INIT(FDL_RANK_DOCTOR); /* of `kept` */
static struct {
    bool is_full;
    char device[32];
    int64_t time_ns;
    struct fdl_doctor_facts facts;
} kept;

static void keep(const char *device, const struct fdl_doctor_facts *f)
{
    fdl_lock(&lock);
    snprintf(kept.device, sizeof(kept.device), "%s", device);
    kept.is_full = strcmp(kept.device, device) == 0;
    kept.time_ns = fdl_now_ns();
    kept.facts = *f;
    fdl_unlock(&lock);
}

/* Once. */
static bool take(const char *device, struct fdl_doctor_facts *f)
{
    fdl_lock(&lock);
    bool taken = kept.is_full && strcmp(kept.device, device) == 0 &&
                 fdl_now_ns() - kept.time_ns < KEPT_NS;
    if (taken)
        *f = kept.facts;
    kept.is_full = false;
    fdl_unlock(&lock);
    return taken;
}

int32_t feedline_doctor_json(const char *device, char *buf, uint64_t capacity,
                             uint64_t *needed)
{
    struct fdl_doctor_facts f;
    struct fdl_json j;
    int32_t status = fdl_api_enter(device, "device");
    if (status >= 0)
        status = fdl_api_enter(needed, "needed");
    if (status >= 0 && (capacity == 0 || !take(device, &f))) {
        status = fdl_doctor_gather(device, &f);
        if (status >= 0 && capacity == 0)
            keep(device, &f);
    }
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_json_begin_object(&j, NULL);
    fdl_doctor_json(&f, &j);
    fdl_json_end_object(&j);
    status = fdl_json_finish(&j, needed);
    if (status < 0)
        keep(device, &f);
    return status;
}

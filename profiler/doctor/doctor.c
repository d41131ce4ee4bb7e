/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels mean: an error stops the run that was asked about; a warning costs
 * it time or may end it; a note is good to know and may be as intended; ok was
 * looked at and is in order. What the system does not tell gives no finding: a
 * doctor who says "unknown" thirty times is not read.
 */
#include "profiler/doctor/doctor.h"

#include "profiler/doctor/doctor_own.h"

#include <stddef.h>

static const struct {
    const char *id;
    bool (*judge)(const struct fdl_doctor_facts *f, struct fdl_finding *out);
} judges[] = {
#define ROW(id) {#id, fdl_diagnose_##id},
    FDL_FINDINGS(ROW)
#undef ROW
};

_Static_assert(FDL_COUNT_OF(judges) <= FDL_FINDINGS_MAX,
               "there is room for all findings");

uint32_t fdl_doctor_judge(const struct fdl_doctor_facts *facts,
                          struct fdl_finding out[FDL_FINDINGS_MAX])
{
    uint32_t n = 0;
    for (size_t i = 0; i < FDL_COUNT_OF(judges); i++) {
        struct fdl_finding finding = {.id = judges[i].id};
        if (judges[i].judge(facts, &finding))
            out[n++] = finding;
    }
    return n;
}

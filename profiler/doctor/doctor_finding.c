/* SPDX-License-Identifier: Apache-2.0 */
/* What the judges share: filling a finding, and facts that several need. */
#include "profiler/doctor/doctor_own.h"

#include <stdarg.h>
#include <stdio.h>

static void set(struct fdl_finding *out, enum fdl_finding_level level,
                const char *remedy, const char *format, va_list args)
    FDL_PRINTF(4, 0);

static void set(struct fdl_finding *out, enum fdl_finding_level level,
                const char *remedy, const char *format, va_list args)
{
    out->level = level;
    vsnprintf(out->text, sizeof(out->text), format, args);
    snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
}

bool fdl_find(struct fdl_finding *out, enum fdl_finding_level level,
              const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(out, level, remedy, format, args);
    va_end(args);
    return true;
}

bool fdl_find_ok(struct fdl_finding *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(out, FDL_FINDING_OK, "", format, args);
    va_end(args);
    return true;
}

double fdl_doctor_cores(const struct fdl_doctor_facts *f)
{
    double quota = f->machine.cpu_quota;
    double allowed = f->machine.cpus_allowed;
    return quota > 0 && quota < allowed ? quota : allowed;
}

uint32_t fdl_doctor_kernel(const struct fdl_doctor_facts *f)
{
    unsigned major;
    unsigned minor;
    if (sscanf(f->machine.kernel, "%3u.%3u", &major, &minor) != 2)
        return 0;
    return major * 100 + FDL_MIN(minor, 99u);
}

const char *fdl_finding_level_name(enum fdl_finding_level level)
{
    static const char *const names[] = {"ok", "note", "warning", "error"};
    return names[level];
}

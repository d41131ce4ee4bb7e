/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor says of the kernel, files and threads. */
#include "profiler/doctor/doctor_own.h"

#define FEW_FILES   1024u /* the usual soft limit, and enough */
#define TOO_FEW     256u
#define ROOM_NEEDED 64u /* threads that a loader may start */

bool fdl_diagnose_kernel(const struct fdl_doctor_facts *f,
                         struct fdl_finding *out)
{
    uint32_t kernel = fdl_doctor_kernel(f);
    if (kernel == 0)
        return false;
    if (kernel < 506)
        return fdl_find(out, FDL_FINDING_NOTE, "Linux 5.6 or later",
                        "Linux %s has no io_uring that can open files: reads "
                        "take a thread each",
                        f->machine.kernel);
    if (kernel < 601)
        return fdl_find(
            out, FDL_FINDING_NOTE, "Linux 6.1 or later, if io_uring is used",
            "Linux %s: completions of io_uring interrupt the thread "
            "that reads, which 6.1 can put off",
            f->machine.kernel);
    return fdl_find_ok(out, "Linux %s", f->machine.kernel);
}

bool fdl_diagnose_io_uring(const struct fdl_doctor_facts *f,
                           struct fdl_finding *out)
{
    if (f->io_uring == 0)
        return false;
    if (f->io_uring > 0)
        return fdl_find_ok(out, "io_uring works");
    return fdl_find(
        out, FDL_FINDING_NOTE,
        "for many reads at once on fast or remote storage allow it: "
        "docker --security-opt seccomp=PROFILE, sysctl "
        "kernel.io_uring_disabled=0, or a build with liburing; else "
        "threads read (reader=pread)",
        "%s", f->io_uring_reason);
}

bool fdl_diagnose_open_files(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    static const char remedy[] =
        "ulimit -n 65536 (docker --ulimit nofile=65536:65536, LimitNOFILE= in "
        "systemd)";
    if (f->open_files == 0)
        return false;
    if (f->open_files == UINT64_MAX)
        return fdl_find_ok(out, "no limit of open files");
    if (f->open_files < TOO_FEW)
        return fdl_find(out, FDL_FINDING_WARNING, remedy,
                        "%llu files may be open at once: reads will wait for "
                        "each other",
                        (unsigned long long)f->open_files);
    if (f->open_files < FEW_FILES)
        return fdl_find(out, FDL_FINDING_NOTE, remedy,
                        "%llu files may be open at once",
                        (unsigned long long)f->open_files);
    return fdl_find_ok(out, "%llu files may be open at once",
                       (unsigned long long)f->open_files);
}

bool fdl_diagnose_threads_limit(const struct fdl_doctor_facts *f,
                                struct fdl_finding *out)
{
    if (f->threads_limit == 0)
        return false;
    uint64_t left = f->threads_limit - FDL_MIN(f->threads, f->threads_limit);
    uint64_t needed = ROOM_NEEDED + f->machine.cpus_usable;
    static const char remedy[] =
        "docker --pids-limit=-1, or pids.max of the control group";
    if (left < needed)
        return fdl_find(out, FDL_FINDING_WARNING, remedy,
                        "the control group has %llu of %llu threads left; a "
                        "loader may start %llu",
                        (unsigned long long)left,
                        (unsigned long long)f->threads_limit,
                        (unsigned long long)needed);
    return fdl_find_ok(out, "%llu of %llu threads are left",
                       (unsigned long long)left,
                       (unsigned long long)f->threads_limit);
}

bool fdl_diagnose_read_ahead(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    if (!f->has_read_ahead)
        return false;
    if (f->read_ahead_bytes == 0)
        return fdl_find(
            out, FDL_FINDING_NOTE,
            "blockdev --setra 256 DEVICE (as root), if the data is there",
            "a disk has no read-ahead: large files come in pieces of "
            "4 KiB");
    return fdl_find_ok(out, "read-ahead of the disks: %.0f KiB or more",
                       FDL_KIB(f->read_ahead_bytes));
}

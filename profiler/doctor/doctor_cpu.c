/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor says of cores and whoever wants them. */
#include "profiler/doctor/doctor_own.h"

#include <stdio.h>
#include <string.h>

/* A fraction of one core that others use is the noise of any machine. */
#define OTHERS_NOTE    0.10 /* of the cores of the machine */
#define OTHERS_WARNING 0.25

/* A time stamp by the TSC costs 20 to 30 ns, one by a system call 300 and more;
 * a sample takes about ten. */
#define CLOCK_SLOW_NS 250

bool fdl_diagnose_cpu_quota(const struct fdl_doctor_facts *f,
                            struct fdl_finding *out)
{
    const struct fdl_machine *m = &f->machine;
    if (m->cpu_quota <= 0)
        return fdl_find_ok(out, "no CPU quota");
    if (m->cpu_quota >= m->cpus_allowed)
        return fdl_find_ok(out,
                           "the CPU quota, %g cores, is no less than the "
                           "%u cores of this process",
                           m->cpu_quota, m->cpus_allowed);
    if (m->cpu_quota < 2)
        return fdl_find(
            out, FDL_FINDING_WARNING,
            "raise the CPU limit of the container or job to 4 cores for each "
            "GPU at least (docker --cpus, resources.limits.cpu, "
            "--cpus-per-task)",
            "the control group grants %g of %u cores: loading and training "
            "share less than two",
            m->cpu_quota, m->cpus_allowed);
    return fdl_find(
        out, FDL_FINDING_NOTE,
        "feedline counts by the quota; tell other libraries, which see all "
        "cores: OMP_NUM_THREADS, torch.set_num_threads, num_workers",
        "the control group grants %g of the %u cores that programs see",
        m->cpu_quota, m->cpus_allowed);
}

bool fdl_diagnose_cpu_throttling(const struct fdl_doctor_facts *f,
                                 struct fdl_finding *out)
{
    if (f->seconds <= 0 || f->machine.cpu_quota <= 0)
        return false;
    if (f->throttled_share < 0.01)
        return fdl_find_ok(out, "the CPU quota does not throttle anything now");
    return fdl_find(
        out, FDL_FINDING_WARNING,
        "use fewer threads than the quota has cores, or raise the "
        "quota",
        "the control group uses up its CPU quota: in %.0f %% of the "
        "periods of the last %.1f s everything in it was stopped",
        100 * f->throttled_share, f->seconds);
}

bool fdl_diagnose_affinity(const struct fdl_doctor_facts *f,
                           struct fdl_finding *out)
{
    const struct fdl_machine *m = &f->machine;
    if (m->cpus_allowed >= m->cpus_online)
        return fdl_find_ok(out, "all %u cores may be used", m->cpus_online);
    if (m->cpus_allowed == 1)
        return fdl_find(
            out, FDL_FINDING_WARNING,
            "find out who pinned it: taskset, numactl, the launcher (mpirun "
            "--bind-to none, srun --cpu-bind=none), or an OpenMP runtime with "
            "OMP_PROC_BIND or KMP_AFFINITY set",
            "this process may use one of %u cores, so everything in it takes "
            "turns",
            m->cpus_online);
    return fdl_find(out, FDL_FINDING_NOTE,
                    "fine if the job was given these; else check taskset, "
                    "numactl, the launcher and its cpuset",
                    "affinity or cpuset leave %u of %u cores", m->cpus_allowed,
                    m->cpus_online);
}

/* ": python3 (4711) 0.9, cc1 (88) 0.6"; "" if none is known. */
static void name_busiest(const struct fdl_doctor_facts *f, char *buf,
                         size_t capacity)
{
    buf[0] = '\0';
    for (uint32_t i = 0; i < f->n_busiest; i++) {
        const struct fdl_busy *b = &f->busiest[i];
        size_t used = strlen(buf);
        snprintf(buf + used, capacity - used, "%s%s (%d) %.1f", i ? ", " : ": ",
                 b->name, (int)b->pid, b->cores);
    }
}

bool fdl_diagnose_other_load(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    double online = f->machine.cpus_online;
    static const char remedy[] =
        "stop them or move them elsewhere, or give them cores of their own "
        "(taskset, cpuset) and the loader fewer workers";
    char busiest[256];
    if (f->seconds <= 0)
        return false;
    name_busiest(f, busiest, sizeof(busiest));
    double left = online - f->other_cores;
    if (f->other_cores >= OTHERS_WARNING * online ||
        (f->other_cores >= 1 && left < fdl_doctor_cores(f) / 2))
        return fdl_find(out, FDL_FINDING_WARNING, remedy,
                        "other processes use %.1f of the %u cores%s",
                        f->other_cores, f->machine.cpus_online, busiest);
    if (f->other_cores >= OTHERS_NOTE * online)
        return fdl_find(out, FDL_FINDING_NOTE, remedy,
                        "other processes use %.1f of the %u cores%s",
                        f->other_cores, f->machine.cpus_online, busiest);
    return fdl_find_ok(out, "other processes use %.1f of the %u cores",
                       f->other_cores, f->machine.cpus_online);
}

/* A library that is not told takes as many threads as the affinity mask has
 * cores, whatever the quota and the other ranks. */
bool fdl_diagnose_math_threads(const struct fdl_doctor_facts *f,
                               struct fdl_finding *out)
{
    uint32_t given =
        FDL_MAX(FDL_MAX(f->omp_threads, f->mkl_threads), f->blas_threads);
    uint32_t each = given > 0 ? given : f->machine.cpus_allowed;
    uint32_t ranks = FDL_MAX(f->ranks, 1u);
    double all = (double)each * ranks;
    double cores = fdl_doctor_cores(f);
    static const char remedy[] =
        "export OMP_NUM_THREADS (and MKL_NUM_THREADS) so that processes times "
        "threads leaves cores to the loader; 1 is a good start for training on "
        "a GPU";
    if (all > cores && (given > 0 || ranks > 1 || cores < each))
        return fdl_find(
            out, FDL_FINDING_WARNING, remedy,
            "%u process%s of %u thread%s for mathematics%s want more "
            "than the %g cores that there are",
            ranks, ranks > 1 ? "es" : "", each, each > 1 ? "s" : "",
            given > 0 ? "" : " (OMP_NUM_THREADS is not set)", cores);
    if (given == 0 && cores > 1)
        return fdl_find(out, FDL_FINDING_NOTE, remedy,
                        "OMP_NUM_THREADS is not set: torch and numpy start up "
                        "to %u threads in addition to the loader's workers",
                        each);
    if (given == 0)
        return fdl_find_ok(out, "one core: one thread for mathematics");
    return fdl_find_ok(out,
                       "%u process%s of %u thread%s for mathematics on %g "
                       "cores",
                       ranks, ranks > 1 ? "es" : "", each, each > 1 ? "s" : "",
                       cores);
}

bool fdl_diagnose_ranks(const struct fdl_doctor_facts *f,
                        struct fdl_finding *out)
{
    double share = fdl_doctor_cores(f) / FDL_MAX(f->ranks, 1u);
    if (f->ranks <= 1)
        return false;
    if (share < 2)
        return fdl_find(out, FDL_FINDING_WARNING,
                        "more cores for the job, or fewer processes on this "
                        "host; a training loop and a loader want 2 at least",
                        "%u processes of the job share %g cores: %.1f each",
                        f->ranks, fdl_doctor_cores(f), share);
    return fdl_find(out, FDL_FINDING_NOTE,
                    "give each process its part: workers up to this number, or "
                    "bind each to its own cores",
                    "%u processes of the job share %g cores: %.1f each",
                    f->ranks, fdl_doctor_cores(f), share);
}

/* With intel_pstate and amd-pstate "powersave" is the name of the ordinary,
 * dynamic governor; elsewhere it means the lowest frequency. */
bool fdl_diagnose_governor(const struct fdl_doctor_facts *f,
                           struct fdl_finding *out)
{
    if (f->governor[0] == '\0')
        return false;
    bool by_hardware = strstr(f->scaling_driver, "pstate") != NULL;
    if (strcmp(f->governor, "powersave") == 0 && !by_hardware)
        return fdl_find(out, FDL_FINDING_WARNING,
                        "cpupower frequency-set -g performance (as root)",
                        "the CPU is held at its lowest frequency (governor "
                        "powersave, driver %s)",
                        f->scaling_driver[0] ? f->scaling_driver : "unknown");
    if (strcmp(f->governor, "performance") == 0)
        return fdl_find_ok(out, "CPU frequency governor performance");
    return fdl_find(
        out, FDL_FINDING_NOTE,
        "for even step times and for benchmarks: cpupower "
        "frequency-set -g performance (as root)",
        "the CPU frequency governor is %s: short bursts of work run "
        "slower",
        f->governor);
}

bool fdl_diagnose_clocksource(const struct fdl_doctor_facts *f,
                              struct fdl_finding *out)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "xen",
                                       "pit",  "jiffies", "refined-jiffies"};
    const char *name = f->clocksource[0] ? f->clocksource : "unknown";
    bool is_slow = f->clock_ns > CLOCK_SLOW_NS;
    for (size_t i = 0; i < FDL_COUNT_OF(slow); i++)
        is_slow |= strcmp(f->clocksource, slow[i]) == 0;
    if (f->clocksource[0] == '\0' && f->clock_ns <= 0)
        return false;
    if (is_slow)
        return fdl_find(
            out, FDL_FINDING_WARNING,
            "boot with clocksource=tsc tsc=reliable if the "
            "processor's counter is invariant; in a virtual machine "
            "ask for its own (kvm-clock, hyperv, on Xen tsc)",
            "the clock is slow: source %s, %.0f ns per reading, and it is read "
            "all the time",
            name, f->clock_ns);
    return fdl_find_ok(out, "clock source %s, %.0f ns per reading", name,
                       f->clock_ns);
}

bool fdl_diagnose_simd(const struct fdl_doctor_facts *f,
                       struct fdl_finding *out)
{
    if (f->simd_is_masked)
        return fdl_find(out, FDL_FINDING_WARNING,
                        "unset FDL_CPU_MASK, JSIMD_FORCENONE, JSIMD_FORCESSE2 "
                        "and JSIMD_FORCESSE",
                        "the environment keeps feedline or libjpeg-turbo from "
                        "using this processor's vector instructions");
    if (f->simd[0] == '\0')
        return false;
    if (strcmp(f->simd, "c") == 0)
        return fdl_find(
            out, FDL_FINDING_WARNING,
            "a processor with AVX2 (x86-64 since 2013); in a virtual "
            "machine, the host's CPU model",
            "no AVX2: resampling and colours are done in plain C, "
            "several times slower");
    return fdl_find_ok(out, "vector instructions: %s", f->simd);
}

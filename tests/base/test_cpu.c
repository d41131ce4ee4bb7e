/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction set levels. The mask is read once per process, so each case looks
 * from a child of its own.
 */
#include "base/cpu.h"
#include "base/log.h"
#include "base/status.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>
#if defined(__aarch64__)
#  include <sys/auxv.h>
#endif

/* check: 0 if all is well, else what to look for. */
static void in_child(const char *mask, int (*check)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (mask)
            setenv("FDL_CPU_MASK", mask, 1);
        else
            unsetenv("FDL_CPU_MASK");
        _exit(check());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#if defined(__aarch64__)
static const char *const levels[] = {"c", "neon", "unknown"};

static enum fdl_cpu_level kernel_says(void)
{
    return getauxval(AT_HWCAP) & HWCAP_ASIMD ? FDL_CPU_NEON : FDL_CPU_C;
}
#else
static const char *const levels[] = {"c", "avx2", "avx512"};

/* The highest level the machine has, from the kernel's own list. */
static enum fdl_cpu_level kernel_says(void)
{
    static const char *const avx512[] = {" avx512f",     " avx512bw",
                                         " avx512vl",    " avx512vbmi",
                                         " avx512_vnni", NULL};
    static char line[16384];
    enum fdl_cpu_level level = FDL_CPU_C;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "flags", 5) != 0)
            continue;
        if (!strstr(line, " avx2") || !strstr(line, " fma"))
            break;
        level = FDL_CPU_AVX512;
        for (int i = 0; avx512[i]; i++)
            level = strstr(line, avx512[i]) ? level : FDL_CPU_AVX2;
        break;
    }
    if (f)
        fclose(f);
    return level;
}
#endif

static int check_machine(void)
{
    return fdl_cpu_level() == kernel_says() ? 0 : 1;
}

TEST(level_of_the_machine)
{
    in_child(NULL, check_machine);
    in_child("", check_machine);
}

static int check_mask_c(void)
{
    if (fdl_cpu_level() != FDL_CPU_C)
        return 1;
    /* A test may go up again, to what the machine has. */
    if (fdl_cpu_set_level(FDL_CPU_AVX512) != kernel_says())
        return 2;
    return fdl_cpu_level() == kernel_says() ? 0 : 3;
}

static int check_mask_first(void)
{
    enum fdl_cpu_level best = kernel_says();
    return fdl_cpu_level() == FDL_MIN(best, FDL_CPU_AVX2) ? 0 : 1;
}

TEST(mask_lowers)
{
    in_child("c", check_mask_c);
    in_child(levels[FDL_CPU_AVX2], check_mask_first);
    if (strcmp(levels[FDL_CPU_AVX512], "unknown") != 0)
        in_child(levels[FDL_CPU_AVX512], check_machine);
}

static int check_bad_mask(void)
{
    if (fdl_cpu_level() != kernel_says())
        return 1;
    char line[FDL_LOG_LINE_BYTES];
    uint64_t needed;
    if (fdl_log_read(line, sizeof(line), &needed) != FEEDLINE_OK)
        return 2;
    if (strncmp(line, "warning: FDL_CPU_MASK=sse9 ", 27) != 0)
        return 3;
    return fdl_log_read(line, sizeof(line), &needed) == FEEDLINE_END ? 0 : 4;
}

TEST(unknown_mask_is_a_warning)
{
    in_child("sse9", check_bad_mask);
}

static int check_set_level(void)
{
    for (int level = 0; level < FDL_CPU_LEVELS; level++) {
        enum fdl_cpu_level got = fdl_cpu_set_level((enum fdl_cpu_level)level);
        if (got != FDL_MIN((enum fdl_cpu_level)level, kernel_says()))
            return 1;
        if (fdl_cpu_level() != got)
            return 2;
    }
    return 0;
}

TEST(set_level_is_capped)
{
    in_child(NULL, check_set_level);
}

TEST(level_names)
{
    for (int level = 0; level < FDL_CPU_LEVELS; level++)
        assert_string_equal(fdl_cpu_level_name((enum fdl_cpu_level)level),
                            levels[level]);
    assert_string_equal(fdl_cpu_level_name(FDL_CPU_LEVELS), "unknown");
}

TEST_MAIN("base_cpu")

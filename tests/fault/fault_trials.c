/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_trials [OPTION...] [SCENARIO...]: plays scenarios while calls fail
 * (trial.h) and says how many failed and how each ended. Status 1: one did not
 * end as it has to, and was told on stderr.
 *
 *   --part N      one fault in N (1); 0: none, only schedules
 *   --jobs N      scenarios at the same time, each in a process of its own (1)
 *   --random N    schedules by chance of each scenario (0); --seed S of the
 *                 first (1)
 *   --kind NAME   only this kind; --nth N: only its n-th call
 *   --markdown    tables for docs/reliability.md
 *   --list        scenarios and kinds
 */
#include "lives.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct scenario *const all[] = {
#define ROW(name) &fault_##name,
    FAULT_SCENARIOS(ROW)
#undef ROW
};
enum { COUNT = sizeof(all) / sizeof(all[0]) };

static const struct {
    const char *name, *what;
} kinds[INJECT_KINDS] = {
#define ROW(name, word, what) [INJECT_##name] = {word, what},
    INJECT_KINDS_MAP(ROW)
#undef ROW
};

/* What the processes find. */
static struct found {
    struct tally tallies[COUNT][INJECT_KINDS];
    _Atomic uint32_t played, failures;
} * found;
static uint32_t jobs = 1;
static struct plan plan = {.part = 1, .seed = 1, .kinds = UINT32_MAX};

static uint32_t tried(const struct tally *t)
{
    return t->once + t->lasting;
}

static void add(struct tally *sum, const struct tally *t)
{
    sum->once += t->once;
    sum->lasting += t->lasting;
    sum->same += t->same;
    sum->errors += t->errors;
    sum->calls += t->calls;
    for (uint32_t i = 0; i < 16; i++)
        sum->by_status[i] += t->by_status[i];
}

/* ---- Tables ------------------------------------------------------------- */

/* "12 ENOMEM, 3 EIO" */
static void print_errors(const struct tally *t)
{
    const char *comma = "";
    for (int32_t i = 0; i < 16; i++) {
        if (t->by_status[i] > 0)
            printf("%s%u %s", comma, t->by_status[i], feedline_status_name(-i));
        if (t->by_status[i] > 0)
            comma = ", ";
    }
}

static struct tally print_kinds(void)
{
    struct tally total = {0};
    printf("| kind | what fails | faults | places | as without | errors |\n"
           "|---|---|---:|---:|---:|---|\n");
    for (uint32_t k = 1; k < INJECT_KINDS; k++) {
        struct tally sum = {0};
        for (uint32_t i = 0; i < COUNT; i++)
            add(&sum, &found->tallies[i][k]);
        if (!tried(&sum))
            continue;
        printf("| %s | %s | %u | ", kinds[k].name, kinds[k].what, tried(&sum));
        if (k == INJECT_DEVICE)
            printf(" | ");
        else
            printf("%u | ", inject_places((enum inject_kind)k));
        printf("%u | ", sum.same);
        print_errors(&sum);
        printf(" |\n");
        add(&total, &sum);
    }
    return total;
}

static void print_scenarios(void)
{
    printf("| scenario | kind | once | lasting | as without | errors |\n"
           "|---|---|---:|---:|---:|---|\n");
    for (uint32_t i = 0; i < COUNT; i++) {
        const char *what = all[i]->what;
        for (uint32_t k = 1; k < INJECT_KINDS; k++) {
            const struct tally *t = &found->tallies[i][k];
            if (!tried(t))
                continue;
            printf("| %s | %s | %u | %u | %u | ", what, kinds[k].name, t->once,
                   t->lasting, t->same);
            print_errors(t);
            printf(" |\n");
            what = "";
        }
    }
}

/* "Calls of each kind that failed in them: memory 12, device 3." */
static void print_calls(void)
{
    const char *before = "Calls of each kind that failed in them: ";
    for (uint32_t k = 1; k < INJECT_KINDS; k++) {
        struct tally sum = {0};
        for (uint32_t i = 0; i < COUNT; i++)
            add(&sum, &found->tallies[i][k]);
        if (sum.calls > 0)
            printf("%s%s %" PRIu64, before, kinds[k].name, sum.calls);
        if (sum.calls > 0)
            before = ", ";
    }
    printf(".\n\n");
}

static void print_schedules(void)
{
    print_calls();
    printf(
        "| scenario | schedules | calls that failed | as without | errors |\n"
        "|---|---:|---:|---:|---|\n");
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct tally *t = &found->tallies[i][0];
        if (!tried(t))
            continue;
        printf("| %s | %u | %" PRIu64 " | %u | ", all[i]->what, tried(t),
               t->calls, t->same);
        print_errors(t);
        printf(" |\n");
    }
}

static void print_tables(void)
{
    struct tally total = print_kinds();
    printf("\n**%u distinct faults**: %u lives ended as without it, %u with an "
           "error.\n\n",
           tried(&total), total.same, total.errors);
    print_scenarios();
    if (plan.random) {
        printf("\nSchedules, seeds %" PRIu64 " to %" PRIu64 ":\n\n", plan.seed,
               plan.seed + plan.random - 1);
        print_schedules();
    }
}

static void print_line(uint32_t i)
{
    struct tally sum = {0};
    for (uint32_t k = 0; k < INJECT_KINDS; k++)
        add(&sum, &found->tallies[i][k]);
    fprintf(stderr, "%s: %u faults, %u as without, %u errors\n", all[i]->name,
            tried(&sum), sum.same, sum.errors);
}

/* ---- Arguments ---------------------------------------------------------- */

static void list(void)
{
    for (uint32_t i = 0; i < COUNT; i++)
        printf("%-14s %s\n", all[i]->name, all[i]->what);
    for (uint32_t k = 1; k < INJECT_KINDS; k++)
        printf("%-14s %s\n", kinds[k].name, kinds[k].what);
    exit(0);
}

static void refuse(const char *what)
{
    fprintf(stderr, "fault_trials: there is no %s; see --list\n", what);
    exit(2);
}

static uint32_t kind_of(const char *name)
{
    for (uint32_t k = 1; k < INJECT_KINDS; k++)
        if (strcmp(kinds[k].name, name) == 0)
            return UINT32_C(1) << k;
    refuse(name);
    return 0;
}

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"part", required_argument, NULL, 'p'},
        {"jobs", required_argument, NULL, 'j'},
        {"random", required_argument, NULL, 'r'},
        {"seed", required_argument, NULL, 's'},
        {"kind", required_argument, NULL, 'k'},
        {"nth", required_argument, NULL, 'n'},
        {"markdown", no_argument, NULL, 'm'},
        {"list", no_argument, NULL, 'l'},
        {NULL, 0, NULL, 0}};
    bool markdown = false;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;
        if (c == 'p')
            plan.part = (uint32_t)n;
        else if (c == 'j')
            jobs = n > 0 ? (uint32_t)n : 1;
        else if (c == 'r')
            plan.random = (uint32_t)n;
        else if (c == 's')
            plan.seed = n;
        else if (c == 'k')
            plan.kinds = kind_of(optarg);
        else if (c == 'n')
            plan.nth = (uint32_t)n;
        else if (c == 'm')
            markdown = true;
        else if (c == 'l')
            list();
        else
            exit(2);
    }
    return markdown;
}

static bool is_chosen(const char *name, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void check_names(char **names)
{
    for (; *names; names++) {
        bool known = false;
        for (uint32_t i = 0; i < COUNT; i++)
            known |= strcmp(all[i]->name, *names) == 0;
        if (!known)
            refuse(*names);
    }
}

/* ---- Processes ---------------------------------------------------------- */

static int play(uint32_t i)
{
    const char *missing = trial_play(all[i], &plan, found->tallies[i]);
    if (missing)
        printf("skipped: %s: %s\n", all[i]->name, missing);
    else
        print_line(i);
    found->played += !missing;
    found->failures += trial_failures();
    return missing || trial_failures() == 0 ? 0 : 1;
}

/* One that crashed has told of nothing. */
static void await_one(void)
{
    int status = 0;
    if (wait(&status) < 0)
        abort();
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0 || code == 1 || code == 77) /* told; or test_skip */
        return;
    fprintf(stderr, "a scenario ended with status 0x%x\n", (unsigned)status);
    found->failures++;
}

static void play_all(char **names)
{
    uint32_t running = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!is_chosen(all[i]->name, names))
            continue;
        for (; running >= jobs; running--)
            await_one();
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            exit(play(i));
        running += child > 0;
        found->failures += child < 0;
    }
    for (; running > 0; running--)
        await_one();
}

int main(int argc, char **argv)
{
    bool markdown = parse(argc, argv);
    check_names(argv + optind);
    found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return 2;
    inject_share_places();
    play_all(argv + optind);
    if (found->failures > 0)
        fprintf(stderr, "%u did not end as they have to\n", found->failures);
    else if (found->played == 0)
        return 77;
    if (markdown)
        print_tables();
    return found->failures > 0;
}

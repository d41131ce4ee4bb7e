/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the verdict right? For each code a scenario that does exactly that one
 * thing to a real loader (scenarios_*.c), again and again with other seeds, and
 * what was said, as a confusion matrix.
 *
 *   verdict_matrix [--runs R] [--seed S] [--only CODE] [--jobs J]
 *                  [--markdown FILE] [--least PERCENT] [--again A] [--verbose]
 *
 * Each run is a process: what it does to its cores, its control group and its
 * environment goes with it. Exit status 1: less than 95 % (--least) were right;
 * 2: usage. A scenario of which no run was right is run anew, up to A times,
 * and what was said before is forgotten: on a machine that others use too, this
 * tells rules that do not see a thing from noise.
 * A scenario that the system does not permit is said to be not run, and counts
 * for nothing. Runs take precedence over other processes where that is
 * permitted; where it is not, a busy machine is told as the cause that it is.
 */
#include "cores.h"
#include "scenarios.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCENARIOS   64u
#define RUN_SECONDS 120u
#define MAX_JOBS    16u

enum { SAID = 1, NOT_RUN = 2 };

/* What a child writes into its pipe. */
struct told {
    int32_t what; /* SAID, NOT_RUN */
    char why[128];
    struct scene_end end;
};

/* What came out of all runs of a scenario. */
struct row {
    const struct scenario *scenario;
    uint32_t runs, right;
    char not_run[128];
    char codes[SCENARIOS][32];  /* what was said, */
    uint32_t counts[SCENARIOS]; /* and how often */
    uint32_t n_codes;
};

static struct {
    uint32_t runs, jobs, again;
    double least; /* percent */
    uint64_t seed;
    const char *only, *markdown;
    bool verbose;
} asked = {.runs = 1, .jobs = 1, .least = 95, .seed = 1};

static struct row rows[SCENARIOS];
static uint32_t n_rows;

/* ---- One run ------------------------------------------------------------ */

static void nvml_path(pid_t pid, char *path, size_t size)
{
    snprintf(path, size, "/tmp/feedline-matrix-%d.nvml", (int)pid);
}

/* The doubles are loaded by the library, as the real ones would be. */
static void set_doubles(const struct scene *s)
{
    char nvml_file[64];
    setenv("FEEDLINE_LIBCUDA", MATRIX_LIBCUDA, 1);
    setenv("FEEDLINE_NVML", MATRIX_NVML, 1);
    setenv("CUDA_DOUBLE", s->cuda ? s->cuda : "devices=0", 1);
    nvml_path(getpid(), nvml_file, sizeof(nvml_file));
    FILE *f = fopen(nvml_file, "w");
    if (!f || fputs(s->nvml ? s->nvml : "", f) < 0 || fclose(f) != 0) {
        perror(nvml_file);
        exit(1);
    }
    setenv("FEEDLINE_NVML_DOUBLE", nvml_file, 1);
}

static void run_child(const struct scenario *scenario, uint64_t seed, int out)
{
    struct scene s;
    struct told told = {.what = SAID};
    scene_init(&s, seed);
    scenario->set(&s);
    /* What other processes do is no part of the scene. */
    if (s.burn_ns > 0)
        cores_precede();
    else
        cores_prevail();
    if (s.why_not) {
        told.what = NOT_RUN;
        snprintf(told.why, sizeof(told.why), "%s", s.why_not);
    } else {
        set_doubles(&s);
        alarm(RUN_SECONDS);
        scene_play(&s, &told.end);
    }
    if (write(out, &told, sizeof(told)) != (ssize_t)sizeof(told))
        _exit(1);
    _exit(0); /* threads that burn go too */
}

/* ---- Counting ----------------------------------------------------------- */

/* A verdict that only ever comes beside its cause is right there too. */
static bool is_right(const struct scenario *scenario,
                     const struct scene_end *end)
{
    bool beside = strcmp(scenario->code, "PERIODIC_STALL") == 0;
    for (uint32_t i = 0; i < (beside ? end->n_codes : 1u); i++)
        if (strcmp(end->codes[i], scenario->code) == 0)
            return true;
    return false;
}

static void count(struct row *row, const char *code)
{
    uint32_t i = 0;
    while (i < row->n_codes && strcmp(row->codes[i], code) != 0)
        i++;
    if (i == SCENARIOS)
        return;
    if (i == row->n_codes)
        snprintf(row->codes[row->n_codes++], sizeof(row->codes[0]), "%s", code);
    row->counts[i]++;
}

static void print_run(const struct row *row, uint64_t seed,
                      const struct scene_end *end, bool right)
{
    printf("%-24s seed %llu: %s%s (stall %.1f %%", row->scenario->code,
           (unsigned long long)seed, right ? "" : "WRONG: ", end->codes[0],
           end->stall * 100);
    for (uint32_t i = 1; i < end->n_codes; i++)
        printf(", %s", end->codes[i]);
    printf(")\n");
    if (!right || asked.verbose)
        printf("    %s\n    %s\n", end->sentence, end->evidence);
    fflush(stdout);
}

static void add(struct row *row, uint64_t seed, const struct told *told,
                const char *died)
{
    if (!died && told->what == NOT_RUN) {
        snprintf(row->not_run, sizeof(row->not_run), "%s", told->why);
        return;
    }
    row->runs++;
    if (died) {
        count(row, "(died)");
        printf("%-24s seed %llu: %s\n", row->scenario->code,
               (unsigned long long)seed, died);
        return;
    }
    bool right = is_right(row->scenario, &told->end);
    row->right += right;
    count(row, right ? row->scenario->code : told->end.codes[0]);
    print_run(row, seed, &told->end, right);
}

/* ---- All runs ----------------------------------------------------------- */

struct child {
    struct row *row;
    uint64_t seed;
    pid_t pid;
    int from;
};

static void begin(struct child *c, struct row *row, uint64_t seed)
{
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(1);
    }
    fflush(NULL);
    *c = (struct child){row, seed, fork(), ends[0]};
    if (c->pid == 0) {
        close(ends[0]);
        run_child(row->scenario, seed, ends[1]);
    }
    close(ends[1]);
    if (c->pid < 0) {
        perror("fork");
        exit(1);
    }
}

static void finish(struct child *c)
{
    struct told told;
    char died[64], file[64];
    int status = 0;
    ssize_t n = read(c->from, &told, sizeof(told));
    close(c->from);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    cores_forget((int32_t)c->pid);
    nvml_path(c->pid, file, sizeof(file));
    unlink(file);
    if (WIFSIGNALED(status))
        snprintf(died, sizeof(died), "died of signal %d", WTERMSIG(status));
    else
        snprintf(died, sizeof(died), "ended with %d", WEXITSTATUS(status));
    add(c->row, c->seed, &told, n == (ssize_t)sizeof(told) ? NULL : died);
}

/* Children under way, the oldest first. */
struct children {
    struct child at[MAX_JOBS];
    uint32_t first, n;
};

static void finish_until(struct children *c, uint32_t n)
{
    while (c->n > n) {
        finish(&c->at[c->first]);
        c->first = (c->first + 1) % MAX_JOBS;
        c->n--;
    }
}

static void run_one(struct children *c, struct row *row, uint64_t seed)
{
    bool alone = row->scenario->alone;
    finish_until(c, alone ? 0 : asked.jobs - 1);
    begin(&c->at[(c->first + c->n++) % MAX_JOBS], row, seed);
    if (alone)
        finish_until(c, 0);
}

static void forget(struct row *row)
{
    row->runs = row->n_codes = 0;
    memset(row->counts, 0, sizeof(row->counts));
}

/* In rounds over all scenarios, first those that need not be alone, then over
 * those that were never right. */
static void run_all(void)
{
    struct children children = {.n = 0};
    for (uint32_t run = 0; run < asked.runs; run++)
        for (uint32_t i = 0; i < 2 * n_rows; i++) {
            struct row *row = &rows[i % n_rows];
            if (row->scenario->alone == (i >= n_rows))
                run_one(&children, row, asked.seed + run);
        }
    finish_until(&children, 0);
    for (uint32_t run = 0; run < asked.again; run++)
        for (uint32_t i = 0; i < n_rows; i++) {
            if (rows[i].right > 0 || rows[i].not_run[0])
                continue;
            forget(&rows[i]);
            run_one(&children, &rows[i], asked.seed + asked.runs + run);
            finish_until(&children, 0);
        }
}

/* ---- Results ------------------------------------------------------------ */

static void sum(uint32_t *runs, uint32_t *right)
{
    *runs = *right = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        *runs += rows[i].runs;
        *right += rows[i].right;
    }
}

/* What else was said: "FED 2, HIGH 1". */
static void list_others(const struct row *row, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < row->n_codes && length < size; i++)
        if (strcmp(row->codes[i], row->scenario->code) != 0)
            length += (size_t)snprintf(text + length, size - length, "%s%s %u",
                                       length ? ", " : "", row->codes[i],
                                       row->counts[i]);
    if (row->not_run[0])
        snprintf(text, size, "not run: %s", row->not_run);
}

static void print_text(void)
{
    char others[512];
    uint32_t runs, right;
    sum(&runs, &right);
    printf("\n%-26s %5s %5s  %s\n", "done", "runs", "right", "others");
    for (uint32_t i = 0; i < n_rows; i++) {
        list_others(&rows[i], others, sizeof(others));
        printf("%-26s %5u %5u  %s\n", rows[i].scenario->code, rows[i].runs,
               rows[i].right, others);
    }
    printf("%u of %u right: %.1f %%\n", right, runs,
           runs ? 100.0 * right / runs : 0);
}

static const char intro[] =
    "# Are the verdicts right?\n"
    "\n"
    "Each verdict of `docs/profiling.md` was provoked: one thing was done to "
    "a\n"
    "real loader with a real consumer, on real threads, and its own verdict "
    "was\n"
    "compared with the cause. Slow storage is a `pread` that sleeps, a quota "
    "is\n"
    "the kernel's, a GPU is a double of the CUDA driver that copies and\n"
    "computes in real time, and one of NVML. Each run has another seed, which\n"
    "varies times by a tenth and counts by more\n"
    "(`tests/matrix/scenarios_*.c`). The last rows combine two causes, of "
    "which\n"
    "the larger one should come first; neighbours are other processes that\n"
    "compute on the same cores at the same priority.\n"
    "\n"
    "```sh\n"
    "build/tests/matrix/verdict_matrix --runs %u --seed %llu \\\n"
    "    --markdown docs/verdict_matrix.md\n"
    "```\n"
    "\n"
    "**%u of %u runs got the right verdict: %.1f %%.** The diagonal of the\n"
    "confusion matrix is the column *right*; the rest of it is the last\n"
    "column.\n"
    "\n"
    "| what was done | expected | runs | right | others |\n"
    "|---|---|---:|---:|---|\n";

static void write_markdown(void)
{
    char others[512];
    uint32_t runs, right;
    FILE *f = fopen(asked.markdown, "w");
    if (!f) {
        perror(asked.markdown);
        exit(2);
    }
    sum(&runs, &right);
    fprintf(f, intro, asked.runs, (unsigned long long)asked.seed, right, runs,
            runs ? 100.0 * right / runs : 0);
    for (uint32_t i = 0; i < n_rows; i++) {
        const struct row *row = &rows[i];
        list_others(row, others, sizeof(others));
        fprintf(f, "| %s | `%s` | %u | %u | %s |\n", row->scenario->what,
                row->scenario->code, row->runs, row->right, others);
    }
    fputs(
        "\n`PERIODIC_STALL` is right if it accompanies its cause, as a period "
        "is not a\ncause itself.\n",
        f);
    if (fclose(f) != 0) {
        perror(asked.markdown);
        exit(2);
    }
}

/* ---- The program -------------------------------------------------------- */

static void list(const struct scenario *scenarios)
{
    for (; scenarios->code; scenarios++)
        if (!asked.only || strcmp(asked.only, scenarios->code) == 0)
            rows[n_rows++].scenario = scenarios;
}

static int usage(void)
{
    fputs("usage: verdict_matrix [--runs R] [--seed S] [--only CODE] "
          "[--jobs J] [--markdown FILE] [--least PERCENT] [--again A] "
          "[--verbose]\n",
          stderr);
    return 2;
}

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"runs", required_argument, NULL, 'r'},
        {"seed", required_argument, NULL, 's'},
        {"only", required_argument, NULL, 'o'},
        {"jobs", required_argument, NULL, 'j'},
        {"markdown", required_argument, NULL, 'm'},
        {"least", required_argument, NULL, 'l'},
        {"again", required_argument, NULL, 'a'},
        {"verbose", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'r')
            asked.runs = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 's')
            asked.seed = strtoull(optarg, NULL, 10);
        else if (c == 'o')
            asked.only = optarg;
        else if (c == 'j')
            asked.jobs = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'm')
            asked.markdown = optarg;
        else if (c == 'l')
            asked.least = strtod(optarg, NULL);
        else if (c == 'a')
            asked.again = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'v')
            asked.verbose = true;
        else
            return false;
    }
    return optind == argc && asked.runs > 0 && asked.jobs > 0 &&
           asked.jobs <= MAX_JOBS;
}

int main(int argc, char **argv)
{
    uint32_t runs, right;
    if (!parse(argc, argv))
        return usage();
    list(work_scenarios);
    list(read_scenarios);
    list(consumer_scenarios);
    list(device_scenarios);
    list(mixed_scenarios);
    if (n_rows == 0)
        return usage();
    run_all();
    print_text();
    if (asked.markdown)
        write_markdown();
    sum(&runs, &right);
    return 100.0 * right >= asked.least * runs && runs > 0 ? 0 : 1;
}

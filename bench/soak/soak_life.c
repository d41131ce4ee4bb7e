/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak_life FOLDER PORT SAMPLES ONE_IN EVERY SEED LIMIT
 *
 * The life that bench/soak/soak.py looks at: lanes (lane.h) and a job of ranks
 * (soak_job.h) over the data in FOLDER, an epoch of each in a round, until
 * SAMPLES were accounted for in rounds with faults. Of each EVERY rounds one
 * has none, and the first, in which the pixels are learned. ONE_IN: of the
 * calls on files, one in so many fails (faults.h). LIMIT: after two rounds
 * RLIMIT_DATA becomes so many times what the process has then; 0: no limit.
 *
 * A line of JSON for each round. Status 1: a sample was lost, came twice or was
 * wrong; told on stderr. As `soak_life rank ...` it is one rank.
 */
#include "faults.h"
#include "lane.h"
#include "rank.h"
#include "soak_job.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_LANES    16u
#define LIMITED_AFTER 2u /* rounds */

struct orders {
    struct place where;
    uint64_t samples, seed;
    uint32_t one_in, every;
    double limit;
};

static struct life {
    struct orders orders;
    struct lane lanes[MOST_LANES];
    pthread_t threads[MOST_LANES + 1];
    uint32_t n_lanes;
    struct job job;
    uint64_t round;
    bool faulty, over;
    pthread_barrier_t begin, end;
} life;

/* ---- Rounds -------------------------------------------------------------- */

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t seed_of(uint64_t round)
{
    return life.orders.seed * 1000003 + round;
}

static void *lane_main(void *arg)
{
    for (;;) {
        pthread_barrier_wait(&life.begin);
        if (life.over)
            return NULL;
        struct lane *l = arg;
        double begin = seconds(CLOCK_MONOTONIC);
        lane_epoch(l);
        l->seconds = seconds(CLOCK_MONOTONIC) - begin;
        pthread_barrier_wait(&life.end);
    }
}

static void *job_main(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_barrier_wait(&life.begin);
        if (life.over)
            return NULL;
        double begin = seconds(CLOCK_MONOTONIC);
        job_epoch(&life.job, seed_of(life.round),
                  life.faulty ? life.orders.one_in : 0);
        life.job.seconds = seconds(CLOCK_MONOTONIC) - begin;
        pthread_barrier_wait(&life.end);
    }
}

static void begin_threads(void)
{
    unsigned n = life.n_lanes + 2; /* the job's, and this one */
    pthread_barrier_init(&life.begin, NULL, n);
    pthread_barrier_init(&life.end, NULL, n);
    for (uint32_t i = 0; i <= life.n_lanes; i++) {
        bool is_job = i == life.n_lanes;
        if (pthread_create(&life.threads[i], NULL,
                           is_job ? job_main : lane_main,
                           is_job ? NULL : &life.lanes[i]) != 0)
            abort();
    }
}

static void end_threads(void)
{
    life.over = true;
    pthread_barrier_wait(&life.begin);
    for (uint32_t i = 0; i <= life.n_lanes; i++)
        pthread_join(life.threads[i], NULL);
}

/* Of this process and of ranks that ended. */
static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return seconds(CLOCK_PROCESS_CPUTIME_ID) + (double)u.ru_utime.tv_sec +
           (double)u.ru_stime.tv_sec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* ---- What is told -------------------------------------------------------- */

static uint64_t samples_of(const struct account *a)
{
    return a->delivered + a->replaced + a->listed;
}

static uint64_t wrongs_of(const struct account *a)
{
    return a->lost + a->twice + a->wrong;
}

static void print_account(const struct account *a, const struct ends *ends,
                          double last, const char *comma)
{
    printf("%s\"%s\": {\"delivered\": %" PRIu64 ", \"replaced\": %" PRIu64
           ", \"listed\": %" PRIu64 ", \"lost\": %" PRIu64
           ", \"twice\": %" PRIu64 ", \"wrong\": %" PRIu64
           ", \"seconds\": %.3f",
           comma, a->name, a->delivered, a->replaced, a->listed, a->lost,
           a->twice, a->wrong, last);
    if (ends) {
        printf(", \"errors\": ");
        ends_print(stdout, ends);
    }
    printf("}");
}

/* Between rounds. */
static uint64_t notes(void)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < life.n_lanes; i++)
        n += lane_notes(&life.lanes[i]);
    return n;
}

/* Sums since the first round, but for the times. */
static void print_round(double wall, double cpu, const struct faults *faults)
{
    struct inject_held held = inject_held();
    printf("{\"round\": %" PRIu64 ", \"faults\": %s, \"seed\": %" PRIu64
           ", \"seconds\": %.4f, \"cpu_seconds\": %.4f, \"blocks\": %" PRIu64
           ", \"mapped\": %" PRIu64 ", \"injected\": ",
           life.round, life.faulty ? "true" : "false", seed_of(life.round),
           wall, cpu, held.blocks - notes(), held.mapped);
    faults_print(stdout, faults);
    printf(", \"ranks\": {\"started\": %" PRIu64 ", \"killed\": %" PRIu64
           ", \"worlds\": %" PRIu64 "}, \"accounts\": {",
           life.job.started, life.job.killed, life.job.changed);
    for (uint32_t i = 0; i < life.n_lanes; i++)
        print_account(&life.lanes[i].account, &life.lanes[i].ends,
                      life.lanes[i].seconds, i > 0 ? ", " : "");
    print_account(&life.job.account, NULL, life.job.seconds, ", ");
    printf("}}\n");
    fflush(stdout);
}

static uint64_t sum_of(uint64_t (*of)(const struct account *a))
{
    uint64_t sum = of(&life.job.account);
    for (uint32_t i = 0; i < life.n_lanes; i++)
        sum += of(&life.lanes[i].account);
    return sum;
}

/* ---- The limit ----------------------------------------------------------- */

static void limit_memory(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof(line), f))
        (void)sscanf(line, "VmData: %llu", &kib);
    if (f)
        fclose(f);
    rlim_t bytes = (rlim_t)((double)kib * 1024 * life.orders.limit);
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    if (kib == 0 || setrlimit(RLIMIT_DATA, &limit) != 0)
        abort();
    printf("{\"limit\": %llu}\n", (unsigned long long)bytes);
}

/* ---- All of it ----------------------------------------------------------- */

/* Samples that were accounted for. */
static uint64_t play_round(struct faults *faults)
{
    uint64_t before = sum_of(samples_of);
    double wall = seconds(CLOCK_MONOTONIC), cpu = cpu_seconds();
    if (life.faulty)
        faults_begin(seed_of(life.round), life.orders.one_in);
    pthread_barrier_wait(&life.begin);
    pthread_barrier_wait(&life.end);
    if (life.faulty)
        faults_end(faults);
    print_round(seconds(CLOCK_MONOTONIC) - wall, cpu_seconds() - cpu, faults);
    return sum_of(samples_of) - before;
}

static void play(void)
{
    struct faults faults = {{0}};
    uint64_t samples = 0;
    begin_threads();
    for (; samples < life.orders.samples; life.round++) {
        uint32_t turn = (uint32_t)(life.round % life.orders.every);
        life.faulty = turn != 0;
        uint64_t n = play_round(&faults);
        samples += life.faulty ? n : 0;
        if (life.round + 1 == LIMITED_AFTER && life.orders.limit > 0)
            limit_memory();
        if (n == 0)
            break; /* all are dead */
    }
    end_threads();
}

static void open_all(char *program)
{
    const struct orders *o = &life.orders;
    uint64_t in_job = 0;
    for (uint32_t i = 0; i < lane_plan_count; i++) {
        struct lane *l = &life.lanes[life.n_lanes];
        if (!lane_open(l, &lane_plans[i], &o->where)) {
            printf("{\"left_out\": \"%s\"}\n", lane_plans[i].name);
            continue;
        }
        if (strcmp(lane_plans[i].name, "tar") == 0)
            in_job = l->account.count; /* the same data */
        life.n_lanes++;
    }
    job_init(&life.job, program, o->where.folder, in_job, o->seed);
}

static void close_all(void)
{
    const char *words = NULL;
    for (uint32_t i = 0; i < life.n_lanes; i++) {
        words = life.lanes[i].plan->on_device ? "device" : words;
        lane_close(&life.lanes[i]);
    }
    words = words ? faults_of_device() : NULL;
    if (words) {
        account_wrong(&life.job.account, "was with a driver that saw this:");
        fprintf(stderr, "%s\n", words);
    }
}

static int be_rank(char **argv)
{
    struct rank_order order = {.uri = argv[2],
                               .state = argv[3],
                               .rank = (uint32_t)atoi(argv[4]),
                               .world = (uint32_t)atoi(argv[5]),
                               .seed = strtoull(argv[6], NULL, 10),
                               .one_in = (uint32_t)atoi(argv[7])};
    return rank_main(&order);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 8 && strcmp(argv[1], "rank") == 0)
        return be_rank(argv);
    if (argc != 8) {
        fprintf(stderr, "soak_life FOLDER PORT SAMPLES ONE_IN EVERY SEED "
                        "LIMIT; see soak.py\n");
        return 2;
    }
    life.orders = (struct orders){.where = {argv[1], (unsigned)atoi(argv[2])},
                                  .samples = strtoull(argv[3], NULL, 10),
                                  .one_in = (uint32_t)atoi(argv[4]),
                                  .every = (uint32_t)atoi(argv[5]),
                                  .seed = strtoull(argv[6], NULL, 10),
                                  .limit = atof(argv[7])};
    open_all(argv[0]);
    play();
    close_all();
    uint64_t wrongs = sum_of(wrongs_of);
    printf("{\"samples\": %" PRIu64 ", \"wrongs\": %" PRIu64 "}\n",
           sum_of(samples_of), wrongs);
    return wrongs > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "soak_job.h"

#include "rank.h"

#include <feedline/feedline.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Steps of the job between such events, on average. */
#define KILL_ONE_IN   60u
#define CHANGE_ONE_IN 60u
#define MOST_DEATHS   3 /* of a rank in a row */

extern char **environ;

void job_init(struct job *j, char *program, const char *folder, uint64_t count,
              uint64_t seed)
{
    *j = (struct job){.program = program, .world = 2, .dice = seed};
    snprintf(j->uri, sizeof(j->uri), "tar:%s/tar/{0,1}.tar", folder);
    account_init(&j->account, "job", count);
}

/* xorshift64* */
static uint64_t throw(struct job * j)
{
    uint64_t x = j->dice + (j->dice == 0);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    j->dice = x;
    return (x * UINT64_C(0x2545f4914f6cdd1d)) >> 32;
}

static void give_up(struct job *j, const char *words)
{
    account_wrong(&j->account, words);
    j->dead = true;
}

/* ---- Processes ----------------------------------------------------------- */

/* Its pipes are nobody else's: a rank that inherited another's end would keep
 * it from seeing the end of its input. */
static bool make_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(out, O_CLOEXEC) == 0)
        return true;
    close(in[0]);
    close(in[1]);
    return false;
}

static bool spawn(struct job *j, uint32_t rank, int in, int out)
{
    char numbers[4][24], word[] = "rank";
    uint64_t seed = j->seed + 1000 * ++j->started;
    snprintf(numbers[0], sizeof(numbers[0]), "%" PRIu32, rank);
    snprintf(numbers[1], sizeof(numbers[1]), "%" PRIu32, j->world);
    snprintf(numbers[2], sizeof(numbers[2]), "%" PRIu64, seed);
    snprintf(numbers[3], sizeof(numbers[3]), "%" PRIu32, j->one_in);
    char *argv[] = {j->program,           word,       j->uri,
                    j->ranks[rank].state, numbers[0], numbers[1],
                    numbers[2],           numbers[3], NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    int error = posix_spawn(&j->ranks[rank].pid, j->program, &files, NULL, argv,
                            environ);
    posix_spawn_file_actions_destroy(&files);
    return error == 0;
}

static bool join_rank(struct job *j, uint32_t rank)
{
    struct job_rank *r = &j->ranks[rank];
    int in[2], out[2];
    if (!make_pipes(in, out))
        return false;
    bool done = spawn(j, rank, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    r->to = in[1];
    r->from = out[0];
    r->killed = false;
    if (done)
        return true;
    close(r->to);
    close(r->from);
    return false;
}

/* It is gone, or goes as its input ends; waitpid's status. */
static int bury(struct job_rank *r)
{
    int status = 0;
    close(r->to);
    close(r->from);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static void lose_all(struct job *j)
{
    for (uint32_t i = 0; i < j->world; i++) {
        kill(j->ranks[i].pid, SIGKILL);
        bury(&j->ranks[i]);
    }
}

/* All from where the job stands. */
static void join_all(struct job *j)
{
    for (uint32_t i = 0; i < j->world && !j->dead; i++) {
        memcpy(j->ranks[i].state, j->state, sizeof(j->state));
        if (join_rank(j, i))
            continue;
        j->world = i;
        give_up(j, "has no process");
    }
}

/* ---- Steps --------------------------------------------------------------- */

static void count(struct job *j, const struct rank_record *record)
{
    if (record->epoch != j->account.epoch)
        account_wrong(&j->account, "is of another epoch");
    for (uint32_t i = 0; i < record->count; i++) {
        uint64_t place = record->place + (uint64_t)i * j->world;
        if (place >= j->account.count)
            continue; /* wraps around: it was somewhere else, too */
        account_add(&j->account,
                    &(struct seen){.planned = record->index[i],
                                   .index = record->index[i],
                                   .status = record->sample_status[i],
                                   .hash = record->hash[i]});
    }
}

/* What it has told; false: nothing, it is gone. */
static bool hear(struct job *j, struct job_rank *r)
{
    struct rank_record record;
    ssize_t n;
    do
        n = read(r->from, &record, sizeof(record));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return false;
    if (n != (ssize_t)sizeof(record) || record.status != FEEDLINE_OK) {
        give_up(j, "did not come to a rank");
        return true;
    }
    memcpy(r->state, record.state, sizeof(r->state));
    r->ended = record.next_epoch > j->account.epoch;
    count(j, &record);
    return true;
}

static void ask(struct job_rank *r)
{
    (void)!write(r->to, "n", 1); /* of one that is gone nothing is heard */
}

/* A rank that is gone comes back, and takes the step. */
static void hear_or_join_again(struct job *j, uint32_t rank)
{
    struct job_rank *r = &j->ranks[rank];
    for (int deaths = 0; !j->dead && !hear(j, r); deaths++) {
        int status = bury(r);
        if (!r->killed) {
            fprintf(stderr, "a rank ended with status 0x%x\n",
                    (unsigned)status);
            account_wrong(&j->account, "had a rank that ended by itself");
        }
        if (deaths == MOST_DEATHS || !join_rank(j, rank))
            give_up(j, "has no process");
        else
            ask(r);
    }
}

/* At any moment of a step: it has perhaps begun, perhaps answered. */
static void kill_one(struct job *j)
{
    struct job_rank *victim = &j->ranks[throw(j) % j->world];
    usleep((useconds_t)(throw(j) % 2000));
    kill(victim->pid, SIGKILL);
    victim->killed = true;
    j->killed++;
}

static void step(struct job *j)
{
    for (uint32_t i = 0; i < j->world; i++)
        ask(&j->ranks[i]);
    if (throw(j) % KILL_ONE_IN == 0)
        kill_one(j);
    for (uint32_t i = 0; i < j->world && !j->dead; i++)
        hear_or_join_again(j, i);
}

static void check_together(struct job *j)
{
    memcpy(j->state, j->ranks[0].state, sizeof(j->state));
    for (uint32_t i = 1; i < j->world; i++)
        if (strcmp(j->ranks[i].state, j->state) != 0 ||
            j->ranks[i].ended != j->ranks[0].ended)
            account_wrong(&j->account, "left ranks at different places");
}

static void change_world(struct job *j)
{
    lose_all(j);
    j->world = 1 + (uint32_t)(throw(j) % JOB_MOST);
    j->changed++;
    join_all(j);
}

void job_epoch(struct job *j, uint64_t seed, uint32_t one_in)
{
    j->seed = seed;
    j->one_in = one_in;
    for (uint32_t i = 0; i < JOB_MOST; i++)
        j->ranks[i].ended = false;
    if (!j->dead)
        join_all(j);
    while (!j->dead) {
        step(j);
        check_together(j);
        if (j->ranks[0].ended)
            break;
        if (throw(j) % CHANGE_ONE_IN == 0)
            change_world(j);
    }
    lose_all(j);
    account_end(&j->account);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One life after another, and what is left of each; see trial.h. */
#include "inject_device.h"
#include "trial_own.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#define MOST_CALLS 6000u /* far more than a life makes */
#define LIFE_S     120u
#define SLOW       6u /* how many of a kind are tried that takes long */

static const struct scenario *scene;
static char what[128]; /* fails now, for messages */
static uint32_t failures;

/* ---- What it may end with ----------------------------------------------- */

static const struct {
    int32_t statuses[4]; /* ends with 0 */
    bool once;           /* never lasting: the system does not do that */
} kinds[INJECT_KINDS] = {
    [INJECT_MEMORY] = {{FEEDLINE_ENOMEM}, false},
    [INJECT_THREAD] = {{FEEDLINE_ESTATE}, false},
    [INJECT_OPEN] = {{FEEDLINE_EIO}, false},
    [INJECT_LIMIT] = {{FEEDLINE_EIO, FEEDLINE_ENOSYS}, false},
    [INJECT_STAT] = {{FEEDLINE_EIO}, false},
    [INJECT_READ] = {{FEEDLINE_EIO}, false},
    [INJECT_SHORT] = {{0}, false},
    [INJECT_EARLY_END] = {{FEEDLINE_EIO}, false},
    [INJECT_SIGNAL] = {{0}, true},
    [INJECT_WRITE] = {{FEEDLINE_EIO}, false},
    [INJECT_PART] = {{0}, false},
    [INJECT_SYNC] = {{FEEDLINE_EIO}, false},
    [INJECT_NAME] = {{FEEDLINE_EIO}, false},
    [INJECT_LOCK] = {{FEEDLINE_EIO}, false},
    [INJECT_RING] = {{FEEDLINE_ENOSYS}, false},
    [INJECT_SUBMIT] = {{FEEDLINE_ENOSYS}, true},
    [INJECT_COMPLETION] = {{FEEDLINE_EIO}, false},
    [INJECT_NETWORK] = {{FEEDLINE_EIO}, false},
    [INJECT_CLIENT] = {{FEEDLINE_EIO, FEEDLINE_ENOMEM}, false},
    [INJECT_DECODER] = {{FEEDLINE_EDECODE}, false},
    [INJECT_CALLBACK] = {{FEEDLINE_EUSER}, false},
    [INJECT_DEVICE] = {{FEEDLINE_EDEVICE}, false},
};

static const char *const names[INJECT_KINDS] = {
#define NAME(name, word, what) [INJECT_##name] = word,
    INJECT_KINDS_MAP(NAME)
#undef NAME
};

static bool may_end(uint32_t of, int32_t status)
{
    for (uint32_t k = 1; k < INJECT_KINDS; k++)
        for (uint32_t i = 0; of >> k & 1 && kinds[k].statuses[i]; i++)
            if (kinds[k].statuses[i] == status)
                return true;
    return false;
}

/* ---- What is told ------------------------------------------------------- */

void trial_tell(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s: %s: ", scene->name, what);
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    va_end(values);
    failures++;
}

uint32_t trial_failures(void)
{
    return failures;
}

static void on_hang(int signal)
{
    static const char words[] = ": does not end\n";
    (void)signal;
    (void)!write(STDERR_FILENO, scene->name, strlen(scene->name));
    (void)!write(STDERR_FILENO, ": ", 2);
    (void)!write(STDERR_FILENO, what, strlen(what));
    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    abort();
}

/* ---- What is left ------------------------------------------------------- */

struct left {
    uint64_t blocks, mapped;
    uint32_t files, threads;
};

static uint32_t entries(const char *path)
{
    uint32_t n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static struct left look(void)
{
    struct left l = {.files = entries("/proc/self/fd"),
                     .threads = entries("/proc/self/task")};
    struct inject_held held = inject_held();
    l.blocks = held.blocks;
    l.mapped = held.mapped;
    return l;
}

static bool is_more(const struct left *now, const struct left *before)
{
    return now->blocks > before->blocks + scene->kept ||
           now->mapped > before->mapped ||
           now->files > before->files + scene->kept ||
           now->threads > before->threads;
}

static void tell_left(const struct left *now, const struct left *before,
                      uint64_t serial)
{
    const void *places[8];
    uint32_t n = inject_held_since(serial, places, 8);
    trial_tell("left: %" PRId64 " blocks, %" PRId64 " bytes mapped, %d files, "
               "%d threads",
               (int64_t)(now->blocks - before->blocks),
               (int64_t)(now->mapped - before->mapped),
               (int)(now->files - before->files),
               (int)(now->threads - before->threads));
    for (uint32_t i = 0; i < n; i++)
        fprintf(stderr, "    a block of %p (trial_tell is %p)\n", places[i],
                (void *)(uintptr_t)trial_tell);
}

/* A thread that was joined is seen for a moment. */
static void check_left(struct left *before, uint64_t serial)
{
    struct left now = look();
    for (uint32_t i = 0; i < 500 && now.threads > before->threads; i++) {
        usleep(1000);
        now = look();
    }
    if (is_more(&now, before)) {
        tell_left(&now, before, serial);
        *before = now; /* the next one leaves its own */
    }
}

/* ---- One life ----------------------------------------------------------- */

void trial_disarm(void)
{
    inject_disarm();
    inject_device_disarm();
}

static void check_end(uint32_t of, int32_t status)
{
    if (status >= 0)
        return;
    if (!may_end(of, status))
        trial_tell("%s: %s", feedline_status_name(status), trial_now.words);
    else if (!trial_now.words[0])
        trial_tell("%s without words", feedline_status_name(status));
}

static void count_end(struct tally *t, int32_t status)
{
    t->same += status >= 0;
    t->errors += status < 0;
    if (status < 0)
        t->by_status[-status & 15]++;
}

static int32_t live(struct left *left)
{
    uint64_t serial = inject_held_serial();
    trial_now.words[0] = '\0';
    trial_now.delivered = 0;
    alarm(LIFE_S);
    int32_t status = scene->life();
    trial_disarm();
    if (scene->settle)
        scene->settle();
    alarm(0);
    if (left)
        check_left(left, serial);
    return status;
}

static void live_well(const char *when, bool goes_on)
{
    snprintf(what, sizeof(what), "%s", when);
    trial_now.goes_on = goes_on;
    trial_now.sound = true;
    int32_t status = live(NULL);
    trial_now.sound = false;
    if (status < 0)
        trial_tell("%s: %s", feedline_status_name(status), trial_now.words);
}

static bool was_reached(int32_t status)
{
    bool failed = inject_failed() + inject_device_failed() > 0;
    if (!failed && status < 0)
        trial_tell("nothing failed, and %s: %s", feedline_status_name(status),
                   trial_now.words);
    return failed;
}

static int32_t live_failing(enum inject_kind kind, uint32_t n, bool lasting,
                            bool goes_on, struct left *left)
{
    snprintf(what, sizeof(what), "%s %u%s, %s", names[kind], n,
             lasting ? " and all after it" : "",
             goes_on ? "used on" : "destroyed");
    trial_now.goes_on = goes_on;
    if (kind == INJECT_DEVICE)
        inject_device_arm(n, lasting);
    else
        inject_arm(kind, n, lasting);
    int32_t status = live(left);
    check_end(UINT32_C(1) << kind, status);
    return status;
}

/* Whether there was such a call. */
static bool fail_one(enum inject_kind kind, uint32_t n, bool lasting,
                     struct tally *t, struct left *left)
{
    int32_t status = live_failing(kind, n, lasting, false, left);
    if (!was_reached(status))
        return false;
    t->once += !lasting;
    t->lasting += lasting;
    count_end(t, status);
    (void)live_failing(kind, n, lasting, true, left);
    return true;
}

/* ---- Many --------------------------------------------------------------- */

/* How many calls are made differs a little from life to life. */
static void fail_each(enum inject_kind kind, bool lasting,
                      const struct plan *plan, struct tally *t,
                      struct left *left)
{
    bool slow = scene->slow >> kind & 1;
    uint32_t sure = kind == INJECT_DEVICE ? inject_device_calls() : 0;
    uint32_t missed = 0, tried = 0;
    uint32_t n = plan->nth ? plan->nth : 1 + (uint32_t)kind % plan->part;
    for (; missed < 2 || n <= sure; n += plan->part) {
        missed = fail_one(kind, n, lasting, t, left) ? 0 : missed + 1;
        if (plan->nth || (slow && ++tried >= SLOW))
            return;
        if (!missed && n >= MOST_CALLS) {
            trial_tell("there is no end of calls");
            return;
        }
    }
}

/* Every other schedule lets memory be: a life has far more calls for it than
 * others, and would seldom come to those. */
static uint32_t mixed_kinds(uint64_t seed)
{
    uint32_t others = scene->kinds & ~KIND(MEMORY);
    return seed % 2 && others ? others : scene->kinds;
}

static void arm_by_chance(uint32_t mixed, uint64_t seed, uint32_t one_in)
{
    /* A life has few calls that are slow, and each one costs a pause. */
    uint32_t slow = mixed & scene->slow;
    inject_arm_random(mixed & ~slow & ~KIND(DEVICE), seed * 7919, one_in);
    inject_also(slow, SLOW);
    if (mixed & KIND(DEVICE))
        inject_device_arm_random(seed * 7919, one_in);
}

/* tallies: [0] of schedules; calls that failed in them, by kind. */
static void count_calls(struct tally tallies[INJECT_KINDS])
{
    for (uint32_t k = 1; k < INJECT_KINDS; k++) {
        uint32_t n = k == INJECT_DEVICE ? inject_device_failed()
                                        : inject_failed_of((enum inject_kind)k);
        tallies[k].calls += n;
        tallies[0].calls += n;
    }
}

static void fail_by_chance(const struct plan *plan,
                           struct tally tallies[INJECT_KINDS],
                           struct left *left)
{
    static const uint32_t one_in[] = {300, 100, 30, 10, 3};
    struct tally *t = &tallies[0];
    for (uint32_t i = 0; i < plan->random; i++) {
        uint64_t seed = plan->seed + i;
        uint32_t one = one_in[seed % FDL_COUNT_OF(one_in)];
        uint32_t mixed = mixed_kinds(seed);
        snprintf(what, sizeof(what), "schedule %" PRIu64 ", one in %u", seed,
                 one);
        trial_now.goes_on = seed / FDL_COUNT_OF(one_in) % 2;
        arm_by_chance(mixed, seed, one);
        int32_t status = live(left);
        t->once++;
        count_calls(tallies);
        check_end(mixed, status);
        count_end(t, status);
    }
}

const char *trial_play(const struct scenario *s, const struct plan *plan,
                       struct tally tallies[INJECT_KINDS])
{
    scene = s;
    signal(SIGALRM, on_hang);
    const char *missing = s->setup();
    if (missing)
        return missing;
    trial_forget();
    trial_now.learns = true;
    live_well("the first life", true);
    trial_now.learns = false;
    live_well("the second life", false); /* all is there that is kept */
    struct left left = look();
    for (uint32_t k = 1; plan->part > 0 && k < INJECT_KINDS; k++) {
        if (!(s->kinds & plan->kinds & UINT32_C(1) << k))
            continue;
        fail_each((enum inject_kind)k, false, plan, &tallies[k], &left);
        if (!kinds[k].once)
            fail_each((enum inject_kind)k, true, plan, &tallies[k], &left);
        live_well("after them all", false);
    }
    fail_by_chance(plan, tallies, &left);
    live_well("at the end", false);
    s->teardown();
    return NULL;
}

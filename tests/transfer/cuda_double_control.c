/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the double is steered, and what it has seen: settings by name, failures
 * by order, faults, counters, leaks.
 */
#include "cuda_double_own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_STRICT 86
#define TEXT_CHARS    1024

static const char *const names[] = {
#define DOUBLE_MEMBER(name, need) #name,
    DOUBLE_FUNCTIONS(DOUBLE_MEMBER)
#undef DOUBLE_MEMBER
};

static enum double_function function_of(const char *name)
{
    size_t i = 0;
    while (i < FN_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum double_function)i;
}

/* ---- Failures by order ---------------------------------------------- */

/* Every rule of the function counts every call; the first that is due wins. */
int double_ordered_locked(enum double_function f)
{
    int error = 0;
    for (uint32_t i = 0; i < double_world.n_rules; i++) {
        struct double_rule *r = &double_world.rules[i];
        if (r->function != f || r->left == 0)
            continue;
        if (r->left > 1) {
            r->left--;
            continue;
        }
        if (!error)
            error = r->error;
        if (!r->lasting)
            r->left = 0;
    }
    return error;
}

/* splitmix64 */
int double_chance_locked(void)
{
    struct double_chance *c = &double_world.chance;
    if (c->one_in == 0)
        return 0;
    uint64_t x = c->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % c->one_in == 0 ? c->error : 0;
}

static bool fail_locked(const char *name, uint64_t n, int error, bool lasting)
{
    struct double_world *w = &double_world;
    enum double_function f = function_of(name);
    if (f == FN_COUNT || n == 0 || error <= 0 || w->n_rules == DOUBLE_RULES)
        return false;
    w->rules[w->n_rules++] = (struct double_rule){
        .function = f, .left = n, .error = error, .lasting = lasting};
    return true;
}

/* NAME:N:E, with + at the end. */
static bool parse_fail_locked(char *text)
{
    char *n = strchr(text, ':'), *error = n ? strchr(n + 1, ':') : NULL;
    if (!error)
        return false;
    *n++ = *error++ = '\0';
    char *end_n, *end_error;
    unsigned long long count = strtoull(n, &end_n, 10);
    long code = strtol(error, &end_error, 10);
    bool lasting = *end_error == '+';
    if (end_n == n || *end_n || end_error == error || end_error[lasting] ||
        code > 9999)
        return false;
    return fail_locked(text, count, (int)code, lasting);
}

/* ---- Settings ------------------------------------------------------- */

static bool number(const char *text, double least, double most, double *out)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    static const char suffixes[] = "kmgt";
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        for (const char *s = suffixes; s <= suffix; s++)
            x *= 1024;
        end++;
    }
    if (end == text || *end || errno || !(x >= least && x <= most))
        return false;
    *out = x;
    return true;
}

static bool set_number_locked(const char *name, const char *value)
{
    struct double_settings *set = &double_world.set;
    double x;
    if (!number(value, 0, 1e18, &x))
        return false;
    if (strcmp(name, "latency_us") == 0)
        set->latency_ns = (int64_t)(x * 1000);
    else if (strcmp(name, "delay_us") == 0)
        set->delay_ns = (int64_t)(x * 1000);
    else if (strcmp(name, "decode_us") == 0)
        set->decode_ns = (int64_t)(x * 1000);
    else if (strcmp(name, "gbps") == 0)
        set->bytes_per_ns = x;
    else if (strcmp(name, "seed") == 0)
        set->seed = (uint64_t)x;
    else if (strcmp(name, "memory") == 0)
        set->device_bytes = (uint64_t)x;
    else if (strcmp(name, "taken") == 0)
        set->taken_bytes = (uint64_t)x;
    else if (strcmp(name, "pinned") == 0)
        set->pinned_bytes = (uint64_t)x;
    else if (strcmp(name, "queue") == 0 && x >= 1)
        set->queue = (uint64_t)x;
    else if (strcmp(name, "devices") == 0 && x <= DOUBLE_DEVICES)
        set->devices = (int)x;
    else if (strcmp(name, "init") == 0 && x <= 999)
        set->init_error = (int)x;
    else if (strcmp(name, "driver_version") == 0 && x <= 99999)
        set->driver_version = (int)x;
    else if (strcmp(name, "capability") == 0 && x <= 999)
        set->capability = (int)x;
    else if (strcmp(name, "no_device") == 0 && x <= 1)
        set->devices = x > 0 ? 0 : set->devices;
    else if (strcmp(name, "register") == 0 && x <= 1)
        set->registers = x > 0;
    else if (strcmp(name, "pools") == 0 && x <= 1)
        set->pools = x > 0;
    else if (strcmp(name, "hash") == 0 && x <= 1)
        set->hash = x > 0;
    else if (strcmp(name, "decode") == 0 && x <= 1)
        set->decodes = x > 0;
    else if (strcmp(name, "strict") == 0 && x <= 1)
        set->strict = x > 0;
    else
        return false;
    return true;
}

static bool set_locked(const char *text)
{
    char copy[TEXT_CHARS], *rest = copy, *item;
    if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
        return false;
    while ((item = strsep(&rest, ",")) != NULL) {
        char *value = strchr(item, '=');
        if (!*item)
            continue;
        if (!value)
            return false;
        *value++ = '\0';
        bool ok = strcmp(item, "fail") == 0 ? parse_fail_locked(value)
                                            : set_number_locked(item, value);
        if (!ok)
            return false;
    }
    return true;
}

static void report_at_exit(void);

/* A thread of the parent may be in a call, and its child inherits the lock. */
static void hold_world(void)
{
    pthread_mutex_lock(&double_world.lock);
    double_before_fork_locked();
}

static void let_world_go(void)
{
    pthread_mutex_unlock(&double_world.lock);
}

void double_ready_locked(void)
{
    struct double_world *w = &double_world;
    if (w->ready)
        return;
    w->ready = true;
    w->generation++;
    if (w->last_handle == 0) {
        w->last_handle = 0x10000;
        atexit(report_at_exit);
        pthread_atfork(hold_world, let_world_go, let_world_go);
    }
    w->n_rules = 0;
    w->chance.one_in = 0;
    w->n_ordered = 0;
    w->set = (struct double_settings){
        .devices = 2,
        .driver_version = 12040,
        .capability = 90,
        .seed = 1,
        .device_bytes = 1ull << 40,
        .pinned_bytes = 1ull << 40,
        .queue = 1024,
        .registers = true,
        .pools = true,
        .hash = true,
        .decodes = true,
    };
    const char *text = getenv("CUDA_DOUBLE");
    if (text && !set_locked(text)) {
        fprintf(stderr, "CUDA_DOUBLE=%s: see tests/transfer/cuda_double.h\n",
                text);
        _exit(STATUS_STRICT);
    }
}

bool double_set(const char *text)
{
    double_enter(FN_COUNT);
    bool ok = set_locked(text);
    double_leave(0);
    return ok;
}

bool double_fail(const char *name, uint64_t n, int error, bool lasting)
{
    double_enter(FN_COUNT);
    bool ok = fail_locked(name, n, error, lasting);
    double_leave(0);
    return ok;
}

void double_fail_by_chance(uint32_t one_in, uint64_t seed, int error)
{
    double_enter(FN_COUNT);
    double_world.chance = (struct double_chance){one_in, seed, error};
    double_leave(0);
}

uint64_t double_failed(void)
{
    double_enter(FN_COUNT);
    uint64_t n = double_world.n_ordered;
    double_leave(0);
    return n;
}

void double_fail_no_more(void)
{
    double_enter(FN_COUNT);
    double_world.n_rules = 0;
    double_world.chance.one_in = 0;
    double_leave(0);
}

void double_set_kernel_cost(double_cost cost, void *user)
{
    double_enter(FN_COUNT);
    double_world.cost = cost;
    double_world.cost_user = user;
    double_leave(0);
}

void double_set_clock(int64_t (*now_ns)(void))
{
    double_enter(FN_COUNT);
    double_world.clock = now_ns;
    double_leave(0);
}

bool double_hold(const char *name)
{
    double_enter(FN_COUNT);
    enum double_function f = function_of(name);
    double_world.held = f == FN_COUNT ? -1 : (int)f;
    double_leave(0);
    return f != FN_COUNT;
}

void double_await_held(void)
{
    double_enter(FN_COUNT);
    while (double_world.n_held == 0)
        double_wait_locked();
    double_leave(0);
}

void double_await_full(void)
{
    double_enter(FN_COUNT);
    while (double_world.n_full == 0)
        double_wait_locked();
    double_leave(0);
}

void double_let_go(void)
{
    double_enter(FN_COUNT);
    double_world.held = -1;
    pthread_cond_broadcast(&double_world.changed);
    double_leave(0);
}

void double_reset(void)
{
    double_enter(FN_COUNT);
    struct double_world *w = &double_world;
    double_close_all_locked();
    while (w->allocations)
        double_allocation_free_locked(w->allocations);
    while (w->pools)
        double_pool_forget_locked(w->pools);
    while (w->registrations)
        double_registration_free_locked(w->registrations);
    for (int i = 0; i < DOUBLE_DEVICES; i++)
        w->devices[i] =
            (struct double_device){.retained = w->devices[i].retained};
    memset(w->calls, 0, sizeof(w->calls));
    w->n_calls = w->capture_from = w->capture_until = 0;
    w->counters = (struct double_counters){.copies = 0};
    w->cost = NULL;
    w->clock = NULL;
    w->n_faults = 0;
    if (w->initialised_by)
        w->initialised_by = getpid();
    w->ready = false;
    double_ready_locked();
    double_leave(0);
}

/* ---- Faults --------------------------------------------------------- */

void double_fault_locked(const char *format, ...)
{
    uint64_t n = double_world.n_faults++;
    if (n >= DOUBLE_FAULTS)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(double_world.faults[n], DOUBLE_FAULT_CHARS, format, args);
    va_end(args);
}

static void faults_text_locked(char *text, size_t capacity)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint64_t i = 0; i < FDL_MIN(double_world.n_faults, DOUBLE_FAULTS);
         i++) {
        int n = snprintf(text + at, capacity - at, "%s%s", i ? "\n" : "",
                         double_world.faults[i]);
        at += (size_t)n;
        if (at >= capacity)
            return;
    }
}

uint64_t double_faults(char *text, size_t capacity)
{
    double_enter(FN_COUNT);
    uint64_t n = double_world.n_faults;
    if (text && capacity > 0)
        faults_text_locked(text, capacity);
    double_leave(0);
    return n;
}

static uint64_t leaks_locked(void)
{
    struct double_world *w = &double_world;
    uint64_t before = w->n_faults;
    for (struct double_stream *s = w->streams; s; s = s->next)
        if (!s->legacy && !s->of_thread)
            double_fault_locked("leak: stream %" PRIu64 " of device %d",
                                s->handle, s->of_device);
    for (struct double_event *e = w->events; e; e = e->next)
        double_fault_locked("leak: event %" PRIu64 " of device %d", e->handle,
                            e->of_device);
    for (struct double_allocation *a = w->allocations; a; a = a->next)
        double_fault_locked("leak: %" PRIu64 " bytes of device %d at %p",
                            a->bytes, a->of_device, (void *)a->device);
    for (struct double_pool *p = w->pools; p; p = p->next)
        double_fault_locked("leak: a memory pool of device %d", p->of_device);
    for (struct double_registration *r = w->registrations; r; r = r->next)
        double_fault_locked("leak: %" PRIu64 " bytes of pinned memory at %p",
                            r->bytes, (void *)r->begin);
    return w->n_faults - before;
}

uint64_t double_check_leaks(void)
{
    double_enter(FN_COUNT);
    uint64_t n = leaks_locked();
    double_leave(0);
    return n;
}

static void report_at_exit(void)
{
    static char text[DOUBLE_FAULTS * DOUBLE_FAULT_CHARS];
    double_enter(FN_COUNT);
    bool strict = double_world.set.strict;
    uint64_t n = strict ? (leaks_locked(), double_world.n_faults) : 0;
    faults_text_locked(text, sizeof(text));
    double_leave(0);
    if (n == 0)
        return;
    fflush(NULL);
    fprintf(stderr, "cuda_double: %" PRIu64 " faults\n%s\n", n, text);
    _exit(STATUS_STRICT);
}

/* ---- Counters ------------------------------------------------------- */

void double_get_counters(struct double_counters *out)
{
    double_enter(FN_COUNT);
    struct double_world *w = &double_world;
    *out = w->counters;
    out->calls = w->n_calls;
    for (int i = 0; i < DOUBLE_DEVICES; i++)
        out->contexts += w->devices[i].used || w->devices[i].retained > 0;
    for (struct double_allocation *a = w->allocations; a; a = a->next)
        out->live_allocations++;
    for (struct double_registration *r = w->registrations; r; r = r->next)
        out->live_registrations++;
    double_leave(0);
}

uint64_t double_calls(const char *name)
{
    double_enter(FN_COUNT);
    enum double_function f = function_of(name);
    uint64_t n = f == FN_COUNT ? UINT64_MAX : double_world.calls[f];
    double_leave(0);
    return n;
}

uint32_t double_depth(void)
{
    double_enter(FN_COUNT);
    uint32_t depth = double_self.depth;
    double_leave(0);
    return depth;
}

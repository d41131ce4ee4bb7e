/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's phases through the public interface. */
#include "loader/loader.h"
#include "loader/watch/phases.h"
#include "tests/loader/fixture.h"

#include <pthread.h>
#include <time.h>

#define IMAGES 24u /* three batches of an epoch */

static struct fixture images;
static feedline_loader *loader;

static void setup(void)
{
    fixture_create(&images, IMAGES);
    loader = fixture_open(images.ds, "workers=1");
}

static void teardown(void)
{
    feedline_loader_destroy(loader);
    fixture_remove(&images);
}

static struct feedline_phase_stats phase(uint32_t index)
{
    struct feedline_phase_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_phase(loader, index, &s));
    return s;
}

static struct feedline_stats stats(void)
{
    return fixture_stats(loader);
}

static void begin(const char *name)
{
    assert_ok(feedline_loader_phase_begin(loader, name));
}

static void end(void)
{
    assert_ok(feedline_loader_phase_end(loader));
}

static void step(void)
{
    feedline_batch *b;
    int32_t status;
    while ((status = feedline_loader_next(loader, -1, &b)) == FEEDLINE_END)
        ;
    assert_int_equal(status, FEEDLINE_OK);
    feedline_batch_release(b);
}

static void work(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static uint64_t self_sum(void)
{
    uint64_t sum = 0;
    int32_t n = feedline_loader_phase_count(loader);
    for (int32_t i = 0; i < n; i++)
        sum += phase((uint32_t)i).self_ns;
    return sum;
}

/* What is asleep is at least that long, and all of it is user time already. */
TEST_WITH(phases_are_user_time, setup, teardown)
{
    for (int i = 0; i < 5; i++) {
        step();
        begin("forward");
        work();
        begin("loss");
        work();
        end();
        end();
        begin("backward");
        work();
        end();
        assert_true(self_sum() <= stats().user_ns);
    }
    assert_int_equal(feedline_loader_phase_count(loader), 3);
    struct feedline_phase_stats forward = phase(0), loss = phase(1);
    assert_string_equal(forward.name, "forward");
    assert_string_equal(loss.name, "loss");
    assert_string_equal(phase(2).name, "backward");
    assert_int_equal(forward.count, 5);
    assert_int_equal(loss.count, 5);
    assert_true(loss.self_ns >= 5000000);
    assert_true(forward.self_ns >= 5000000);
    assert_int_equal(forward.total_ns, forward.self_ns + loss.total_ns);
    assert_true(forward.max_ns >= 2000000 &&
                forward.max_ns <= forward.total_ns);
    step();
    struct feedline_stats s = stats();
    assert_true(self_sum() <= s.user_ns);
    assert_true(s.wall_ns == s.user_ns + s.wait_ns + s.api_ns);
}

/* A phase over many steps has their user time and nothing else. */
/* Those in which ranks wait for each other, by their names. */
TEST_WITH(phases_of_all_ranks_are_known, setup, teardown)
{
    static const char *const names[] = {"all_reduce", "sync grads", "barrier"};
    struct fdl_watch *watch = loader->sources.watch;
    uint64_t sum = 0;
    step();
    begin("forward");
    work();
    end();
    assert_true(fdl_phases_synced(watch) < 0); /* there is none */
    for (uint32_t i = 0; i < FDL_COUNT_OF(names); i++) {
        begin(names[i]);
        work();
        end();
        sum += phase(1 + i).self_ns;
        assert_int_equal(fdl_phases_synced(watch), sum);
    }
}

TEST_WITH(waits_do_not_count, setup, teardown)
{
    step();
    struct feedline_stats before = stats();
    begin("epoch");
    for (int i = 0; i < 20; i++)
        step();
    end();
    struct feedline_stats after = stats();
    struct feedline_phase_stats epoch = phase(0);
    assert_int_equal(epoch.count, 1);
    assert_true(epoch.total_ns <= after.user_ns - before.user_ns);
    assert_true(after.wait_ns > before.wait_ns);
}

/* Begun before the loader runs, ended when it does; and through a restart. */
TEST_WITH(spans_starts_and_stops, setup, teardown)
{
    begin("setup");
    work();
    end(); /* nothing runs yet: no time of the consumer */
    assert_int_equal(phase(0).total_ns, 0);
    begin("training");
    step();
    work();
    assert_ok(feedline_loader_stop(loader));
    work();
    assert_ok(feedline_loader_start(loader, 0));
    step();
    assert_ok(feedline_loader_set_position(loader, 1, 8));
    step();
    work();
    end();
    assert_true(phase(1).total_ns >= 1000000);
    assert_true(self_sum() <= stats().user_ns);
    begin("left open");
}

TEST_WITH(reset_keeps_names, setup, teardown)
{
    step();
    begin("outer");
    begin("inner");
    work();
    end();
    assert_ok(feedline_loader_reset_stats(loader));
    assert_int_equal(phase(0).total_ns, 0);
    assert_int_equal(phase(1).count, 0);
    work();
    end();
    assert_int_equal(phase(0).count, 1);
    assert_true(phase(0).total_ns >= 1000000);
    assert_true(self_sum() <= stats().user_ns);
}

static void *mark(void *arg)
{
    (void)arg;
    assert_error(feedline_loader_phase_begin(loader, "other"), FEEDLINE_ESTATE,
                 "thread");
    assert_error(feedline_loader_phase_end(loader), FEEDLINE_ESTATE, "thread");
    for (int i = 0; i < 100; i++) /* any thread may look */
        for (int32_t n = feedline_loader_phase_count(loader); n-- > 0;)
            phase((uint32_t)n);
    return NULL;
}

TEST_WITH(errors_are_told, setup, teardown)
{
    pthread_t thread;
    struct feedline_phase_stats s = {.struct_size = sizeof(s)};
    assert_error(feedline_loader_phase_end(loader), FEEDLINE_ESTATE, "begin");
    assert_error(feedline_loader_phase_begin(loader, NULL), FEEDLINE_EINVAL,
                 "name");
    assert_error(feedline_loader_phase_begin(NULL, "x"), FEEDLINE_EINVAL,
                 "loader");
    assert_error(feedline_loader_phase_end(NULL), FEEDLINE_EINVAL, "loader");
    assert_error(feedline_loader_phase_begin(
                     loader, "a name of 32 bytes, too long....."),
                 FEEDLINE_EINVAL, "31 bytes");
    assert_error(feedline_loader_get_phase(loader, 0, &s), FEEDLINE_ERANGE,
                 "there are 0");
    assert_int_equal(s.name == NULL, 1);
    begin("forward");
    pthread_create(&thread, NULL, mark, NULL);
    step();
    end();
    pthread_join(thread, NULL);
    assert_int_equal(feedline_loader_phase_count(loader), 1);
    assert_error(feedline_loader_get_phase(loader, 0, NULL), FEEDLINE_EINVAL,
                 "");
    for (int i = 1; i < 32; i++) {
        char name[32];
        snprintf(name, sizeof(name), "phase %d", i);
        begin(name);
        end();
    }
    assert_error(feedline_loader_phase_begin(loader, "phase 32"),
                 FEEDLINE_ERANGE, "phase 32");
    assert_int_equal(feedline_loader_phase_count(loader), 32);
    begin("forward");
}

/* The rows of the JSON are all of user time. */
TEST_WITH(json_sums_to_user_time, setup, teardown)
{
    static char text[1 << 20];
    uint64_t needed;
    double sum = 0, value;
    step();
    begin("forward");
    work();
    end();
    step();
    assert_ok(feedline_loader_stats_json(loader, text, sizeof(text), &needed));
    char *at = strstr(text, "\"phases\":[");
    assert_non_null(at);
    char *last = strstr(at, "(other)");
    assert_non_null(last);
    assert_non_null(strstr(at, "\"name\":\"forward\",\"count\":1,"));
    char *end_of = strchr(at, ']');
    assert_true(last < end_of);
    *end_of = '\0';
    while ((at = strstr(at, "\"self_seconds\":")) != NULL) {
        assert_int_equal(sscanf(at, "\"self_seconds\":%lf", &value), 1);
        sum += value;
        at++;
    }
    double off = sum - (double)stats().user_ns / 1e9;
    assert_true(off < 1e-12 && off > -1e-12);
}

TEST_MAIN("phases")

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a profiler is told by a real run: each range with its batch and samples,
 * each of them ended, on threads with names; and by a build without NVTX, or
 * without a profiler, nothing.
 */
#include "fixture.h"
#include "nvtx_listener.h"
#include "transfer/nvtx.h"

#include <dlfcn.h>
#include <unistd.h>

#define N      50
#define BATCH  8
#define EPOCHS 2

FIXTURE_IMAGES(N)

/* What the listener heard; it is in the process once somebody loaded it. */
static void listen(struct nvtx_listener *out)
{
    void (*get)(struct nvtx_listener *) = NULL;
    void *library = dlopen(getenv("FDL_TEST_LISTENER"), RTLD_NOW);
    if (!library)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "nvtx_listener_get");
    assert_non_null(symbol);
    memcpy(&get, &symbol, sizeof(get));
    get(out);
}

static const struct nvtx_listener_range *find(const struct nvtx_listener *l,
                                              const char *name)
{
    for (uint32_t i = 0; i < l->n_ranges; i++) {
        if (strcmp(l->ranges[i].name, name) == 0)
            return &l->ranges[i];
    }
    fail_msg("no range '%s' was registered", name);
    return NULL;
}

static bool has_thread(const struct nvtx_listener *l, const char *name)
{
    for (uint32_t i = 0; i < l->n_threads; i++) {
        if (strncmp(l->threads[i], name, strlen(name)) == 0)
            return true;
    }
    return false;
}

/* A run, and one that is stopped half way. */
static void run(const char *reader)
{
    char options[128];
    snprintf(options, sizeof(options),
             "epochs=%d workers=2 batch_size=%d reader=%s", EPOCHS, BATCH,
             reader);
    feedline_dataset *ds = fixture_folder(&images);
    feedline_loader *l = fixture_open(ds, options);
    fixture_run(l, EPOCHS);
    feedline_batch *b;
    assert_ok(feedline_loader_start(l, 0));
    assert_ok(feedline_loader_next(l, -1, &b));
    feedline_batch_release(b);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
}

static void check_balance(const struct nvtx_listener *l)
{
    assert_int_equal(l->faults, 0);
    for (uint32_t i = 0; i < l->n_ranges; i++) {
        const struct nvtx_listener_range *r = &l->ranges[i];
        if (r->pushes != r->pops || r->starts != r->ends)
            fail_msg("%s: %d pushes, %d pops, %d starts, %d ends", r->name,
                     (int)r->pushes, (int)r->pops, (int)r->starts,
                     (int)r->ends);
    }
}

static void check_counts(const struct nvtx_listener *l, bool fields)
{
    const uint64_t batches = EPOCHS * ((N + BATCH - 1) / BATCH);
    const struct nvtx_listener_range *next = find(l, "next");
    const struct nvtx_listener_range *read = find(l, "read");
    const struct nvtx_listener_range *decode = find(l, "decode");
    const struct nvtx_listener_range *release = find(l, "release");
    assert_int_equal(l->domains, 1);
    assert_string_equal(l->domain, "feedline");
    assert_int_equal(find(l, "run")->starts, 2);
    assert_int_equal(next->pushes, batches + EPOCHS + 1); /* and each END */
    assert_int_equal(next->batches_end, batches + 1);
    assert_int_equal(release->pushes, batches + 1);
    assert_int_equal(release->batches_end, batches);
    assert_true(read->starts > N * EPOCHS);
    assert_true(decode->pushes > N * EPOCHS);
    assert_true(decode->pushes <= read->starts);
    assert_int_equal(decode->batches_end, batches);
    if (!fields) {
        assert_int_equal(l->fields, 0);
        return;
    }
    assert_int_equal(decode->samples, decode->pushes);
    assert_int_equal(read->samples, read->starts);
    assert_int_equal(release->samples, N * EPOCHS + BATCH);
    assert_int_equal(next->samples, next->pushes * BATCH);
    assert_true(l->fields > 0);
}

static void need_nvtx(void)
{
    if (!getenv("FDL_TEST_LISTENER"))
        test_skip("built without NVTX");
}

static void listens(const char *reader, bool fields)
{
    struct nvtx_listener heard;
    need_nvtx();
    setenv("NVTX_INJECTION64_PATH", getenv("FDL_TEST_LISTENER"), 1);
    setenv("NVTX_LISTENER", fields ? "fields" : "plain", 1);
    run(reader);
    listen(&heard);
    check_balance(&heard);
    check_counts(&heard, fields);
    assert_true(has_thread(&heard, "feedline-dec-0"));
    assert_true(has_thread(&heard, "feedline-dec-1"));
}

TEST_WITH(a_profiler_sees_a_run, setup, teardown)
{
    listens("auto", true);
}

TEST_WITH(a_profiler_sees_a_run_of_pread, setup, teardown)
{
    listens("pread", true);
}

TEST_WITH(an_old_profiler_sees_batches, setup, teardown)
{
    listens("auto", false);
}

TEST_WITH(nobody_is_told_without_a_profiler, setup, teardown)
{
    unsetenv("NVTX_INJECTION64_PATH");
    run("auto");
    assert_false(fdl_nvtx_is_on());
    assert_int_equal(fdl_nvtx_start(FDL_NVTX_RUN, 0, 0), 0);
    fdl_nvtx_end(0);
    fdl_nvtx_push(FDL_NVTX_COPY, 0, 0);
    fdl_nvtx_pop();
}

TEST_MAIN("transfer_nvtx")

/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver's double keeps CUDA's order, and sees what breaks it. A
 * paused stream, or a kernel whose cost is asked and not answered yet, holds an
 * operation where a case wants it, so nothing here depends on time. */
#include "cuda_desk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A kernel that runs until it is told to end --------------------- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool gate_reached, gate_open;
static uint64_t gate_amount;

static int64_t wait_at_gate(const char *kernel, uint64_t amount, void *user)
{
    (void)kernel;
    (void)user;
    pthread_mutex_lock(&gate_lock);
    gate_amount = amount;
    gate_reached = true;
    pthread_cond_broadcast(&gate_moved);
    while (!gate_open)
        pthread_cond_wait(&gate_moved, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
    return 0;
}

static void await_gate(void)
{
    pthread_mutex_lock(&gate_lock);
    while (!gate_reached)
        pthread_cond_wait(&gate_moved, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate_lock);
    gate_open = true;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate_lock);
}

/* ---- Finding it ----------------------------------------------------- */

TEST(is_one_instance_with_every_function)
{
    const char *path = getenv("FEEDLINE_LIBCUDA");
    assert_non_null(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
#define SAME(name, version, parameters)                                        \
  {                                                                            \
    int(*linked) parameters = cu##name##version;                               \
    void *found = dlsym(library, "cu" #name #version);                         \
    assert_memory_equal(&linked, &found, sizeof(found));                       \
  }
    FDL_CUDA_FUNCTIONS(SAME)
    FDL_CUDA_POOL_FUNCTIONS(SAME)
#undef SAME
    dlclose(library);
    no_faults();
}

TEST(tells_of_its_devices)
{
    int n, x, least, greatest;
    char text[64];
    ok(cuDriverGetVersion(&n));
    assert_int_equal(n, 12040);
    assert_int_equal(cuDeviceGetCount(&n), DOUBLE_ERROR_NOT_INITIALIZED);
    ok(cuInit(0));
    ok(cuDeviceGetCount(&n));
    assert_int_equal(n, 2);
    ok(cuDeviceGetAttribute(&x, FDL_CUDA_ATTR_COPY_ENGINES, 1));
    assert_int_equal(x, 2);
    ok(cuDeviceGetPCIBusId(text, sizeof(text), 1));
    assert_string_equal(text, "ffff:02:00.0");
    assert_int_equal(cuDeviceGetPCIBusId(text, sizeof(text), 2), 101);
    ok(cuDeviceGet(&x, 1));
    ok(cuDeviceGetName(text, sizeof(text), x));
    assert_string_equal(text, "Double 1");

    struct double_counters seen;
    double_get_counters(&seen);
    assert_int_equal(seen.contexts, 0); /* until here nothing needs one */
    assert_int_equal(cuCtxGetStreamPriorityRange(&least, &greatest),
                     DOUBLE_ERROR_CONTEXT);
    double_use_device(0);
    ok(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest < least);
    double_get_counters(&seen);
    assert_int_equal(seen.contexts, 1);
    assert_int_equal(double_calls("cuDeviceGetCount"), 2);
    assert_int_equal(double_calls("cuMemAlloc"), 0);
    assert_true(double_calls("cuNoSuch") == UINT64_MAX);
}

TEST(keeps_a_stack_of_contexts)
{
    void *one, *popped;
    int device;
    ok(cuInit(0));
    assert_int_equal(double_depth(), 0);
    ok(cuDevicePrimaryCtxRetain(&one, 1));
    ok(cuCtxPushCurrent(one));
    ok(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    fdl_cuda_stream s = new_stream();
    fdl_cuda_event e = new_event();
    ok(cuEventRecord(e, s)); /* both are of device 1 */
    ok(cuCtxPopCurrent(&popped));
    assert_ptr_equal(popped, one);
    assert_int_equal(double_depth(), 0);
    assert_int_equal(cuCtxGetDevice(&device), DOUBLE_ERROR_CONTEXT);
    assert_int_equal(cuStreamSynchronize(s), DOUBLE_ERROR_CONTEXT);

    double_use_device(0);
    assert_int_equal(double_depth(), 1);
    fdl_cuda_event other = new_event();
    assert_int_equal(cuEventRecord(other, s), DOUBLE_ERROR_HANDLE);
    ok(cuStreamWaitEvent(s, other, 0)); /* across devices it may wait */
    double_use_device(1);
    ok(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    assert_int_equal(double_depth(), 1);
    ok(cuCtxSetCurrent(NULL));
    assert_int_equal(double_depth(), 0);
    no_faults();
    ok(cuDevicePrimaryCtxRelease(1));
    assert_int_equal(cuDevicePrimaryCtxRelease(1), DOUBLE_ERROR_CONTEXT);
    one_fault("was not retained");
}

/* ---- Copies --------------------------------------------------------- */

TEST_WITH(copies_later_and_in_order, open_desk, close_desk)
{
    struct double_counters seen;
    double_pause(d.a);
    copy_to(d.a);
    assert_int_equal(cuStreamQuery(d.a), FDL_CUDA_ERROR_NOT_READY);
    assert_int_equal(device_byte(d.device), 0xa5);
    double_resume(d.a);
    ok(cuStreamSynchronize(d.a));
    ok(cuStreamQuery(d.a));
    assert_int_equal(device_byte(d.device + BYTES - 1), 1);
    assert_int_equal(device_byte(d.device + BYTES), 0xa5);

    memset(d.host, 2, BYTES);
    copy_to(d.a);
    ok(cuMemcpyDtoDAsync(d.device + BYTES, d.device, BYTES, d.a));
    ok(cuMemcpyDtoHAsync(d.host + BYTES, d.device + BYTES, BYTES, d.a));
    ok(cuStreamSynchronize(d.a));
    assert_memory_equal(d.host, d.host + BYTES, BYTES);

    double_get_counters(&seen);
    assert_int_equal(seen.copies, 2);
    assert_int_equal(seen.bytes, 2 * BYTES);
    assert_int_equal(seen.pageable_copies, 0);
    assert_int_equal(seen.read_copies, 1);
    assert_int_equal(seen.synchronisations, 2);
    assert_int_equal(double_calls("cuMemcpyHtoDAsync"), 2);
    no_faults();
}

TEST_WITH(stages_what_is_not_pinned, open_desk, close_desk)
{
    struct double_counters seen;
    unsigned char *plain = malloc(BYTES);
    memset(plain, 3, BYTES);
    double_pause(d.a);
    ok(cuMemcpyHtoDAsync(d.device, plain, BYTES, d.a));
    memset(plain, 4, BYTES); /* it was read before the call returned */
    double_resume(d.a);
    ok(cuStreamSynchronize(d.a));
    assert_int_equal(device_byte(d.device), 3);
    double_get_counters(&seen);
    assert_int_equal(seen.copies, 1);
    assert_int_equal(seen.pageable_copies, 1);
    free(plain);
    no_faults();

    /* Pinned for device 0 is not pinned for device 1, unless it is portable. */
    unsigned char *far;
    double_use_device(1);
    fdl_cuda_stream s = new_stream();
    ok(cuMemAlloc((void **)&far, BYTES));
    ok(cuMemcpyHtoDAsync(far, d.host, BYTES, s));
    double_get_counters(&seen);
    assert_int_equal(seen.pageable_copies, 2);
    ok(cuMemHostUnregister(d.host));
    ok(cuMemHostRegister(d.host, 2 * BYTES, 1));
    double_use_device(0);
    copy_to(d.a);
    double_get_counters(&seen);
    assert_int_equal(seen.pageable_copies, 2);
    ok(cuMemFree(far));
    ok(cuStreamDestroy(s));
    no_faults();
}

TEST_WITH(sees_a_source_that_changes, open_desk, close_desk)
{
    double_pause(d.a);
    copy_to(d.a);
    d.host[BYTES - 1] ^= 1;
    double_resume(d.a);
    ok(cuStreamSynchronize(d.a));
    one_fault("host memory changed before its copy was done");

    assert_true(double_set("hash=0"));
    double_pause(d.a);
    copy_to(d.a);
    d.host[0] ^= 1;
    double_resume(d.a);
    ok(cuStreamSynchronize(d.a));
    one_fault("host memory changed");
}

TEST_WITH(takes_the_time_of_a_copy, open_desk, close_desk)
{
    fdl_cuda_event begin[2] = {new_event(), new_event()};
    fdl_cuda_event end[2] = {new_event(), new_event()};
    float ms[2];
    assert_true(double_set("latency_us=1000,gbps=0.0655360")); /* + 1 ms */
    for (int i = 0; i < 2; i++) {
        fdl_cuda_stream s = i ? d.b : d.a;
        ok(cuEventRecord(begin[i], s));
        ok(cuMemcpyHtoDAsync(d.device + (uint32_t)i * BYTES, d.host, BYTES, s));
        ok(cuEventRecord(end[i], s));
    }
    for (int i = 0; i < 2; i++) {
        ok(cuEventSynchronize(end[i]));
        ok(cuEventElapsedTime(&ms[i], begin[i], end[i]));
        assert_true(ms[i] >= 2.0f);
    }
    /* One engine: whichever came second waited for the first. */
    ok(cuEventElapsedTime(&ms[0], begin[0], end[1]));
    ok(cuEventElapsedTime(&ms[1], begin[1], end[0]));
    assert_true(FDL_MAX(ms[0], ms[1]) >= 4.0f);
    for (int i = 0; i < 2; i++) {
        ok(cuEventDestroy(begin[i]));
        ok(cuEventDestroy(end[i]));
    }
    no_faults();
}

/* ---- Events --------------------------------------------------------- */

TEST_WITH(an_event_is_its_last_record, open_desk, close_desk)
{
    float ms;
    fdl_cuda_event e = new_event(), other = new_event(), blind;
    ok(cuEventCreate(&blind, FDL_CUDA_EVENT_NO_TIMING));
    ok(cuEventQuery(e)); /* never recorded */
    ok(cuEventSynchronize(e));
    ok(cuStreamWaitEvent(d.b, e, 0));
    assert_int_equal(cuEventElapsedTime(&ms, e, other), DOUBLE_ERROR_HANDLE);

    double_pause(d.a);
    ok(cuEventRecord(e, d.a));
    assert_int_equal(cuEventQuery(e), FDL_CUDA_ERROR_NOT_READY);
    ok(cuStreamWaitEvent(d.b, e, 0)); /* for the record of now */
    ok(cuEventRecord(other, d.b));
    assert_int_equal(cuEventElapsedTime(&ms, e, other),
                     FDL_CUDA_ERROR_NOT_READY);
    ok(cuEventRecord(e, NULL)); /* another one, which is done soon */
    ok(cuEventSynchronize(e));
    assert_int_equal(cuEventQuery(other), FDL_CUDA_ERROR_NOT_READY);
    double_resume(d.a);
    ok(cuEventSynchronize(other));
    ok(cuEventElapsedTime(&ms, e, other));
    assert_true(ms > 0);
    ok(cuEventRecord(blind, d.a));
    ok(cuEventSynchronize(blind));
    assert_int_equal(cuEventElapsedTime(&ms, blind, other),
                     DOUBLE_ERROR_HANDLE);
    ok(cuEventDestroy(e));
    ok(cuEventDestroy(other));
    ok(cuEventDestroy(blind));
    no_faults();
}

TEST_WITH(work_outlives_its_handles, open_desk, close_desk)
{
    fdl_cuda_stream s = new_stream();
    fdl_cuda_event e = new_event(), end = new_event();
    double_pause(d.a);
    ok(cuEventRecord(e, d.a));
    ok(cuStreamWaitEvent(s, e, 0));
    copy_to(s);
    ok(cuEventRecord(end, s));
    ok(cuEventDestroy(e));
    ok(cuStreamDestroy(s));
    assert_int_equal(device_byte(d.device), 0xa5);
    double_resume(d.a);
    ok(cuEventSynchronize(end));
    assert_int_equal(device_byte(d.device), 1);
    ok(cuEventDestroy(end));
    no_faults();
    assert_int_equal(cuStreamDestroy(s), DOUBLE_ERROR_HANDLE);
    one_fault("no stream, or one that was destroyed");
}

/* ---- Order of what touches the same memory -------------------------- */

TEST_WITH(sees_a_batch_overwritten_before_it_was_read, open_desk, close_desk)
{
    double_pause(d.a);
    ok(double_read(d.a, d.device + 100, 50, 0));
    ok(double_read(d.b, d.device, BYTES, 0)); /* readers may overtake */
    ok(cuMemcpyHtoDAsync(d.device, d.host, 100, d.b));
    ok(cuMemcpyHtoDAsync(d.device + 150, d.host, 100, d.b));
    ok(cuStreamSynchronize(d.b));
    no_faults(); /* beside it on both sides */
    ok(cuMemcpyHtoDAsync(d.device + 149, d.host, 1, d.b));
    ok(cuStreamSynchronize(d.b));
    one_fault("device memory overwritten before it was read");
    double_resume(d.a);
}

TEST_WITH(sees_a_batch_overwritten_while_it_was_read, open_desk, close_desk)
{
    struct fdl_finish_args args = {.src = d.device,
                                   .dst = d.device + BYTES,
                                   .pixels = 100,
                                   .plane = 100,
                                   .channels = 3,
                                   .bytes = 2};
    void *finish = load("fdl_kernel_finish");
    double_set_kernel_cost(wait_at_gate, NULL);
    ok(launch(finish, 1, d.a, &args));
    await_gate();
    assert_int_equal(gate_amount, 100);
    ok(cuMemcpyHtoDAsync(d.device + 300, d.host, 100, d.b));
    ok(cuStreamSynchronize(d.b));
    no_faults();
    ok(cuMemcpyHtoDAsync(d.device + 299, d.host, 100, d.b));
    ok(cuStreamSynchronize(d.b));
    open_gate();
    one_fault("device memory overwritten while it was read");
}

TEST_WITH(sees_a_batch_read_before_its_copy, open_desk, close_desk)
{
    fdl_cuda_event e = new_event();
    double_pause(d.a);
    copy_to(d.a);
    ok(cuEventRecord(e, d.a));
    ok(cuStreamWaitEvent(d.b, e, 0));
    ok(double_read(d.b, d.device, BYTES, 1000));
    double_resume(d.a);
    ok(cuStreamSynchronize(d.b));
    no_faults(); /* it waited */

    double_pause(d.a);
    copy_to(d.a);
    ok(double_read(d.b, d.device, BYTES, 0));
    ok(cuStreamSynchronize(d.b));
    one_fault("device memory read before it was written");
    double_resume(d.a);
    ok(cuEventDestroy(e));
}

TEST_WITH(sees_two_writers, open_desk, close_desk)
{
    double_pause(d.a);
    copy_to(d.a);
    copy_to(d.b);
    ok(cuStreamSynchronize(d.b));
    one_fault("written again before an earlier write was done");
    double_resume(d.a);
}

/* ---- Mistakes ------------------------------------------------------- */

TEST_WITH(sees_memory_that_is_not_there, open_desk, close_desk)
{
    struct {
        void *to;
        const void *from;
        size_t bytes;
        int (*copy)(void *, const void *, size_t, fdl_cuda_stream);
    } wrong[] = {
        {d.device + BYTES, d.host, BYTES + 1, cuMemcpyHtoDAsync},
        {d.device - 1, d.host, 1, cuMemcpyHtoDAsync},
        {d.host, d.host, 1, cuMemcpyHtoDAsync},
        {d.device, d.device, 1, cuMemcpyHtoDAsync},
        {d.host, d.device, 1, cuMemcpyHtoDAsync},
        {d.device, d.host, 1, cuMemcpyDtoDAsync},
        {d.host, d.device + BYTES, BYTES + 1, cuMemcpyDtoHAsync},
    };
    for (uint64_t i = 0; i < FDL_COUNT_OF(wrong); i++) {
        assert_int_equal(
            wrong[i].copy(wrong[i].to, wrong[i].from, wrong[i].bytes, d.a),
            DOUBLE_ERROR_INVALID);
        assert_int_equal(double_faults(NULL, 0), i + 1);
    }
    double_reset();
    free(d.host);
    open_desk();
    ok(cuMemcpyHtoDAsync(d.device, d.host + 1, 2 * BYTES - 1, d.a));
    no_faults();
    assert_int_equal(cuMemFree(d.device + 1), DOUBLE_ERROR_INVALID);
    one_fault("cuMemFree");
    assert_int_equal(cuMemFree(d.host), DOUBLE_ERROR_INVALID);
    assert_int_equal(cuMemHostUnregister(d.host + 1), DOUBLE_ERROR_NOT_PINNED);
    assert_int_equal(cuMemHostRegister(d.host + 4096, 1, 0),
                     DOUBLE_ERROR_PINNED);
    assert_int_equal(double_faults(NULL, 0), 3);
    ok(cuMemFree(NULL));
    void *hole =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(hole, 4096);
    assert_int_equal(cuMemHostRegister(hole, 4096, 0), DOUBLE_ERROR_INVALID);
    assert_int_equal(double_faults(NULL, 0), 4);
}

/* Work that has nothing to do with it, too. */
TEST_WITH(a_free_waits_for_the_device, open_desk, close_desk)
{
    void *device, *host;
    ok(cuMemAlloc(&device, BYTES));
    ok(cuMemHostAlloc(&host, BYTES, 0));
    assert_true(double_set("latency_us=5000"));
    copy_to(d.a);
    ok(cuMemFree(device));
    ok(cuStreamQuery(d.a));
    copy_to(d.a);
    ok(cuMemFreeHost(host));
    ok(cuStreamQuery(d.a));
    no_faults();
}

TEST_WITH(sees_memory_unpinned_under_its_copy, open_desk, close_desk)
{
    double_pause(d.a);
    copy_to(d.a);
    ok(cuMemHostUnregister(d.host));
    one_fault("is under way");
    double_resume(d.a);
    ok(cuMemHostRegister(d.host, 2 * BYTES, 0));
}

TEST_WITH(sees_a_stream_of_another_device, open_desk, close_desk)
{
    uint64_t ns = 0;
    void *spin = load("fdl_kernel_spin");
    ok(launch(spin, 1, d.a, &ns));
    double_use_device(1);
    copy_to(d.a);
    one_fault("a stream of device 0 while device 1 is current");
    assert_int_equal(launch(spin, 1, d.a, &ns), DOUBLE_ERROR_HANDLE);
    assert_int_equal(double_faults(NULL, 0), 2);
    double_use_device(0);
}

TEST(sees_what_is_never_given_back)
{
    open_desk();
    new_event();
    char text[1024];
    assert_int_equal(double_check_leaks(), 5);
    double_faults(text, sizeof(text));
    assert_non_null(strstr(text, "leak: stream"));
    assert_non_null(strstr(text, "leak: event"));
    assert_non_null(strstr(text, "leak: 131072 bytes of device 0"));
    assert_non_null(strstr(text, "leak: 131072 bytes of pinned memory"));
    assert_int_equal(double_faults(text, 10), 5);
    assert_int_equal(strlen(text), 9);
    free(d.host);
    double_reset();
    assert_int_equal(double_check_leaks(), 0);
    no_faults();
}

/* The host that touches device memory dies of it. */
TEST(keeps_the_host_off_device_memory)
{
    double_use_device(0);
    void *memory;
    ok(cuMemAlloc(&memory, 100));
    assert_int_equal((uintptr_t)memory % 512, 0);
    assert_int_not_equal((uintptr_t)memory % 4096, 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w",
                     stderr)) /* a sanitizer has much to say */
            _exit(0);
        _exit(*(volatile unsigned char *)memory & 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ok(cuMemFree(memory));
}

/* ---- Failures ------------------------------------------------------- */

TEST(fails_the_calls_it_is_told_to)
{
    double_use_device(0);
    void *p;
    assert_true(double_fail("cuMemAlloc", 2, 2, false));
    ok(cuMemAlloc(&p, 100));
    ok(cuMemFree(p));
    void *untouched = &p;
    p = untouched;
    assert_int_equal(cuMemAlloc(&p, 100), 2);
    assert_ptr_equal(p, untouched);
    ok(cuMemAlloc(&p, 100));
    assert_true(double_set("fail=cuMemFree:1:719,fail=cuEventQuery:1:999+"));
    assert_int_equal(cuMemFree(p), 719); /* and yet it is gone */
    assert_int_equal(double_check_leaks(), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuEventQuery(NULL), 999);
    assert_false(double_fail("cuNoSuch", 1, 2, false));
    assert_false(double_fail("cuMemFree", 0, 2, false));
    no_faults();
}

/* Of many calls: how many fail, and a hash of which. */
static uint64_t fail_some(uint32_t one_in, uint64_t seed, uint32_t *n)
{
    uint64_t which = 0;
    *n = 0;
    double_fail_by_chance(one_in, seed, 999);
    for (uint64_t i = 1; i <= 4000; i++) {
        int error = cuEventQuery(NULL);
        *n += error == 999;
        which = which * 31 + (error == 999 ? i : 0);
    }
    double_fail_no_more();
    return which;
}

TEST(fails_calls_by_chance)
{
    uint32_t n, again, other;
    double_use_device(0);
    uint64_t before = double_failed(), which = fail_some(40, 7, &n);
    assert_in_range(n, 50, 200);
    assert_int_equal(double_failed(), before + n);
    assert_true(fail_some(40, 7, &again) == which && again == n);
    assert_true(fail_some(40, 8, &other) != which);
    fail_some(0, 7, &n);
    assert_int_equal(n, 0);
}

TEST(a_broken_context_stays_broken)
{
    static const char *const kinds[] = {"copy", "kernel"};
    for (int k = 0; k < 2; k++) {
        open_desk();
        fdl_cuda_event e = new_event();
        uint64_t ns = 0;
        void *spin = load("fdl_kernel_spin"), *p;
        assert_true(double_fail(kinds[k], 2, 700, false));
        copy_to(d.a);
        ok(launch(spin, 1, d.a, &ns));
        ok(cuStreamSynchronize(d.a));
        memset(d.host, 9, BYTES);
        double_pause(d.a);
        copy_to(d.a);
        ok(launch(spin, 1, d.a, &ns));
        ok(cuEventRecord(e, d.a)); /* the calls are all in order */
        double_resume(d.a);
        assert_int_equal(cuEventSynchronize(e), 700);
        assert_int_equal(cuEventQuery(e), 700);
        assert_int_equal(cuMemAlloc(&p, 1), 700);
        assert_int_equal(launch(spin, 1, d.a, &ns), 700);
        assert_int_equal(device_byte(d.device), k == 0 ? 1 : 9);

        /* Another device is not concerned. */
        double_use_device(1);
        ok(cuMemAlloc(&p, 1));
        ok(cuMemFree(p));
        double_use_device(0);
        assert_int_equal(cuMemAlloc(&p, 1), 700);

        /* Everything is given back, with the error. */
        assert_int_equal(cuEventDestroy(e), 700);
        assert_int_equal(cuMemFree(d.device), 700);
        assert_int_equal(cuMemHostUnregister(d.host), 700);
        assert_int_equal(cuStreamDestroy(d.a), 700);
        assert_int_equal(cuStreamDestroy(d.b), 700);
        free(d.host);
        assert_int_equal(double_check_leaks(), 0);
        no_faults();
        double_reset();
    }
}

TEST(memory_has_an_end)
{
    double_use_device(0);
    void *p, *q;
    struct double_counters seen;
    assert_true(double_set("memory=1m,pinned=64k"));
    ok(cuMemAlloc(&p, 1000000));
    assert_int_equal(cuMemAlloc(&q, 50000), 2);
    double_use_device(1); /* it has a memory of its own */
    ok(cuMemAlloc(&q, 50000));
    ok(cuMemFree(q));
    ok(cuMemFree(p));
    double_use_device(0);
    ok(cuMemAlloc(&p, 1000000)); /* what was freed is there again */
    ok(cuMemFree(p));
    ok(cuMemHostAlloc(&p, 40000, 0));
    void *host = aligned_alloc(4096, 65536);
    assert_int_equal(cuMemHostRegister(host, 65536, 0), 2);
    ok(cuMemFreeHost(p));
    ok(cuMemHostRegister(host, 65536, 0));
    double_get_counters(&seen);
    assert_int_equal(seen.pinned_bytes, 65536);
    assert_int_equal(seen.most_pinned_bytes, 65536);
    assert_int_equal(seen.device_bytes, 0);
    assert_int_equal(seen.most_device_bytes, 1000448 + 50176);
    assert_int_equal(seen.live_registrations, 1);
    ok(cuMemHostUnregister(host));
    free(host);
    assert_int_equal(double_check_leaks(), 0);
    no_faults();
}

/* A pool's memory comes and goes in the order of a stream; what was freed takes
 * room until the pool is trimmed. */
TEST(a_pool_is_in_order_with_its_stream)
{
    const struct fdl_cuda_pool_props props = {.type = FDL_CUDA_POOL_PINNED,
                                              .location_type = 1};
    struct double_counters seen;
    uint64_t threshold = UINT64_MAX;
    void *pool, *memory;
    open_desk();
    ok(cuMemPoolCreate(&pool, &props));
    ok(cuMemPoolSetAttribute(pool, FDL_CUDA_POOL_THRESHOLD, &threshold));
    ok(cuMemAllocFromPoolAsync(&memory, BYTES, pool, d.a));
    ok(cuStreamSynchronize(d.a));
    double_pause(d.b);
    ok(double_read(d.b, memory, BYTES, 0));
    ok(cuMemFreeAsync(memory, d.a)); /* and does not wait for b */
    ok(cuStreamSynchronize(d.a));
    double_resume(d.b);
    double_drain();
    one_fault("overwritten before it was read: a free");
    double_get_counters(&seen);
    assert_int_equal(seen.device_bytes, 3 * BYTES);
    ok(cuMemPoolTrimTo(pool, 0));
    double_get_counters(&seen);
    assert_int_equal(seen.device_bytes, 2 * BYTES);
    assert_int_equal(cuMemFreeAsync(memory, d.a), DOUBLE_ERROR_INVALID);
    ok(cuMemPoolDestroy(pool));
    assert_true(double_set("pools=0"));
    assert_int_equal(cuMemPoolCreate(&pool, &props),
                     DOUBLE_ERROR_NOT_SUPPORTED);
    double_reset();
    free(d.host);
}

TEST(a_driver_may_not_start)
{
    static const struct {
        const char *text;
        int error;
    } machines[] = {
        {"init=34", 34},
        {"init=802", 802},
        {"no_device=1", 100},
        {"devices=0,driver_version=12080", 100},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(machines); i++) {
        int x = 7, error = machines[i].error;
        void *p;
        double_reset();
        assert_true(double_set(machines[i].text));
        ok(cuDriverGetVersion(&x));
        assert_int_equal(cuInit(0), error);
        assert_int_equal(cuDeviceGetCount(&x), DOUBLE_ERROR_NOT_INITIALIZED);
        assert_int_equal(cuMemAlloc(&p, 1), DOUBLE_ERROR_NOT_INITIALIZED);
        assert_int_equal(double_depth(), 0);
    }
    const char *text = "";
    ok(cuGetErrorName(34, &text));
    assert_string_equal(text, "CUDA_ERROR_STUB_LIBRARY");
    ok(cuGetErrorString(2, &text));
    assert_string_equal(text, "out of memory");
    assert_int_equal(cuGetErrorName(12345, &text), DOUBLE_ERROR_INVALID);
    assert_null(text);
    no_faults();
}

/* ---- Settings ------------------------------------------------------- */

TEST(takes_settings_by_name)
{
    static const char *const wrong[] = {
        "nothing=1",  "latency_us", "latency_us=x",       "devices=9",
        "gbps=-1",    "memory=1q",  "init=1000",          "fail=cuMemFree:1",
        "hash=2",     "queue=0",    "fail=cuMemFree:1:0", "memory=",
        "memory=1mm", "fail=x:1:1", "fail=cuMemFree:x:1", "gbps=nan",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(wrong); i++)
        if (double_set(wrong[i]))
            fail_msg("'%s' was taken", wrong[i]);
    assert_true(double_set(""));
    assert_true(double_set("latency_us=10,gbps=12.5,delay_us=50,seed=7,"
                           "memory=64m,pinned=64m,hash=0,strict=0,init=0,"));

    int count;
    void *p;
    assert_int_equal(
        setenv("CUDA_DOUBLE", "devices=3,fail=cuMemAlloc:1:2,memory=4k", 1), 0);
    double_reset();
    double_use_device(0);
    ok(cuDeviceGetCount(&count));
    assert_int_equal(count, 3);
    assert_int_equal(cuMemAlloc(&p, 1), 2);
    ok(cuMemAlloc(&p, 4096));
    assert_int_equal(cuMemAlloc(&p, 1), 2);
    unsetenv("CUDA_DOUBLE");
    double_reset();
    ok(cuDeviceGetCount(&count));
    assert_int_equal(count, 2);
}

/* The status of a child that has these settings, and leaks a stream or not. */
static int status_of_child(const char *settings, bool leak)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fdl_cuda_stream s;
        setenv("CUDA_DOUBLE", settings, 1);
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        double_reset();
        double_use_device(0);
        cuStreamCreateWithPriority(&s, 0, 0);
        if (!leak)
            cuStreamDestroy(s);
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(a_strict_program_ends_with_86)
{
    assert_int_equal(status_of_child("strict=1", true), 86);
    assert_int_equal(status_of_child("strict=1", false), 0);
    assert_int_equal(status_of_child("strict=0", true), 0);
    assert_int_equal(status_of_child("strikt=1", false), 86);
}

/* ---- Default streams of threads ----------------------------------------- */

static void *write_on_own_stream(void *arg)
{
    (void)arg;
    double_use_device(0);
    copy_to(FDL_CUDA_PER_THREAD);
    return NULL;
}

/* The per-thread handle is another stream on each thread; the legacy stream
 * waits for all of them. */
TEST_WITH(the_legacy_stream_waits_for_those_of_threads, open_desk, close_desk)
{
    pthread_t other;
    assert_true(double_set("latency_us=5000"));
    pthread_create(&other, NULL, write_on_own_stream, NULL);
    pthread_join(other, NULL);
    ok(double_read(FDL_CUDA_LEGACY, d.device, BYTES, 0));
    copy_to(FDL_CUDA_PER_THREAD); /* which waits for the legacy one */
    double_drain();
    no_faults();
}

static sem_t queued, read_over;

static void *write_later(void *arg)
{
    (void)arg;
    double_use_device(0);
    double_pause(FDL_CUDA_PER_THREAD);
    copy_to(FDL_CUDA_PER_THREAD);
    sem_post(&queued);
    sem_wait(&read_over);
    double_resume(FDL_CUDA_PER_THREAD);
    return NULL;
}

TEST_WITH(streams_of_threads_do_not_wait_for_each_other, open_desk, close_desk)
{
    pthread_t other;
    sem_init(&queued, 0, 0);
    sem_init(&read_over, 0, 0);
    pthread_create(&other, NULL, write_later, NULL);
    sem_wait(&queued);
    ok(double_read(FDL_CUDA_PER_THREAD, d.device, BYTES, 0));
    ok(cuStreamSynchronize(FDL_CUDA_PER_THREAD));
    sem_post(&read_over);
    pthread_join(other, NULL);
    double_drain();
    one_fault("read before it was written");
}

TEST_MAIN("cuda_double")

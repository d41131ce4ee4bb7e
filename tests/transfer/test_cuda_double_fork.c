/* SPDX-License-Identifier: Apache-2.0 */
/* What a fork does to the CUDA double, in the child and in the parent. */
#include "cuda_desk.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* As on hardware: what the parent initialised is of no use to the child. */
TEST(is_of_no_use_after_a_fork)
{
    void *p;
    double_use_device(0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(cuMemAlloc(&p, 1) != DOUBLE_ERROR_NOT_INITIALIZED ||
              cuInit(0) != DOUBLE_ERROR_NOT_INITIALIZED);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    no_faults();
}

/* A child that stays for as long as the parent writes and copies. What the
 * device has then of the byte that was 1 at the fork. */
static int byte_beside_a_child(void)
{
    int gate[2], status;
    assert_int_equal(pipe(gate), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &status, 1) != 0);
    }
    memset(d.host, 2, BYTES);
    copy_to(d.a);
    ok(cuStreamSynchronize(d.a));
    close(gate[0]);
    close(gate[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return device_byte(d.device);
}

TEST_WITH(a_fork_leaves_pinned_pages_behind, open_desk, close_desk)
{
    assert_int_equal(byte_beside_a_child(), 1);
    ok(cuMemHostUnregister(d.host)); /* and the page that is there is pinned */
    ok(cuMemHostRegister(d.host, 2 * BYTES, 0));
    copy_to(d.a);
    ok(cuStreamSynchronize(d.a));
    assert_int_equal(device_byte(d.device), 2);
    no_faults();
}

TEST_WITH(a_fork_leaves_what_the_child_does_not_get, open_desk, close_desk)
{
    assert_int_equal(madvise(d.host, 2 * BYTES, MADV_DONTFORK), 0);
    assert_int_equal(byte_beside_a_child(), 2);
    assert_int_equal(madvise(d.host, 2 * BYTES, MADV_DOFORK), 0);
    no_faults();
}

TEST_MAIN("cuda_double_fork")

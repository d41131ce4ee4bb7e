/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails the n-th call of one kind, or calls by chance. The test binary is
 * linked with --wrap for each function below, so the code under test is the one
 * that ships. inject.c has what every part of the library calls
 * (${wrap_inject}), the files beside it the rest.
 */
#ifndef FDL_TESTS_FAULT_INJECT_H
#define FDL_TESTS_FAULT_INJECT_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, what it is called, what happens) */
#define INJECT_KINDS_MAP(X)                                                    \
  X(MEMORY, "memory",                                                          \
    "`malloc`, `calloc`, `realloc`, `aligned_alloc`, "                         \
    "`strndup`, `asprintf`, `mmap`: none left")                                \
  X(THREAD, "thread", "`pthread_create`: EAGAIN")                              \
  X(OPEN, "open", "`open`, `openat`, `fopen`, `opendir`, `fdopendir`: EACCES") \
  X(LIMIT, "descriptor",                                                       \
    "`open`, `openat`, `eventfd`, `memfd_create`: EMFILE")                     \
  X(STAT, "stat", "`fstat`, `stat`: EIO")                                      \
  X(READ, "read", "`pread`, `read` of a file: EIO")                            \
  X(SHORT, "short read", "`pread`: half of what was asked for")                \
  X(EARLY_END, "early end", "`pread`: the end of the file")                    \
  X(SIGNAL, "signal", "`pread`: EINTR")                                        \
  X(WRITE, "write", "`write`, `pwrite` to a file: ENOSPC")                     \
  X(PART, "short write", "`write`, `pwrite` to a file: half of it")            \
  X(SYNC, "sync", "`fsync`, `close` of a written file: EIO")                   \
  X(NAME, "name", "`rename`, `renameat`, `mkdir`, `mkdirat`: EACCES")          \
  X(LOCK, "lock", "`flock`: EWOULDBLOCK")                                      \
  X(RING, "ring",                                                              \
    "`io_uring_queue_init_params`, `io_uring_ring_dontfork`: "                 \
    "EPERM")                                                                   \
  X(SUBMIT, "submission", "`io_uring_submit_and_get_events`: EAGAIN")          \
  X(COMPLETION, "completion", "a request of io_uring: EIO")                    \
  X(NETWORK, "network", "a transfer of libcurl breaks")                        \
  X(CLIENT, "client", "libcurl takes or makes no request")                     \
  X(DECODER, "decoder", "libjpeg, libpng: an error while it decodes")          \
  X(CALLBACK, "callback",                                                      \
    "a function of the program's, which reads or "                             \
    "changes a sample")                                                        \
  X(DEVICE, "device", "a function of the CUDA driver (the double)")

enum inject_kind {
    INJECT_NONE = 0,
#define INJECT_KIND(name, word, what) INJECT_##name,
    INJECT_KINDS_MAP(INJECT_KIND)
#undef INJECT_KIND
        INJECT_KINDS
};

/* The n-th call from now on, from 1, fails; `lasting`: all after it too. */
void inject_arm(enum inject_kind kind, uint32_t n, bool lasting);

/* Of each kind in `kinds` (bits 1 << kind), one call in `one_in` fails: which
 * ones depends on the seed and on how many calls came before. */
void inject_arm_random(uint32_t kinds, uint64_t seed, uint32_t one_in);

/* Then: and of these, armed or not, one in as many as this. */
void inject_also(uint32_t kinds, uint32_t one_in);

/* Calls of the kind since arm; nothing fails any more. */
uint32_t inject_disarm(void);

/* Calls that failed since arm; and of one kind. */
uint32_t inject_failed(void);
uint32_t inject_failed_of(enum inject_kind kind);

/* From how many places in the code calls of a kind were made that failed: in
 * this process, or in its children as well. Before anything fails. */
uint32_t inject_places(enum inject_kind kind);
void inject_share_places(void);

/* What was taken and not given back: blocks of memory, and bytes mapped. */
struct inject_held {
    uint64_t blocks, mapped;
};
struct inject_held inject_held(void);

/* Where the code took those that came after the first `blocks`: addresses. */
uint32_t inject_held_since(uint64_t serial, const void **places, uint32_t most);
uint64_t inject_held_serial(void);

/* For the wrappers. */
bool inject_must_fail(enum inject_kind kind, const void *place);
#define MUST_FAIL(kind)                                                        \
  inject_must_fail(INJECT_##kind, __builtin_return_address(0))

#endif

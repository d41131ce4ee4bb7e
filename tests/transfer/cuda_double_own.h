/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the CUDA driver's double share. One lock guards all of it;
 * names that end in _locked want it held. It is let go while an operation
 * sleeps, and while bytes are hashed and moved: those are guarded by a lock of
 * their own (double_memory_hold), so that even operations that must not meet
 * meet in order, and the fault report is a sentence and no crash.
 */
#ifndef FDL_TESTS_CUDA_DOUBLE_OWN_H
#define FDL_TESTS_CUDA_DOUBLE_OWN_H

#include "base/compiler.h"
#include "cuda_double.h"
#include "transfer/cuda/cuda_kernels.h"

#include <pthread.h>

#define DOUBLE_DEVICES     8
#define DOUBLE_RULES       32
#define DOUBLE_FAULTS      16
#define DOUBLE_FAULT_CHARS 320

/* ---- Functions and what they need ----------------------------------- */

/* NOTHING always works, DRIVER after cuInit, CONTEXT on a thread that has a
 * context current. */
enum double_need { NEED_NOTHING, NEED_DRIVER, NEED_CONTEXT };

/* clang-format off */
#define DOUBLE_FUNCTIONS(X)                                                   \
    X(cuInit,                      NOTHING)                                   \
    X(cuDriverGetVersion,          NOTHING)                                   \
    X(cuGetErrorName,              NOTHING)                                   \
    X(cuGetErrorString,            NOTHING)                                   \
    X(cuDeviceGetCount,            DRIVER)                                    \
    X(cuDeviceGet,                 DRIVER)                                    \
    X(cuDeviceGetName,             DRIVER)                                    \
    X(cuDeviceGetAttribute,        DRIVER)                                    \
    X(cuDeviceGetPCIBusId,         DRIVER)                                    \
    X(cuDevicePrimaryCtxRetain,    DRIVER)                                    \
    X(cuDevicePrimaryCtxRelease,   DRIVER)                                    \
    X(cuCtxPushCurrent,            DRIVER)                                    \
    X(cuCtxPopCurrent,             DRIVER)                                    \
    X(cuCtxSetCurrent,             DRIVER)                                    \
    X(cuCtxGetDevice,              CONTEXT)                                   \
    X(cuCtxGetStreamPriorityRange, CONTEXT)                                   \
    X(cuMemAlloc,                  CONTEXT)                                   \
    X(cuMemFree,                   CONTEXT)                                   \
    X(cuMemGetInfo,                CONTEXT)                                   \
    X(cuMemPoolCreate,             DRIVER)                                    \
    X(cuMemPoolDestroy,            DRIVER)                                    \
    X(cuMemPoolSetAttribute,       DRIVER)                                    \
    X(cuMemPoolTrimTo,             DRIVER)                                    \
    X(cuMemAllocFromPoolAsync,     CONTEXT)                                   \
    X(cuMemFreeAsync,              CONTEXT)                                   \
    X(cuMemHostRegister,           CONTEXT)                                   \
    X(cuMemHostUnregister,         CONTEXT)                                   \
    X(cuMemHostAlloc,              CONTEXT)                                   \
    X(cuMemFreeHost,               CONTEXT)                                   \
    X(cuMemcpyHtoDAsync,           CONTEXT)                                   \
    X(cuMemcpyDtoDAsync,           CONTEXT)                                   \
    X(cuMemcpyDtoHAsync,           CONTEXT)                                   \
    X(cuStreamCreateWithPriority,  CONTEXT)                                   \
    X(cuStreamDestroy,             CONTEXT)                                   \
    X(cuStreamSynchronize,         CONTEXT)                                   \
    X(cuStreamQuery,               CONTEXT)                                   \
    X(cuStreamWaitEvent,           CONTEXT)                                   \
    X(cuEventCreate,               CONTEXT)                                   \
    X(cuEventDestroy,              CONTEXT)                                   \
    X(cuEventRecord,               CONTEXT)                                   \
    X(cuEventQuery,                CONTEXT)                                   \
    X(cuEventSynchronize,          CONTEXT)                                   \
    X(cuEventElapsedTime,          CONTEXT)                                   \
    X(cuModuleLoadData,            CONTEXT)                                   \
    X(cuModuleGetFunction,         CONTEXT)                                   \
    X(cuLaunchKernel,              CONTEXT)                                   \
    X(cuThreadExchangeStreamCaptureMode, DRIVER)                              \
    X(cuStreamIsCapturing,         CONTEXT)                                   \
    X(cuStreamBeginCapture,        CONTEXT)                                   \
    X(cuStreamEndCapture,          CONTEXT)                                   \
    X(cuGraphDestroy,              DRIVER)                                    \
    X(copy,                        NOTHING)                                   \
    X(kernel,                      NOTHING)
/* clang-format on */

enum double_function {
#define DOUBLE_MEMBER(name, need) FN_##name,
    DOUBLE_FUNCTIONS(DOUBLE_MEMBER)
#undef DOUBLE_MEMBER
        FN_COUNT
};

/* ---- Things --------------------------------------------------------- */

struct double_settings {
    int devices, driver_version, capability;
    int init_error; /* of cuInit */
    int64_t latency_ns, delay_ns, decode_ns;
    double bytes_per_ns; /* 0: no limit */
    uint64_t seed, device_bytes, taken_bytes, pinned_bytes, queue;
    bool registers, pools, hash, decodes, strict;
};

struct double_rule {
    enum double_function function;
    uint64_t left; /* calls until it fails */
    int error;
    bool lasting;
};

struct double_chance {
    uint32_t one_in; /* 0: none */
    uint64_t state;  /* of the dice */
    int error;
};

struct double_allocation {
    struct double_allocation *next;
    unsigned char *device;  /* what the program knows */
    unsigned char *backing; /* the bytes */
    void *reserved;         /* addresses around `device` */
    uint64_t bytes, reserved_bytes, backing_bytes;
    int of_device;
    struct double_pool *pool; /* NULL: none, or it is gone */
    bool freeing, freed;      /* by cuMemFreeAsync: called; done */
};

struct double_pool {
    struct double_pool *next;
    uint64_t handle, threshold;
    int of_device;
};

struct double_registration {
    struct double_registration *next;
    unsigned char *begin;
    uint64_t bytes;
    int of_device;
    bool portable, owned; /* by cuMemHostAlloc */
    unsigned char
        *at_fork; /* what the device sees of it; NULL: what is there */
};

/* One cuEventRecord. The event, waits that captured it, and the operation
 * each hold it. */
struct double_record {
    uint32_t refs;
    bool done;
    int64_t ns;
};

struct double_event {
    struct double_event *next;
    uint64_t handle;
    struct double_record *record; /* the latest; NULL: none */
    int of_device;
    bool timing;
    uint64_t captured_on; /* its last record is in the graph of that stream */
};

enum double_op_kind {
    OP_COPY,
    OP_WAIT,
    OP_RECORD,
    OP_READ,
    OP_KERNEL,
    OP_ALLOC,
    OP_FREE
};

#define DOUBLE_RANGES 4

/* Device memory that an operation touches; no bytes: none. */
struct double_range {
    const unsigned char *begin;
    uint64_t bytes;
    bool writes;
};

struct double_op {
    struct double_op *next;            /* on its stream */
    struct double_op *earlier, *later; /* of all that are under way */
    enum double_op_kind kind;
    struct double_stream *stream;
    struct double_range ranges[DOUBLE_RANGES];
    int64_t queued_ns; /* on the test's clock */
    bool running;

    struct double_record *record; /* WAIT, RECORD */

    unsigned char *to;         /* COPY; the backing, of device memory */
    const unsigned char *from; /* and READ */
    unsigned char *staged;     /* from, if it is the double's own memory */
    uint64_t bytes, hash;
    bool watched; /* hash holds */
    bool to_host;
    int64_t ns; /* READ */

    struct double_allocation *allocation; /* FREE */

    const char *kernel; /* KERNEL */
    uint64_t amount;
    struct fdl_finish_args args;           /* with pointers into the backing */
    unsigned char *backing[DOUBLE_RANGES]; /* of a kernel that decodes */
    uint32_t blocks, images, pass;         /* images 0: it does not */
};

struct double_stream {
    struct double_stream *next;
    uint64_t handle;
    int of_device;
    bool legacy, of_thread; /* a default stream: of all, of one thread */
    bool has_thread, paused, busy, closing;
    uint32_t waiters;
    struct double_op *first, *last;
    uint64_t queued, finished;
    int64_t now; /* how far it has come on the test's clock */
    pthread_cond_t wake;
    bool capturing, broken; /* until the capture ends, broken or not */
    int capture_mode;
    pthread_t capturer;
};

struct double_device {
    int error;           /* of a broken context */
    bool used;           /* by double_use_device, which never lets it go */
    uint32_t retained;   /* by cuDevicePrimaryCtxRetain */
    bool engine_busy[2]; /* to the device, to the host */
    struct double_stream *legacy;
    uint64_t bytes;
};

struct double_world {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an operation ended, an engine is free */
    bool ready;
    int initialised_by; /* process; 0: nobody called cuInit */
    uint64_t generation, last_handle;
    struct double_settings set;
    struct double_device devices[DOUBLE_DEVICES];
    struct double_stream *streams;
    uint32_t n_threads;
    struct double_event *events;
    struct double_allocation *allocations;
    struct double_pool *pools;
    struct double_registration *registrations;
    struct double_op *oldest, *newest; /* under way, in the order of queueing */
    struct double_rule rules[DOUBLE_RULES];
    uint32_t n_rules;
    struct double_chance chance;
    uint64_t n_ordered; /* calls that failed by order */
    double_cost cost;
    void *cost_user;
    int64_t (*clock)(void);  /* NULL: real time */
    int held;                /* function whose calls do not return; -1: none */
    uint32_t n_held, n_full; /* calls held up so, and by a full queue */
    struct double_counters counters;
    uint64_t calls[FN_COUNT], n_calls;
    uint64_t capture_from, capture_until; /* double_capture_elsewhere */
    uint64_t n_faults;
    char faults[DOUBLE_FAULTS][DOUBLE_FAULT_CHARS];
};
extern struct double_world double_world;

#define DOUBLE_DEPTH 16
struct double_thread {
    uint64_t generation;
    int stack[DOUBLE_DEPTH]; /* contexts, the last one is current */
    uint32_t depth;
    int capture_mode;
    struct double_stream *own[DOUBLE_DEVICES]; /* per-thread default streams */
};
extern _Thread_local struct double_thread double_self;

/* Of the current context; 0 without one. */
static inline int double_device_now(void)
{
    return double_self.depth ? double_self.stack[double_self.depth - 1] : 0;
}

/* ---- cuda_double.c ------------------------------------------------ */

/* Locks, counts, and returns what the call must fail with; FN_COUNT: it is one
 * of the double's own, and cannot. double_leave unlocks. */
int double_enter(enum double_function f);
int double_leave(int error);

/* ---- cuda_double_control.c ---------------------------------------- */

/* Settings of a new process, on the first call. */
void double_ready_locked(void);

/* What order makes this call of f fail with; 0: none. And what chance does. */
int double_ordered_locked(enum double_function f);
int double_chance_locked(void);
void double_fault_locked(const char *format, ...) FDL_PRINTF(1, 2);

/* ---- cuda_double_memory.c ----------------------------------------- */

/* The allocation that has all of [p, p + bytes), or NULL. */
struct double_allocation *double_allocation_at_locked(const void *p,
                                                      uint64_t bytes);
unsigned char *double_backing(const struct double_allocation *a,
                              const void *device);
void double_memory_hold(void);
void double_memory_release(void);
uint64_t double_hash(const unsigned char *p, uint64_t bytes);
int double_allocate_locked(void **memory, uint64_t bytes);
void double_allocation_free_locked(struct double_allocation *a);
void double_registration_free_locked(struct double_registration *r);

/* ---- cuda_double_pool.c ------------------------------------------- */

/* cuMemFreeAsync comes to be done. */
void double_pool_freed_locked(struct double_allocation *a);
void double_pool_forget_locked(struct double_pool *p);

/* ---- cuda_double_stream.c ----------------------------------------- */

/* The stream of a handle, or NULL and a fault. */
struct double_stream *double_stream_locked(fdl_cuda_stream handle,
                                           const char *caller);

/* A copy of *op goes to the end of the stream. 0, or 2. */
int double_queue_locked(struct double_stream *s, const struct double_op *op);

/* Until something has changed: an operation ended, an engine is free. */
void double_wait_locked(void);

/* Until all that is queued now is done. */
void double_finish_stream_locked(struct double_stream *s);
void double_finish_device_locked(int device);

/* Streams and events end; returns when no thread is left. */
void double_close_all_locked(void);

/* ---- cuda_double_decode.c ------------------------------------------- */

/* Kernel i of those that decode; NULL: there are no more. */
const char *double_decode_name(uint32_t i);

/* Sets what the launch touches. false: memory that a kernel must not touch. */
bool double_decode_prepare_locked(struct double_op *op, uint32_t blocks,
                                  uint32_t images, void **parameters);

/* Without the lock, while memory is held. What it did wrong; NULL: nothing. */
const char *double_decode_run(const struct double_op *op);

/* ---- cuda_double_event.c -------------------------------------------- */

void double_unref_locked(struct double_record *r);
void double_event_free_locked(struct double_event *e);

/* What a wait ends with: the context may have broken meanwhile. */
int double_error_locked(int device);

/* ---- cuda_double_capture.c ------------------------------------------ */

/* What a call of f fails with because of a capture, which it breaks; 0: it may
 * be made. */
int double_forbidden_locked(enum double_function f);

/* What asking for the state of a stream, or of an event, fails with because of
 * a capture, which it breaks; 0: it may be asked for. */
int double_ask_stream_locked(struct double_stream *s);
int double_ask_event_locked(const struct double_event *e);

/* In place of queueing an operation, a record or a wait where the stream or the
 * event is captured. */
int double_captured_locked(struct double_stream *s);
int double_capture_record_locked(struct double_event *e,
                                 struct double_stream *s);
int double_capture_wait_locked(struct double_stream *s,
                               const struct double_event *e);

/* ---- cuda_double_fork.c --------------------------------------------- */

void double_before_fork_locked(void);

/* The source of a copy as the device sees it. */
const unsigned char *double_seen_locked(const struct double_op *op);

/* ---- cuda_double_kernel.c ----------------------------------------- */

/* Computes, under double_memory_hold. What it did wrong; NULL: nothing. */
const char *double_kernel_run(const struct double_op *op);

#endif

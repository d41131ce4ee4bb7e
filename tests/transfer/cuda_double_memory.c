/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the double: what a device has, what of the host is pinned, and the
 * copies between them.
 *
 * A device pointer is an address that is reserved and cannot be touched; the
 * bytes are elsewhere, and only operations know where. So a program that reads
 * device memory as if it were its own crashes at the very place, and no address
 * can be mistaken for another.
 */
#include "cuda_double_own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE      4096u
#define SMALL     (1u << 20) /* below, several share a block on a GPU */
#define ALIGNMENT 512u

#define NOT_SANITIZED __attribute__((no_sanitize("address", "thread")))

static pthread_mutex_t bytes_lock = PTHREAD_MUTEX_INITIALIZER;

void double_memory_hold(void)
{
    pthread_mutex_lock(&bytes_lock);
}

void double_memory_release(void)
{
    pthread_mutex_unlock(&bytes_lock);
}

/* Four lanes of multiply and rotate: a change anywhere shows, which is all that
 * is asked of it. Sanitizers see the memcpy of each copy, which reads the same
 * bytes; word by word they would take most of a test's time. */
NOT_SANITIZED uint64_t double_hash(const unsigned char *p, uint64_t bytes)
{
    uint64_t lane[4] = {bytes, 1, 2, 3};
    uint64_t i = 0;
    for (; i + 32 <= bytes; i += 32)
        for (int k = 0; k < 4; k++) {
            uint64_t word;
            memcpy(&word, p + i + 8 * k, 8);
            lane[k] = (lane[k] ^ word) * 0x9e3779b97f4a7c15u;
            lane[k] ^= lane[k] >> 29;
        }
    for (; i < bytes; i++)
        lane[0] = (lane[0] ^ p[i]) * 0x100000001b3u;
    for (int k = 1; k < 4; k++)
        lane[0] = (lane[0] ^ lane[k]) * 0xbf58476d1ce4e5b9u;
    return lane[0] ^ lane[0] >> 32;
}

/* ---- Device memory -------------------------------------------------- */

struct double_allocation *double_allocation_at_locked(const void *p,
                                                      uint64_t bytes)
{
    uintptr_t at = (uintptr_t)p;
    struct double_allocation *a = double_world.allocations;
    for (; a; a = a->next) {
        uintptr_t begin = (uintptr_t)a->device;
        if (!a->freeing && at >= begin && at - begin < a->bytes &&
            bytes <= a->bytes && at - begin <= a->bytes - bytes)
            return a;
    }
    return NULL;
}

unsigned char *double_backing(const struct double_allocation *a,
                              const void *device)
{
    return a->backing + ((uintptr_t)device - (uintptr_t)a->device);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static bool map_locked(struct double_allocation *a, uint64_t bytes)
{
    a->bytes = bytes;
    a->reserved_bytes = round_up(bytes + ALIGNMENT, PAGE);
    a->backing_bytes = round_up(bytes, PAGE);
    a->reserved = mmap(NULL, a->reserved_bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->reserved == MAP_FAILED)
        return false;
    a->backing = mmap(NULL, a->backing_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->backing == MAP_FAILED) {
        munmap(a->reserved, a->reserved_bytes);
        return false;
    }
    memset(a->backing, 0xa5, bytes);
    a->device = (unsigned char *)a->reserved + (bytes < SMALL ? ALIGNMENT : 0);
    return true;
}

static uint64_t left_locked(const struct double_device *d)
{
    const struct double_settings *set = &double_world.set;
    uint64_t used = d->bytes + set->taken_bytes;
    return set->device_bytes > used ? set->device_bytes - used : 0;
}

int double_allocate_locked(void **memory, uint64_t bytes)
{
    struct double_world *w = &double_world;
    int device = double_device_now();
    struct double_device *d = &w->devices[device];
    uint64_t charged = round_up(bytes, ALIGNMENT);
    if (charged < bytes || charged > left_locked(d))
        return FDL_CUDA_ERROR_MEMORY;
    struct double_allocation *a = calloc(1, sizeof(*a));
    if (!a || !map_locked(a, bytes)) {
        free(a);
        return FDL_CUDA_ERROR_MEMORY;
    }
    a->of_device = device;
    a->next = w->allocations;
    w->allocations = a;
    d->bytes += charged;
    w->counters.device_bytes += charged;
    w->counters.most_device_bytes =
        FDL_MAX(w->counters.most_device_bytes, w->counters.device_bytes);
    *memory = a->device;
    return 0;
}

void double_allocation_free_locked(struct double_allocation *a)
{
    struct double_world *w = &double_world;
    struct double_allocation **at = &w->allocations;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    uint64_t charged = round_up(a->bytes, ALIGNMENT);
    w->devices[a->of_device].bytes -= charged;
    w->counters.device_bytes -= charged;
    munmap(a->reserved, a->reserved_bytes);
    munmap(a->backing, a->backing_bytes);
    free(a);
}

int cuMemAlloc(void **memory, size_t bytes)
{
    int error = double_enter(FN_cuMemAlloc);
    if (!error && (!memory || bytes == 0))
        error = DOUBLE_ERROR_INVALID;
    if (!error)
        error = double_allocate_locked(memory, bytes);
    return double_leave(error);
}

/* As on hardware, memory is given back when the device has done all that is
 * queued, by anybody: no hot path wants that. */
static void drain_locked(int device)
{
    double_world.counters.hidden_synchronisations++;
    double_finish_device_locked(device);
}

int cuMemFree(void *memory)
{
    int error = double_enter(FN_cuMemFree);
    if (!memory)
        return double_leave(error);
    struct double_allocation *a = double_allocation_at_locked(memory, 0);
    if (!a || a->device != memory) {
        double_fault_locked("cuMemFree: %p is no device memory%s", memory,
                            a ? " that begins there" : ", or was freed before");
        return double_leave(error ? error : DOUBLE_ERROR_INVALID);
    }
    int device = a->of_device;
    drain_locked(device);
    double_allocation_free_locked(a);
    return double_leave(error ? error : double_world.devices[device].error);
}

/* Of every device `taken` bytes are somebody else's. */
int cuMemGetInfo(size_t *left, size_t *total)
{
    int error = double_enter(FN_cuMemGetInfo);
    if (!error && (!left || !total))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        struct double_world *w = &double_world;
        *total = (size_t)w->set.device_bytes;
        *left = (size_t)left_locked(&w->devices[double_device_now()]);
    }
    return double_leave(error);
}

bool double_peek(const void *device, void *out, uint64_t bytes)
{
    double_enter(FN_COUNT);
    struct double_allocation *a = double_allocation_at_locked(device, bytes);
    if (a) {
        double_memory_hold();
        memcpy(out, double_backing(a, device), bytes);
        double_memory_release();
    }
    double_leave(0);
    return a != NULL;
}

/* ---- Pinned memory -------------------------------------------------- */

static bool overlaps(const struct double_registration *r, const void *p,
                     uint64_t bytes)
{
    uintptr_t begin = (uintptr_t)r->begin, at = (uintptr_t)p;
    return at < begin + r->bytes && begin < at + bytes;
}

static bool is_mapped(const void *p, uint64_t bytes)
{
    uintptr_t begin = (uintptr_t)p / PAGE * PAGE;
    uint64_t length = (uintptr_t)p + bytes - begin;
    unsigned char *seen = malloc(length / PAGE + 1);
    bool mapped = seen && mincore((void *)begin, length, seen) == 0;
    free(seen);
    return mapped;
}

static int register_locked(void *memory, uint64_t bytes, unsigned flags,
                           bool owned)
{
    struct double_world *w = &double_world;
    for (struct double_registration *r = w->registrations; r; r = r->next)
        if (overlaps(r, memory, bytes))
            return DOUBLE_ERROR_PINNED;
    if (bytes > w->set.pinned_bytes ||
        w->counters.pinned_bytes > w->set.pinned_bytes - bytes)
        return FDL_CUDA_ERROR_MEMORY;
    struct double_registration *r = calloc(1, sizeof(*r));
    if (!r)
        return FDL_CUDA_ERROR_MEMORY;
    r->begin = memory;
    r->bytes = bytes;
    r->of_device = double_device_now();
    r->portable = flags & 1;
    r->owned = owned;
    r->next = w->registrations;
    w->registrations = r;
    w->counters.pinned_bytes += bytes;
    w->counters.most_pinned_bytes =
        FDL_MAX(w->counters.most_pinned_bytes, w->counters.pinned_bytes);
    return 0;
}

int cuMemHostRegister(void *memory, size_t bytes, unsigned flags)
{
    int error = double_enter(FN_cuMemHostRegister);
    if (!error && (!memory || bytes == 0 || flags > 15))
        error = DOUBLE_ERROR_INVALID;
    if (!error && !double_world.set.registers)
        error = DOUBLE_ERROR_NOT_SUPPORTED;
    if (!error && !is_mapped(memory, bytes)) {
        double_fault_locked("cuMemHostRegister: %zu bytes at %p are not all "
                            "mapped",
                            bytes, memory);
        error = DOUBLE_ERROR_INVALID;
    }
    if (!error)
        error = register_locked(memory, bytes, flags, false);
    return double_leave(error);
}

void double_registration_free_locked(struct double_registration *r)
{
    struct double_world *w = &double_world;
    struct double_registration **at = &w->registrations;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    w->counters.pinned_bytes -= r->bytes;
    if (r->owned)
        munmap(r->begin, r->bytes);
    free(r->at_fork);
    free(r);
}

static bool is_in_use_locked(const struct double_registration *r)
{
    for (struct double_op *op = double_world.oldest; op; op = op->later)
        if (op->kind == OP_COPY && !op->staged &&
            (overlaps(r, op->from, op->bytes) ||
             overlaps(r, op->to, op->bytes)))
            return true;
    return false;
}

static int unregister_locked(void *memory, bool owned, const char *caller)
{
    struct double_registration *r = double_world.registrations;
    while (r && (r->begin != memory || r->owned != owned))
        r = r->next;
    if (!r) {
        double_fault_locked("%s: no pinned memory begins at %p", caller,
                            memory);
        return owned ? DOUBLE_ERROR_INVALID : DOUBLE_ERROR_NOT_PINNED;
    }
    if (is_in_use_locked(r))
        double_fault_locked("%s: a copy that uses %" PRIu64 " bytes at %p is "
                            "under way",
                            caller, r->bytes, memory);
    if (owned)
        drain_locked(r->of_device);
    double_registration_free_locked(r);
    return 0;
}

int cuMemHostUnregister(void *memory)
{
    int error = double_enter(FN_cuMemHostUnregister);
    int gone = unregister_locked(memory, false, "cuMemHostUnregister");
    return double_leave(error ? error : gone);
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    int error = double_enter(FN_cuMemHostAlloc);
    if (!error && (!memory || bytes == 0))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        error = p == MAP_FAILED ? FDL_CUDA_ERROR_MEMORY
                                : register_locked(p, bytes, flags, true);
        if (!error)
            *memory = p;
        else if (p != MAP_FAILED)
            munmap(p, bytes);
    }
    return double_leave(error);
}

int cuMemFreeHost(void *memory)
{
    int error = double_enter(FN_cuMemFreeHost);
    int gone = memory ? unregister_locked(memory, true, "cuMemFreeHost") : 0;
    return double_leave(error ? error : gone);
}

/* ---- Copies --------------------------------------------------------- */

/* Where from and where to, in bits: 2 from a device, 1 to a device. */
enum kind { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3 };

struct copy {
    void *to;
    const void *from;
    uint64_t bytes;
    struct double_allocation *to_device, *from_device; /* NULL: host */
    const char *caller;
};

static bool is_pinned_locked(const struct copy *c, const void *p)
{
    for (struct double_registration *r = double_world.registrations; r;
         r = r->next) {
        if (!overlaps(r, p, c->bytes) ||
            (!r->portable && r->of_device != double_device_now()))
            continue;
        if ((uintptr_t)p >= (uintptr_t)r->begin &&
            (uintptr_t)p + c->bytes <= (uintptr_t)r->begin + r->bytes)
            return true;
        double_fault_locked("%s: of %" PRIu64 " bytes at %p only a part is "
                            "pinned",
                            c->caller, c->bytes, p);
    }
    return false;
}

/* Where both ends are, held against what the call says of them. */
static int classify_locked(struct copy *c, enum kind kind)
{
    c->to_device = double_allocation_at_locked(c->to, c->bytes);
    c->from_device = double_allocation_at_locked(c->from, c->bytes);
    int is = (c->from_device ? 2 : 0) | (c->to_device ? 1 : 0);
    if (is != (int)kind ||
        (!c->to_device && double_allocation_at_locked(c->to, 0)) ||
        (!c->from_device && double_allocation_at_locked(c->from, 0))) {
        double_fault_locked("%s: %" PRIu64 " bytes from %p to %p are out of "
                            "bounds, or of another kind of memory",
                            c->caller, c->bytes, c->from, c->to);
        return DOUBLE_ERROR_INVALID;
    }
    return 0;
}

static void check_device_locked(const struct copy *c,
                                const struct double_stream *s)
{
    int now = double_device_now();
    if (s->of_device != now)
        double_fault_locked("%s: a stream of device %d while device %d is "
                            "current",
                            c->caller, s->of_device, now);
    else if (c->to_device && c->to_device->of_device != s->of_device)
        double_fault_locked("%s: to memory of device %d on a stream of device "
                            "%d",
                            c->caller, c->to_device->of_device, s->of_device);
}

/* Reads the source, as far as that is done before the call returns: a hash of
 * pinned memory, all of other memory. */
static int read_source(struct double_op *op, bool pinned, bool hash)
{
    int error = 0;
    pthread_mutex_unlock(&double_world.lock);
    if (pinned && hash) {
        op->hash = double_hash(op->from, op->bytes);
        op->watched = true;
    } else if (!pinned) {
        op->staged = malloc(op->bytes);
        if (op->staged)
            op->from = memcpy(op->staged, op->from, op->bytes);
        else
            error = FDL_CUDA_ERROR_MEMORY;
    }
    pthread_mutex_lock(&double_world.lock);
    return error;
}

static void count_locked(const struct copy *c, bool pinned)
{
    struct double_counters *n = &double_world.counters;
    if (c->to_device && !c->from_device) {
        n->copies++;
        n->bytes += c->bytes;
        n->pageable_copies += !pinned;
    } else if (c->from_device && !c->to_device) {
        n->read_copies++;
    }
}

static int copy_locked(struct copy *c, enum kind kind, fdl_cuda_stream stream)
{
    int error = classify_locked(c, kind);
    struct double_stream *s = double_stream_locked(stream, c->caller);
    if (error || !s)
        return error ? error : DOUBLE_ERROR_HANDLE;
    if (c->bytes == 0)
        return 0;
    check_device_locked(c, s);
    struct double_op op = {
        .kind = OP_COPY,
        .to = c->to,
        .from = c->from,
        .bytes = c->bytes,
        .to_host = !c->to_device,
    };
    bool pinned = true;
    if (c->to_device) {
        op.to = double_backing(c->to_device, c->to);
        op.ranges[0] = (struct double_range){c->to, c->bytes, true};
    } else {
        pinned = is_pinned_locked(c, c->to);
    }
    if (c->from_device) {
        op.from = double_backing(c->from_device, c->from);
        op.ranges[1] = (struct double_range){c->from, c->bytes, false};
    } else {
        pinned = is_pinned_locked(c, c->from);
        error = read_source(&op, pinned, double_world.set.hash);
        s = double_stream_locked(stream, c->caller); /* it was unlocked */
    }
    if (!error)
        error = s ? double_queue_locked(s, &op) : DOUBLE_ERROR_HANDLE;
    if (error) {
        free(op.staged);
        return error;
    }
    count_locked(c, pinned);
    if (!c->to_device && !pinned)
        double_finish_stream_locked(s); /* as the driver does */
    return 0;
}

static int copy_async(enum double_function f, struct copy c, enum kind kind,
                      fdl_cuda_stream stream)
{
    int error = double_enter(f);
    if (!error)
        error = copy_locked(&c, kind, stream);
    return double_leave(error);
}

int cuMemcpyHtoDAsync(void *to, const void *from, size_t bytes,
                      fdl_cuda_stream stream)
{
    struct copy c = {
        .to = to, .from = from, .bytes = bytes, .caller = "cuMemcpyHtoDAsync"};
    return copy_async(FN_cuMemcpyHtoDAsync, c, TO_DEVICE, stream);
}

int cuMemcpyDtoDAsync(void *to, const void *from, size_t bytes,
                      fdl_cuda_stream stream)
{
    struct copy c = {
        .to = to, .from = from, .bytes = bytes, .caller = "cuMemcpyDtoDAsync"};
    return copy_async(FN_cuMemcpyDtoDAsync, c, ON_DEVICE, stream);
}

int cuMemcpyDtoHAsync(void *to, const void *from, size_t bytes,
                      fdl_cuda_stream stream)
{
    struct copy c = {
        .to = to, .from = from, .bytes = bytes, .caller = "cuMemcpyDtoHAsync"};
    return copy_async(FN_cuMemcpyDtoHAsync, c, TO_HOST, stream);
}

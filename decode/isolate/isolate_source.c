/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's side of isolate_call.h. It believes nothing: an answer that a
 * sound decoder would not give ends the process, as a crash does.
 */
#include "decode/isolate/isolate_source.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/formats/jpeg_entries.h"
#include "decode/isolate/isolate_call.h"
#include "decode/isolate/isolate_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* An area has room for a usual file and all of its rows. What an image takes
 * beyond that is given back after it. */
#define LEAST_AREA (UINT64_C(1) << 22)
#define LEAST_ROWS (UINT64_C(1) << 20)
#define GRACE_MS   1000 /* beyond max_image_ms, before a process is ended */

struct fdl_isolated {
    struct fdl_decode_limits limits;
    int area_fd;
    uint64_t area_bytes;
    uint8_t *area;
    struct fdl_isolate_process process;
    bool runs;

    /* The open image. */
    int32_t failed; /* status of a call; no other is made then */
    char reason[FDL_ERROR_BYTES];
    struct fdl_entry_notes *notes;
    uint64_t notes_at, rows_at, rows_end;
    uint64_t used; /* bytes of the area */
    struct fdl_image_info info;
    int32_t pixel; /* bytes; without alpha */
    bool alpha;
    int32_t shift;
    struct fdl_box have;
    uint64_t stride;
    int32_t taken, ready, left; /* rows: of those ready; not ready yet */
    struct fdl_palette palette;
    struct fdl_isolate_answer answer; /* the last one */
};

/* ---- The process -------------------------------------------------------- */

static struct fdl_isolate_head *head_of(const struct fdl_isolated *c)
{
    return (struct fdl_isolate_head *)(void *)c->area;
}

static void end_process(struct fdl_isolated *c)
{
    if (c->runs)
        fdl_isolate_end(&c->process);
    c->runs = false;
}

static void free_area(struct fdl_isolated *c)
{
    if (c->area)
        munmap(c->area, c->area_bytes);
    if (c->area_fd >= 0)
        close(c->area_fd);
    c->area = NULL;
    c->area_fd = -1;
}

/* The process cannot make it shorter, which would end us where we read it. */
static int32_t make_area(struct fdl_isolated *c, uint64_t bytes)
{
    c->area_bytes = bytes;
    c->area_fd =
        memfd_create("feedline-decode", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (c->area_fd < 0 || ftruncate(c->area_fd, (off_t)bytes) < 0 ||
        fcntl(c->area_fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return fdl_fail(errno == ENOSYS ? FEEDLINE_ENOSYS : FEEDLINE_EIO,
                        "isolate=decode: memory of %" PRIu64
                        " bytes for two processes: %s",
                        bytes, strerror(errno));
    void *area =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->area_fd, 0);
    if (area == MAP_FAILED)
        return fdl_fail_memory(bytes, "what two processes share");
    madvise(area, bytes, MADV_DONTFORK);
    c->area = area;
    return FEEDLINE_OK;
}

static void set_patience(const struct fdl_isolated *c)
{
    int64_t ms = (int64_t)c->limits.max_image_ms + GRACE_MS;
    struct timeval limit = {ms / 1000, ms % 1000 * 1000};
    if (c->limits.max_image_ms > 0)
        setsockopt(c->process.socket, SOL_SOCKET, SO_RCVTIMEO, &limit,
                   sizeof(limit));
}

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGSEGV, "SIGSEGV"},
        {SIGBUS, "SIGBUS"},
        {SIGILL, "SIGILL"},
        {SIGFPE, "SIGFPE"},
        {SIGABRT, "SIGABRT"},
        {SIGKILL, "SIGKILL"},
        {SIGTRAP, "SIGTRAP"},
        {SIGTERM, "SIGTERM"},
        {SIGSYS, "SIGSYS, for a system call that it may not make"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++)
        if (names[i].number == number)
            return names[i].name;
    return "a signal";
}

/* It ended by itself; the reason is for people, and nobody relies on it. */
static int32_t fail_ended(struct fdl_isolated *c)
{
    end_process(c);
    int how = head_of(c)->ended;
    if (how != FDL_ISOLATE_RUNS && WIFSIGNALED(how))
        return fdl_fail(FEEDLINE_EDECODE,
                        "the decoder of this file was killed by %s",
                        signal_name(WTERMSIG(how)));
    return fdl_fail(FEEDLINE_EDECODE,
                    "the decoder of this file ended without an answer");
}

static int32_t fail_slow(struct fdl_isolated *c)
{
    end_process(c);
    return fdl_fail(FEEDLINE_ERANGE,
                    "the image took longer than the limit of %" PRIu32
                    " ms, and its decoder was ended",
                    c->limits.max_image_ms);
}

static int32_t fail_wrong(struct fdl_isolated *c, const char *what)
{
    end_process(c);
    return fdl_fail(FEEDLINE_EDECODE,
                    "the decoder of this file gave a wrong answer (%s), and "
                    "was ended",
                    what);
}

static int32_t receive(struct fdl_isolated *c)
{
    struct fdl_isolate_answer *a = &c->answer;
    ssize_t n;
    do
        n = recv(c->process.socket, a, sizeof(*a), 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return fail_slow(c);
    if (n <= 0)
        return fail_ended(c);
    if ((size_t)n <= offsetof(struct fdl_isolate_answer, text))
        return fail_wrong(c, "its length");
    a->text[(size_t)n - offsetof(struct fdl_isolate_answer, text) - 1] = '\0';
    if (a->status > 0)
        return fail_wrong(c, "its status");
    return a->status ? fdl_fail(a->status, "%s", a->text) : FEEDLINE_OK;
}

/* false: it had ended before. */
static bool send_call(struct fdl_isolated *c,
                      const struct fdl_isolate_call *call)
{
    ssize_t n;
    do
        n = send(c->process.socket, call, sizeof(*call), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*call);
}

/* What failed once fails again: not every caller can return it. */
static int32_t ask(struct fdl_isolated *c, const struct fdl_isolate_call *call)
{
    if (c->failed == FEEDLINE_OK) {
        c->failed = send_call(c, call) ? receive(c) : fail_ended(c);
        snprintf(c->reason, sizeof(c->reason), "%s", fdl_last_error());
    }
    return c->failed ? fdl_fail(c->failed, "%s", c->reason) : FEEDLINE_OK;
}

/* How it is held in, once in a program. */
static void tell(int32_t landlock)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&told, memory_order_relaxed))
        return;
    if (landlock > 0)
        fdl_log(FDL_LOG_INFO,
                "isolate=decode: held in by seccomp, and by Landlock %" PRId32,
                landlock);
    else
        fdl_log(FDL_LOG_INFO, "isolate=decode: held in by seccomp alone, as "
                              "this kernel has no Landlock");
}

static int32_t start_process(struct fdl_isolated *c)
{
    *head_of(c) = (struct fdl_isolate_head){
        .build = fdl_isolate_build(),
        .limits = c->limits,
        .cpu_level = (uint32_t)fdl_cpu_level(),
        .ended = FDL_ISOLATE_RUNS,
    };
    int32_t status = fdl_isolate_start(c->area_fd, &c->process);
    if (status < 0)
        return status;
    c->runs = true;
    status = receive(c);
    if (status < 0) {
        end_process(c);
        return fdl_fail(status == FEEDLINE_EDECODE ? FEEDLINE_EIO : status,
                        "isolate=decode: %s", fdl_last_error());
    }
    set_patience(c);
    tell(c->answer.landlock);
    return FEEDLINE_OK;
}

/* A process with an area of at least so many bytes. */
static int32_t have_process(struct fdl_isolated *c, uint64_t bytes)
{
    int32_t status = FEEDLINE_OK;
    if (bytes > c->area_bytes || !c->area) {
        uint64_t more = LEAST_AREA;
        while (more < bytes)
            more *= 2;
        end_process(c);
        free_area(c);
        status = make_area(c, more);
        if (status < 0)
            free_area(c);
    }
    if (status == FEEDLINE_OK && !c->runs)
        status = start_process(c);
    return status;
}

int32_t fdl_isolated_create(const struct fdl_decode_limits *limits,
                            struct fdl_isolated **out)
{
    struct fdl_isolated *c = calloc(1, sizeof(*c));
    if (!c)
        return fdl_fail_memory(sizeof(*c), "a decoder");
    c->limits = *limits;
    c->area_fd = -1;
    int32_t status = have_process(c, LEAST_AREA);
    if (status < 0) {
        fdl_isolated_destroy(c);
        return status;
    }
    *out = c;
    return FEEDLINE_OK;
}

void fdl_isolated_destroy(struct fdl_isolated *c)
{
    if (!c)
        return;
    end_process(c);
    free_area(c);
    free(c);
}

uint64_t fdl_isolated_memory(const struct fdl_isolated *c)
{
    return sizeof(*c) + LEAST_AREA + c->answer.memory;
}

/* ---- Entries ------------------------------------------------------------ */

static size_t entries_bytes(uint32_t n)
{
    return sizeof(struct fdl_entries) + n * sizeof(uint64_t);
}

/* Behind place `at`; where what follows them begins. */
static uint64_t lay_entries(struct fdl_isolated *c, uint64_t at,
                            struct fdl_isolate_call *call)
{
    const struct fdl_entry_notes *notes = c->notes;
    if (!notes)
        return at;
    if (notes->known) {
        call->entries = at;
        at += (entries_bytes(notes->known->capacity) + 63) & ~(size_t)63;
    }
    call->notes = c->notes_at = at;
    return (at + sizeof(*notes) + 63) & ~UINT64_C(63);
}

static void put_entries(struct fdl_isolated *c,
                        const struct fdl_isolate_call *call)
{
    const struct fdl_entry_notes *notes = c->notes;
    if (call->entries) {
        uint32_t n = fdl_entries_count(notes->known);
        struct fdl_entries *to = (void *)(c->area + call->entries);
        to->hash = notes->known->hash;
        to->capacity = notes->known->capacity;
        atomic_init(&to->n, n);
        memcpy(to->at, notes->known->at, n * sizeof(to->at[0]));
    }
    if (call->notes)
        memcpy(c->area + call->notes, notes,
               offsetof(struct fdl_entry_notes, at));
}

/* What the process noted, if it can be true: nothing but numbers that the
 * store's own sums stay right with. */
static void take_notes(struct fdl_isolated *c)
{
    struct fdl_entry_notes *to = c->notes;
    if (!to)
        return;
    /* Read once: it may change. A bool may be no bool. */
    const volatile struct fdl_entry_notes *from =
        (const void *)(c->area + c->notes_at);
    uint8_t valid = *(const volatile uint8_t *)&from->valid;
    uint32_t n = from->n, first = from->first, capacity = from->capacity;
    if (valid != 1 || n > FDL_ENTRIES_MOST || capacity > FDL_ENTRIES_MOST ||
        first > capacity || n > capacity - first)
        return;
    to->same = *(const volatile uint8_t *)&from->same == 1;
    to->hash = from->hash;
    to->spacing = from->spacing;
    to->jumped = from->jumped;
    to->decoded = from->decoded;
    to->capacity = capacity;
    to->first = first;
    to->n = n;
    for (uint32_t i = 0; i < n; i++)
        to->at[i] = from->at[i];
    to->valid = true;
}

/* ---- The source --------------------------------------------------------- */

static const char *known_mode(const char *mode)
{
    static const char *const modes[] = {"1",   "L",    "LA",   "P",
                                        "RGB", "RGBA", "CMYK", "I;16"};
    for (size_t i = 0; i < FDL_COUNT_OF(modes); i++)
        if (strncmp(mode, modes[i], FDL_ISOLATE_MODE_BYTES) == 0)
            return modes[i];
    return NULL;
}

static int32_t take_info(struct fdl_isolated *c, struct fdl_image_info *info)
{
    const struct fdl_isolate_answer *a = &c->answer;
    const char *mode = known_mode(a->mode);
    if (a->format >= FDL_FORMAT_COUNT || !mode || a->width < 1 ||
        a->height < 1 ||
        (uint64_t)a->width * (uint64_t)a->height > c->limits.max_pixels ||
        (a->channels != 1 && a->channels != 3 && a->channels != 4) ||
        a->orientation < 0 || a->orientation > 8)
        return fail_wrong(c, "what image it is");
    *info = (struct fdl_image_info){.format = fdl_formats[a->format],
                                    .mode = mode,
                                    .width = a->width,
                                    .height = a->height,
                                    .channels = a->channels,
                                    .orientation = a->orientation,
                                    .keyed = a->keyed != 0,
                                    .unscaled = a->unscaled != 0};
    c->info = *info;
    c->pixel = a->channels;
    c->alpha = false;
    c->shift = 0;
    return FEEDLINE_OK;
}

/* Where everything lies; the bytes of an area for it. */
static uint64_t lay_out(struct fdl_isolated *c, const struct fdl_encoded *bytes,
                        uint64_t rows_bytes, struct fdl_isolate_call *call)
{
    *call = (struct fdl_isolate_call){
        .what = FDL_ISOLATE_OPEN,
        .size = bytes->size,
        .readable = bytes->size + FDL_ENCODED_PADDING,
        .format = bytes->format ? fdl_format_number(bytes->format)
                                : FDL_ISOLATE_ANY_FORMAT,
        .raw_width = bytes->raw_width,
        .raw_height = bytes->raw_height,
        .raw_channels = bytes->raw_channels,
        .verified = bytes->verified,
    };
    uint64_t at =
        FDL_ISOLATE_HEAD_BYTES + ((call->readable + 63) & ~UINT64_C(63));
    call->rows = c->rows_at = lay_entries(c, at, call);
    return call->rows + rows_bytes + FDL_ISOLATE_SLACK_BYTES;
}

/* In an area with so many bytes of rows at least. */
static int32_t open_with(struct fdl_isolated *c,
                         const struct fdl_encoded *bytes, uint64_t rows_bytes,
                         struct fdl_image_info *info)
{
    struct fdl_isolate_call call;
    uint64_t need = lay_out(c, bytes, rows_bytes, &call);
    int32_t status = have_process(c, need);
    if (status < 0)
        return status;
    call.rows_end = c->rows_end = c->area_bytes - FDL_ISOLATE_SLACK_BYTES;
    uint8_t *to = c->area + FDL_ISOLATE_HEAD_BYTES;
    if (bytes->size > 0)
        memcpy(to, bytes->data, bytes->size);
    memset(to + bytes->size, 0, FDL_ENCODED_PADDING);
    put_entries(c, &call);
    if (!send_call(c, &call)) { /* it ended meanwhile: nobody's fault */
        end_process(c);
        status = start_process(c);
        if (status < 0)
            return status;
        if (!send_call(c, &call))
            return fail_ended(c);
    }
    status = receive(c);
    return status < 0 ? status : take_info(c, info);
}

static int32_t open_image(void *self, const struct fdl_encoded *bytes,
                          struct fdl_image_info *info)
{
    struct fdl_isolated *c = self;
    c->failed = FEEDLINE_OK;
    c->used = bytes->size;
    c->notes = bytes->notes;
    c->answer.truncated = c->answer.doubtful = 0;
    int32_t status = open_with(c, bytes, LEAST_ROWS, info);
    /* One row has to fit, of any channels. */
    uint64_t row =
        status < 0 ? 0 : fdl_isolate_stride((uint64_t)info->width * 4);
    if (c->rows_at + row + 2 * FDL_ISOLATE_SLACK_BYTES > c->area_bytes &&
        status == FEEDLINE_OK)
        status = open_with(c, bytes, row + FDL_ISOLATE_SLACK_BYTES, info);
    return status;
}

/* An error shows again in begin. */
static bool ask_alpha(void *self, int32_t channels)
{
    struct fdl_isolated *c = self;
    const struct fdl_isolate_call call = {.what = FDL_ISOLATE_ALPHA,
                                          .channels = channels};
    if (c->info.format->alpha && c->info.channels < 4 &&
        ask(c, &call) == FEEDLINE_OK)
        c->alpha = c->answer.yes != 0;
    return c->alpha;
}

static const struct fdl_palette *ask_indices(void *self)
{
    struct fdl_isolated *c = self;
    const struct fdl_isolate_call call = {.what = FDL_ISOLATE_INDICES};
    if (!c->info.format->indices || ask(c, &call) < 0 || !c->answer.yes)
        return NULL;
    memcpy(&c->palette, c->area + c->rows_at, sizeof(c->palette));
    c->pixel = 1;
    return &c->palette;
}

static void shrink(void *self, int32_t shift)
{
    struct fdl_isolated *c = self;
    c->shift = shift;
}

/* Whether `outer` has all of `inner`. */
static bool contains(const struct fdl_box *outer, const struct fdl_box *inner)
{
    return inner->x >= outer->x && inner->y >= outer->y &&
           inner->x + (int64_t)inner->width <=
               outer->x + (int64_t)outer->width &&
           inner->y + (int64_t)inner->height <=
               outer->y + (int64_t)outer->height;
}

static int32_t take_ready(struct fdl_isolated *c)
{
    int32_t rows = c->answer.rows;
    if (rows < 1 || rows > c->left ||
        (uint64_t)rows > fdl_isolate_room(c->rows_at, c->rows_end, c->stride))
        return fail_wrong(c, "how many rows there are");
    c->taken = 0;
    c->ready = rows;
    c->used = FDL_MAX(c->used, c->rows_at + (uint64_t)rows * c->stride);
    c->left -= rows;
    if (c->left == 0)
        take_notes(c);
    return FEEDLINE_OK;
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_isolated *c = self;
    const struct fdl_isolate_call call = {
        .what = FDL_ISOLATE_BEGIN, .shift = c->shift, .need = *need};
    int32_t status = ask(c, &call);
    if (status < 0)
        return status;
    int32_t one = 1 << c->shift;
    const struct fdl_box all = {
        0, 0, (int32_t)(((int64_t)c->info.width + one - 1) / one),
        (int32_t)(((int64_t)c->info.height + one - 1) / one)};
    c->have = c->answer.have;
    if (c->have.width < 1 || c->have.height < 1 || !contains(&all, &c->have) ||
        !contains(&c->have, need))
        return fail_wrong(c, "which part it gives");
    c->stride = fdl_isolate_stride((uint64_t)c->have.width *
                                   ((uint64_t)c->pixel + c->alpha));
    c->left = c->have.height;
    *have = c->have;
    return take_ready(c);
}

static int32_t read_more(struct fdl_isolated *c)
{
    const struct fdl_isolate_call call = {.what = FDL_ISOLATE_READ};
    int32_t status = ask(c, &call);
    return status < 0 ? status : take_ready(c);
}

static int32_t give_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_isolated *c = self;
    size_t bytes = (size_t)c->have.width * ((size_t)c->pixel + c->alpha);
    for (int32_t i = 0; i < n; i++, c->taken++) {
        int32_t status = c->taken == c->ready ? read_more(c) : FEEDLINE_OK;
        if (status < 0)
            return status;
        memcpy(rows + (size_t)i * stride,
               c->area + c->rows_at + FDL_ISOLATE_ROW_SHIFT +
                   (uint64_t)c->taken * c->stride,
               bytes);
    }
    return FEEDLINE_OK;
}

static bool was_truncated(const void *self)
{
    const struct fdl_isolated *c = self;
    return c->answer.truncated != 0;
}

static bool was_doubtful(const void *self)
{
    const struct fdl_isolated *c = self;
    return c->answer.doubtful != 0;
}

static void tell_parts(const void *self, struct fdl_decode_parts *out)
{
    const struct fdl_isolate_answer *a =
        &((const struct fdl_isolated *)self)->answer;
    *out = (struct fdl_decode_parts){.unpack_ns = a->unpack_ns,
                                     .transform_ns = a->transform_ns,
                                     .huffman = a->huffman != 0,
                                     .clock_reads = a->clock_reads};
}

/* The process does it with its next open. */
static void end(void *self)
{
    struct fdl_isolated *c = self;
    c->notes = NULL;
    if (c->area && c->used > LEAST_AREA)
        madvise(c->area + LEAST_AREA, c->area_bytes - LEAST_AREA, MADV_REMOVE);
    c->used = 0;
}

const struct fdl_format fdl_isolated_source = {
    .open = open_image,
    .alpha = ask_alpha,
    .indices = ask_indices,
    .shrink = shrink,
    .begin = begin,
    .read = give_rows,
    .truncated = was_truncated,
    .doubtful = was_doubtful,
    .parts = tell_parts,
    .abort = end,
};

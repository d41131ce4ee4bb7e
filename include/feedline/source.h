/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the program's own, for bytes that lie elsewhere: in an object
 * store, a database, an archive. Everything after the read is as it is for
 * files: order, ranks, resuming, on_error, limits, statistics.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_SOURCE_H
#define FEEDLINE_SOURCE_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One read. A struct, not a parameter list, so that later versions can append
 * fields; valid until the callback returns. */
struct feedline_read_call {
    uint32_t struct_size;
    uint32_t reserved;
    void *context;        /* of the source */
    uint64_t index;       /* which sample of the source, from 0 */
    int64_t sample_index; /* of the data set: other numbers where some are left
                             out */
    uint64_t epoch;       /* of the loader; 0 outside one */
    void *buffer;         /* where its bytes go */
    uint64_t room;        /* of buffer, in bytes */
    uint64_t length;      /* out: how many bytes the sample has; 0 before */
    int64_t begin_ns;     /* CLOCK_MONOTONIC, right before the callback */

    /* 0 outside a loader. */
    uint64_t ticket; /* the sample's batch, counted from 0 in each run */
    uint32_t place;  /* the sample in it, from 0 */
    uint32_t copy;   /* with repeats, or as the program gave it: from 0 */
};

/* Inside read, if the sample does not fit: the buffer gets room for `bytes` and
 * loses what it holds. Returns it; NULL if max_file_bytes forbids it, memory
 * runs out or the loader stops, and then the sample fails with that reason. May
 * wait until other samples are decoded, so hold no lock that another read
 * takes. */
FEEDLINE_API void *feedline_read_grow(struct feedline_read_call *call,
                                      uint64_t bytes);

/* Inside read: says why it fails, in one line, which is copied. Returns
 * status. */
FEEDLINE_API int32_t feedline_read_fail(struct feedline_read_call *call,
                                        int32_t status, const char *reason);

/* Inside read: 1 if the loader stops, and its result is not needed; else 0. */
FEEDLINE_API int32_t
feedline_read_is_cancelled(const struct feedline_read_call *call);

/* Inside read: reports that ns of the call's time so far were spent waiting for
 * a lock that all calls share, such as an interpreter's. */
FEEDLINE_API void feedline_read_waited(struct feedline_read_call *call,
                                       int64_t ns);

#define FEEDLINE_SOURCE_ONE_AT_A_TIME 0x1u /* one read at a time */

/* Samples bring their own steps, see recorded.h: read gets no buffer, and calls
 * feedline_read_recorded. */
#define FEEDLINE_SOURCE_RECORDED 0x2u

/* Reads of a loader begin one at a time and in the order of its stream; each as
 * soon as the one before has returned. What reads outside that order takes no
 * turn: a checker, feedline_dataset_read. on_error=skip, whose replacements
 * have no place in the order, is refused.
 *
 * With either of the two reader=memory keeps nothing, so that each sample of
 * the stream is read. */
#define FEEDLINE_SOURCE_IN_ORDER 0x4u

struct feedline_source {
    uint32_t struct_size;
    uint32_t flags;   /* FEEDLINE_SOURCE_* */
    const char *name; /* "s3": what messages and verdicts call it */
    uint64_t count;   /* samples; at least 1 */

    /* Puts sample call->index into call->buffer and its size into call->length.
     * OK, or a FEEDLINE_E* code, which fails this sample, handled according to
     * on_error; any other value counts as FEEDLINE_EUSER. A length that does
     * not fit the buffer, or is not sizes[index], is FEEDLINE_EIO. Nothing is
     * tried again: a callback that can repeat a request does so.
     *
     * It is called on io_depth threads of each loader at once (with
     * reader=memory: on workers, once a sample; reader=uring is refused), and
     * on the caller's in feedline_checker_check. It may wait as long as it
     * likes: workers go on meanwhile. It calls no feedline function but
     * feedline_read_*, returns, and lets no C++ exception or longjmp escape. */
    int32_t (*read)(struct feedline_read_call *call);

    /* NULL, or asks a read to return soon, with any status: its loader stops,
     * which waits for it. call is that of the read. On another thread, before
     * read has returned, perhaps before it has begun; must not wait. */
    void (*cancel)(struct feedline_read_call *call);

    /* NULL, or called once, when the data set and all loaders made from it are
     * gone and no read will follow. Not called if open fails. */
    void (*close)(void *context);
    void *context; /* may be NULL */

    /* Copied. */
    const int64_t *labels;      /* [count]; NULL: all 0 */
    const uint64_t *sizes;      /* [count] in bytes; NULL: not known */
    const char *const *names;   /* [count]; NULL: "NAME:0", "NAME:1", ... */
    const char *const *classes; /* [n_classes], by label; NULL: no names */
    uint64_t n_classes;
    const char *fingerprint; /* of the contents, say a version: saved positions
                                are refused where it differs; NULL: none */
    const char *quarantine;  /* list of samples to leave out, see files.h */
};

/* In feedline_sample_info, a sample of such a data set has no file, and its
 * index in the source for an offset. */

/* EINVAL: no samples, no name, no read, or a NULL where there may be none. */
FEEDLINE_API int32_t feedline_dataset_open_source(
    const struct feedline_source *source, feedline_dataset **out);

#ifdef __cplusplus
}
#endif

#endif

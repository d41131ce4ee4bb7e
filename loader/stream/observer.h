/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine reports to an observer, one way: it never asks, and does the
 * same without one. In the hot path that is one record per sample and one per
 * call of next(); everything else an observer asks for (snapshot.h).
 *
 * Every hook may be NULL. None may call what starts or stops a run.
 */
#ifndef FDL_LOADER_OBSERVER_H
#define FDL_LOADER_OBSERVER_H

#include "decode/decoder.h"
#include "transfer/backend.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

/* A sample that a worker has finished. */
struct fdl_sample_record {
    uint64_t ticket, epoch, sequence; /* of its batch */
    uint64_t index;                   /* in the data set */
    uint32_t place;                   /* in its batch, in samples */
    uint32_t width, height;           /* of its image; 0: it was not opened */
    uint64_t bytes;                   /* of its file */
    uint64_t made;                    /* bytes of its images */
    uint64_t source, output;          /* pixels of all in their files, and
                                         made; 0 where none was opened */
    int64_t read_start, read_done, begin, end;
    const struct fdl_render_cost *cost; /* of the last attempt to render */
    bool failed;
};

/* A call of next(). */
struct fdl_next_record {
    int64_t called;
    int64_t begin, end;              /* of its wait; equal: it did not wait */
    uint64_t ticket;                 /* that it waited for */
    const feedline_batch *batch;     /* the same; NULL: not issued */
    const feedline_batch *delivered; /* NULL: it returns without one */
    uint32_t workers;                /* in force */
    bool fails;                      /* the run ends with it */
};

/* Called by the backend for each batch that landed on a device, on its own
 * thread. Batches that the program holds keep the backend alive after the
 * engine is gone: it holds the observer, and releases it. */
struct fdl_copy_observer {
    void *user;
    void (*observe)(void *user, const struct fdl_device_times *times);
    void (*hold)(void *user);
    void (*let_go)(void *user);
};

struct fdl_observer {
    void *user;
    struct fdl_copy_observer copies;

    /* The consumer's thread. next() was called; it was refused, as no run is in
     * progress; it returns; and, after a record that fails, the run has been
     * stopped. */
    void (*called)(void *user, int64_t now);
    void (*refused)(void *user);
    void (*returned)(void *user, const struct fdl_next_record *r);
    void (*broken)(void *user);

    /* The consumer's thread: the program keeps more batches than there are
     * slots for. fdl_engine_tidy, soon and on another thread, makes them. */
    void (*is_short)(void *user);

    /* Books of a worker, before its first thread; ENOMEM. They are freed with
     * the engine. */
    int32_t (*worker_made)(void *user, uint32_t id, void **books);

    /* A worker's thread, on its books: it finished a sample; another attempt to
     * render follows; it was idle for this long, starved of reads or blocked by
     * batches that are ready. */
    void (*sample)(void *books, const struct fdl_sample_record *r);
    void (*attempt)(void *books, const struct fdl_render_cost *cost);
    void (*waited)(void *books, int64_t ns, bool starved);

    /* The thread that starts or stops a run. ending: no lock is held. stopping:
     * its threads still exist; beginning: there are none; `run_lock` is held.
     * late: the stop waits for this worker. */
    void (*ending)(void *user);
    void (*stopping)(void *user);
    void (*beginning)(void *user);
    void (*late)(void *user, uint32_t worker);
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of loader/stream/; see engine.h. */
#ifndef FDL_LOADER_ENGINE_OWN_H
#define FDL_LOADER_ENGINE_OWN_H

#include "base/clock.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/terms.h"
#include "decode/plan/plan.h"
#include "loader/dataset/entry_keeper.h"
#include "loader/options.h"
#include "loader/order/given.h"
#include "loader/read/reader.h"
#include "loader/stream/decode_choice.h"
#include "loader/stream/engine.h"
#include "loader/stream/failure.h"
#include "loader/stream/finish_choice.h"
#include "loader/stream/observer.h"
#include "loader/stream/ring.h"
#include "loader/stream/worker.h"
#include "profiler/measure/copy_fit.h"
#include "profiler/measure/stage.h"
#include "profiler/system/affinity.h"
#include "profiler/system/numa_maps.h"

#include <stdatomic.h>

/* Where the stream stands: the consumer's thread only. */
struct fdl_consumer {
    bool at_end;       /* END is due before the next batch */
    bool finished;     /* END forever */
    uint64_t epoch;    /* of the batches handed out now */
    uint64_t position; /* delivered of it, over all ranks */
    bool told_kept;    /* reported that the program keeps batches */
    int32_t failed;    /* status of the error that ended the run */
    int64_t waited_ns; /* since the last batch, in calls without one */
    enum fdl_ask ask;  /* of the next call */
};

struct fdl_engine {
    struct fdl_observer observer; /* constant; all NULL: none */
    feedline_dataset *dataset;
    struct fdl_pipeline *pipeline;
    struct fdl_options options; /* as given; of the knobs as asked for now:
                                   written under run_lock and settings */
    struct fdl_config_values config;
    bool random_shards;        /* constant */
    double mixing;             /* constant, see fdl_engine_mixing */
    bool no_pixels;            /* batches have none, as either is: constant */
    bool is_encoded;           /* decode=none */
    bool is_recorded;          /* samples bring their own steps and memory */
    bool reads_ahead;          /* constant */
    struct fdl_mask_rule mask; /* on: images have masks; constant */
    uint32_t mask_field;       /* of the data set, then */
    struct fdl_mix mix; /* num_classes 0: batches are not mixed; constant */
    struct fdl_sampler sampler;
    struct fdl_stream stream;
    struct fdl_given *given; /* NULL: order=own */

    struct fdl_entry_store *entries; /* the JPEG index; NULL: none */
    struct fdl_entry_keeper keeper;  /* from the first run on */
    struct fdl_pixel_store *pixels;  /* of recorded samples; NULL: others */
    struct fdl_chunk_cache *chunks;  /* of stores; NULL: none */
    struct fdl_ring *ring;
    struct fdl_window *window;
    struct fdl_pool pool;

    struct fdl_affinity affinity; /* constant */
    struct fdl_numa_bytes pinned; /* of the first run; constant once known: */
    _Atomic bool pinned_known;    /* see fdl_engine_pinned */
    bool stands_in; /* for a watched loader; constant once threads exist */
    int32_t gpu;    /* its number, -1: none; constant like that */
    struct fdl_finish_choice finish; /* constant */
    struct fdl_decode_choice decode;
    struct fdl_copy_fit fit; /* of the device, constant once known: */
    _Atomic bool fit_known;  /* see fdl_engine_bus */

    const struct fdl_reader_ops *reader_ops;
    struct fdl_reader *reader;     /* written under run_lock and settings */
    struct fdl_stage *read_stages; /* [FDL_MAX_IO_DEPTH] */
    bool keeps_io_depth;           /* from run to run, where it is auto */
    uint32_t first_io_depth;       /* of the first run then; 0: the reader's */

    /* Held by a thread that starts or stops threads, or allocates or frees
     * memory of batches, one at a time, for as long as that takes. Statistics
     * never take it. */
    struct fdl_lock run_lock;
    struct fdl_lock settings; /* numbers only, so it is never held for long:
                                 options, the reader's pointer, the lives of
                                 workers' threads */
    _Atomic uint32_t workers, depth, io_depth;
    _Atomic int32_t reader_kind; /* enum fdl_reader_kind; AUTO before a run */
    bool running;
    uint64_t range; /* of the run, transfer/nvtx.h */
    bool stopped;   /* by the caller: next does not restart it */

    _Atomic bool interrupted;
    struct fdl_failures failures;
    struct fdl_consumer consumer;
};

/* What is read of a sample. */
static inline void fdl_engine_locate(const struct fdl_engine *e, uint64_t index,
                                     struct fdl_source *out)
{
    fdl_dataset_locate(e->dataset, index, e->config.checksums, out);
}

/* engine_mix.c: sets e->mix, for images of this format. EINVAL. */
int32_t fdl_engine_choose_mix(struct fdl_engine *e,
                              const struct fdl_output_format *delivered);

/* For the ring, which exists. */
int32_t fdl_engine_prepare_mix(struct fdl_engine *e);

/* Read-ahead follows from workers and I/O depth; `run_lock` is held. */
void fdl_engine_set_limit_locked(struct fdl_engine *e);

#endif

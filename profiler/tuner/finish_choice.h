/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who finishes batches, the host or the device: a pure function, with its
 * reason in words.
 *
 * To finish is to make numbers of pixels: cast, normalise, lay out. On the host
 * a worker does it while the pixels are in its cache, and finished bytes cross
 * the bus; on the device the u8 pixels cross it, a quarter of f32's bytes, and
 * one kernel finishes them behind the copy.
 *
 * For option finish=auto, the first rule that fits:
 *
 *   host    the device cannot (the obstacle says why)
 *   host    as many bytes or more would cross the bus: nothing is saved
 *   device  the bus was not measured: fewer bytes, and less work for workers
 *   device  the copy of a batch becomes shorter by 10 % or more
 *   host    the copy is all latency, and cores are idle (less than half of them
 *           taken by others): a kernel more per batch would save nothing that
 *           is short
 *   device  otherwise: the bus gains little, but workers are spared the work
 *
 * finish=host and finish=device are taken as they are; but where the device
 * cannot, it is the host, and whoever asks decides whether that is an error.
 *
 * Later there are measurements instead of guesses. A batch then takes
 *
 *     period = max(step, copy, prep)
 *     prep   = samples * max(cpu / cores, (cpu + sleep) / workers)
 *
 * and the same of the other way, where a copy takes its latency and the bytes
 * at the speed that was achieved, `cpu` has a sample's finishing in it or not,
 * and `step` the kernel. The other way is worth a trial if it promises
 * FDL_FINISH_GAIN more throughput; and towards the device also if it costs
 * nothing and spares the workers FDL_FINISH_SPARED of their CPU time.
 */
#ifndef FDL_PROFILER_FINISH_CHOICE_H
#define FDL_PROFILER_FINISH_CHOICE_H

#include "base/choice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_FINISH_CHOICES(C)                                                  \
  C(FDL_FINISH_AUTO, "auto")                                                   \
  C(FDL_FINISH_HOST, "host")                                                   \
  C(FDL_FINISH_DEVICE, "device")
enum fdl_finish_asked { FDL_CHOICE_VALUES(FDL_FINISH_CHOICES) };

struct fdl_finish_question {
    enum fdl_finish_asked asked;
    const char *obstacle; /* why the device cannot; NULL: it can */
    double latency_us, gigabytes_per_second; /* of a copy; 0: not measured */
    uint64_t wire_bytes;     /* of a batch, if the device finishes it */
    uint64_t finished_bytes; /* of a batch, if the host does */
    uint32_t images;         /* in it */
    uint32_t cpus_usable;
    double cpu_load; /* of cpus_usable, taken by others, 0 to 1; -1: not
                        known */
    bool tuned;      /* somebody may want to change it while it is in force */
};

#define FDL_FINISH_REASON_BYTES 200

struct fdl_finish_choice {
    bool device;
    bool free; /* nobody asked for it, and the other way is possible too */
    const char *regime; /* of a batch as it will cross the bus: "bandwidth",
                           "latency", "" where that is not known; static */
    char reason[FDL_FINISH_REASON_BYTES];
};

/* Any thread. */
void fdl_finish_decide(const struct fdl_finish_question *q,
                       struct fdl_finish_choice *out);

#define FDL_FINISH_GAIN   0.05
#define FDL_FINISH_SPARED 0.10

/* What does not change while a loader runs; 0: not known. */
struct fdl_finish_costs {
    uint64_t host_bytes, device_bytes; /* of a batch over the bus, by who
                                          finishes it */
    double latency_ns, bytes_per_ns;   /* of a copy */
    double sample_ns; /* of a worker's CPU, to finish a sample on the host */
};

/* What was measured since who finishes changed last; ns. */
struct fdl_finish_facts {
    struct fdl_finish_costs costs;
    bool device;      /* finishes now */
    uint32_t samples; /* of a batch */
    double step_ns;   /* consumer's own time for a batch, the device's too */
    double copy_ns;   /* of a batch; 0: not measured */
    double kernel_ns; /* of a batch that the device finished; 0: not measured */
    double cpu_ns, sleep_ns; /* of a worker for a sample */
    double cores, workers;   /* that work on samples */
};

/* true: the other way is worth a trial. gain: change of throughput that it
 * promises, 0.25 is a quarter more; about 0 where it is only cheaper. why: in
 * words, with its numbers. Both are always set. */
bool fdl_finish_reconsider(const struct fdl_finish_facts *f, double *gain,
                           char *why, size_t capacity);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where batches are finished, on the host or the device: a pure function, with
 * its reason in words.
 *
 * Finishing turns pixels into values: cast, normalise, lay out. On the host a
 * worker does it while the pixels are in its cache, and finished bytes cross
 * the bus; on the device the u8 pixels cross it, a quarter of f32's bytes, and
 * one kernel finishes them after the copy.
 *
 * For option finish=auto, the first rule that applies:
 *
 *   host    the device cannot (the obstacle says why)
 *   host    as many bytes or more would cross the bus: nothing is saved
 *   device  the bus was not measured: fewer bytes, and less work for workers
 *   device  the copy of a batch becomes at least 10 % shorter
 *   device  the program copies each batch anyway, so the kernel is no work more
 *   host    the copy is all latency, and cores are idle (less than half of them
 *           taken by others): another kernel per batch would not pay
 *   device  otherwise: the bus gains little, but workers are spared the work
 *
 * finish=host and finish=device are used as given; but if the device cannot, it
 * is the host, and the caller decides whether that is an error.
 */
#ifndef FDL_LOADER_FINISH_CHOICE_H
#define FDL_LOADER_FINISH_CHOICE_H

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
    bool late; /* in the program's own copy of a batch (handover=copy) */
    const char *obstacle; /* why the device cannot; NULL: it can */
    double latency_us, gigabytes_per_second; /* of a copy; 0: not measured */
    uint64_t wire_bytes;     /* of a batch, if the device finishes it */
    uint64_t finished_bytes; /* of a batch, if the host does */
    uint32_t images;         /* in it */
    uint32_t cpus_usable;
    double cpu_load; /* of cpus_usable, taken by others, 0 to 1; -1: not
                        known */
};

#define FDL_FINISH_REASON_BYTES 200

struct fdl_finish_choice {
    bool device, late;
    const char *regime; /* of a batch as it will cross the bus: "bandwidth",
                           "latency", "" where that is not known; static */
    char reason[FDL_FINISH_REASON_BYTES];
};

/* Any thread. */
void fdl_finish_decide(const struct fdl_finish_question *q,
                       struct fdl_finish_choice *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader over time, for the report: a point is taken after the first batch
 * that follows each quarter of a second, so every wait is in exactly one point,
 * and nothing measures concurrently with the consumer. Points of a long run are
 * further apart: there are never more than 1200.
 */
#ifndef LOADERBENCH_TIMELINE_H
#define LOADERBENCH_TIMELINE_H

#include <feedline/feedline.h>

#include <jansson.h>
#include <stddef.h>

#define TIMELINE_POINTS 1200 /* even: they are halved */

/* The sums at a point, since the measuring began. */
struct timeline_point {
    double seconds;
    uint64_t images;
    struct feedline_stats stats;
    struct feedline_wait_stats waits;
    uint64_t span_ns, idle_ns; /* of the device; 0 without one */
    int64_t workers, depth, io_depth;
};

struct timeline {
    struct timeline_point *points; /* TIMELINE_POINTS of them */
    size_t n;
    double begin, period, next;
};

/* Out of memory: there will be no points, and nothing else is lost. */
void timeline_init(struct timeline *t);
void timeline_fini(struct timeline *t);

/* The statistics have just been reset: everything counts from here. */
void timeline_begin(struct timeline *t, double now);

/* After each batch; `images` since begin. */
void timeline_note(struct timeline *t, const feedline_loader *l, double now,
                   uint64_t images);

/* A final point for what came since the previous one. */
void timeline_end(struct timeline *t, const feedline_loader *l, double now,
                  uint64_t images);

/* [{seconds, images_per_second, host_fraction, device_fraction, buckets,
 * workers, depth, io_depth}]: `seconds` is the end of the time that the numbers
 * are about, which began at the end of the point before. */
json_t *timeline_json(const struct timeline *t);

#endif

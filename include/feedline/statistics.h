/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics as a table: name, unit, meaning and place of each number. For
 * programs that show, write or merge all of them without naming them; JSON,
 * metrics, loaderbench and docs/statistics.md are made from it. Any thread;
 * statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_STATISTICS_H
#define FEEDLINE_STATISTICS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum feedline_stat_type {
    FEEDLINE_STAT_U32 = 0,
    FEEDLINE_STAT_U64,
    FEEDLINE_STAT_I64,
    FEEDLINE_STAT_DOUBLE,
    FEEDLINE_STAT_TEXT /* const char *, may be NULL */
};

/* How the numbers of several ranks become one. */
enum feedline_stat_merge {
    FEEDLINE_MERGE_NONE = 0, /* it says something only about one rank */
    FEEDLINE_MERGE_SUM,
    FEEDLINE_MERGE_MAX
};

#define FEEDLINE_STAT_ZERO_UNKNOWN     0x1u /* 0 means: not known */
#define FEEDLINE_STAT_NEGATIVE_UNKNOWN 0x2u /* < 0 means: not known */
#define FEEDLINE_STAT_CUSTOM           0x4u /* of custom operations only */

/* A row of the table: where one number is, and what it means. The field divided
 * by `scale`, or by the field `over`, is the number that JSON, metrics and
 * texts show. The texts are static. */
struct feedline_stat_info {
    uint32_t struct_size;
    uint32_t type;      /* enum feedline_stat_type, of the field */
    uint32_t flags;     /* FEEDLINE_STAT_* */
    uint32_t merge;     /* enum feedline_stat_merge */
    uint32_t offset;    /* of the field in the struct of its part */
    uint32_t over;      /* offset of the u64 it is divided by; 0: none */
    double scale;       /* 1e9 for nanoseconds that are shown in seconds */
    const char *name;   /* its key in JSON; "a.b" is b in an object a */
    const char *title;  /* a few words for people; "" if name does */
    const char *unit;   /* "seconds", "us", "bytes"; "" for plain counts */
    const char *metric; /* of Prometheus, after "feedline_"; "": none. May end
                           in a label: total{cause="slot"} */
    const char *help;   /* one line */
};

/* A row of the part of the table that describes one struct. part:
 * "stats" (struct feedline_stats), "stall" (feedline_wait_stats),
 * "stages" (feedline_stage_stats), "workers" (feedline_worker_stats),
 * "transfer" (feedline_device_stats), "gaps" (feedline_gap_stats),
 * "slow_samples" (feedline_slow_sample), "headroom" (feedline_headroom),
 * "tuner" (feedline_tuner_info of tuning.h), "queue", "machine" and "gpu" (all
 * feedline_live_stats of live.h). ENOENT: an unknown part; ERANGE: an index
 * past the end. */
FEEDLINE_API int32_t feedline_stat_get_info(const char *part, uint32_t index,
                                            struct feedline_stat_info *out);

/* The number of a row in its unit, read from `in`, the struct of the row's
 * part. NaN: it is not known, the row is text, or an argument is NULL. Does not
 * change feedline_last_error. */
FEEDLINE_API double feedline_stat_value(const struct feedline_stat_info *row,
                                        const void *in);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_STATISTICS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench scan: scan.c checks every sample, scan_findings.c judges what was
 * seen, scan_text.c tells it; scan_mixing.c is about orders of the samples.
 */
#ifndef LOADERBENCH_SCAN_H
#define LOADERBENCH_SCAN_H

#include <feedline/files.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A sample with the bytes of others. */
enum scan_copies { SCAN_SINGLE, SCAN_DUPLICATE, SCAN_MISLABELLED };

struct scan_sample {
    struct feedline_checked is; /* but for its reason, which is below */
    char *reason;
    uint64_t twin; /* the first with the same bytes, or itself */
    int64_t label;
    enum scan_copies copies;
    bool seen; /* false: Ctrl-C came first */
};

struct scan {
    const char *uri;
    feedline_dataset *data;
    struct scan_sample *samples;
    uint64_t n;
    double oversized, tiny; /* factors of: */
    double median;          /* pixels of an image, once all are seen */
    double seconds;
    bool interrupted;
};

/* Whether a loader can use it, or the kind of its damage; NULL: it can. */
const char *scan_damage(const struct scan_sample *s);

/* What "counts", "findings" and so on of the document are; sets the copies of
 * the samples. NULL: no memory. */
json_t *scan_findings(struct scan *s);

/* "shuffle" of the document, by the options of the loader; NULL: no memory. */
json_t *scan_mixing(const struct scan *s, const feedline_config *config);
void scan_print_mixing(const json_t *mixing);

/* Is there a finding of level "error"? */
bool scan_has_error(const json_t *doc);

/* At most `show` samples of each finding. */
void scan_print(const json_t *doc, uint64_t show);

/* A name on one line, as a quarantine has it. */
void scan_put_name(const char *name, FILE *f);

#endif

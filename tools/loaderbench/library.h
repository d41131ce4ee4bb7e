/* SPDX-License-Identifier: Apache-2.0 */
/* The library's functions that write a text, behind one that allocates it. */
#ifndef LOADERBENCH_LIBRARY_H
#define LOADERBENCH_LIBRARY_H

#include <feedline/feedline.h>

#include <jansson.h>

/* Each is the text of what stands behind it. */
enum library_text {
    LIBRARY_CONFIG,        /* feedline_config */
    LIBRARY_DOCTOR,        /* const char, the device */
    LIBRARY_LOADER_CONFIG, /* feedline_loader, as the next ones */
    LIBRARY_STATS,
    LIBRARY_TUNER,
    LIBRARY_TUNER_TEXT,
    LIBRARY_TABLE,    /* struct library_table */
    LIBRARY_MACHINE,  /* nothing: NULL */
    LIBRARY_PIPELINE, /* feedline_pipeline */
};

struct library_table {
    feedline_loader *loader;
    const char *sort_by; /* NULL: the order of a sample's path */
};

/* A status; the caller frees *out, which is NULL on failure. */
int32_t library_text(enum library_text text, const void *of, char **out);

/* The text as JSON; an empty object where it cannot be had. */
json_t *library_json(enum library_text text, const void *of);

#endif

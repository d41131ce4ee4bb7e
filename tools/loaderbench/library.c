/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/library.h"

#include <feedline/tuning.h>

#include <stdlib.h>
#include <string.h>

static int32_t write_text(enum library_text text, const void *of, char *buf,
                          uint64_t capacity, uint64_t *needed)
{
    const struct library_table *table = of;
    feedline_loader *l;
    switch (text) {
    case LIBRARY_CONFIG:
        return feedline_config_json(of, buf, capacity, needed);
    case LIBRARY_DOCTOR:
        return feedline_doctor_json(of, buf, capacity, needed);
    case LIBRARY_LOADER_CONFIG:
        return feedline_loader_config_json(of, buf, capacity, needed);
    case LIBRARY_STATS:
        memcpy(&l, &of, sizeof(l)); /* no const loader was given */
        return feedline_loader_stats_json(l, buf, capacity, needed);
    case LIBRARY_TUNER:
        return feedline_loader_tuner_json(of, buf, capacity, needed);
    case LIBRARY_TUNER_TEXT:
        return feedline_loader_tuner_text(of, buf, capacity, needed);
    case LIBRARY_TABLE:
        return feedline_loader_stats_table(table->loader, table->sort_by, 0,
                                           buf, capacity, needed);
    case LIBRARY_MACHINE:
        return feedline_machine_json(buf, capacity, needed);
    case LIBRARY_PIPELINE:
        return feedline_pipeline_json(of, buf, capacity, needed);
    }
    return FEEDLINE_EINVAL;
}

/* Statistics change meanwhile: the text may have grown by the second call. */
int32_t library_text(enum library_text text, const void *of, char **out)
{
    uint64_t needed = 0;
    int32_t status = write_text(text, of, NULL, 0, &needed);
    *out = NULL;
    while (status >= 0) {
        uint64_t capacity = needed + needed / 4 + 1024;
        *out = malloc(capacity);
        if (!*out)
            return FEEDLINE_ENOMEM;
        status = write_text(text, of, *out, capacity, &needed);
        if (status == FEEDLINE_OK)
            return status;
        free(*out);
        *out = NULL;
        if (status == FEEDLINE_ERANGE)
            status = FEEDLINE_OK;
    }
    return status;
}

json_t *library_json(enum library_text text, const void *of)
{
    char *buf;
    json_t *parsed = NULL;
    if (library_text(text, of, &buf) >= 0)
        parsed = json_loads(buf, 0, NULL);
    free(buf);
    return parsed ? parsed : json_object();
}

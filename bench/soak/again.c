/* SPDX-License-Identifier: Apache-2.0 */
#include "again.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define MOST_TRIES    300
#define MOST_PAUSE_MS 50
#define PATIENCE_NS   INT64_C(300000000000)
#define TEXT_BYTES    1024

/* Whether a fault may have made that error: it is counted, and the call worth
 * another try. */
static bool is_explained(int32_t status, struct ends *ends)
{
    static const int32_t explained[] = {
        FEEDLINE_ENOMEM, FEEDLINE_EIO,    FEEDLINE_EDECODE, FEEDLINE_EDEVICE,
        FEEDLINE_ENOSYS, FEEDLINE_ESTATE, FEEDLINE_EUSER};
    for (size_t i = 0; i < sizeof(explained) / sizeof(explained[0]); i++) {
        if (status != explained[i])
            continue;
        ends->times[-status % STATUSES]++;
        return true;
    }
    return false;
}

/* Whether a call is made again after `tries`; if not, why is told. */
static bool goes_on(const char *what, int32_t status, int tries,
                    struct ends *ends)
{
    if (is_explained(status, ends) && tries < MOST_TRIES) {
        usleep(1000u *
               (unsigned)(tries < MOST_PAUSE_MS ? tries : MOST_PAUSE_MS));
        return true;
    }
    fprintf(stderr, "%s, after %d tries: %s: %s\n", what, tries,
            feedline_status_name(status), feedline_last_error());
    return false;
}

void ends_print(FILE *out, const struct ends *e)
{
    const char *before = "";
    fprintf(out, "{");
    for (int32_t i = 0; i < STATUSES; i++) {
        if (e->times[i] == 0)
            continue;
        fprintf(out, "%s\"%s\": %llu", before, feedline_status_name(-i),
                (unsigned long long)e->times[i]);
        before = ", ";
    }
    fprintf(out, "}");
}

/* ---- Handles ------------------------------------------------------------- */

feedline_dataset *again_open(const char *uri, struct ends *ends)
{
    feedline_dataset *ds = NULL;
    for (int tries = 1;; tries++) {
        int32_t status = feedline_dataset_open(uri, &ds);
        if (status >= 0 || !goes_on(uri, status, tries, ends))
            return ds;
    }
}

feedline_dataset *again_source(const struct feedline_source *source,
                               struct ends *ends)
{
    feedline_dataset *ds = NULL;
    for (int tries = 1;; tries++) {
        int32_t status = feedline_dataset_open_source(source, &ds);
        if (status >= 0 || !goes_on(source->name, status, tries, ends))
            return ds;
    }
}

static int32_t set_options(feedline_config *cfg, const char *options)
{
    char text[TEXT_BYTES], *save = NULL;
    int32_t status = FEEDLINE_OK;
    snprintf(text, sizeof(text), "%s", options);
    for (char *word = strtok_r(text, " ", &save); word && status >= 0;
         word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value = '\0';
        status = feedline_config_set(cfg, word, value + 1);
    }
    return status;
}

static int32_t add_operations(feedline_pipeline *p, const char *operations)
{
    char text[TEXT_BYTES], *save = NULL;
    int32_t status = FEEDLINE_OK;
    snprintf(text, sizeof(text), "%s", operations);
    for (char *op = strtok_r(text, ";", &save); op && status >= 0;
         op = strtok_r(NULL, ";", &save)) {
        char *args = strchr(op, ' ');
        if (args)
            *args++ = '\0';
        status = feedline_pipeline_add(p, op, args);
    }
    return status;
}

static int32_t create(feedline_dataset *ds, const char *operations,
                      const char *options, feedline_loader **out)
{
    feedline_config *cfg = NULL;
    feedline_pipeline *p = NULL;
    int32_t status = feedline_config_create(&cfg);
    if (status >= 0)
        status = set_options(cfg, options);
    if (status >= 0)
        status = feedline_pipeline_create("none", &p);
    if (status >= 0)
        status = add_operations(p, operations);
    if (status >= 0)
        status = feedline_loader_create(cfg, ds, p, out);
    feedline_pipeline_destroy(p); /* neither changes the error */
    feedline_config_destroy(cfg);
    return status;
}

feedline_loader *again_create(feedline_dataset *ds, const char *operations,
                              const char *options, struct ends *ends)
{
    feedline_loader *l = NULL;
    for (int tries = 1;; tries++) {
        int32_t status = create(ds, operations, options, &l);
        if (status >= 0 || !goes_on("a loader", status, tries, ends))
            return l;
    }
}

/* ---- Runs ---------------------------------------------------------------- */

int again_start(feedline_loader *l, uint64_t epoch, const char *state,
                struct ends *ends)
{
    for (int tries = 1;; tries++) {
        int32_t status = state[0] ? feedline_loader_restore(l, state)
                                  : feedline_loader_start(l, epoch);
        if (status >= 0)
            return 1;
        if (!goes_on("a start", status, tries, ends))
            return 0;
    }
}

/* If it cannot begin either, next() begins there. */
static void begin_again(feedline_loader *l)
{
    uint64_t epoch, position;
    if (feedline_loader_get_position(l, &epoch, &position) >= 0)
        (void)feedline_loader_set_position(l, epoch, position);
}

int32_t again_next(feedline_loader *l, struct ends *ends, feedline_batch **out)
{
    for (int tries = 1;; tries++) {
        int32_t status = feedline_loader_next(l, PATIENCE_NS, out);
        if (status >= 0)
            return status;
        if (!goes_on("a batch", status, tries, ends))
            return status;
        begin_again(l);
    }
}

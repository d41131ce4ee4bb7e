/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the measured settings is best, and why. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/io/io.h"

#include <stdio.h>
#include <string.h>

static bool is_cold(const json_t *p, const char *mode)
{
    return strcmp(doc_text(p, "mode"), mode) == 0 &&
           strcmp(doc_text(p, "state"), "cold") == 0 &&
           !json_is_true(doc_at(p, "refused"));
}

/* The fastest, or what is as fast for less CPU time; NULL: none. */
static const json_t *best_of(const json_t *points, const char *mode)
{
    const json_t *best = NULL;
    double most = 0;
    size_t i;
    json_t *p;
    json_array_foreach(points, i, p)
    {
        if (is_cold(p, mode) && doc_number(p, "bytes_per_second") > most)
            most = doc_number(p, "bytes_per_second");
    }
    json_array_foreach(points, i, p)
    {
        if (is_cold(p, mode) &&
            doc_number(p, "bytes_per_second") >= (1 - IO_TIE) * most &&
            (!best || doc_number(p, "cpu_us_per_read") <
                          doc_number(best, "cpu_us_per_read")))
            best = p;
    }
    return best;
}

/* What a loader does by itself before its tuner has found anything. */
static const json_t *default_of(const json_t *points, const char *mode,
                                bool has_uring)
{
    size_t i;
    json_t *p;
    json_array_foreach(points, i, p)
    {
        if (is_cold(p, mode) && strcmp(doc_text(p, "direct"), "false") == 0 &&
            strcmp(doc_text(p, "reader"), has_uring ? "uring" : "pread") == 0 &&
            doc_int(p, "io_depth") == (has_uring ? 16 : 4))
            return p;
    }
    return NULL;
}

static void explain(const json_t *best, const json_t *usual, bool fits,
                    char *out, size_t bytes)
{
    double rate = doc_number(best, "bytes_per_second");
    int n = snprintf(
        out, bytes, "%.0f MB/s cold at random, with %.0f us of CPU time a read",
        rate * 1e-6, doc_number(best, "cpu_us_per_read"));
    if (usual && usual != best && n > 0 && (size_t)n < bytes)
        n += snprintf(out + n, bytes - (size_t)n,
                      "; without these options %.0f MB/s and %.0f us",
                      doc_number(usual, "bytes_per_second") * 1e-6,
                      doc_number(usual, "cpu_us_per_read"));
    if (fits && strcmp(doc_text(best, "direct"), "true") == 0 && n > 0 &&
        (size_t)n < bytes)
        snprintf(out + n, bytes - (size_t)n,
                 ". The data set fits the memory: with direct=auto later "
                 "epochs come from the page cache");
}

json_t *io_choose(const json_t *doc, bool fits)
{
    const json_t *points = doc_at(doc, "points");
    bool has_uring = json_is_null(doc_at(doc, "uring_missing"));
    const json_t *best = best_of(points, "random");
    const json_t *ordered = best_of(points, "sequential");
    char why[400];
    if (!best || !ordered)
        return json_null();
    explain(best, default_of(points, "random", has_uring), fits, why,
            sizeof(why));
    return json_pack(
        "{s:s, s:s, s:I, s:s, s:f}", "reader", doc_text(best, "reader"),
        "direct", fits ? "auto" : doc_text(best, "direct"), "io_depth",
        (json_int_t)doc_int(best, "io_depth"), "reason", why,
        "sequential_bytes_per_second", doc_number(ordered, "bytes_per_second"));
}

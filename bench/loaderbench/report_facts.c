/* SPDX-License-Identifier: Apache-2.0 */
/* The machine, its signals, the options in force, in words. What a document
 * says twice, and what says nothing (null, ""), is left out. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <stdbool.h>
#include <string.h>

static const struct label {
    const char *section, *key;
    const char *words; /* NULL: stands elsewhere, or is of no use here */
    enum html_form form;
} labels[] = {
    {"machine", "kernel", "Linux kernel", HTML_NUMBER},
    {"machine", "cpu_model", "processor", HTML_NUMBER},
    {"machine", "cpus_online", "cores of the machine", HTML_COUNT},
    {"machine", "cpus_allowed", "cores the process may run on", HTML_COUNT},
    {"machine", "cpus_usable", "cores usable at once", HTML_NUMBER},
    {"machine", "cpu_quota", "CPU quota in cores", HTML_NUMBER},
    {"machine", "memory_bytes", "memory of the machine", HTML_BYTES},
    {"machine", "memory_limit_bytes", "memory limit", HTML_BYTES},
    {"signals", "quota_cores", NULL, HTML_NUMBER},
    {"signals", "throttled_seconds", NULL, HTML_SECONDS},
    {"signals", "throttled_fraction", "stopped by the CPU quota", HTML_PERCENT},
    {"signals", "psi_cpu_some", "some task waited for a core", HTML_PERCENT},
    {"signals", "psi_io_some", "some task waited for storage", HTML_PERCENT},
    {"signals", "psi_memory_some", "some task waited for memory", HTML_PERCENT},
    {"signals", "host_busy", "load of the machine's cores", HTML_PERCENT},
    {"signals", "process_cores", "cores used by this process", HTML_NUMBER},
    {"signals", "foreign_cores", "cores used by other processes", HTML_NUMBER},
    {"signals", "foreign_name", "the busiest other process", HTML_NUMBER},
    {"signals", "consumer_cores", "cores used by the consumer's thread",
     HTML_NUMBER},
    {"signals", "memory_bytes", "memory used by this process", HTML_BYTES},
    {"signals", "memory_limit_bytes", NULL, HTML_BYTES},
    {"signals", "run_queue_known", NULL, HTML_NUMBER},
    {"signals", "gpu", "GPU", HTML_NUMBER},
    {"facts", "machine", NULL, HTML_NUMBER}, /* a block of its own */
    {"facts", "throttled_share", "stopped by the CPU quota", HTML_PERCENT},
    {"facts", "other_cores", "cores used by other processes", HTML_NUMBER},
    {"facts", "clock_ns", "nanoseconds to read the clock", HTML_NUMBER},
    {"facts", "governor", "CPU frequency governor", HTML_NUMBER},
    {"facts", "scaling_driver", "CPU frequency driver", HTML_NUMBER},
    {"facts", "clocksource", "clock source", HTML_NUMBER},
    {"facts", "simd", "vector instructions", HTML_NUMBER},
    {"facts", "omp_num_threads", "OMP_NUM_THREADS", HTML_NUMBER},
    {"facts", "mkl_num_threads", "MKL_NUM_THREADS", HTML_NUMBER},
    {"facts", "openblas_num_threads", "OPENBLAS_NUM_THREADS", HTML_NUMBER},
    {"facts", "local_world_size", "LOCAL_WORLD_SIZE", HTML_NUMBER},
    {"facts", "numa_nodes", "NUMA nodes", HTML_COUNT},
    {"facts", "memory_pressure", "some task waited for memory", HTML_PERCENT},
    {"facts", "memlock_bytes", "memory that may be locked", HTML_BYTES},
    {"facts", "shm_bytes", "shared memory in /dev/shm", HTML_BYTES},
    {"facts", "overcommit", "vm.overcommit_memory", HTML_NUMBER},
    {"facts", "io_uring", "io_uring works", HTML_NUMBER},
    {"facts", "io_uring_reason", "why io_uring does not work", HTML_NUMBER},
    {"facts", "open_files", "files that may be open", HTML_COUNT},
    {"facts", "threads_limit", "thread limit", HTML_COUNT},
    {"facts", "read_ahead_bytes", "read-ahead of the disks", HTML_BYTES},
    {"facts", "gpu", "GPU", HTML_NUMBER},
};
#define N_LABELS (sizeof(labels) / sizeof(*labels))

/* NULL: none, the key itself is shown. */
static const struct label *label_of(const char *section, const char *key)
{
    for (size_t i = 0; i < N_LABELS; i++)
        if (strcmp(labels[i].section, section) == 0 &&
            strcmp(labels[i].key, key) == 0)
            return &labels[i];
    return NULL;
}

/* A limit of all the memory there is, and cores that may all be used, repeat
 * the line above them. */
static bool repeats(const json_t *object, const char *section, const char *key)
{
    static const char *const pairs[][2] = {
        {"memory_limit_bytes", "memory_bytes"},
        {"cpus_allowed", "cpus_online"},
        {"cpus_usable", "cpus_allowed"}};
    if (strcmp(section, "machine") != 0)
        return false;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (strcmp(pairs[i][0], key) == 0)
            return json_equal(json_object_get(object, key),
                              json_object_get(object, pairs[i][1]));
    return false;
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

/* What does not fit beside its name goes below it. */
static bool is_long(const json_t *value)
{
    return json_array_size(value) > 4 || json_object_size(value) > 0 ||
           json_is_object(json_array_get(value, 0)) ||
           json_string_length(value) > 40;
}

static void fact(FILE *f, const struct label *label, const char *key,
                 const json_t *value)
{
    fprintf(f, "<div%s><dt>", is_long(value) ? " class=\"long\"" : "");
    if (label)
        html_text(f, label->words);
    else
        html_words(f, key);
    fputs("</dt><dd>", f);
    if (json_is_number(value))
        html_value(f, NULL, json_number_value(value),
                   label ? label->form : html_form_of(key));
    else
        html_any(f, value);
    fputs("</dd></div>\n", f);
}

static void facts(FILE *f, const json_t *object, const char *section)
{
    json_t *o = doc_mutable(object);
    fputs("<dl class=\"facts\">\n", f);
    for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        const struct label *label = label_of(section, key);
        if (!is_empty(value) && (!label || label->words) &&
            !repeats(object, section, key))
            fact(f, label, key, value);
    }
    fputs("</dl>\n", f);
}

static void folded(FILE *f, const json_t *doc, const char *key,
                   const char *title, bool open)
{
    const json_t *object = json_object_get(doc, key);
    if (!json_is_object(object) || json_object_size(object) == 0)
        return;
    fprintf(f, "<details%s><summary>%s</summary>\n", open ? " open" : "",
            title);
    facts(f, object, key);
    fputs("</details>\n", f);
}

void report_facts(FILE *f, const json_t *doc)
{
    static const char *const keys[] = {"machine", "signals", "config",
                                       "run",     "facts",   "options"};
    size_t there = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        there += json_is_object(json_object_get(doc, keys[i]));
    if (there == 0)
        return;
    html_section(f, "Machine and settings");
    folded(f, doc, "machine", "Machine", true);
    folded(f, json_object_get(doc, "facts"), "machine", "Machine", true);
    folded(f, doc, "facts", "What the doctor looked at", true);
    folded(f, doc, "signals", "During the run", true);
    folded(f, doc, "config", "Options in force at the end", false);
    folded(f, doc, "options", "Options of the command", false);
    folded(f, doc, "run", "Shape of the run", false);
    html_section_end(f);
}

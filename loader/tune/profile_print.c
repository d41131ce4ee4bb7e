/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fingerprint of a profile; see profile_print.h.
 *
 * Names of samples are part of the data set's own fingerprint, computed when it
 * is opened. Of the options, those count that determine the work per sample and
 * what a batch is; and the reader, as times depend on it. Seeds, ranks and
 * epochs do not: they change no cost.
 */
#include "loader/tune/profile_print.h"

#include "base/json.h"
#include "base/status.h"
#include "base/text_hash.h"
#include "decode/pipeline.h"
#include "loader/stream/engine.h"
#include "loader/stream/snapshot.h"
#include "profiler/system/machine.h"
#include "transfer/gpu_probe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void add(struct fdl_print *p, const char *part, const char *key,
                const char *fmt, ...) FDL_PRINTF(4, 5);

static void add(struct fdl_print *p, const char *part, const char *key,
                const char *fmt, ...)
{
    va_list args;
    fdl_assert(p->n < FDL_PRINT_FACTS);
    struct fdl_fact *f = &p->facts[p->n++];
    f->part = part;
    f->key = key;
    va_start(args, fmt);
    fdl_format_line(f->text, sizeof(f->text), fmt, args);
    va_end(args);
}

/* ---- Host ---------------------------------------------------------------- */

static void add_gpu(const struct fdl_engine *e, struct fdl_print *p)
{
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    int32_t gpu = fdl_engine_gpu(e);
    if (gpu < 0 || fdl_gpu_info((uint32_t)gpu, &info) < 0)
        info.name[0] = '\0';
    fdl_clear_error();
    add(p, "host", "gpu", "%s", info.name);
}

static void add_host(const struct fdl_engine *e, struct fdl_print *p)
{
    const struct fdl_machine *m = fdl_machine_get();
    double cores = m->cpus_allowed;
    if (m->cpu_quota > 0 && m->cpu_quota < cores)
        cores = m->cpu_quota;
    add(p, "host", "cpu_model", "%s", m->cpu_model);
    add(p, "host", "cores", "%.6g", cores);
    add(p, "host", "local_world", "%u",
        fdl_options_local_world(fdl_engine_options(e)));
    add(p, "host", "memory_limit_bytes", "%" PRIu64, m->memory_limit_bytes);
    add_gpu(e, p);
}

/* ---- Data set ------------------------------------------------------------ */

static void add_data_set(const struct fdl_engine *e, struct fdl_print *p)
{
    const feedline_dataset *ds = fdl_engine_dataset(e);
    add(p, "data_set", "kind", "%s",
        ds->raw_width ? "raw"
        : ds->data    ? "memory"
                      : "files");
    add(p, "data_set", "samples", "%" PRIu64, ds->count);
    add(p, "data_set", "fingerprint", "%016" PRIx64, ds->fingerprint);
}

/* ---- Pipeline ------------------------------------------------------------ */

static int32_t hash_operations(const struct fdl_engine *e, uint64_t *out)
{
    struct fdl_json j;
    uint64_t needed;
    fdl_json_init(&j, NULL, 0);
    fdl_pipeline_json(fdl_engine_pipeline(e), NULL, &j);
    fdl_json_finish(&j, &needed);
    char *text = malloc(needed);
    if (!text)
        return fdl_fail_memory(needed, "the fingerprint of a pipeline");
    fdl_json_init(&j, text, needed);
    fdl_pipeline_json(fdl_engine_pipeline(e), NULL, &j);
    fdl_json_finish(&j, &needed);
    *out = fdl_hash_text(text);
    free(text);
    return FEEDLINE_OK;
}

static void add_choice(const struct fdl_engine *e, uint32_t row,
                       struct fdl_print *p)
{
    char buf[32];
    const struct fdl_options *all = fdl_engine_options(e);
    const struct fdl_option *o = &all->table[row];
    add(p, "pipeline", o->name, "%s",
        fdl_option_choice(o, fdl_option_int(all, row), buf, sizeof(buf)));
}

static void add_options(const struct fdl_engine *e, struct fdl_print *p)
{
    const struct fdl_options *o = fdl_engine_options(e);
    add(p, "pipeline", "batch_size", "%u", fdl_engine_config(e)->batch_size);
    add(p, "pipeline", "channels", "%u", fdl_engine_config(e)->channels);
    add_choice(e, FDL_OPT_DTYPE, p);
    add_choice(e, FDL_OPT_LAYOUT, p);
    add_choice(e, FDL_OPT_QUALITY, p);
    add_choice(e, FDL_OPT_FINISH, p);
    add_choice(e, FDL_OPT_READER, p);
    add(p, "pipeline", "device", "%s", fdl_option_text(o, FDL_OPT_DEVICE));
}

int32_t fdl_print_take(const struct fdl_engine *e, struct fdl_print *out)
{
    uint64_t hash = 0;
    out->n = 0;
    int32_t status = hash_operations(e, &hash);
    if (status < 0)
        return status;
    add_host(e, out);
    add_data_set(e, out);
    add(out, "pipeline", "operations", "%016" PRIx64, hash);
    add_options(e, out);
    return FEEDLINE_OK;
}

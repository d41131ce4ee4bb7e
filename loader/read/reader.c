/* SPDX-License-Identifier: Apache-2.0 */
/* The list of readers, and which of them a run starts. */
#include "loader/read/reader.h"

#include "base/log.h"

#include <stdatomic.h>

static atomic_flag fallback_logged = ATOMIC_FLAG_INIT;

#define ROW(name) [FDL_READER_##name] = &fdl_reader_##name,
const struct fdl_reader_ops *const fdl_readers[FDL_READER_KINDS] = {
    FDL_READERS(ROW)};

static int32_t start_auto(const struct fdl_reader_config *cfg,
                          const struct fdl_reader_ops **ops,
                          struct fdl_reader **out)
{
    *ops = &fdl_reader_uring;
    int32_t status = fdl_reader_uring.start(cfg, out);
    if (status != FEEDLINE_ENOSYS)
        return status;
    if (!atomic_flag_test_and_set_explicit(&fallback_logged,
                                           memory_order_relaxed))
        fdl_log(FDL_LOG_INFO, "%s; files are read by threads",
                fdl_last_error());
    fdl_clear_error();
    *ops = &fdl_reader_pread;
    return fdl_reader_pread.start(cfg, out);
}

int32_t fdl_reader_start(enum fdl_reader_kind kind,
                         const struct fdl_reader_config *cfg,
                         const struct fdl_reader_ops **ops,
                         struct fdl_reader **out)
{
    const struct fdl_reader_ops *chosen;
    struct fdl_reader *reader = NULL;
    int32_t status;

    chosen = fdl_readers[kind];
    if (cfg->dataset->data)
        chosen = &fdl_reader_memory; /* there is nothing to read from disk */
    if (fdl_dataset_is_remote(cfg->dataset) &&
        (kind == FDL_READER_uring || kind == FDL_READER_pread))
        return fdl_fail(FEEDLINE_EINVAL,
                        "reader=%s reads files, and the data set is on other "
                        "machines; use reader=auto, remote or memory",
                        chosen->name);
    if (fdl_dataset_is_remote(cfg->dataset) && !chosen)
        chosen = &fdl_reader_remote;
    if (cfg->dataset->user && kind == FDL_READER_uring)
        return fdl_fail(FEEDLINE_EINVAL,
                        "reader=uring reads files, and %s is read by the "
                        "program; use reader=auto, pread or memory",
                        cfg->dataset->user->name);
    if (cfg->dataset->user && !chosen)
        chosen = &fdl_reader_pread; /* its threads may wait */
    if (chosen)
        status = chosen->start(cfg, &reader);
    else
        status = start_auto(cfg, &chosen, &reader);
    if (status != FEEDLINE_OK)
        return status;
    *ops = chosen;
    *out = reader;
    return FEEDLINE_OK;
}

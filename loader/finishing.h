/* SPDX-License-Identifier: Apache-2.0 */
/* Where batches are finished, and what crosses the bus then. */
#ifndef FDL_LOADER_FINISHING_H
#define FDL_LOADER_FINISHING_H

#include "decode/decoder.h"
#include "profiler/copy_fit.h"
#include "transfer/backend.h"

/* How long copies to a device take, measured once per process: some tens of
 * milliseconds, and a CUDA context. Any thread. */
int32_t fdl_device_fit(uint32_t number, struct fdl_copy_fit *out);

/* The bus of the loader's device, once: where it cannot be measured, the log
 * says why, and rates are not compared with anything. */
void fdl_loader_measure_bus(feedline_loader *l);

/* Decides l->finish. If the device finishes, sets config->finish and *wire to
 * what workers write; else *wire is `delivered`. EINVAL: finish=device is not
 * possible, and why. */
int32_t fdl_loader_choose_finish(feedline_loader *l,
                                 const struct fdl_backend_ops *ops,
                                 const struct fdl_output_format *delivered,
                                 struct fdl_backend_config *config,
                                 struct fdl_output_format *wire);

#endif

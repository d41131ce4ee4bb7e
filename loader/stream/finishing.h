/* SPDX-License-Identifier: Apache-2.0 */
/* Where batches are finished, and what then crosses the bus: chosen once, when
 * the loader is created. */
#ifndef FDL_LOADER_FINISHING_H
#define FDL_LOADER_FINISHING_H

#include "decode/decoder.h"
#include "loader/stream/ring.h"
#include "profiler/measure/copy_fit.h"
#include "transfer/backend.h"

struct fdl_engine;

/* Measures the bus of the loader's device, once: if that fails, the log says
 * why, and rates are not compared with anything. */
void fdl_engine_measure_bus(struct fdl_engine *l);

/* What was measured; zeros before that. Any thread. */
struct fdl_copy_fit fdl_engine_bus(const struct fdl_engine *l);

/* What workers write if the device finishes their batches. */
void fdl_finish_wire(const struct fdl_output_format *delivered,
                     struct fdl_output_format *wire);

/* Decides l->finish. EINVAL: finish=device is not possible, and why. */
int32_t fdl_engine_choose_finish(struct fdl_engine *l,
                                 const struct fdl_backend_ops *ops,
                                 const struct fdl_output_format *delivered,
                                 uint32_t device);

/* What the backend needs to know where the device finishes; wire: of batches as
 * they cross the bus. */
void fdl_engine_set_finishing(const struct fdl_engine *l,
                              const struct fdl_layout *wire,
                              struct fdl_finish *out);

#endif

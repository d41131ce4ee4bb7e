/* SPDX-License-Identifier: Apache-2.0 */
/* Where images are decoded. Whether a device could is known when the loader is
 * created; with decode=auto, whether it does changes as it runs
 * (decode_choice.h, loader/tune/decode_trial.h). */
#ifndef FDL_LOADER_DECODING_H
#define FDL_LOADER_DECODING_H

#include "decode/pixels/output_format.h"
#include "loader/stream/layout.h"
#include "transfer/backend.h"

struct fdl_engine;

/* Decides e->decode, once e->finish is decided, for such batches on the device
 * of that number. EINVAL: decode=device is not possible, and why. */
int32_t fdl_engine_choose_decode(struct fdl_engine *e,
                                 const struct fdl_backend_ops *ops,
                                 const struct fdl_output_format *delivered,
                                 uint32_t device);

/* What the backend needs to know where the device decodes; wire: of batches as
 * they cross the bus. */
void fdl_engine_set_makers(const struct fdl_layout *wire,
                           struct fdl_makers *out);

#endif

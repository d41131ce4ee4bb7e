/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do with the public interface, for trial.h. CMake reads the
 * names, each of which is a test. */
#ifndef FDL_TESTS_FAULT_LIVES_H
#define FDL_TESTS_FAULT_LIVES_H

#include "trial.h"

/* clang-format off */
#define FAULT_SCENARIOS(X)                                                     \
    X(open_folder)                                                             \
    X(open_shards)                                                             \
    X(epoch_pread)                                                             \
    X(epoch_memory)                                                            \
    X(epoch_uring)                                                             \
    X(epoch_shard)                                                             \
    X(epoch_ragged)                                                            \
    X(epoch_isolated)                                                          \
    X(formats)                                                                 \
    X(skip)                                                                    \
    X(zero)                                                                    \
    X(resume)                                                                  \
    X(stop)                                                                    \
    X(given)                                                                   \
    X(own)                                                                     \
    X(recorded_pread)                                                          \
    X(recorded_memory)                                                         \
    X(watch)                                                                   \
    X(jpeg_index)                                                              \
    X(records)                                                                 \
    X(pack)                                                                    \
    X(scan)                                                                    \
    X(device)                                                                  \
    X(remote)                                                                  \
    X(remote_cache)
/* clang-format on */

#define FAULT_SCENARIO(name) extern const struct scenario fault_##name;
FAULT_SCENARIOS(FAULT_SCENARIO)
#undef FAULT_SCENARIO

#define FAULT_IMAGES 12u
#define FAULT_OPERATIONS                                                       \
  "random_resized_crop width=32 height=32;horizontal_flip"
#define FAULT_OPTIONS                                                          \
  "dtype=u8 batch_size=4 workers=2 depth=2 shuffle=true tuner=off live=false "

/* FAULT_IMAGES of them; made and removed by the scenarios' setup. NULL. */
extern struct fixture fault_images;
const char *fault_images_make(void);
void fault_images_remove(void);

/* A new folder beside them, for what the library writes; and their file as a
 * shard. */
const char *fault_folder(void);
const char *fault_tar(void);

/* Data set, loader, an epoch, and an end. */
int32_t fault_epoch(const char *uri, const char *operations,
                    const char *options);

/* The loader's life ends: it is used on, or destroyed as it is. */
void fault_end(feedline_loader *l);

#endif

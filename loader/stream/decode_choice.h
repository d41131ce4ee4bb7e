/* SPDX-License-Identifier: Apache-2.0 */
/* Where images are decoded, on the host or the device, with the reason. */
#ifndef FDL_LOADER_DECODE_CHOICE_H
#define FDL_LOADER_DECODE_CHOICE_H

#include <stdbool.h>

#define FDL_DECODE_REASON_BYTES 200

struct fdl_decode_choice {
    bool device;
    char reason[FDL_DECODE_REASON_BYTES];
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "soak_device.h"

#ifdef FAULT_LIBCUDA

#  include "tests/transfer/cuda_double.h"

#  include <stdlib.h>

#  define MOST_BYTES (1u << 20)
#  define MOST_TRIES 100

static uint8_t pixels[MOST_BYTES];

bool device_is_there(void)
{
    return setenv("FEEDLINE_LIBCUDA", FAULT_LIBCUDA, 1) == 0;
}

/* A call of the driver that failed once is made again. */
static bool await(feedline_batch *b, struct ends *ends)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        if (feedline_batch_wait(b, NULL) == FEEDLINE_OK)
            return true;
        ends->times[-FEEDLINE_EDEVICE]++;
    }
    return false;
}

bool device_fetch(feedline_batch *b, struct feedline_batch_info *info,
                  struct ends *ends)
{
    uint64_t bytes = info->count * (uint64_t)info->images.stride[0];
    if (bytes > sizeof(pixels) || !await(b, ends))
        return false;
    double_drain();
    if (!double_peek(info->images.data, pixels, bytes))
        return false;
    info->images.data = pixels;
    return true;
}

#else

bool device_is_there(void)
{
    return false;
}

bool device_fetch(feedline_batch *b, struct feedline_batch_info *info,
                  struct ends *ends)
{
    (void)b;
    (void)info;
    (void)ends;
    return false;
}

#endif

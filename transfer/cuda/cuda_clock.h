/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an event happened, on the host's clock.
 *
 * CUDA tells the time between two events as a float of milliseconds. A base
 * event whose host time is known turns that into a time stamp: it is recorded
 * on an idle stream and waited for, so it lies between two looks at the host's
 * clock; of several tries the closest pair counts, a few us apart.
 *
 * The base is renewed every 2 s: the clocks drift apart, by up to 100 us in
 * that time, and a float has 24 bits, 2 us after 30 s. On a busy GPU the pair
 * may be milliseconds apart; then the old base stays until the next attempt,
 * unless drift has made it the worse one. The previous base is kept for events
 * that were measured from it.
 */
#ifndef FDL_TRANSFER_CUDA_CLOCK_H
#define FDL_TRANSFER_CUDA_CLOCK_H

#include "transfer/cuda/cuda_device.h"

struct fdl_cuda_base {
    fdl_cuda_event event;
    int64_t ns, error_ns; /* its host time, and how far that may be off */
};

struct fdl_cuda_clock {
    const struct fdl_cuda_device *device;
    fdl_cuda_stream stream;
    struct fdl_cuda_base base[2], spare; /* the base of epoch n is n % 2 */
    uint32_t epoch;
    int64_t tried_ns; /* to renew it */
};

/* One thread at a time; the device is current. EDEVICE. */
int32_t fdl_cuda_clock_init(struct fdl_cuda_clock *c,
                            const struct fdl_cuda_device *d);
void fdl_cuda_clock_fini(struct fdl_cuda_clock *c);

/* A new base, if the one in use is old. No event is asked for any more that is
 * older than the base in use. */
int32_t fdl_cuda_clock_renew(struct fdl_cuda_clock *c);

/* Of an event that is done and was recorded in `epoch` or later; 0 if the
 * device does not say. */
int64_t fdl_cuda_clock_read(const struct fdl_cuda_clock *c, uint32_t epoch,
                            fdl_cuda_event event);

#endif

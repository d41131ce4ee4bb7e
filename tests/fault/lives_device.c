/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on a GPU, which is the double of the CUDA driver. */
#include "inject_device.h"
#include "lives.h"
#include "trial_own.h"

#ifdef FAULT_LIBCUDA

#  include "tests/transfer/cuda_double.h"

#  define MOST_BYTES (1u << 20)

static uint8_t pixels[MOST_BYTES], labels[4096];

/* A batch as the device has it, once its copy has landed. */
static int32_t take(feedline_loader *l)
{
    feedline_batch *b = NULL;
    int32_t status = trial_next(l, &b);
    if (status != FEEDLINE_OK)
        return status;
    struct feedline_batch_info info = fixture_info(b);
    status = trial_note(feedline_batch_wait(b, NULL));
    if (status == FEEDLINE_OK) {
        uint64_t bytes = info.count * (uint64_t)info.images.stride[0] * 4;
        double_drain();
        if (!double_peek(info.images.data, pixels, bytes) ||
            !double_peek(info.labels.data, labels, 8 * info.count))
            trial_tell("a batch that the device has not");
        info.images.data = pixels;
        info.labels.data = labels;
        trial_check(&info);
    }
    feedline_batch_release(b);
    return status;
}

static int32_t device(void)
{
    trial_now.take = take;
    int32_t status = fault_epoch(
        fault_images.folder, "random_resized_crop width=32 height=32;normalize",
        "batch_size=4 workers=2 depth=2 tuner=off live=false "
        "reader=pread device=cuda:0 finish=device");
    trial_now.take = NULL;
    return status;
}

static void settle(void)
{
    const char *faults = inject_device_settle(trial_now.sound);
    if (faults)
        trial_tell("the driver: %s", faults);
}

static const char *with_double(void)
{
    setenv("FEEDLINE_LIBCUDA", FAULT_LIBCUDA, 1);
    return fault_images_make();
}

#else

static int32_t device(void)
{
    return FEEDLINE_OK;
}

static void settle(void)
{
}

static const char *with_double(void)
{
    return "the library has no CUDA";
}

#endif

const struct scenario fault_device = {
    .name = "device",
    .what = "an epoch to a GPU (the double of its driver)",
    .kinds = KIND(MEMORY) | KIND(THREAD) | KIND(DEVICE),
    .setup = with_double,
    .teardown = fault_images_remove,
    .life = device,
    .settle = settle};

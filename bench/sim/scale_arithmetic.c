/* SPDX-License-Identifier: Apache-2.0 */
/* What can be computed of a job without playing it; numbers: scale_host.h. */
#include "bench/sim/scale_host.h"
#include "bench/sim/scale_tables.h"

#include <math.h>

/* Three digits, or all of a whole number: 1,828,571. */
static void add_number(struct sheet *s, double x)
{
    unsigned long n = (unsigned long)(x + 0.5);
    if (x < 100)
        sheet_add(s, "%.3g", x);
    else if (n < 1000)
        sheet_add(s, "%lu", n);
    else if (n < 1000000)
        sheet_add(s, "%lu,%03lu", n / 1000, n % 1000);
    else
        sheet_add(s, "%lu,%03lu,%03lu", n / 1000000, n / 1000 % 1000, n % 1000);
}

/* A row: of one GPU, one host, the job. */
static void add(struct sheet *s, const char *what, double of_gpu, uint32_t gpus)
{
    sheet_add(s, "%s", what);
    add_number(s, of_gpu);
    add_number(s, of_gpu * JOB_GPUS);
    add_number(s, of_gpu * gpus);
}

void scale_table_needs(uint32_t gpus, struct sheet *out)
{
    const double images = JOB_IMAGES_S, bytes = images * JOB_IMAGE_BYTES;
    const double ranges = bytes / JOB_RANGE_BYTES, gbit = bytes * 8 / 1e9;
    sheet_init(out, 4);
    sheet_add(out, "needs");
    sheet_add(out, "a GPU");
    sheet_add(out, "a host of %u", JOB_GPUS);
    sheet_add(out, "%u GPUs", gpus);
    add(out, "images/s", images, gpus);
    add(out, "from storage, GB/s", bytes / 1e9, gpus);
    add(out, "the same, Gbit/s", gbit, gpus);
    add(out, "requests/s, an object an image", images, gpus);
    add(out, "S3 prefixes for these", images / JOB_PREFIX_S, gpus);
    add(out, "requests/s, ranges of 8 MiB", ranges, gpus);
    add(out, "S3 prefixes for these", ranges / JOB_PREFIX_S, gpus);
    add(out, "in flight: an object an image, 30 ms", images * JOB_FIRST_BYTE,
        gpus);
    add(out, "in flight: ranges, 2.5 per Gbit/s", JOB_PER_GBIT * gbit, gpus);
    add(out, "cores, JPEG", images / JOB_CORE_S, gpus);
    add(out, "cores, packed", images / JOB_CORE_S / JOB_PACKED, gpus);
    add(out, "cores, torch's DataLoader", images / JOB_CORE_S * JOB_TORCH_PART,
        gpus);
    add(out, "memory, 4 batches of 400 ahead, GB",
        4.0 * JOB_BATCH * JOB_PIXELS / 1e9, gpus);
    add(out, "to the GPUs, bytes of pixels, GB/s", images * JOB_PIXELS / 1e9,
        gpus);
}

void scale_table_losses(uint32_t gpus, struct sheet *out)
{
    const double between = 86400 / (JOB_BREAKS_PER_GPU_DAY * gpus);
    const double save = sqrt(2 * JOB_SAVE * between); /* Young, 1974 */
    const double periods[] = {600, save, 4 * 3600};
    sheet_init(out, 5);
    sheet_add(out, "saved every");
    sheet_add(out, "a break costs, min");
    sheet_add(out, "of it done again, min");
    sheet_add(out, "GPU hours");
    sheet_add(out, "breaks and saving, %%");
    for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
        double again = periods[i] / 2, cost = again + JOB_RESTART;
        sheet_add(out, "%.0f min%s", periods[i] / 60,
                  i == 1 ? " (the best)" : "");
        sheet_add(out, "%.1f", cost / 60);
        sheet_add(out, "%.1f", again / 60);
        sheet_add(out, "%.0f", cost / 3600 * gpus);
        sheet_add(out, "%.2f", 100 * (cost / between + JOB_SAVE / periods[i]));
    }
}

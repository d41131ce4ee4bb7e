/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/case/case_images.h"

#include "bench/loaderbench/tool.h"

#include <stdlib.h>

int case_images_make(struct case_images *s, uint32_t n, uint32_t side,
                     uint32_t channels)
{
    size_t each = (size_t)side * side * channels;
    *s = (struct case_images){.pixels = malloc(n * each)};
    if (!s->pixels)
        return tool_no_memory();
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < each; k++)
            s->pixels[i * each + k] = (unsigned char)(k * 7 + i * 31);
    int32_t status = feedline_dataset_open_pixels(
        s->pixels, NULL, n, (int32_t)side, (int32_t)side, (int32_t)channels,
        &s->dataset);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

void case_images_fini(struct case_images *s)
{
    feedline_dataset_close(s->dataset);
    free(s->pixels);
}
